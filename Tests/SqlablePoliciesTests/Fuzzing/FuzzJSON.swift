// Tests/Fuzzing has this file and what it uses in one target.
#if canImport(SqlableTestSupport) && !RECORD
@testable import SqlableTestSupport
#endif

/// JSON that allows duplicate keys and invalid scalars, which Foundation's tree can't hold. Keys and scalars keep their
/// spelling.
indirect enum FuzzJSON {
  case object([(key: String, value: FuzzJSON)])
  case array([FuzzJSON])
  case scalar(String)

  /// Reads bytes with the structure of JSON; a scalar may be any text. Returns nil for other bytes and deep nesting.
  init?(_ bytes: some Sequence<UInt8>) {
    var reader = FuzzJSONReader(bytes: Array(bytes))
    guard let json = reader.value(), reader.isAtEnd else { return nil }
    self = json
  }

  /// The number of parts, including the document itself.
  var count: Int {
    var count = 1
    switch self {
    case .object(let members): for member in members { count += member.value.count }
    case .array(let elements): for element in elements { count += element.count }
    case .scalar: break
    }
    return count
  }

  /// True for an object that looks like a term.
  var isTerm: Bool {
    guard case .object(let members) = self, !isValue, members.count < 4 else { return false }
    return !members.contains { FuzzJSON.otherKeys.contains($0.key) }
  }

  /// Keys of objects that are no terms.
  private static let otherKeys: Set = [
    "from", "table", "into", "target", "to", "sqlable", "asc", "desc", "ascNullsLast", "descNullsFirst", "id", "name",
  ]

  /// True for JSON that looks like a value.
  var isValue: Bool {
    switch self {
    case .scalar(let text): !["true", "false", "null"].contains(text)
    case .object(let members):
      members.count == 1 && ["null", "integer", "real", "blob"].contains(members[0].key)
    case .array: false
    }
  }

  func collect(into parts: inout [FuzzJSON]) {
    parts.append(self)
    switch self {
    case .object(let members): for member in members { member.value.collect(into: &parts) }
    case .array(let elements): for element in elements { element.collect(into: &parts) }
    case .scalar: break
    }
  }

  /// Returns the document with the part at `place` replaced. Places count the parts in the order of the text.
  func replacing(_ place: Int, _ replacement: (FuzzJSON) -> FuzzJSON) -> FuzzJSON {
    var place = place
    return replacing(&place, replacement)
  }

  /// Counts the parts down to `place`, which is negative after the replacement.
  private func replacing(_ place: inout Int, _ replacement: (FuzzJSON) -> FuzzJSON) -> FuzzJSON {
    place -= 1
    if place < 0 { return replacement(self) }
    switch self {
    case .object(var members):
      for index in members.indices {
        let part = members[index].value.replacing(&place, replacement)
        guard place < 0 else { continue }
        members[index].value = part
        return .object(members)
      }
    case .array(var elements):
      for index in elements.indices {
        let part = elements[index].replacing(&place, replacement)
        guard place < 0 else { continue }
        elements[index] = part
        return .array(elements)
      }
    case .scalar: break
    }
    return self
  }

  func write(to text: inout String) {
    switch self {
    case .object(let members):
      text += "{"
      for (index, member) in members.enumerated() {
        text += (index > 0 ? ",\"" : "\"") + member.key + "\":"
        member.value.write(to: &text)
      }
      text += "}"
    case .array(let elements):
      text += "["
      for (index, element) in elements.enumerated() {
        if index > 0 { text += "," }
        element.write(to: &text)
      }
      text += "]"
    case .scalar(let scalar): text += scalar
    }
  }
}

/// A reader of JSON's structure that does not check scalars.
private struct FuzzJSONReader {
  let bytes: [UInt8]
  private var position = 0
  private var depth = 0

  init(bytes: [UInt8]) { self.bytes = bytes }

  private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skipSpace() { while let next, next <= 0x20 { position += 1 } }

  private mutating func skip(_ character: Unicode.Scalar) -> Bool {
    skipSpace()
    guard next == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  var isAtEnd: Bool {
    mutating get {
      skipSpace()
      return position == bytes.count
    }
  }

  mutating func value() -> FuzzJSON? {
    guard depth < 300 else { return nil }
    depth += 1
    defer { depth -= 1 }
    if skip("{") { return object() }
    if skip("[") { return list() }
    if next == UInt8(ascii: "\"") { return string().map { .scalar("\"\($0)\"") } }
    let start = position
    while let next, !",]}: \n".utf8.contains(next) { position += 1 }
    return position > start ? .scalar(text(start..<position)) : nil
  }

  private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  private mutating func string() -> String? {
    guard skip("\"") else { return nil }
    let start = position
    while let next {
      if next == UInt8(ascii: "\"") {
        defer { position += 1 }
        return text(start..<position)
      }
      position += next == UInt8(ascii: "\\") ? 2 : 1
    }
    return nil
  }

  private mutating func object() -> FuzzJSON? {
    var members: [(key: String, value: FuzzJSON)] = []
    if skip("}") { return .object([]) }
    while let key = string(), skip(":"), let value = value() {
      members.append((key, value))
      if skip("}") { return .object(members) }
      guard skip(",") else { return nil }
    }
    return nil
  }

  private mutating func list() -> FuzzJSON? {
    var elements: [FuzzJSON] = []
    if skip("]") { return .array([]) }
    while let value = value() {
      elements.append(value)
      if skip("]") { return .array(elements) }
      guard skip(",") else { return nil }
    }
    return nil
  }
}
