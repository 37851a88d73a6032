import FoundationEssentials

/// A decoder that reads a model from the columns of a row.
struct RowDecoder: Decoder {
  let row: ReadRow
  /// Never freed.
  unowned(unsafe) let columns: KeyedColumns

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(RowKeys(row: row, map: columns.map(of: type)))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw row.labelled(columns.refused("decodes an unkeyed container; a row needs a keyed container"))
  }

  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    throw row.labelled(columns.refused("decodes a single-value container; a row needs a keyed container"))
  }
}

/// The keyed container that decodes a model's keys from the columns of a row.
private struct RowKeys<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let row: ReadRow
  /// Never freed.
  let map: UnsafePointer<KeyMap>

  var codingPath: [any CodingKey] { [] }

  private var table: TableInfo { map.pointee.columns.table }

  var allKeys: [Key] {
    table.columns.indices.compactMap { position in
      let name = table.columns[position].name
      return [name, camelCase(name)].lazy.compactMap(Key.init(stringValue:)).first { key in
        (try? map.pointee.position(of: key)) == position
      }
    }
  }

  func contains(_ key: Key) -> Bool { ((try? map.pointee.position(of: key)) ?? KeyMap.none) >= 0 }

  @inline(__always)
  private func column(of key: Key) throws -> Int {
    let column = try map.pointee.position(of: key)
    guard column >= 0 else { throw missing(key) }
    return column
  }

  private func missing(_ key: Key) -> any Error { row.labelled(map.pointee.columns.missing(key)) }

  func decodeNil(forKey key: Key) throws -> Bool { try row.isNull(column: column(of: key), of: table) }

  /// Returns the value of a key's column. Tries the table's position first: rows usually have the table's layout.
  @inline(__always)
  private func stored<Value: SqlValue>(_ key: Key) throws -> Value {
    let (state, column) = (row.state, map.pointee.knownPosition(of: key))
    guard column >= 0, state.pointee.isCurrent(row.generation) else { return try searched(key) }
    let position = state.pointee.window.lowerBound &+ column
    guard position < state.pointee.window.upperBound,
      state.pointee.columns[position] == map.pointee.identities[column]
    else { return try searched(key) }
    do {
      return try Value.read(
        from: ReadCell(
          value: state.pointee.value(at: position), state: state, generation: row.generation,
          type: map.pointee.cells[column].type))
    } catch {
      throw located(error, column, position)
    }
  }

  @inline(never)
  private func searched<Value: SqlValue>(_ key: Key) throws -> Value {
    try row.get(column: column(of: key), of: table)
  }

  @inline(never)
  private func located(_ error: any Error, _ column: Int, _ position: Int) -> any Error {
    row.located(error, column: table.columns[column].definition, position: position)
  }

  @inline(__always)
  func decode<Value: SqlValue & Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try stored(key) }

  @inline(__always)
  private func optional<Value: SqlValue>(_ key: Key) throws -> Value? {
    try map.pointee.position(of: key) >= 0 ? try stored(key) : nil
  }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    // A fast path for dates: `Date` is the most frequent type without its own method in the protocol.
    if type == Date.self, try map.pointee.position(of: key) >= 0 {
      return unsafeBitCast(try stored(key) as Date, to: type)
    }
    let column = try map.pointee.position(of: key)
    let form = try map.pointee.form(of: type, under: key)
    if column >= 0 {
      if let stored = form.value { return try row.get(stored, as: type, column: column, of: table) }
      return try cell(column, key).decode(type)
    }
    guard let columns = form.embedded else { throw missing(key) }
    return try row.get(columns.type, as: type, columns)
  }

  private func cell(_ column: Int, _ key: Key) throws -> CodedCell {
    CodedCell(
      row: row, position: try row.position(ofColumn: column, in: table), type: table.cells[column].type,
      definition: table.columns[column].definition, key: key)
  }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    let column = try map.pointee.position(of: key)
    if column >= 0 { return try row.isNull(column: column, of: table) ? nil : try decode(type, forKey: key) }
    guard let columns = try map.pointee.form(of: type, under: key).embedded else { return nil }
    return try row.areNull(columns.columns) ? nil : try row.get(columns.type, as: type, columns)
  }

  // One method for each type, because the protocol's default implementations call three methods for each value.
  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? { try optional(key) }
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? { try optional(key) }
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? { try optional(key) }
  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try optional(key) }
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? { try optional(key) }
  func decodeIfPresent(_ type: Int8.Type, forKey key: Key) throws -> Int8? { try optional(key) }
  func decodeIfPresent(_ type: Int16.Type, forKey key: Key) throws -> Int16? { try optional(key) }
  func decodeIfPresent(_ type: Int32.Type, forKey key: Key) throws -> Int32? { try optional(key) }
  func decodeIfPresent(_ type: Int64.Type, forKey key: Key) throws -> Int64? { try optional(key) }
  func decodeIfPresent(_ type: UInt.Type, forKey key: Key) throws -> UInt? { try optional(key) }
  func decodeIfPresent(_ type: UInt8.Type, forKey key: Key) throws -> UInt8? { try optional(key) }
  func decodeIfPresent(_ type: UInt16.Type, forKey key: Key) throws -> UInt16? { try optional(key) }
  func decodeIfPresent(_ type: UInt32.Type, forKey key: Key) throws -> UInt32? { try optional(key) }
  func decodeIfPresent(_ type: UInt64.Type, forKey key: Key) throws -> UInt64? { try optional(key) }

  // MARK: Unsupported containers

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { throw nested(key) }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { throw nested(key) }

  private func nested(_ key: Key) -> any Error {
    row.labelled(
      map.pointee.columns.refused("decodes a nested container; use a property of a Codable type", key: key))
  }

  func superDecoder() throws -> any Decoder { throw superclass }

  func superDecoder(forKey key: Key) throws -> any Decoder { throw superclass }

  private var superclass: any Error {
    row.labelled(
      map.pointee.columns.refused(
        "calls superDecoder(), which a row does not have; use super.init(from: decoder)"))
  }
}

extension ReadRow {
  /// Returns the position in the row of a column of the current model's table.
  @inline(__always)
  func position(ofColumn index: Int, in table: TableInfo) throws -> Int {
    if state.pointee.isCurrent(generation) {
      let position = state.pointee.window.lowerBound &+ index
      if position < state.pointee.window.upperBound, state.pointee.columns[position] == table.identities[index] {
        return position
      }
    }
    return try search(for: table.columns[index])
  }

  @inline(__always)
  func get<Value: SqlValue>(column index: Int, of table: TableInfo, as type: Value.Type = Value.self) throws -> Value {
    let position = try position(ofColumn: index, in: table)
    do {
      return try Value.read(
        from: ReadCell(
          value: state.pointee.value(at: position), state: state, generation: generation,
          type: table.cells[index].type))
    } catch {
      throw located(error, column: table.columns[index].definition, position: position)
    }
  }

  /// Returns the value of a column. The caller has checked that `Result` is `Value`, which is a `SqlValue`.
  func get<Value: SqlValue, Result>(
    _ type: Value.Type, as result: Result.Type, column index: Int, of table: TableInfo
  ) throws -> Result {
    // Sound: the caller obtained `type` by a cast of `result`.
    unsafeBitCast(try get(column: index, of: table, as: type), to: result)
  }

  /// Returns an embedded struct. `Part` and `Result` are the same type.
  fileprivate func get<Part: SqlEmbedded, Result>(
    _ type: Part.Type, as result: Result.Type, _ columns: EmbeddedColumns
  ) throws -> Result {
    unsafeBitCast(try embedded(type, fields: columns.fields, columns: columns.columns), to: result)
  }

  func isNull(column index: Int, of table: TableInfo) throws -> Bool {
    isNull(at: try position(ofColumn: index, in: table))
  }
}

/// Converts `owner_id` to `ownerId`.
func camelCase(_ name: String) -> String {
  let words = name.split(separator: "_")
  return words.dropFirst().reduce(String(words.first ?? "")) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
}
