import FoundationEssentials

/// A collection that can contain unordered sets or dictionaries. The method `json(_:)` encodes equal values as equal
/// text.
protocol JSONCollection {
  /// True if an encoder with sorted keys writes equal values as equal text.
  static var hasOrder: Bool { get }
  static var element: Any.Type { get }

  func json(_ encoder: JSONEncoder) throws -> Data
}

extension JSONEncoder {
  /// Returns the JSON of a value. The elements of a set and the entries of a dictionary are sorted.
  func json<Value: Encodable>(of value: Value) throws -> Data {
    if !JSONEncoder.hasOrder(Value.self), let collection = value as? any JSONCollection {
      return try collection.json(self)
    }
    return try encode(value)
  }

  /// True if the encoder writes equal values of a type as equal text, as far as known.
  fileprivate static func hasOrder(_ type: Any.Type) -> Bool { (type as? any JSONCollection.Type)?.hasOrder ?? true }
}

extension Array: JSONCollection where Element: Encodable {
  static var hasOrder: Bool { JSONEncoder.hasOrder(Element.self) }
  static var element: Any.Type { Element.self }

  func json(_ encoder: JSONEncoder) throws -> Data { Data("[", try map { try encoder.json(of: $0) }, "]") }
}

extension Set: JSONCollection where Element: Encodable {
  static var hasOrder: Bool { false }
  static var element: Any.Type { Element.self }

  func json(_ encoder: JSONEncoder) throws -> Data { Data("[", try map { try encoder.json(of: $0) }.sorted(), "]") }
}

extension Dictionary: JSONCollection where Key: Encodable, Value: Encodable {
  static var hasOrder: Bool { isObject && JSONEncoder.hasOrder(Value.self) }
  static var element: Any.Type { Value.self }

  fileprivate static var isObject: Bool { Key.self is any CodingKeyRepresentable.Type }

  func json(_ encoder: JSONEncoder) throws -> Data {
    let entries = try map { key, value in
      let value = try encoder.json(of: value)
      guard let key = key as? any CodingKeyRepresentable else { return try encoder.json(of: key) + "," + value }
      return try encoder.encode(key.codingKey.stringValue) + ":" + value
    }
    return Self.isObject ? Data("{", entries.sorted(), "}") : Data("[", entries.sorted(), "]")
  }
}

extension Optional: JSONCollection where Wrapped: Encodable {
  static var hasOrder: Bool { JSONEncoder.hasOrder(Wrapped.self) }
  static var element: Any.Type { Wrapped.self }

  func json(_ encoder: JSONEncoder) throws -> Data { try map { try encoder.json(of: $0) } ?? encoder.encode(self) }
}

/// An optional, which is stored like its wrapped value.
private protocol Wrapping {
  static var wrapped: Any.Type { get }
}

extension Optional: Wrapping {
  static var wrapped: Any.Type { Wrapped.self }
}

/// True if the values of a type, or of its wrapped type, are stored as JSON.
package func isStoredAsJSON(_ type: Any.Type) -> Bool {
  if let optional = type as? any Wrapping.Type { return isStoredAsJSON(optional.wrapped) }
  return type is any SqlJSON.Type || type is any JSONCollection.Type
}

extension Data {
  @inline(never)
  fileprivate init(_ begin: String, _ parts: [Data], _ end: String) {
    self = Data(begin.utf8) + Data(parts.joined(separator: ",".utf8)) + Data(end.utf8)
  }

  fileprivate static func + (left: Data, right: String) -> Data { left + Data(right.utf8) }
}

extension [Data] {
  fileprivate func sorted() -> [Data] { sorted { $0.lexicographicallyPrecedes($1) } }
}

/// A dictionary from JSON, checked for equal keys such as "1" and "01". For equal keys, a decoder silently keeps one
/// value.
struct JSONEntries<Key: Hashable & Decodable, Value: Decodable>: Decodable {
  let dictionary: [Key: Value]

  init(from decoder: any Decoder) throws {
    dictionary = try Dictionary(from: decoder)
    let count =
      Key.self is any CodingKeyRepresentable.Type
      ? try decoder.container(keyedBy: AnyKey.self).allKeys.count : try (decoder.unkeyedContainer().count ?? 0) / 2
    guard count == dictionary.count else {
      throw SqlError.decoding(
        expected: "the JSON of \([Key: Value].self)", found: "TEXT with a duplicate key")
    }
  }
}
