import FoundationEssentials

/// A `Codable` type stored as JSON text.
///
/// ```swift
/// struct Pet: Codable, SqlJSON { var name: String; var age: Int }     // {"age":3,"name":"Rex"}
/// ```
///
/// Keys are sorted, so equal values have equal text, with one exception: a `Set` inside has no order, nor has a
/// dictionary whose keys are neither strings nor integers. Equal values may then have different texts, which a filter
/// does not find and `Unique` does not refuse. Store it in a column of its own, or as a sorted array.
///
/// Text that does not decode, or with a duplicate key in an object, throws `.decoding`.
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
extension Array: SqlValue where Element: SqlValue & Codable {
  public static var columnType: ColumnType { .text }

  public var databaseValue: DatabaseValue {
    get throws { try JSONText.encode(self) }
  }

  public init(databaseValue: DatabaseValue) throws {
    self = try JSONText.decode(Self.self, from: databaseValue)
  }
}

/// Stored as a JSON array. The elements are sorted by their JSON, so equal sets have equal text.
extension Set: SqlValue where Element: SqlValue & Codable {
  public static var columnType: ColumnType { .text }

  public var databaseValue: DatabaseValue {
    get throws { try JSONText.encode(self) }
  }

  public init(databaseValue: DatabaseValue) throws {
    self = try JSONText.decode(Self.self, from: databaseValue)
  }
}

/// Stored as a JSON object if the keys are strings or integers, otherwise as an array of alternating keys and values.
/// The entries are sorted by the JSON of their keys, so equal dictionaries have equal text.
///
/// Text with two entries for one key throws `.decoding`: `{"1": …, "01": …}` read as `[Int: String]`.
extension Dictionary: SqlValue where Key: SqlValue & Codable, Value: SqlValue & Codable {
  public static var columnType: ColumnType { .text }

  public var databaseValue: DatabaseValue {
    get throws { try JSONText.encode(self) }
  }

  public init(databaseValue: DatabaseValue) throws {
    self = try JSONText.decode(JSONEntries.self, from: databaseValue, as: Self.self).dictionary
  }
}

/// A type stored as a JSON array. In SQL text it may instead stand for a list of its elements.
protocol JSONList {}
extension Array: JSONList {}
extension Set: JSONList {}
extension Optional: JSONList where Wrapped: JSONList {}

enum JSONText {
  static func encode(_ value: some Encodable) throws -> DatabaseValue { .text(try text(of: value)) }

  static func text(of value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    do {
      return String(decoding: try encoder.json(of: value), as: UTF8.self)
    } catch is EncodingError {
      // The original error's description may quote the value.
      throw SqlError.encoding(expected: "a value that JSON can represent", found: "another value")
    }
  }

  static func decode<Value: Decodable>(
    _ type: Value.Type, from storage: DatabaseValue, as name: Any.Type = Value.self
  ) throws -> Value {
    let text = try String(databaseValue: storage)
    do {
      let value = try JSONDecoder().decode(type, from: Data(text.utf8))
      var copy = text
      guard !copy.withUTF8(JSONKeys.standTwice) else {
        throw SqlError.decoding(
          expected: "the JSON of \(name)", found: "TEXT with a duplicate key in an object")
      }
      return value
    } catch let error as DecodingError {
      throw SqlError.decoding(expected: "the JSON of \(name)", found: "TEXT that \(reason(for: error))")
    }
  }

  /// Describes the mismatch without the value and without its path: the keys of a dictionary are data too.
  private static func reason(for error: DecodingError) -> String {
    switch error {
    case .keyNotFound: "lacks a key"
    case .valueNotFound(let type, _): "holds null where \(type) is expected"
    case .typeMismatch(let type, _): "holds another type where \(type) is expected"
    case .dataCorrupted: "is not valid JSON"
    @unknown default: "does not decode"
    }
  }
}

extension Array: SelectOutput where Element: SqlValue & Codable {}
extension Set: SelectOutput where Element: SqlValue & Codable {}
extension Dictionary: SelectOutput where Key: SqlValue & Codable, Value: SqlValue & Codable {}
