indirect enum RegularExpressionTree {
  case step(RegularExpression.Step)
  case sequence([RegularExpressionTree])
  case choice([RegularExpressionTree])
  /// A repetition with a minimum and a maximum count; a nil maximum means no limit.
  case repeated(RegularExpressionTree, Int, Int?)

  /// A part that adds no steps, such as `()` and `a{0}`.
  static var empty: RegularExpressionTree { .sequence([]) }

  var isEmpty: Bool { if case .sequence(let parts) = self { parts.isEmpty } else { false } }

  /// True if every alternative starts with `^`.
  var isAnchored: Bool {
    switch self {
    case .step(.start): true
    case .step: false
    case .sequence(let parts): parts.first?.isAnchored ?? false
    case .choice(let parts): parts.allSatisfy(\.isAnchored)
    case .repeated(let part, let least, _): least > 0 && part.isAnchored
    }
  }
}

struct RegularExpressionParser {
  private let scalars: [Unicode.Scalar]
  private var position = 0
  private var depth = 0
  /// The number of steps that match a character or a position. The compiled expression has at least this number of
  /// steps.
  private var steps = 0
  private(set) var ignoresCase = false

  init(_ text: String) { scalars = Array(text.unicodeScalars) }

  private var next: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

  @inline(never)
  private func failure(_ message: String, at position: Int? = nil) -> SqlError {
    .invalidStatement("the regular expression is invalid at character \((position ?? self.position) + 1): \(message)")
  }

  private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
    guard next == scalar else { return false }
    position += 1
    return true
  }

  private mutating func take(_ text: String) -> Bool {
    let wanted = Array(text.unicodeScalars)
    guard scalars[position...].starts(with: wanted) else { return false }
    position += wanted.count
    return true
  }

  mutating func expression() throws(SqlError) -> RegularExpressionTree {
    ignoresCase = take("(?i)")
    let tree = try choice()
    guard next == nil else { throw failure("the ) has no matching (") }
    return tree
  }

  private mutating func choice() throws(SqlError) -> RegularExpressionTree {
    var parts = [try sequence()]
    while take("|") { parts.append(try sequence()) }
    return parts.count == 1 ? parts[0] : .choice(parts)
  }

  private mutating func sequence() throws(SqlError) -> RegularExpressionTree {
    var parts: [RegularExpressionTree] = []
    while let scalar = next, scalar != "|", scalar != ")" {
      let (start, stepsBefore) = (position, steps)
      let part = try repeated(try part(), from: start)
      // Leave out parts without steps, so that the limit of steps also limits the time of building the program.
      if part.isEmpty { steps = stepsBefore } else { parts.append(part) }
    }
    return parts.count == 1 ? parts[0] : .sequence(parts)
  }

  private mutating func part() throws(SqlError) -> RegularExpressionTree {
    let start = position
    guard let scalar = next else { throw failure("unexpected end") }
    position += 1
    if scalar == "(" { return try group(from: start) }
    steps += 1
    guard steps < RegularExpression.maximumSteps else { throw RegularExpression.tooLarge }
    switch scalar {
    case ".": return .step(.any)
    case "^": return .step(.start)
    case "$": return .step(.end)
    case "[": return .step(.set(try set(from: start)))
    case "\\": return try escape(from: start)
    case "*", "+", "?", "{": throw failure("nothing to repeat before \(scalar)", at: start)
    default: return .step(.scalar(scalar))
    }
  }

  private mutating func group(from start: Int) throws(SqlError) -> RegularExpressionTree {
    if next == "?", !take("?:") {
      throw failure("only groups of the form (…) and (?:…) are supported, and (?i) at the beginning", at: start)
    }
    depth += 1
    guard depth <= RegularExpression.maximumDepth else {
      throw failure("groups are nested more than \(RegularExpression.maximumDepth) deep", at: start)
    }
    let tree = try choice()
    depth -= 1
    guard take(")") else { throw failure("the ( has no matching )", at: start) }
    return tree
  }

  // MARK: Repetitions

  private mutating func repeated(_ part: RegularExpressionTree, from start: Int) throws(SqlError)
    -> RegularExpressionTree
  {
    let quantifierStart = position
    let (least, greatest): (Int, Int?)
    switch next {
    case "*": (least, greatest) = (0, nil)
    case "+": (least, greatest) = (1, nil)
    case "?": (least, greatest) = (0, 1)
    case "{":
      position += 1
      (least, greatest) = try counts(from: quantifierStart)
      position -= 1
    default: return part
    }
    position += 1
    switch part {
    case .step(.start), .step(.end), .step(.edge), .step(.noEdge):
      guard scalars[start] == "(" else { throw failure("an anchor can't be repeated", at: quantifierStart) }
    default: break
    }
    // Ignore a lazy quantifier's mark, because the quantifier matches the same texts as a greedy one.
    _ = take("?")
    if let again = next, again == "*" || again == "+" || again == "?" || again == "{" {
      throw failure("nothing to repeat before \(again)")
    }
    return part.isEmpty || greatest == 0 ? .empty : .repeated(part, least, greatest)
  }

  private mutating func counts(from start: Int) throws(SqlError) -> (Int, Int?) {
    let least = try number(start)
    if take("}") { return (least, least) }
    guard take(",") else { throw failure("a repetition must be {n}, {n,} or {n,m} with n ≤ m", at: start) }
    if take("}") { return (least, nil) }
    let greatest = try number(start)
    guard take("}"), greatest >= least else {
      throw failure("a repetition must be {n}, {n,} or {n,m} with n ≤ m", at: start)
    }
    return (least, greatest)
  }

  private mutating func number(_ start: Int) throws(SqlError) -> Int {
    var number: Int?
    while let scalar = next, ("0"..."9").contains(scalar) {
      number = (number ?? 0) * 10 + Int(scalar.value - 48)
      position += 1
      guard number ?? 0 <= RegularExpression.maximumCount else {
        throw failure("a repetition count is above \(RegularExpression.maximumCount)", at: start)
      }
    }
    guard let number else { throw failure("a repetition must be {n}, {n,} or {n,m} with n ≤ m", at: start) }
    return number
  }

  // MARK: Characters

  private mutating func escape(from start: Int) throws(SqlError) -> RegularExpressionTree {
    guard let scalar = next else { throw failure("nothing after the backslash", at: start) }
    switch scalar {
    case "b", "B":
      position += 1
      return .step(scalar == "b" ? .edge : .noEdge)
    default: break
    }
    if let characterClass = classBehindBackslash() { return .step(.set(ScalarSet(classes: [characterClass]))) }
    return .step(.scalar(try escapedScalar(from: start)))
  }

  private mutating func classBehindBackslash() -> (ScalarSet.Class, Bool)? {
    let characterClass: (ScalarSet.Class, Bool)
    switch next {
    case "d": characterClass = (.digit, false)
    case "D": characterClass = (.digit, true)
    case "w": characterClass = (.word, false)
    case "W": characterClass = (.word, true)
    case "s": characterClass = (.space, false)
    case "S": characterClass = (.space, true)
    default: return nil
    }
    position += 1
    return characterClass
  }

  private mutating func escapedScalar(from start: Int) throws(SqlError) -> Unicode.Scalar {
    guard let scalar = next else { throw failure("nothing after the backslash", at: start) }
    position += 1
    switch scalar {
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "x": return try hexadecimal(from: start)
    default:
      guard scalar.isASCII, !scalar.isWord, scalar.value > 0x20 else {
        throw failure("unsupported escape or backreference", at: start)
      }
      return scalar
    }
  }

  private mutating func hexadecimal(from start: Int) throws(SqlError) -> Unicode.Scalar {
    let isBraced = take("{")
    var digits = ""
    while let scalar = next, scalar.properties.isASCIIHexDigit, digits.utf8.count < (isBraced ? 6 : 2) {
      digits.unicodeScalars.append(scalar)
      position += 1
    }
    guard let value = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(value),
      isBraced ? take("}") : digits.utf8.count == 2
    else { throw failure("a character code needs 2 hex digits, or up to 6 in braces: \\xe9, \\x{1f600}", at: start) }
    return scalar
  }

  private mutating func set(from start: Int) throws(SqlError) -> ScalarSet {
    var set = ScalarSet()
    set.isNegated = take("^")
    while let scalar = next, scalar != "]" {
      let memberStart = position
      if scalar == "[" { throw failure("a [ in a set needs a backslash") }
      if take("\\"), let part = classBehindBackslash() {
        if !set.classes.contains(where: { $0 == part }) { set.classes.append(part) }
        continue
      }
      position = memberStart
      let first = try member()
      guard next == "-", position + 1 < scalars.count, scalars[position + 1] != "]" else {
        set.ranges.append(first...first)
        continue
      }
      position += 1
      let last = try member()
      guard first <= last else { throw failure("a range ends before it begins", at: memberStart) }
      set.ranges.append(first...last)
    }
    guard take("]") else { throw failure("the [ has no matching ]", at: start) }
    guard !set.ranges.isEmpty || !set.classes.isEmpty else { throw failure("the set has no characters", at: start) }
    set.mergeRanges()
    return set
  }

  private mutating func member() throws(SqlError) -> Unicode.Scalar {
    let start = position
    guard let scalar = next else { throw failure("the [ has no matching ]") }
    position += 1
    guard scalar == "\\" else { return scalar }
    return try escapedScalar(from: start)
  }
}
