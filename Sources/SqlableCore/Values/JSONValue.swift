import FoundationEssentials

/// A `Codable` type stored as JSON text, or as a BLOB of that text in a `.blob` column.
///
/// ```swift
/// struct Pet: Codable, SqlJSON { var name: String; var age: Int }     // {"age":3,"name":"Rex"}
/// ```
///
/// Keys are sorted, so equal values have equal text. The exceptions are nested `Set`s, and nested dictionaries whose
/// keys are not strings, integers or `CodingKeyRepresentable`. Equal values that contain such a collection can have
/// different texts. A filter then misses rows, and `Unique` does not reject a duplicate. Store such a collection in a
/// separate column, or as a sorted array.
///
/// Reading throws `.decoding` for text that can't be decoded, and for a duplicate key in an object.
///
/// Dates, keys and data are encoded as Foundation does by default: a `Date` is a number of seconds since 2001. For the
/// JSON of another program, configure both of Foundation's coders:
///
/// ```swift
/// extension Visit: SqlJSON {
///   static func configure(_ encoder: JSONEncoder) { encoder.dateEncodingStrategy = .millisecondsSince1970 }
///   static func configure(_ decoder: JSONDecoder) { decoder.dateDecodingStrategy = .millisecondsSince1970 }
/// }
/// ```
///
/// The configuration of a type also applies to optionals, arrays and sets of the type, and to dictionaries with such
/// values. The configuration applies to all values inside the JSON, even to values of a type with another
/// configuration.
public protocol SqlJSON: SqlValue, Codable {
  /// Configures the encoder that writes and binds values of the type. By default the encoder is not changed.
  ///
  /// The library always sorts the keys. The encoder is new for each value, so any thread can call this function.
  static func configure(_ encoder: JSONEncoder)

  /// Configures the decoder that reads values of the type. By default the decoder is not changed.
  static func configure(_ decoder: JSONDecoder)
}

extension SqlJSON {
  public static func configure(_ encoder: JSONEncoder) {}

  public static func configure(_ decoder: JSONDecoder) {}

  public static var columnType: ColumnType { .text }

  public var databaseValue: DatabaseValue {
    get throws { try JSONText.encode(self) }
  }

  public func databaseValue(in type: ColumnType) throws -> DatabaseValue {
    JSONText.storage(try JSONText.text(of: self), in: type)
  }

  public static func read(from cell: ReadCell) throws -> Self { try Self(databaseValue: JSONText.read(cell)) }

  public init(databaseValue: DatabaseValue) throws {
    self = try JSONText.decode(Self.self, from: databaseValue)
  }
}

/// Stored as a JSON array.
extension Array: SqlValue, SqlJSON where Element: SqlValue & Codable {}

/// Stored as a JSON array. The elements are sorted by their JSON, so equal sets have equal text.
extension Set: SqlValue, SqlJSON where Element: SqlValue & Codable {}

/// Stored as a JSON object if the keys are strings, integers or `CodingKeyRepresentable`, otherwise as an array of
/// alternating keys and values. Entries are sorted by key, so equal dictionaries have equal text.
///
/// Reading throws `.decoding` for text with two equal keys, such as `{"1": …, "01": …}` read as `[Int: String]`.
extension Dictionary: SqlValue, SqlJSON where Key: SqlValue & Codable, Value: SqlValue & Codable {
  public init(databaseValue: DatabaseValue) throws {
    self = try JSONText.decode(JSONEntries.self, from: databaseValue, as: Self.self).dictionary
  }
}

/// A type stored as a JSON array. SQL text can also expand such a value into a list of its elements.
protocol JSONList {}
extension Array: JSONList {}
extension Set: JSONList {}
extension Optional: JSONList where Wrapped: JSONList {}

package enum JSONText {
  static func encode(_ value: some Encodable) throws -> DatabaseValue { .text(try text(of: value)) }

  static func storage(_ text: String, in type: ColumnType) -> DatabaseValue {
    type.storageClass == .blob ? .blob(Data(text.utf8)) : .text(text)
  }

  static func read(_ cell: ReadCell) throws -> DatabaseValue {
    let storage = try cell.databaseValue()
    guard cell.type.storageClass == .blob, case .blob(let data) = storage else { return storage }
    guard let text = String(validating: data, as: UTF8.self) else {
      throw SqlError.decoding(expected: "JSON", found: "a BLOB that is not valid UTF-8")
    }
    return .text(text)
  }

  /// Returns the type whose configuration applies to the JSON of a type: for a collection or an optional, the type of
  /// its elements.
  private static func configuration(of type: Any.Type) -> (any SqlJSON.Type)? {
    if let collection = type as? any JSONCollection.Type { return configuration(of: collection.element) }
    return type as? any SqlJSON.Type
  }

  package static func text<Value: Encodable>(of value: Value) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if let type = configuration(of: Value.self) {
      type.configure(encoder)
      // Without sorted keys, equal values could have different texts, which filters do not find.
      encoder.outputFormatting.insert(.sortedKeys)
    }
    do {
      return String(decoding: try encoder.json(of: value), as: UTF8.self)
    } catch is EncodingError {
      // The original error is not thrown, because its description can contain the value.
      throw SqlError.encoding(
        expected: "a value that JSON can represent", found: "a value that JSONEncoder can't encode")
    }
  }

  package static func decode<Value: Decodable>(
    _ type: Value.Type, from storage: DatabaseValue, as name: Any.Type = Value.self
  ) throws -> Value {
    let text = try String(databaseValue: storage)
    let decoder = JSONDecoder()
    configuration(of: name)?.configure(decoder)
    do {
      let value = try decoder.decode(type, from: Data(text.utf8))
      var copy = text
      guard !copy.withUTF8(JSONKeys.hasDuplicates) else {
        throw SqlError.decoding(
          expected: "the JSON of \(name)", found: "TEXT with a duplicate key in an object")
      }
      return value
    } catch let error as DecodingError {
      throw SqlError.decoding(expected: "the JSON of \(name)", found: "TEXT that \(reason(for: error, text))")
    }
  }

  /// Describes the mismatch without the value.
  private static func reason(for error: DecodingError, _ text: String) -> String {
    func key(_ context: DecodingError.Context) -> String {
      context.codingPath.reversed().lazy.compactMap(declaredName).first.map { ", at key \($0)" } ?? ""
    }
    return switch error {
    case .keyNotFound(let missing, _): "lacks " + (declaredName(of: missing).map { "the key \($0)" } ?? "a key")
    case .valueNotFound(let type, let context): "holds null where \(type) is expected\(key(context))"
    case .typeMismatch(let type, let context): "holds another type where \(type) is expected\(key(context))"
    case .dataCorrupted where (try? JSON(text: text)) == nil: "is not valid JSON"
    case .dataCorrupted(let context): "holds a value that its type refuses\(key(context))"
    @unknown default: "does not decode"
    }
  }

  /// Returns the name of a key that is an enum's case; nil for other keys, because a dictionary's keys are data.
  private static func declaredName(of key: any CodingKey) -> String? {
    let mirror = Mirror(reflecting: key)
    return mirror.displayStyle == .enum && mirror.children.isEmpty ? key.stringValue : nil
  }
}

extension Array: SelectOutput where Element: SqlValue & Codable {}
extension Set: SelectOutput where Element: SqlValue & Codable {}
extension Dictionary: SelectOutput where Key: SqlValue & Codable, Value: SqlValue & Codable {}
