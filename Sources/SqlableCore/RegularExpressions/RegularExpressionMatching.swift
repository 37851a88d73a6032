extension RegularExpression {
  func matches(in text: String) -> Bool {
    var run = RegularExpressionRun(self)
    return run.finds(in: text.unicodeScalars)
  }
}

/// A search in one text. Each position of the program is added at most once per character, so a character takes at most
/// one operation per step of the program.
private struct RegularExpressionRun {
  private let expression: RegularExpression
  private var current: [Int] = []
  private var following: [Int] = []
  /// For each step, the last round that added the step. Every character of the text begins a round.
  private var rounds: [Int]
  private var round = 0
  private var pending: [Int] = []

  init(_ expression: RegularExpression) {
    self.expression = expression
    rounds = Array(repeating: 0, count: expression.steps.count)
  }

  mutating func finds(in text: String.UnicodeScalarView) -> Bool {
    var previous: Unicode.Scalar?
    var index = text.startIndex
    while true {
      let scalar = index < text.endIndex ? text[index] : nil
      round += 1
      following.removeAll(keepingCapacity: true)
      for position in current where add(position, previous, scalar) { return true }
      // A match can start at each character.
      if previous == nil || !expression.isAnchored, add(0, previous, scalar) { return true }
      guard let scalar, !(following.isEmpty && expression.isAnchored) else { return false }
      current.removeAll(keepingCapacity: true)
      advance(over: scalar)
      previous = scalar
      text.formIndex(after: &index)
    }
  }

  /// Adds a position, and all positions reachable without reading a character. Returns true if the match is complete.
  private mutating func add(_ position: Int, _ previous: Unicode.Scalar?, _ next: Unicode.Scalar?) -> Bool {
    pending.append(position)
    while let position = pending.popLast() {
      guard rounds[position] != round else { continue }
      rounds[position] = round
      switch expression.steps[position] {
      case .scalar, .any, .set: following.append(position)
      case .jump(let target): pending.append(target)
      case .both(let first, let second):
        pending.append(second)
        pending.append(first)
      case .start: if previous == nil { pending.append(position + 1) }
      case .end: if next == nil { pending.append(position + 1) }
      case .edge: if isEdge(previous, next) { pending.append(position + 1) }
      case .noEdge: if !isEdge(previous, next) { pending.append(position + 1) }
      case .match: return true
      }
    }
    return false
  }

  private func isEdge(_ previous: Unicode.Scalar?, _ next: Unicode.Scalar?) -> Bool {
    (previous?.isWord ?? false) != (next?.isWord ?? false)
  }

  /// Collects the positions after the steps that match the character.
  private mutating func advance(over scalar: Unicode.Scalar) {
    let cases = expression.ignoresCase ? scalar.cases : []
    for position in following {
      let fits =
        switch expression.steps[position] {
        case .scalar(let expected):
          expected == scalar || (expression.ignoresCase && !expected.cases.allSatisfy { !cases.contains($0) })
        case .any: scalar != "\n"
        case .set(let set): expression.ignoresCase ? set.contains(cases) : set.contains(scalar)
        default: false
        }
      if fits { current.append(position + 1) }
    }
  }
}
