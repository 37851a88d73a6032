import FoundationEssentials

/// A parser that reads a document from JSON, strictly by RFC 8259. A duplicate key, a lone surrogate and invalid UTF-8
/// are errors. The parser allocates at most 40 bytes for each byte of the text.
package struct JSONReader {
  private let text: UnsafeRawBufferPointer
  private var position = 0

  /// The maximum nesting depth of objects and lists. No valid statement is deeper.
  static let maximumDepth = 400
  /// The number of keys up to which an object's keys are compared one by one.
  private static let fewKeys = 24

  /// Parses the whole text. Throws `.invalidStatement`, with the position, for text that is not JSON.
  package static func read(_ text: some ContiguousBytes) throws -> Document {
    try text.withUnsafeBytes { bytes in
      var reader = JSONReader(text: bytes)
      reader.skipSpace()
      let document = try reader.value()
      reader.skipSpace()
      guard reader.position == bytes.count else { throw reader.failure("unexpected text after the end") }
      return document
    }
  }

  private func failure(_ reason: String) -> SqlError {
    .invalidStatement("the document is not valid JSON at byte \(position): \(reason)")
  }

  private var next: UInt8? { position < text.count ? text[position] : nil }

  private mutating func skipSpace() {
    while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
  }

  private struct Container {
    let isObject: Bool
    var values: [Document] = []
    var members: [Document.Member] = []
    // Compared by bytes: two keys that `==` treats as equal can be two columns.
    var keys: Set<ByteComparedName> = []
    var key = ""

    var end: UInt8 { isObject ? UInt8(ascii: "}") : UInt8(ascii: "]") }
    var document: Document { isObject ? .object(members) : .list(values) }

    mutating func append(_ value: Document) {
      if isObject { members.append(Document.Member(key: key, value: value)) } else { values.append(value) }
    }

    /// Starts a member with this key. Returns false if the object already has a member with the key.
    mutating func begin(_ key: String) -> Bool {
      self.key = key
      guard members.count >= JSONReader.fewKeys else { return !members.contains { $0.key.isExactly(key) } }
      if keys.isEmpty { for member in members { keys.insert(ByteComparedName(wrappedValue: member.key)) } }
      return keys.insert(ByteComparedName(wrappedValue: key)).inserted
    }
  }

  /// Parses a value. The open containers are in an array, because recursion would overflow the stack at a few hundred
  /// levels.
  private mutating func value() throws -> Document {
    var open: [Container] = []
    while true {
      skipSpace()
      var value: Document
      if next == UInt8(ascii: "{") || next == UInt8(ascii: "[") {
        guard open.count < JSONReader.maximumDepth else { throw Document.tooDeep }
        let container = Container(isObject: next == UInt8(ascii: "{"))
        position += 1
        skipSpace()
        if next != container.end {
          open.append(container)
          try beginElement(&open[open.count - 1])
          continue
        }
        position += 1
        value = container.document
      } else {
        value = try scalar()
      }
      while !open.isEmpty {
        open[open.count - 1].append(value)
        skipSpace()
        if next == UInt8(ascii: ",") {
          position += 1
          try beginElement(&open[open.count - 1])
          break
        }
        guard next == open[open.count - 1].end else {
          throw failure("missing comma or end of \(open[open.count - 1].isObject ? "an object" : "a list")")
        }
        position += 1
        value = open.removeLast().document
      }
      if open.isEmpty { return value }
    }
  }

  private mutating func beginElement(_ container: inout Container) throws {
    guard container.isObject else { return }
    skipSpace()
    guard next == UInt8(ascii: "\"") else { throw failure("missing key") }
    guard container.begin(try string()) else { throw failure("duplicate key") }
    skipSpace()
    guard next == UInt8(ascii: ":") else { throw failure("missing colon") }
    position += 1
  }

  private mutating func scalar() throws -> Document {
    switch next {
    case UInt8(ascii: "\""): return .text(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    case nil: throw failure("unexpected end")
    case let byte? where byte == UInt8(ascii: "-") || byte.isDigit: return try number()
    default: throw failure("unexpected character")
    }
  }

  private mutating func word(_ word: StaticString, _ value: Document) throws -> Document {
    let count = word.utf8CodeUnitCount
    guard position + count <= text.count,
      text[position..<(position + count)].elementsEqual(UnsafeBufferPointer(start: word.utf8Start, count: count))
    else { throw failure("unknown word") }
    position += count
    return value
  }

  // MARK: Strings

  private mutating func string() throws -> String {
    position += 1
    let start = position
    // All bytes combined with OR: the highest bit is set if the string contains a byte above 0x7F.
    var bits: UInt8 = 0
    while let byte = next {
      bits |= byte
      switch byte {
      case UInt8(ascii: "\""):
        defer { position += 1 }
        // ASCII is valid UTF-8, and a check would take longer than reading the string.
        guard bits < 0x80 else { return try validated(text[start..<position]) }
        return String(decoding: UnsafeRawBufferPointer(rebasing: text[start..<position]), as: UTF8.self)
      case UInt8(ascii: "\\"): return try escapedString(from: start)
      case 0..<0x20: throw failure("control character in a string")
      default: position += 1
      }
    }
    throw failure("unterminated string")
  }

  private func validated(_ bytes: some Sequence<UInt8>) throws -> String {
    guard let string = String(validating: bytes, as: UTF8.self) else { throw failure("invalid UTF-8") }
    return string
  }

  /// Parses a string with escapes. The text from `start` to the position contains no escape.
  private mutating func escapedString(from start: Int) throws -> String {
    var bytes = Array(text[start..<position])
    while let byte = next {
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return try validated(bytes)
      case UInt8(ascii: "\\"): bytes += try escape()
      case 0..<0x20: throw failure("control character in a string")
      default: bytes.append(byte)
      }
    }
    throw failure("unterminated string")
  }

  private mutating func escape() throws -> [UInt8] {
    guard let byte = next else { throw failure("unterminated string") }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
    case UInt8(ascii: "b"): return [0x08]
    case UInt8(ascii: "f"): return [0x0C]
    case UInt8(ascii: "n"): return [0x0A]
    case UInt8(ascii: "r"): return [0x0D]
    case UInt8(ascii: "t"): return [0x09]
    case UInt8(ascii: "u"):
      var code = try codeUnit()
      if code & 0xFC00 == 0xD800, next == UInt8(ascii: "\\") {
        position += 1
        guard next == UInt8(ascii: "u") else { throw failure("unpaired surrogate") }
        position += 1
        let low = try codeUnit()
        guard low & 0xFC00 == 0xDC00 else { throw failure("unpaired surrogate") }
        code = 0x10000 + (code & 0x3FF) << 10 + low & 0x3FF
      }
      guard let scalar = Unicode.Scalar(code) else { throw failure("unpaired surrogate") }
      return Array(UTF8.encode(scalar).unsafelyUnwrapped)
    default: throw failure("unknown escape")
    }
  }

  private mutating func codeUnit() throws -> UInt32 {
    guard position + 4 <= text.count else { throw failure("unterminated string") }
    var code: UInt32 = 0
    for byte in text[position..<(position + 4)] {
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { throw failure("unknown escape") }
      code = code << 4 + UInt32(digit)
    }
    position += 4
    return code
  }

  // MARK: Numbers

  private mutating func number() throws -> Document {
    let start = position
    if next == UInt8(ascii: "-") { position += 1 }
    let digits = position
    skipDigits()
    guard position > digits, position == digits + 1 || text[digits] != UInt8(ascii: "0") else {
      throw failure("number without digits, or with a leading zero")
    }
    var isInteger = true
    if next == UInt8(ascii: ".") {
      isInteger = false
      position += 1
      try requireDigits()
    }
    if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
      isInteger = false
      position += 1
      if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
      try requireDigits()
    }
    let spelled = String(decoding: text[start..<position], as: UTF8.self)
    if isInteger, let integer = Int64(spelled), !spelled.isExactly("-0") { return .integer(integer) }
    guard let number = Double(spelled), number.isFinite else { throw failure("number too large") }
    return .number(number)
  }

  private mutating func skipDigits() {
    while let byte = next, byte.isDigit { position += 1 }
  }

  private mutating func requireDigits() throws {
    let start = position
    skipDigits()
    guard position > start else { throw failure("number without digits") }
  }
}
