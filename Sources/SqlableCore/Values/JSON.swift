/// A JSON value of unknown shape.
///
/// ```swift
/// let settings: JSON = ["theme": "dark", "sizes": [9, 12.5], "beta": nil]
/// settings["sizes"]?[0]?.integer          // 9
/// static let settings = column("settings", JSON.self)      // {"beta":null,"sizes":[9,12.5],"theme":"dark"}
/// ```
///
/// A JSON value is stored as TEXT, or as a BLOB of the same text in a `.blob` column. Keys are sorted and there is no
/// white space, so equal values have equal text. Exceptions are values whose keys or strings are equal in Swift but
/// have different bytes.
///
/// Integers keep all digits, and other numbers are `Double`s. `1.0` equals `1` and is written as `1`. In a column of
/// `JSON?`, NULL is nil, not ``JSON/null``.
///
/// Reading throws `.decoding` for text that is not JSON, contains a key twice in one object, or is nested more than 100
/// deep. Writing throws `.encoding` for NaN, infinity and values that are nested more than 100 deep.
public enum JSON: Sendable {
  case null
  case bool(Bool)
  case integer(Int64)
  /// A number with a fraction or an exponent, or a number beyond 64 bits.
  case number(Double)
  case string(String)
  case array([JSON])
  case object([String: JSON])
}

extension JSON {
  /// The value of a key; nil if there is no such key, or if this value is not an object. Setting a key turns `null`
  /// into an object, and has no effect on any other value that is not an object.
  public subscript(key: String) -> JSON? {
    get { object?[key] }
    set {
      guard var members = self == .null ? [:] : object else { return }
      members[key] = newValue
      self = .object(members)
    }
  }

  /// The element at a position from 0; nil if there is no such element, or if this value is not an array.
  public subscript(position: Int) -> JSON? {
    guard let array, array.indices.contains(position) else { return nil }
    return array[position]
  }

  public var isNull: Bool { self == .null }
  public var bool: Bool? { if case .bool(let bool) = self { bool } else { nil } }

  /// The integer; nil for a number with a fraction or a number beyond 64 bits.
  public var integer: Int64? {
    switch self {
    case .integer(let integer): integer
    case .number(let number): Int64(exactly: number)
    default: nil
    }
  }

  /// The number; an integer is converted if a `Double` represents the integer exactly.
  public var number: Double? {
    switch self {
    case .number(let number): number
    case .integer(let integer): Double(exactly: integer)
    default: nil
    }
  }

  public var string: String? { if case .string(let string) = self { string } else { nil } }
  public var array: [JSON]? { if case .array(let array) = self { array } else { nil } }
  public var object: [String: JSON]? { if case .object(let object) = self { object } else { nil } }
}

extension JSON: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
  public init(nilLiteral: ()) { self = .null }
  public init(booleanLiteral value: Bool) { self = .bool(value) }
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .number(value) }
  public init(stringLiteral value: String) { self = .string(value) }
  public init(arrayLiteral elements: JSON...) { self = .array(elements) }

  /// Creates a value from a literal: `JSON(["x": 1])`.
  public init(_ literal: JSON) { self = literal }

  /// Creates an object. If a key occurs twice, the last value is used.
  public init(dictionaryLiteral elements: (String, JSON)...) {
    self = .object(Dictionary(elements) { $1 })
  }
}

extension JSON: Hashable {
  public static func == (left: JSON, right: JSON) -> Bool {
    switch (left, right) {
    case (.null, .null): true
    case (.bool(let left), .bool(let right)): left == right
    case (.integer(let left), .integer(let right)): left == right
    case (.number(let left), .number(let right)): left == right
    case (.integer(let integer), .number(let number)), (.number(let number), .integer(let integer)):
      Int64(exactly: number) == integer
    case (.string(let left), .string(let right)): left == right
    case (.array(let left), .array(let right)): left == right
    case (.object(let left), .object(let right)): left == right
    default: false
    }
  }

  public func hash(into hasher: inout Hasher) {
    switch self {
    case .null: hasher.combine(0)
    case .bool(let bool): hasher.combine(bool)
    case .integer, .number:
      if let integer { hasher.combine(integer) } else { hasher.combine(number) }
    case .string(let string): hasher.combine(string)
    case .array(let array): hasher.combine(array)
    case .object(let object): hasher.combine(object)
    }
  }
}

// MARK: - Text

extension JSON: SqlValue {
  public static var columnType: ColumnType { .text }

  public var databaseValue: DatabaseValue {
    get throws { .text(try text) }
  }

  public func databaseValue(in type: ColumnType) throws -> DatabaseValue {
    JSONText.storage(try text, in: type)
  }

  public init(databaseValue: DatabaseValue) throws { try self.init(text: String(databaseValue: databaseValue)) }

  public static func read(from cell: ReadCell) throws -> JSON { try JSON(databaseValue: JSONText.read(cell)) }

  /// The value as JSON with sorted keys. Throws `.encoding` for values that JSON can't represent.
  public var text: String {
    get throws {
      let document = try Document(self, depth: 0)
      return String(decoding: document.json, as: UTF8.self)
    }
  }

  /// Parses JSON, strictly by RFC 8259. Throws `.decoding`.
  public init(text: String) throws {
    let document: Document
    var copy = text
    do { document = try copy.withUTF8 { try JSONReader.read(UnsafeRawBufferPointer($0)) } } catch {
      let reason = (error as? SqlError).map { ": \($0.message)" } ?? ""
      throw SqlError.decoding(expected: "JSON", found: "TEXT that is not valid JSON, or nested too deeply\(reason)")
    }
    self = try JSON(document, depth: 0)
  }

  /// The maximum nesting depth. At this depth, comparing and encoding fit into half a megabyte of stack in a debug
  /// build.
  fileprivate static let maximumDepth = 100
}

extension JSON: Codable {
  public init(from decoder: any Decoder) throws {
    guard decoder.codingPath.count <= JSON.maximumDepth else {
      throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "nested too deeply"))
    }
    if let container = try? decoder.container(keyedBy: AnyKey.self) {
      self = .object(try JSON.members(of: container))
    } else if let container = try? decoder.unkeyedContainer() {
      self = .array(try JSON.elements(of: container))
    } else {
      self = try JSON(Document(from: decoder), depth: 0)
    }
  }

  private static func members(of container: KeyedDecodingContainer<AnyKey>) throws -> [String: JSON] {
    var object: [String: JSON] = [:]
    for key in container.allKeys { object[key.stringValue] = try container.decode(JSON.self, forKey: key) }
    return object
  }

  private static func elements(of container: any UnkeyedDecodingContainer) throws -> [JSON] {
    var (container, array): (any UnkeyedDecodingContainer, [JSON]) = (container, [])
    while !container.isAtEnd { array.append(try container.decode(JSON.self)) }
    return array
  }

  public func encode(to encoder: any Encoder) throws { try Document(self, depth: 0).encode(to: encoder) }

  // Loops and a function per case keep the stack frames small: the calls nest as deeply as the value.

  fileprivate init(_ document: Document, depth: Int) throws {
    switch document {
    case .null: self = .null
    case .bool(let bool): self = .bool(bool)
    case .integer(let integer): self = .integer(integer)
    case .number(let number): self = .number(number)
    case .text(let text): self = .string(text)
    case .list(let values): self = try JSON.array(values, depth: depth + 1)
    case .object(let members): self = try JSON.object(members, depth: depth + 1)
    }
  }

  private static func array(_ values: [Document], depth: Int) throws -> JSON {
    guard depth <= maximumDepth else {
      throw SqlError.decoding(expected: "JSON", found: "TEXT that is not valid JSON, or nested too deeply")
    }
    var array: [JSON] = []
    for value in values { array.append(try JSON(value, depth: depth)) }
    return .array(array)
  }

  private static func object(_ members: [Document.Member], depth: Int) throws -> JSON {
    guard depth <= maximumDepth else {
      throw SqlError.decoding(expected: "JSON", found: "TEXT that is not valid JSON, or nested too deeply")
    }
    var object: [String: JSON] = [:]
    for member in members {
      guard object.updateValue(try JSON(member.value, depth: depth), forKey: member.key) == nil else {
        throw SqlError.decoding(expected: "JSON", found: "TEXT with a duplicate key in an object")
      }
    }
    return .object(object)
  }
}

extension Document {
  fileprivate init(_ json: JSON, depth: Int) throws {
    switch json {
    case .null: self = .null
    case .bool(let bool): self = .bool(bool)
    case .integer(let integer): self = .integer(integer)
    case .number(let number): self = try Document.finite(number)
    case .string(let string): self = .text(string)
    case .array(let values): self = try Document.list(values, depth: depth + 1)
    case .object(let members): self = try Document.object(members, depth: depth + 1)
    }
  }

  private static func finite(_ number: Double) throws -> Document {
    guard number.isFinite else {
      throw SqlError.encoding(expected: "a value that JSON can represent", found: "a number that is not finite")
    }
    // Write 2.0 as the integer 2, because equal numbers must have equal text.
    return Int64(exactly: number).map(Document.integer) ?? .number(number)
  }

  private static func list(_ values: [JSON], depth: Int) throws -> Document {
    try check(depth)
    var list: [Document] = []
    for value in values { list.append(try Document(value, depth: depth)) }
    return .list(list)
  }

  private static func object(_ members: [String: JSON], depth: Int) throws -> Document {
    try check(depth)
    var object: [Member] = []
    for (key, value) in members { object.append(Member(key: key, value: try Document(value, depth: depth))) }
    return .object(object)
  }

  private static func check(_ depth: Int) throws {
    guard depth <= JSON.maximumDepth else {
      throw SqlError.encoding(expected: "a value that JSON can represent", found: "a value that is nested too deeply")
    }
  }
}
