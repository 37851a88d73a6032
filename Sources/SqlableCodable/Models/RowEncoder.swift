import FoundationEssentials
import SqlableCore

/// An encoder that writes a model to the columns of a row. The encoder and its containers are reused for later rows.
@usableFromInline
final class RowEncoder: Encoder {
  let row: EncodedRow
  // Copies of properties of `row`, so that encoding does not retain `row` for each model.
  let writer: UnsafeMutablePointer<UnsafeMutablePointer<RowWriter>?>
  unowned(unsafe) let columns: KeyedColumns
  @exclusivity(unchecked) private var containers = ReusedContainers()

  private init(_ columns: KeyedColumns) {
    row = EncodedRow(columns)
    (writer, self.columns) = (row.writer, columns)
  }

  deinit { containers.abandon() }

  /// Returns the encoder of the last row for reuse. Returns a new encoder if the last row had another model, or if the
  /// model has kept the encoder or a container. Returns nil if `valueForColumn(_:)` writes the model.
  ///
  /// - Parameter last: The memory that holds the encoder of the last row.
  @inline(__always)
  static func reused<Model: Sqlable>(for model: Model, _ last: UnsafeMutablePointer<AnyObject?>) -> RowEncoder? {
    if isKnownUniquelyReferenced(&last.pointee), let encoder = last.pointee {
      // Sound: only `make` stores an object in `last`, and this object is always a `RowEncoder`.
      let encoder = unsafeDowncast(encoder, to: RowEncoder.self)
      if encoder.columns.model == ObjectIdentifier(Model.self), !encoder.containers.abandonShared() { return encoder }
    }
    return make(for: model, last)
  }

  @inline(never)
  private static func make<Model: Sqlable>(for model: Model, _ last: UnsafeMutablePointer<AnyObject?>) -> RowEncoder? {
    let columns = KeyedColumns.of(Model.self)
    guard !columns.hasValueForColumn(model) else { return nil }
    let encoder = RowEncoder(columns)
    last.pointee = encoder
    return encoder
  }

  @usableFromInline var codingPath: [any CodingKey] { [] }
  @usableFromInline var userInfo: [CodingUserInfoKey: Any] { [:] }

  @usableFromInline
  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    let map = columns.map(of: type)
    guard let reused = containers.container(keys: map) else { return addContainer(map) }
    // Sound: `addContainer` made the container for this map, and each map belongs to a single key type.
    return reused._withUnsafeGuaranteedRef {
      unsafeDowncast($0, to: ReusedContainerOf<KeyedEncodingContainer<Key>>.self).copy()
    }
  }

  @inline(never)
  private func addContainer<Key: CodingKey>(_ map: UnsafePointer<KeyMap>) -> KeyedEncodingContainer<Key> {
    let container = KeyedEncodingContainer<Key>(RowEncoderKeys(row: row, map: map))
    containers.add(container, keys: map)
    return container
  }

  @usableFromInline
  func unkeyedContainer() -> any UnkeyedEncodingContainer {
    row.refuse("encodes an unkeyed container; a row needs a keyed container")
  }

  @usableFromInline
  func singleValueContainer() -> any SingleValueEncodingContainer {
    row.refuse("encodes a single-value container; a row needs a keyed container")
  }
}

final class EncodedRow {
  /// A pointer to the row's writer; the writer is nil unless the model's `write(to:)` is running. The writer is outside
  /// this object, so that a container can use the writer without retaining this object for each value.
  let writer = UnsafeMutablePointer<UnsafeMutablePointer<RowWriter>?>.allocate(capacity: 1)
  /// The object is never freed.
  unowned(unsafe) let columns: KeyedColumns

  fileprivate init(_ columns: KeyedColumns) {
    self.columns = columns
    writer.initialize(to: nil)
  }

  deinit { writer.deallocate() }

  /// Records an error for the row, and returns an encoder that throws the same error.
  func refuse(_ problem: String, key: (any CodingKey)? = nil) -> RefusingEncoder {
    let error = columns.refused(problem, key: key)
    if let writer = writer.pointee { writer.pointee.failure = writer.pointee.failure ?? error }
    return RefusingEncoder(error: error)
  }

  /// Returns the writer of the row. Throws once `write(to:)` has returned.
  func current() throws -> UnsafeMutablePointer<RowWriter> {
    guard let writer = writer.pointee else {
      throw SqlError.misuse("a row encoder was used after encode(to:) returned").at(table: columns.table.name)
    }
    return writer
  }

  func set<Value: SqlValue>(_ value: Value, at position: Int) throws {
    try current().pointee.setEncoded(value, at: position)
  }

  func setNull(at position: Int) throws { try current().pointee.setNull(at: position) }

  /// Sets a value. The caller must have checked that `Value` and `Stored` are the same type.
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
        // Drop the error's description, because the description could contain the value.
        let refused = SqlError.encoding(
          expected: "a value that encode(to:) of \(Value.self) accepts", found: "a value that encode(to:) rejects")
        return try current().pointee.fail(refused, at: position)
      }
      if encoder.isSet { return }
    }
    do { try set(JSONText.text(of: value), at: position) } catch { try current().pointee.fail(error, at: position) }
  }
}

private struct RowEncoderKeys<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let row: EncodedRow
  let writer: UnsafeMutablePointer<UnsafeMutablePointer<RowWriter>?>
  /// The map is never freed.
  let map: UnsafePointer<KeyMap>

  init(row: EncodedRow, map: UnsafePointer<KeyMap>) { (self.row, writer, self.map) = (row, row.writer, map) }

  var codingPath: [any CodingKey] { [] }

  private func column(of key: Key) throws -> Int {
    let column = try map.pointee.position(of: key)
    guard column >= 0 else { throw map.pointee.columns.missing(key) }
    return column
  }

  func encodeNil(forKey key: Key) throws { try row.setNull(at: column(of: key)) }

  @inline(__always)
  func encode<Value: SqlValue & Encodable>(_ value: Value, forKey key: Key) throws {
    let column = map.pointee.knownPosition(of: key)
    guard column >= 0, let writer = writer.pointee else { return try row.set(value, at: self.column(of: key)) }
    writer.pointee.setEncoded(value, at: column)
  }

  @inline(__always)
  private func set<Value: SqlValue & Encodable>(_ value: Value?, _ key: Key) throws {
    if let value, map.pointee.knownPosition(of: key) >= 0 { return try encode(value, forKey: key) }
    let column = try map.pointee.position(of: key)
    if let value {
      guard column >= 0 else { throw map.pointee.columns.missing(key) }
      try row.set(value, at: column)
    } else if column >= 0 {
      try row.setNull(at: column)
    }
  }

  func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
    let column = try map.pointee.position(of: key)
    if column >= 0 {
      // A fast path for dates: `Date` is the most frequent type without its own method in the protocol.
      if Value.self == Date.self { return try row.set(unsafeBitCast(value, to: Date.self), at: column) }
      let form = try map.pointee.form(of: Value.self, under: key)
      if let type = form.value { return try row.set(value, as: type, at: column) }
      return try row.encode(value, at: column, key)
    }
    guard let columns = try map.pointee.form(of: Value.self, under: key).embedded else {
      throw map.pointee.columns.missing(key)
    }
    try row.current().pointee.set(value, as: columns.type, columns)
  }

  func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) throws {
    let column = try map.pointee.position(of: key)
    if let value { return try encode(value, forKey: key) }
    if column >= 0 { return try row.setNull(at: column) }
    guard let columns = try map.pointee.form(of: Value.self, under: key).embedded else { return }
    for column in columns.columns { try row.current().pointee.setNull(column) }
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
    row.refuse("encodes a nested container; use a property of a Codable type", key: key)
  }

  func superEncoder() -> any Encoder { superclass() }

  func superEncoder(forKey key: Key) -> any Encoder { superclass() }

  private func superclass() -> RefusingEncoder {
    row.refuse(
      "calls superEncoder(), which a row does not have; use super.encode(to: encoder)")
  }
}

extension RowWriter {
  fileprivate mutating func setEncoded<Value: SqlValue>(_ value: Value, at position: Int) {
    // SQLite computes generated columns, so the struct's value is not written. The struct can contain a value from an
    // earlier read.
    if !isGenerated(position) { set(value, at: position) }
  }

  fileprivate mutating func set<Part: SqlEmbedded, Value>(
    _ value: Value, as type: Part.Type, _ columns: EmbeddedColumns
  ) {
    // Sound: the caller obtained `type` by a cast of `Value.self`.
    set(unsafeBitCast(value, to: type), fields: columns.fields, columns: columns.columns)
  }
}

private final class CellEncoder: Encoder, SingleValueEncodingContainer {
  let row: EncodedRow
  let position: Int
  let key: any CodingKey
  let type: Any.Type
  private(set) var isStructured = false
  private(set) var isSet = false

  init(row: EncodedRow, position: Int, key: any CodingKey, type: Any.Type) {
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
    // A type can encode itself as a single value of its own type, and leave the representation to the encoder. Encode
    // such a value as JSON.
    guard Value.self != type else { return try structured().encode(value) }
    isSet = true
    if let stored = Value.self as? any SqlValue.Type { return try row.set(value, as: stored, at: position) }
    try row.encode(value, at: position, key)
  }
}
