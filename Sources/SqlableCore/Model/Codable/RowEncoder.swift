/// An encoder that writes a model to the columns of a row.
final class RowEncoder: Encoder {
  /// The row; nil unless the model's `write(to:)` is running.
  @exclusivity(unchecked) var row: UnsafeMutablePointer<RowWriter>?
  let columns: KeyedColumns

  init(_ columns: KeyedColumns) { self.columns = columns }

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(RowEncoderKeys(encoder: self, map: columns.map(of: type)))
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    refuse("encodes an unkeyed container; a row needs a keyed container")
  }

  func singleValueContainer() -> any SingleValueEncodingContainer {
    refuse("encodes a single-value container; a row needs a keyed container")
  }

  /// Records an error for the row, and returns an encoder that throws the same error.
  func refuse(_ problem: String, key: (any CodingKey)? = nil) -> RefusingEncoder {
    let error = columns.refused(problem, key: key)
    if let row { row.pointee.failure = row.pointee.failure ?? error }
    return RefusingEncoder(error: error)
  }

  /// Returns the row. Throws after `write(to:)` has returned.
  @inline(__always)
  func current() throws -> UnsafeMutablePointer<RowWriter> {
    guard let row else { throw expiredError() }
    return row
  }

  private func expiredError() -> SqlError {
    SqlError.misuse("a row encoder was used after encode(to:) returned").at(table: columns.table.name)
  }

  @inline(__always)
  func set<Value: SqlValue>(_ value: Value, at position: Int) throws {
    let row = try current()
    // SQLite computes generated columns. A struct can contain a generated column's value from an earlier read.
    if !row.pointee.isGenerated(position) { row.pointee.set(value, at: position) }
  }

  func setNull(at position: Int) throws { try current().pointee.setNull(at: position) }

  /// Sets a value. The caller has checked that `Value` is `Stored`, which is a `SqlValue`.
  func set<Stored: SqlValue, Value>(_ value: Value, as type: Stored.Type, at position: Int) throws {
    // Sound: the caller obtained `type` by a cast of `Value.self`.
    try set(unsafeBitCast(value, to: type), at: position)
  }

  /// Sets a value of a `Codable` type: a single value if the type encodes one, otherwise JSON.
  func encode<Value: Encodable>(_ value: Value, at position: Int, _ key: any CodingKey) throws {
    let encoder = CellEncoder(row: self, position: position, key: key, type: Value.self)
    let written = Result { try value.encode(to: encoder) }
    if !encoder.isStructured {
      do { try written.get() } catch is EncodingError {
        // The error's description could contain the value.
        let refused = SqlError.encoding(
          expected: "a value that \(Value.self) can encode", found: "a value that can't be encoded")
        return try current().pointee.fail(refused, at: position)
      }
      if encoder.isSet { return }
    }
    do { try set(JSONText.text(of: value), at: position) } catch { try current().pointee.fail(error, at: position) }
  }
}

/// The keyed container that encodes a model's keys to the columns of a row.
private struct RowEncoderKeys<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let encoder: RowEncoder
  /// Never freed.
  let map: UnsafePointer<KeyMap>

  var codingPath: [any CodingKey] { [] }

  @inline(__always)
  private func column(of key: Key) throws -> Int {
    let column = try map.pointee.position(of: key)
    guard column >= 0 else { throw map.pointee.columns.missing(key) }
    return column
  }

  func encodeNil(forKey key: Key) throws { try encoder.setNull(at: column(of: key)) }

  @inline(__always)
  func encode<Value: SqlValue & Encodable>(_ value: Value, forKey key: Key) throws {
    try encoder.set(value, at: column(of: key))
  }

  @inline(__always)
  private func set<Value: SqlValue>(_ value: Value?, _ key: Key) throws {
    let column = try map.pointee.position(of: key)
    guard column >= 0 else { return }
    if let value { try encoder.set(value, at: column) } else { try encoder.setNull(at: column) }
  }

  func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    let column = try map.pointee.position(of: key)
    let form = try map.pointee.form(of: Value.self, under: key)
    if column >= 0 {
      if let type = form.value { return try encoder.set(value, as: type, at: column) }
      return try encoder.encode(value, at: column, key)
    }
    guard let columns = form.embedded else { throw map.pointee.columns.missing(key) }
    try encoder.current().pointee.set(value, as: columns.type, columns)
  }

  func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
    let column = try map.pointee.position(of: key)
    if let value {
      let isStored = try column >= 0 || map.pointee.form(of: Value.self, under: key).embedded != nil
      return isStored ? try encode(value, forKey: key) : ()
    }
    if column >= 0 { return try encoder.setNull(at: column) }
    guard let columns = try map.pointee.form(of: Value.self, under: key).embedded else { return }
    for column in columns.columns { try encoder.current().pointee.setNull(column) }
  }

  // One method for each type, because the protocol's default implementations skip nil.
  func encodeIfPresent(_ value: Bool?, forKey key: Key) throws { try set(value, key) }
  func encodeIfPresent(_ value: String?, forKey key: Key) throws { try set(value, key) }
  func encodeIfPresent(_ value: Double?, forKey key: Key) throws { try set(value, key) }
  func encodeIfPresent(_ value: Float?, forKey key: Key) throws { try set(value, key) }
  func encodeIfPresent(_ value: Int?, forKey key: Key) throws { try set(value, key) }
  func encodeIfPresent(_ value: Int8?, forKey key: Key) throws { try set(value, key) }
  func encodeIfPresent(_ value: Int16?, forKey key: Key) throws { try set(value, key) }
  func encodeIfPresent(_ value: Int32?, forKey key: Key) throws { try set(value, key) }
  func encodeIfPresent(_ value: Int64?, forKey key: Key) throws { try set(value, key) }
  func encodeIfPresent(_ value: UInt?, forKey key: Key) throws { try set(value, key) }
  func encodeIfPresent(_ value: UInt8?, forKey key: Key) throws { try set(value, key) }
  func encodeIfPresent(_ value: UInt16?, forKey key: Key) throws { try set(value, key) }
  func encodeIfPresent(_ value: UInt32?, forKey key: Key) throws { try set(value, key) }
  func encodeIfPresent(_ value: UInt64?, forKey key: Key) throws { try set(value, key) }

  // MARK: Unsupported containers

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> { nested(key).container(keyedBy: type) }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { nested(key) }

  private func nested(_ key: Key) -> RefusingEncoder {
    encoder.refuse("encodes a nested container; use a property of a Codable type", key: key)
  }

  func superEncoder() -> any Encoder { superclass() }

  func superEncoder(forKey key: Key) -> any Encoder { superclass() }

  private func superclass() -> RefusingEncoder {
    encoder.refuse(
      "calls superEncoder(), which a row does not have; use super.encode(to: encoder)")
  }
}

extension RowWriter {
  /// Sets the columns of an embedded struct. `Part` and `Value` are the same type.
  fileprivate mutating func set<Part: SqlEmbedded, Value>(
    _ value: Value, as type: Part.Type, _ columns: EmbeddedColumns
  ) {
    // Sound: the caller obtained `type` by a cast of `Value.self`.
    set(unsafeBitCast(value, to: type), fields: columns.fields, columns: columns.columns)
  }
}

/// An encoder that writes a value to one column.
private final class CellEncoder: Encoder, SingleValueEncodingContainer {
  let row: RowEncoder
  let position: Int
  let key: any CodingKey
  let type: Any.Type
  /// True if the type encoded more than a single value.
  private(set) var isStructured = false
  private(set) var isSet = false

  init(row: RowEncoder, position: Int, key: any CodingKey, type: Any.Type) {
    (self.row, self.position, self.key, self.type) = (row, position, key, type)
  }

  var codingPath: [any CodingKey] { [key] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    structured().container(keyedBy: type)
  }

  func unkeyedContainer() -> any UnkeyedEncodingContainer { structured() }

  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  private func structured() -> RefusingEncoder {
    isStructured = true
    return RefusingEncoder(error: StructuredValue())
  }

  func encodeNil() throws {
    isSet = true
    try row.setNull(at: position)
  }

  func encode<Value: SqlValue & Encodable>(_ value: Value) throws {
    isSet = true
    try row.set(value, at: position)
  }

  func encode<Value: Encodable>(_ value: Value) throws {
    // A type that encodes itself as a value of the same type relies on the encoder. Encode the value as JSON.
    guard Value.self != type else { return try structured().encode(value) }
    isSet = true
    if let stored = Value.self as? any SqlValue.Type { return try row.set(value, as: stored, at: position) }
    try row.encode(value, at: position, key)
  }
}
