import FoundationEssentials

/// A statement as data: a tree of JSON values, independent of the coder.
package enum Document: Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  /// A number with a fraction or an exponent, or a number beyond 64 bits.
  case number(Double)
  case text(String)
  case list([Document])
  case object([Member])

  package struct Member: Sendable {
    package let key: String
    package let value: Document

    package init(key: String, value: Document) {
      (self.key, self.value) = (key, value)
    }
  }
}

extension Document: ExpressibleByDictionaryLiteral {
  @inline(never)
  package init(dictionaryLiteral members: (String, Document)...) {
    self = .object(members.map { Member(key: $0, value: $1) })
  }
}

// MARK: - Canonical JSON

// The JSON of equal documents has equal bytes, as RFC 8785 requires: no white space, keys sorted by UTF-16 code units,
// and one spelling for each number and string.

extension Document {
  package var json: [UInt8] {
    var bytes: [UInt8] = []
    write(to: &bytes)
    return bytes
  }

  private func write(to bytes: inout [UInt8]) {
    switch self {
    case .null: bytes += "null".utf8
    case .bool(let bool): bytes += (bool ? "true" : "false").utf8
    case .integer(let integer): bytes += String(integer).utf8
    case .number(let number): bytes += number.canonicalJSON.utf8
    case .text(let text): Document.write(text, to: &bytes)
    case .list(let values):
      bytes.append(UInt8(ascii: "["))
      for (index, value) in values.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        value.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "]"))
    case .object(let members):
      bytes.append(UInt8(ascii: "{"))
      let sorted = members.ordered { $0.key.utf16.lexicographicallyPrecedes($1.key.utf16) }
      for (index, member) in sorted.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        Document.write(member.key, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        member.value.write(to: &bytes)
      }
      bytes.append(UInt8(ascii: "}"))
    }
  }

  private static let hexDigits = Array("0123456789abcdef".utf8)

  private static func write(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
      case 0x08: bytes += "\\b".utf8
      case 0x09: bytes += "\\t".utf8
      case 0x0A: bytes += "\\n".utf8
      case 0x0C: bytes += "\\f".utf8
      case 0x0D: bytes += "\\r".utf8
      case 0..<0x20: bytes += "\\u00".utf8 + [hexDigits[Int(byte >> 4)], hexDigits[Int(byte & 15)]]
      default: bytes.append(byte)
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }
}

extension Double {
  /// A finite number in ECMAScript's spelling, which RFC 8785 requires: `1`, `0.1`, `1e+21`.
  var canonicalJSON: String {
    guard self != 0 else { return "0" }
    // Take the digits from Swift's description. It has the same digits, the fewest that identify the number, in another
    // format.
    var digits = description.utf8.filter { $0 != UInt8(ascii: "-") }[...]
    var exponent = 0
    if let mark = digits.firstIndex(of: UInt8(ascii: "e")) {
      let isNegative = description.contains("e-")
      exponent = Int(String(decoding: digits[(mark + 1)...].filter { $0 != UInt8(ascii: "+") }, as: UTF8.self)) ?? 0
      if isNegative { exponent = -exponent }
      digits = digits[..<mark]
    }
    let point = digits.firstIndex(of: UInt8(ascii: ".")) ?? digits.endIndex
    // The number is 0.DIGITS × 10^scale.
    var scale = digits.distance(from: digits.startIndex, to: point) + exponent
    var all = Array(digits.filter { $0 != UInt8(ascii: ".") })
    let zeros = all.prefix { $0 == UInt8(ascii: "0") }.count
    all.removeFirst(zeros)
    scale -= zeros
    while all.last == UInt8(ascii: "0") { all.removeLast() }
    let text = String(decoding: all, as: UTF8.self)
    let sign = self < 0 ? "-" : ""
    switch scale {
    case all.count...21: return sign + text + String(repeating: "0", count: scale - all.count)
    case 1...21: return sign + text.prefix(scale) + "." + text.dropFirst(scale)
    case -5...0: return sign + "0." + String(repeating: "0", count: -scale) + text
    default:
      let fraction = all.count > 1 ? "." + text.dropFirst() : ""
      return sign + text.prefix(1) + fraction + "e" + (scale > 0 ? "+" : "-") + String(abs(scale - 1))
    }
  }
}

// MARK: - Other coders

extension Document: Codable {
  // Coding is recursive, so these functions have few temporaries, to save stack space.
  package func encode(to encoder: any Encoder) throws {
    switch self {
    case .object(let members): try Document.encode(members, to: encoder)
    case .list(let values): try Document.encode(values, to: encoder)
    case .null, .bool, .integer, .number, .text: try encodeLeaf(to: encoder)
    }
  }

  private static func encode(_ members: [Member], to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: AnyKey.self)
    for member in members { try container.encode(member.value, forKey: AnyKey(stringValue: member.key)) }
  }

  private static func encode(_ values: [Document], to encoder: any Encoder) throws {
    var container = encoder.unkeyedContainer()
    for value in values { try container.encode(value) }
  }

  private func encodeLeaf(to encoder: any Encoder) throws {
    switch self {
    case .object, .list: break
    case .null: try encoder.encodeSingle { try $0.encodeNil() }
    case .bool(let bool): try encoder.encodeSingle { try $0.encode(bool) }
    case .integer(let integer): try encoder.encodeSingle { try $0.encode(integer) }
    case .number(let number): try encoder.encodeSingle { try $0.encode(number) }
    case .text(let text): try encoder.encodeSingle { try $0.encode(text) }
    }
  }

  package init(from decoder: any Decoder) throws {
    // The decoder builds a tree from its leaves. Only the coding path shows early enough that the tree is too deep.
    guard decoder.codingPath.count < JSONReader.maximumDepth * 2 else { throw Document.tooDeep }
    if let container = try? decoder.container(keyedBy: AnyKey.self) {
      self = .object(try Document.members(of: container))
    } else if let container = try? decoder.unkeyedContainer() {
      self = .list(try Document.values(of: container))
    } else {
      self = try Document(single: decoder.singleValueContainer())
    }
  }

  private static func members(of container: KeyedDecodingContainer<AnyKey>) throws -> [Member] {
    var members: [Member] = []
    for key in container.allKeys {
      members.append(Member(key: key.stringValue, value: try container.decode(Document.self, forKey: key)))
    }
    return members
  }

  private static func values(of container: any UnkeyedDecodingContainer) throws -> [Document] {
    var (container, values): (any UnkeyedDecodingContainer, [Document]) = (container, [])
    while !container.isAtEnd { values.append(try container.decode(Document.self)) }
    return values
  }

  private init(single container: any SingleValueDecodingContainer) throws {
    if container.decodeNil() {
      self = .null
    } else if let text = try? container.decode(String.self) {
      self = .text(text)
    } else if let bool = try? container.decode(Bool.self) {
      self = .bool(bool)
    } else if let integer = try? container.decode(Int64.self) {
      self = .integer(integer)
    } else {
      self = .number(try container.decode(Double.self))
    }
  }

  static var tooDeep: SqlError { .invalidStatement("the document is nested more than \(JSONReader.maximumDepth) deep") }
}

extension Encoder {
  fileprivate func encodeSingle(_ body: (inout any SingleValueEncodingContainer) throws -> Void) rethrows {
    var container = singleValueContainer()
    try body(&container)
  }
}
