import SqlableCore
import Synchronization

/// The columns of a model's coding keys, looked up once per process and never freed.
final class KeyedColumns: Sendable {
  let table: TableInfo
  let model: ObjectIdentifier
  // Copies of properties of `table`. Without the copies, each row would retain the table.
  nonisolated(unsafe) let identities: UnsafePointer<UnsafeRawPointer>
  let count: Int
  /// The first map, which is the only map of most models. `nonisolated(unsafe)` is sound: the map is never freed.
  nonisolated(unsafe) private let first = Atomic<UnsafePointer<KeyMap>?>(nil)
  private let cache = LockedValue(Cache())
  private let writer = Atomic(Writer.unknown.rawValue)

  private struct Cache {
    var positions: [ByteComparedName: Int] = [:]
    var names: [Int: String] = [:]
    var maps: [ObjectIdentifier: UnsafePointer<KeyMap>] = [:]
  }

  /// The method that writes a model: `encode(to:)` or `valueForColumn(_:)`.
  private enum Writer: UInt8 {
    case unknown, encoding, values
  }

  private init(_ table: TableInfo) {
    (self.table, model) = (table, ObjectIdentifier(table.modelType))
    (identities, count) = (table.identities, table.count)
  }

  var address: UnsafeRawPointer { UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque()) }

  @inline(__always)
  static func of<Model: Sqlable>(_ model: Model.Type) -> KeyedColumns {
    of(TableInfo.unchecked(model))
  }

  @inline(__always)
  private static func of(_ table: TableInfo) -> KeyedColumns {
    guard let known = table.keyedColumns.load(ordering: .acquiring) else { return make(for: table) }
    return Unmanaged<KeyedColumns>.fromOpaque(known).takeUnretainedValue()
  }

  @inline(never)
  private static func make(for table: TableInfo) -> KeyedColumns {
    let created = Unmanaged.passRetained(KeyedColumns(table))
    let (isFirst, known) = table.keyedColumns.compareExchange(
      expected: nil, desired: UnsafeRawPointer(created.toOpaque()), ordering: .acquiringAndReleasing)
    guard !isFirst, let known else { return created.takeUnretainedValue() }
    created.release()
    return Unmanaged<KeyedColumns>.fromOpaque(known).takeUnretainedValue()
  }

  /// Returns the position of the column with a key's name, or that name in snake_case; nil if the table has neither.
  /// Throws if another key already uses this column.
  func position(of name: String) throws -> Int? {
    try cache.withLock { cache in
      let key = ByteComparedName(wrappedValue: name)
      if let position = cache.positions[key] { return position }
      guard let position = table.position(named: name) ?? table.position(named: snakeCase(name)) else { return nil }
      if let other = cache.names[position] {
        let column = table.columns[position].name
        throw SqlError.misuse(
          "the model of table \(table.name) has two coding keys for the column \(column): \(other) and \(name)"
        ).at(table: table.name, column: column)
      }
      cache.names[position] = name
      cache.positions[key] = position
      return position
    }
  }

  @inline(__always)
  func map<Key: CodingKey>(of keys: Key.Type) -> UnsafePointer<KeyMap> {
    if let map = first.load(ordering: .acquiring), map.pointee.keys == ObjectIdentifier(keys) { return map }
    return searchedMap(of: keys)
  }

  @inline(never)
  private func searchedMap<Key: CodingKey>(of keys: Key.Type) -> UnsafePointer<KeyMap> {
    let id = ObjectIdentifier(keys)
    return cache.withLock { cache in
      if let map = cache.maps[id] { return map }
      let created = UnsafeMutablePointer<KeyMap>.allocate(capacity: 1)
      created.initialize(to: KeyMap(of: keys, in: self))
      let map = UnsafePointer(created)
      cache.maps[id] = map
      if cache.maps.count == 1 { first.store(map, ordering: .releasing) }
      return map
    }
  }

  /// True if the model implements `valueForColumn(_:)`, which takes precedence over `encode(to:)`.
  @inline(__always)
  func hasValueForColumn(_ model: some Sqlable) -> Bool {
    switch Writer(rawValue: writer.load(ordering: .relaxed)) {
    case .encoding: false
    case .values: true
    case .unknown, nil: ask(model)
    }
  }

  @inline(never)
  private func ask(_ model: some Sqlable) -> Bool {
    guard let column = table.columns.first else { return false }
    let isDefault = model.valueForColumn(column) is UnwrittenValue
    writer.store((isDefault ? Writer.encoding : .values).rawValue, ordering: .relaxed)
    return !isDefault
  }

  // MARK: Errors

  @inline(never)
  func missing(_ key: any CodingKey) -> SqlError {
    let (name, snake) = (key.stringValue, snakeCase(key.stringValue))
    let names = name == snake ? name : "\(name) or \(snake)"
    return SqlError.misuse(
      """
      the model of table \(table.name) has the coding key \(name), but no column \(names); declare the column, or \
      remove the key from CodingKeys
      """
    ).at(table: table.name, column: name)
  }

  func refused(_ problem: String, key: (any CodingKey)? = nil) -> SqlError {
    let keyPhrase = key.map { ", key \($0.stringValue)," } ?? ""
    return SqlError.misuse("the model of table \(table.name)\(keyPhrase) \(problem)").at(
      table: table.name, column: key?.stringValue)
  }
}

final class EmbeddedColumns: Sendable {
  let type: any SqlEmbedded.Type
  let fields: [Column]
  let columns: [Column]

  /// Finds a column for each field, named by the prefix and the field's name; nil if the table lacks a column.
  fileprivate init?(of type: any SqlEmbedded.Type, prefix: String, in table: TableInfo) {
    (self.type, fields) = (type, type.fields)
    columns = fields.compactMap { field in
      table.position(named: prefix + "_" + field.name).map { table.columns[$0] }
    }
    guard !fields.isEmpty, columns.count == fields.count else { return nil }
  }
}

struct CodedForm: Sendable {
  let type: ObjectIdentifier
  /// The type, if the type is a `SqlValue` and needs no encoding; otherwise nil.
  let value: (any SqlValue.Type)?
  /// The columns of an embedded struct, if the key has no column of its own; otherwise nil.
  let embedded: EmbeddedColumns?

  fileprivate init(of type: Any.Type, under name: String, in table: TableInfo, hasColumn: Bool) {
    self.type = ObjectIdentifier(type)
    value = type as? any SqlValue.Type
    let part = hasColumn ? nil : type as? any SqlEmbedded.Type
    embedded = part.flatMap { part in
      EmbeddedColumns(of: part, prefix: name, in: table)
        ?? EmbeddedColumns(of: part, prefix: snakeCase(name), in: table)
    }
  }
}

/// The columns for one type of coding keys, in memory that is never freed. Most of these types are enums of one byte.
/// For such enums, the lookup uses the byte instead of the name.
///
/// The map contains only addresses, so that a lookup retains no object.
struct KeyMap {
  let keys: ObjectIdentifier
  unowned(unsafe) let columns: KeyedColumns
  let identities: UnsafePointer<UnsafeRawPointer>
  let cells: UnsafePointer<TableInfo.Cell>
  /// The slots, indexed by the key's byte; nil unless the key type has one byte. Each slot is atomic.
  private let slots: UnsafeMutablePointer<Slot>?
  /// The slot for a key type whose values take no byte: an enum with a single case. Nil for every other key type.
  private let onlySlot: UnsafeMutablePointer<Slot>?

  private struct Slot: ~Copyable {
    let position = Atomic(KeyMap.unknown)
    /// The cached form of the key's values. If the values have several types, only the form of the first type is
    /// cached.
    let form = Atomic<UnsafePointer<CodedForm>?>(nil)
  }

  static let none = -1
  private static let unknown = -2

  fileprivate init<Key: CodingKey>(of keys: Key.Type, in columns: KeyedColumns) {
    self.keys = ObjectIdentifier(keys)
    self.columns = columns
    (identities, cells) = (columns.table.identities, columns.table.cells)
    let size = MemoryLayout<Key>.size
    slots = size == 1 && _isPOD(keys) ? KeyMap.makeSlots(1 << 8) : nil
    onlySlot = size == 0 ? KeyMap.makeSlots(1) : nil
  }

  private static func makeSlots(_ count: Int) -> UnsafeMutablePointer<Slot> {
    let slots = UnsafeMutablePointer<Slot>.allocate(capacity: count)
    for index in 0..<count { (slots + index).initialize(to: Slot()) }
    return slots
  }

  /// Returns the position of a key's column; `none` if the key has no column.
  @inline(__always)
  func position<Key: CodingKey>(of key: Key) throws -> Int {
    let position = slot(of: key)?.pointee.position.load(ordering: .relaxed) ?? KeyMap.unknown
    return position == KeyMap.unknown ? try search(for: key) : position
  }

  /// Returns the cached position of a key's column. Negative if the key has no column, or if the position is not
  /// cached.
  @inline(__always)
  func knownPosition<Key: CodingKey>(of key: Key) -> Int {
    guard let slots else { return KeyMap.unknown }
    return slots[KeyMap.byte(of: key)].position.load(ordering: .relaxed)
  }

  @inline(__always)
  private func slot<Key: CodingKey>(of key: Key) -> UnsafeMutablePointer<Slot>? {
    slots.map { $0 + KeyMap.byte(of: key) } ?? onlySlot
  }

  @inline(never)
  private func search<Key: CodingKey>(for key: Key) throws -> Int {
    let position = try columns.position(of: key.stringValue) ?? KeyMap.none
    slot(of: key)?.pointee.position.store(position, ordering: .relaxed)
    return position
  }

  @inline(__always)
  func form<Key: CodingKey>(of type: Any.Type, under key: Key) throws -> CodedForm {
    if let form = slot(of: key)?.pointee.form.load(ordering: .acquiring), form.pointee.type == ObjectIdentifier(type) {
      return form.pointee
    }
    return try makeForm(of: type, under: key)
  }

  @inline(never)
  private func makeForm<Key: CodingKey>(of type: Any.Type, under key: Key) throws -> CodedForm {
    let hasColumn = try position(of: key) != KeyMap.none
    let form = CodedForm(of: type, under: key.stringValue, in: columns.table, hasColumn: hasColumn)
    // If a key's values have several types, the slot caches only the form of the first type.
    guard let slot = slot(of: key), slot.pointee.form.load(ordering: .relaxed) == nil else { return form }
    let kept = UnsafeMutablePointer<CodedForm>.allocate(capacity: 1)
    kept.initialize(to: form)
    let (isKept, _) = slot.pointee.form.compareExchange(
      expected: nil, desired: UnsafePointer(kept), ordering: .releasing)
    if !isKept {
      kept.deinitialize(count: 1)
      kept.deallocate()
    }
    return form
  }

  @inline(__always)
  private static func byte<Key: CodingKey>(of key: Key) -> Int {
    Int(unsafeBitCast(key, to: UInt8.self))
  }
}
