import SqlableCore

/// A column with a value of a `Codable` type: a single value if `init(from:)` requests one, otherwise JSON.
struct CodedCell {
  let row: ReadRow
  let position: Int
  /// The column's type; nil if the result column does not come from a known column.
  let type: ColumnType?
  var definition: ColumnDefinition?
  let key: (any CodingKey)?

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let decoder = CellDecoder(cell: self, type: type)
    let value = Result { try Value(from: decoder) }
    if decoder.isStructured { return try decodeJSON(type) }
    do { return try value.get() } catch is DecodingError {
      // Throw another error in place of the DecodingError, whose description could contain the value.
      let isRaw = type is any RawRepresentable.Type
      throw located(
        SqlError.decoding(
          expected: isRaw ? "a raw value of \(type)" : "\(type)",
          found: isRaw ? "an unknown raw value" : "a value that init(from:) refuses"))
    }
  }

  private func decodeJSON<Value: Decodable>(_ type: Value.Type) throws -> Value {
    do { return try JSONText.decode(type, from: row.databaseValue(at: position)) } catch { throw located(error) }
  }

  private func located(_ error: any Error) -> any Error { row.located(error, column: definition, position: position) }

  func container(of type: Any.Type) -> any SingleValueDecodingContainer { CellDecoder(cell: self, type: type) }
}

extension CodedCell {
  var isNull: Bool { row.isNull(at: position) }

  func stored<Value: SqlValue>(as type: Value.Type = Value.self) throws -> Value {
    try row.checkCurrent()
    do {
      return try Value.read(
        from: ReadCell(
          value: row.state.pointee.value(at: position), state: row.state, generation: row.generation,
          type: self.type ?? Value.columnType))
    } catch {
      throw located(error)
    }
  }

  func stored<Value: SqlValue, Result>(_ type: Value.Type, as result: Result.Type) throws -> Result {
    // Sound: the caller obtained `type` by a cast of `result`.
    unsafeBitCast(try stored(as: type), to: result)
  }

  func value<Value: Decodable>(as type: Value.Type) throws -> Value {
    guard let stored = type as? any SqlValue.Type else { return try decode(type) }
    return try self.stored(stored, as: type)
  }
}

struct StructuredValue: Error {}

private final class CellDecoder: Decoder, SingleValueDecodingContainer {
  let cell: CodedCell
  let type: Any.Type
  private(set) var isStructured = false

  init(cell: CodedCell, type: Any.Type) { (self.cell, self.type) = (cell, type) }

  var codingPath: [any CodingKey] { cell.key.map { [$0] } ?? [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> { throw structured() }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw structured() }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

  private func structured() -> StructuredValue {
    isStructured = true
    return StructuredValue()
  }

  func decodeNil() -> Bool { cell.isNull }

  func decode<Value: SqlValue & Decodable>(_ type: Value.Type) throws -> Value { try cell.stored() }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    // An `init(from:)` that requests a single value of its own type would call itself without end. Decode such a value
    // from JSON.
    guard type != self.type else { throw structured() }
    return try cell.value(as: type)
  }
}

extension DecodingError {
  var path: [any CodingKey] {
    switch self {
    case .keyNotFound(_, let context), .valueNotFound(_, let context), .typeMismatch(_, let context),
      .dataCorrupted(let context):
      context.codingPath
    @unknown default: []
    }
  }
}

func camelCase(_ name: String) -> String {
  let words = name.split(separator: "_")
  return words.dropFirst().reduce(String(words.first ?? "")) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
}
