/// A column of a row, from which a value of a `Codable` type is decoded: from the single value that its `init(from:)`
/// asks for, or else from JSON.
struct CodedCell {
  let row: ReadRow
  let table: TableInfo
  /// Its position in the layout.
  let column: Int
  let key: any CodingKey

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let decoder = CellDecoder(cell: self, type: type)
    let value = Result { try Value(from: decoder) }
    if decoder.isStructured { return try decodeJSON(type) }
    do { return try value.get() } catch is DecodingError {
      // Its description may quote the value.
      let isRaw = type is any RawRepresentable.Type
      throw try located(
        SqlError.decoding(
          expected: isRaw ? "a raw value of \(type)" : "\(type)",
          found: isRaw ? "an unknown raw value" : "a value that its init(from:) refuses"))
    }
  }

  private func decodeJSON<Value: Decodable>(_ type: Value.Type) throws -> Value {
    let position = try row.position(ofColumn: column, in: table)
    do { return try JSONText.decode(type, from: row.databaseValue(at: position)) } catch { throw try located(error) }
  }

  private func located(_ error: any Error) throws -> any Error {
    let position = try row.position(ofColumn: column, in: table)
    return row.located(error, column: table.columns[column].definition, position: position)
  }
}

/// Thrown into the code of a `Codable` type that asks for keys or a list, which only JSON has.
struct StructuredValue: Error {}

/// Decodes a value from one column.
private final class CellDecoder: Decoder, SingleValueDecodingContainer {
  let cell: CodedCell
  let type: Any.Type
  /// Whether it was asked for more than a single value.
  private(set) var isStructured = false

  init(cell: CodedCell, type: Any.Type) { (self.cell, self.type) = (cell, type) }

  var codingPath: [any CodingKey] { [cell.key] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> { throw structured() }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw structured() }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

  private func structured() -> StructuredValue {
    isStructured = true
    return StructuredValue()
  }

  func decodeNil() -> Bool { (try? cell.row.isNull(column: cell.column, of: cell.table)) ?? false }

  func decode<Value: SqlValue & Decodable>(_ type: Value.Type) throws -> Value {
    try cell.row.get(column: cell.column, of: cell.table)
  }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    // A type that consists of itself is one that only a decoder knows how to decode.
    guard type != self.type else { throw structured() }
    guard let stored = type as? any SqlValue.Type else { return try cell.decode(type) }
    return try cell.row.get(stored, as: type, column: cell.column, of: cell.table)
  }
}
