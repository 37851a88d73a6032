import FoundationEssentials

/// A `Codable` type that is stored as JSON text.
///
/// ```swift
/// struct Pet: Codable, SqlJSON { var name: String; var age: Int }     // {"age":3,"name":"Rex"}
/// ```
///
/// Keys are sorted, so equal values have equal texts. Text that does not decode throws `.decoding`, and so does one
/// with a key that stands twice in an object.
public protocol SqlJSON: SqlValue, Codable {}

extension SqlJSON {
  public static var columnType: ColumnType { .text }

  public var databaseValue: DatabaseValue {
    get throws { try JSONText.encode(self) }
  }

  public init(databaseValue: DatabaseValue) throws {
    self = try JSONText.decode(Self.self, from: databaseValue)
  }
}

/// Stored as a JSON array.
extension Array: SqlValue where Element: Codable {
  public static var columnType: ColumnType { .text }

  public var databaseValue: DatabaseValue {
    get throws { try JSONText.encode(self) }
  }

  public init(databaseValue: DatabaseValue) throws {
    self = try JSONText.decode(Self.self, from: databaseValue)
  }
}

/// Stored as a JSON array, in no particular order.
extension Set: SqlValue where Element: Codable {
  public static var columnType: ColumnType { .text }

  public var databaseValue: DatabaseValue {
    get throws { try JSONText.encode(self) }
  }

  public init(databaseValue: DatabaseValue) throws {
    self = try JSONText.decode(Self.self, from: databaseValue)
  }
}

/// Stored as a JSON object when the keys are strings or integers, else as an array of keys and values in turn.
extension Dictionary: SqlValue where Key: Codable, Value: Codable {
  public static var columnType: ColumnType { .text }

  public var databaseValue: DatabaseValue {
    get throws { try JSONText.encode(self) }
  }

  public init(databaseValue: DatabaseValue) throws {
    self = try JSONText.decode(Self.self, from: databaseValue)
  }
}

/// What is stored as a JSON array: in SQL text it may mean its elements as well.
protocol JSONList {}
extension Array: JSONList {}
extension Set: JSONList {}
extension Optional: JSONList where Wrapped: JSONList {}

enum JSONText {
  static func encode(_ value: some Encodable) throws -> DatabaseValue {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return .text(String(decoding: try encoder.encode(value), as: UTF8.self))
    } catch is EncodingError {
      // The error's own description may quote the value.
      throw SqlError.encoding(expected: "a value that JSON can hold", found: "another value")
    }
  }

  static func decode<Value: Decodable>(_ type: Value.Type, from storage: DatabaseValue) throws -> Value {
    let text = try String(databaseValue: storage)
    do {
      let value = try JSONDecoder().decode(type, from: Data(text.utf8))
      var copy = text
      guard !copy.withUTF8(JSONKeys.standTwice) else {
        throw SqlError.decoding(
          expected: "the JSON of \(Value.self)", found: "TEXT with a key that stands twice in an object")
      }
      return value
    } catch let error as DecodingError {
      throw SqlError.decoding(expected: "the JSON of \(Value.self)", found: "TEXT that \(reason(for: error))")
    }
  }

  /// Says what does not fit; never what stands there, nor the path to it, since the keys of a dictionary are data too.
  private static func reason(for error: DecodingError) -> String {
    switch error {
    case .keyNotFound: "lacks a key"
    case .valueNotFound(let type, _): "holds null in the place of \(type)"
    case .typeMismatch(let type, _): "holds no \(type) where one belongs"
    case .dataCorrupted: "is not valid"
    @unknown default: "does not decode"
    }
  }
}

extension Array: SelectOutput where Element: Codable {}
extension Set: SelectOutput where Element: Codable {}
extension Dictionary: SelectOutput where Key: Codable, Value: Codable {}
