/// A column of a row, from which a value of a `Codable` type is decoded. The source is the single value that the type's
/// `init(from:)` asks for, or else JSON.
struct CodedCell {
  let row: ReadRow
  /// The column's position in the row.
  let position: Int
  /// The type that determines how the column's values are stored; nil if no column is known.
  let type: ColumnType?
  /// The declaration of the column, for errors.
  var definition: ColumnDefinition?
  let key: (any CodingKey)?

  /// Decodes a value that is stored as JSON unless its `init(from:)` asks for a single value.
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let decoder = CellDecoder(cell: self, type: type)
    let value = Result { try Value(from: decoder) }
    if decoder.isStructured { return try decodeJSON(type) }
    do { return try value.get() } catch is DecodingError {
      // The error's description may quote the value.
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

  /// The container of a type that decodes itself as a single value.
  func container(of type: Any.Type) -> any SingleValueDecodingContainer { CellDecoder(cell: self, type: type) }
}

extension CodedCell {
  var isNull: Bool { row.isNull(at: position) }

  /// The value of a type that is stored as it is.
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

  /// The value of a type that has two names here: `Value` and `Result` are the same.
  func stored<Value: SqlValue, Result>(_ type: Value.Type, as result: Result.Type) throws -> Result {
    // Sound: `type` was made by a cast of `result`.
    unsafeBitCast(try stored(as: type), to: result)
  }

  /// The value of any type.
  func value<Value: Decodable>(as type: Value.Type) throws -> Value {
    guard let stored = type as? any SqlValue.Type else { return try decode(type) }
    return try self.stored(stored, as: type)
  }
}

/// Thrown into the code of a `Codable` type that asks for keys or a list, which only JSON has.
struct StructuredValue: Error {}

/// Decodes a value from one column.
private final class CellDecoder: Decoder, SingleValueDecodingContainer {
  let cell: CodedCell
  let type: Any.Type
  /// True if the type has asked for more than a single value.
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
    // A type that consists of itself is one that only a decoder knows how to decode.
    guard type != self.type else { throw structured() }
    return try cell.value(as: type)
  }
}
