import FoundationEssentials
import SqlableCore

@usableFromInline
struct RowDecoder: Decoder {
  let row: ReadRow
  /// The object is never freed.
  unowned(unsafe) let columns: KeyedColumns

  @usableFromInline var codingPath: [any CodingKey] { [] }
  @usableFromInline var userInfo: [CodingUserInfoKey: Any] { [:] }

  @usableFromInline
  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    let map = columns.map(of: type)
    guard row.isDecoding(columns) else {
      return KeyedDecodingContainer(RowKeys(source: RowSource(state: row.state, stamp: row.generation, map: map)))
    }
    guard let reused = row.state.pointee.decoding.containers.container(keys: map) else { return addContainer(map) }
    // Sound: only `addContainer` adds containers, and a map has one key type.
    return reused._withUnsafeGuaranteedRef {
      unsafeDowncast($0, to: ReusedContainerOf<KeyedDecodingContainer<Key>>.self).copy()
    }
  }

  @inline(never)
  private func addContainer<Key: CodingKey>(_ map: UnsafePointer<KeyMap>) -> KeyedDecodingContainer<Key> {
    let stamp = row.state.pointee.decoding.current.load(ordering: .relaxed)
    let container = KeyedDecodingContainer<Key>(RowKeys(source: RowSource(state: row.state, stamp: stamp, map: map)))
    row.state.pointee.decoding.containers.add(container, keys: map)
    return container
  }

  @usableFromInline
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw row.labelled(columns.refused("decodes an unkeyed container; a row needs a keyed container"))
  }

  @usableFromInline
  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    throw row.labelled(columns.refused("decodes a single-value container; a row needs a keyed container"))
  }
}

extension ReadRow {
  /// True if this row is decoded as a model with these columns, so that containers can be reused.
  @inline(__always)
  fileprivate func isDecoding(_ columns: KeyedColumns) -> Bool {
    state.pointee.isCurrent(generation) && state.pointee.isDecoding
      && state.pointee.decoding.model == columns.address
  }
}

/// The columns of a row, by their positions in the model's table.
///
/// The struct contains no references, because `KeyedDecodingContainer` copies its container for each value.
private struct RowSource {
  let state: UnsafeMutablePointer<RowState>
  /// The stamp that shows whether the container can read. For a reused container, the value of `decoding.current` while
  /// a row is being decoded. For any other container, the generation of its only row.
  let stamp: UInt64
  /// The map is never freed.
  let map: UnsafePointer<KeyMap>

  var table: TableInfo { map.pointee.columns.table }

  /// True if the container is a reused one, and a row is being decoded.
  @inline(__always)
  private var isCurrent: Bool { state.pointee.decoding.current.load(ordering: .relaxed) == stamp }

  /// The row that is being decoded. If the container is stale, reading the row throws.
  var row: ReadRow { ReadRow(state: state, generation: isCurrent ? state.pointee.current : stamp) }

  /// Returns SQLite's value of the column at this position in the table; nil if the row's columns differ from the
  /// table's columns.
  @inline(__always)
  func predicted(_ column: Int) -> SqliteValue? {
    guard isCurrent, let values = state.pointee.decoding.values else { return nil }
    return SqliteValue(OpaquePointer(values + column &* state.pointee.valueStride))
  }

  func value<Value: SqlValue>(at column: Int) throws -> Value { try row.get(column: column, of: table) }

  @inline(__always)
  func isNull(at column: Int) throws -> Bool {
    try predicted(column)?.isNull ?? row.isNull(column: column, of: table)
  }

  @inline(__always)
  func date(at column: Int) throws -> Date {
    guard let value = predicted(column),
      let date = try? Date.read(
        from: ReadCell(
          value: value.pointer, state: state, generation: state.pointee.current, type: map.pointee.cells[column].type))
    else { return try self.value(at: column) }
    return date
  }
}

/// The keyed container that decodes a model's keys from the columns of a row.
///
/// The methods of the most frequent types read a value of the expected storage class directly. Calling the general
/// function instead would take more instructions than the whole method.
private struct RowKeys<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let source: RowSource

  var codingPath: [any CodingKey] { [] }

  private var map: UnsafePointer<KeyMap> { source.map }
  private var row: ReadRow { source.row }
  private var table: TableInfo { source.table }

  var allKeys: [Key] {
    table.columns.indices.compactMap { position in
      let name = table.columns[position].name
      return [name, camelCase(name)].lazy.compactMap(Key.init(stringValue:)).first { key in
        (try? map.pointee.position(of: key)) == position
      }
    }
  }

  func contains(_ key: Key) -> Bool { ((try? map.pointee.position(of: key)) ?? KeyMap.none) >= 0 }

  /// Returns the row's value for a coding key; nil if the key's column is still unknown, or if the row's columns differ
  /// from the table's columns.
  @inline(__always)
  private func predicted(_ key: Key) -> SqliteValue? {
    let column = source.map.pointee.knownPosition(of: key)
    return column >= 0 ? source.predicted(column) : nil
  }

  private func column(of key: Key) throws -> Int {
    guard let column = try optionalColumn(of: key) else { throw missing(key) }
    return column
  }

  private func missing(_ key: Key) -> any Error { row.labelled(map.pointee.columns.missing(key)) }

  @inline(__always)
  private func optionalColumn(of key: Key) throws -> Int? {
    let column = source.map.pointee.knownPosition(of: key)
    if column >= 0 { return column }
    let searched = try map.pointee.position(of: key)
    return searched >= 0 ? searched : nil
  }

  @inline(never)
  private func value<Value: SqlValue>(_ key: Key) throws -> Value { try source.value(at: column(of: key)) }

  @inline(never)
  private func optional<Value: SqlValue>(_ key: Key) throws -> Value? {
    guard let column = try optionalColumn(of: key), try !source.isNull(at: column) else { return nil }
    return try source.value(at: column)
  }

  func decodeNil(forKey key: Key) throws -> Bool { try source.isNull(at: column(of: key)) }

  @inline(__always)
  func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
    if let integer = predicted(key)?.integer { return Int(integer) }
    return try value(key)
  }

  @inline(__always)
  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    if let real = predicted(key)?.real { return real }
    return try value(key)
  }

  @inline(__always)
  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    if let integer = predicted(key)?.integer, integer & ~1 == 0 { return integer == 1 }
    return try value(key)
  }

  @inline(__always)
  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    if let text = predicted(key)?.validText { return text }
    return try value(key)
  }

  @inline(__always)
  func decode<Value: SqlValue & Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try value(key) }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    if let column = try optionalColumn(of: key) { return try decode(type, at: column, key) }
    guard let columns = try map.pointee.form(of: type, under: key).embedded else { throw missing(key) }
    return try row.get(columns.type, as: type, columns)
  }

  @inline(__always)
  private func decode<Value: Decodable>(_ type: Value.Type, at column: Int, _ key: Key) throws -> Value {
    // A fast path for `Date`, the most frequent of the types for which the protocol has no separate method.
    if type == Date.self { return unsafeBitCast(try source.date(at: column), to: type) }
    if let stored = try map.pointee.form(of: type, under: key).value {
      return try row.get(stored, as: type, column: column, of: table)
    }
    return try cell(column, key).decode(type)
  }

  private func cell(_ column: Int, _ key: Key) throws -> CodedCell {
    CodedCell(
      row: row, position: try row.position(ofColumn: column, in: table), type: table.cells[column].type,
      definition: table.columns[column].definition, key: key)
  }

  func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
    if let column = try optionalColumn(of: key) {
      return try source.isNull(at: column) ? nil : try decode(type, at: column, key)
    }
    guard let columns = try map.pointee.form(of: type, under: key).embedded else { return nil }
    return try row.areNull(columns.columns) ? nil : try row.get(columns.type, as: type, columns)
  }

  // One method for each type, because the protocol's default implementations call three methods for each value.

  @inline(__always)
  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    if let value = predicted(key) {
      if let integer = value.integer { return Int(integer) }
      if value.isNull { return nil }
    }
    return try optional(key)
  }

  @inline(__always)
  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    if let value = predicted(key) {
      if let real = value.real { return real }
      if value.isNull { return nil }
    }
    return try optional(key)
  }

  @inline(__always)
  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    if let value = predicted(key) {
      if let integer = value.integer, integer & ~1 == 0 { return integer == 1 }
      if value.isNull { return nil }
    }
    return try optional(key)
  }

  @inline(__always)
  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    if let value = predicted(key) {
      if let text = value.validText { return text }
      if value.isNull { return nil }
    }
    return try optional(key)
  }

  func decodeIfPresent(_ type: Float.Type, forKey key: Key) throws -> Float? { try optional(key) }
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
