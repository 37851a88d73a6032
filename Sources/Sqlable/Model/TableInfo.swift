import Synchronization

/// What a model declares, worked out once a process and kept for ever.
@usableFromInline
final class TableInfo: Sendable {
  private let model: ObjectIdentifier
  let name: String
  @usableFromInline let columns: [Column]
  /// How many columns there are.
  @usableFromInline let count: Int
  /// The identities of the columns, in their order, for a row to be read by prediction; ``RowState/noColumn`` ends
  /// them.
  @usableFromInline nonisolated(unsafe) let identities: UnsafePointer<UnsafeRawPointer>
  /// What writing the columns takes, in their order; one that stands for none ends them.
  @usableFromInline nonisolated(unsafe) let cells: UnsafePointer<Cell>
  /// The positions of the primary key's columns, in the key's order; empty without one.
  let key: [Int]
  /// Whether the key is a single integer column, which then is the row's id.
  let keyIsRowid: Bool
  let isWithoutRowid: Bool
  let constraints: TableConstraints
  let indexes: [Index]
  let options: [TableOption]
  /// The full-text index that it is, or has.
  let fullText: FullTextTable?
  /// `"table"`
  let quotedName: [UInt8]
  /// `SELECT "a", "b", "c" FROM "table"`
  let selectAll: [UInt8]
  /// What is wrong with the model, thrown by every statement of it.
  let defect: SqlError?

  /// What writing a value needs to know of its column: plain bits, so that nothing is retained a value.
  @usableFromInline
  struct Cell {
    /// As in `identities`, but for a generated column, which nothing is written to.
    @usableFromInline let identity: UnsafeRawPointer
    @usableFromInline let type: ColumnType
    /// The classes of values that need no second look; see ``ColumnType/accepted``.
    @usableFromInline let accepted: UInt8
    let isGenerated: Bool

    fileprivate init(_ definition: ColumnDefinition) {
      isGenerated = definition.options.generated != nil
      identity = isGenerated ? RowState.noColumn : UnsafeRawPointer(Unmanaged.passUnretained(definition).toOpaque())
      type = definition.type
      accepted = definition.type.accepted
    }

    /// Stands behind the last column.
    fileprivate init() {
      isGenerated = true
      identity = RowState.noColumn
      type = .blob
      accepted = 0
    }
  }

  private init(_ model: (some Sqlable).Type) {
    self.model = ObjectIdentifier(model)
    let columns = model.tableLayout
    self.columns = columns
    count = columns.count
    name = model.tableName
    indexes = model.tableIndexes
    options = model.tableOptions
    constraints = model.tableConstraints.reduce(into: TableConstraints()) { $1.write(to: &$0) }
    isWithoutRowid = options.contains(.withoutRowid)
    quotedName = name.quotedBytes()
    let quotedColumns = columns.map(\.definition.quotedName).joined(separator: [UInt8](", ".utf8))
    selectAll = Array("SELECT ".utf8) + quotedColumns + Array(" FROM ".utf8) + quotedName
    (identities, cells) = TableInfo.memory(of: columns)
    let declared = columns.indices.filter { columns[$0].definition.options.primaryKey != nil }
    let composite = constraints.primaryKey.map { key in columns.firstIndex { $0.name.isExactly(key.name) } }
    key = declared.isEmpty ? composite.compactMap { $0 } : declared
    // SQLite numbers the rows by every single integer key, except one that is declared PRIMARY KEY DESC: an old quirk.
    keyIsRowid =
      key.count == 1 && columns[key[0]].type.storageClass == .integer && !isWithoutRowid
      && columns[key[0]].definition.options.primaryKey?.isDescending != true
    fullText = FullTextTable(model, columns: columns)
    let defect = TableInfo.defect(
      name: name, columns: columns, declaredKeys: declared.count, compositeKey: composite, indexes: indexes,
      options: options)
    self.defect =
      defect ?? fullText?.defect(of: model, key: keyIsRowid ? columns[key[0]] : nil, hasKey: !key.isEmpty)
  }

  // Sound: the memory behind both pointers is written here, before anybody sees it, and never freed.
  private static func memory(of columns: [Column]) -> (UnsafePointer<UnsafeRawPointer>, UnsafePointer<Cell>) {
    let identities = UnsafeMutableBufferPointer<UnsafeRawPointer>.allocate(capacity: columns.count + 1)
    _ = identities.initialize(from: columns.map(\.identity) + [RowState.noColumn])
    let cells = UnsafeMutableBufferPointer<Cell>.allocate(capacity: columns.count + 1)
    _ = cells.initialize(from: columns.map { Cell($0.definition) } + [Cell()])
    return (UnsafePointer(identities.baseAddress.unsafelyUnwrapped), UnsafePointer(cells.baseAddress.unsafelyUnwrapped))
  }

  /// What a query gives that goes by a name, and is no model.
  private init(columnsOf types: [ColumnType]) {
    model = ObjectIdentifier(Nothing.self)
    name = ""
    columns = types.enumerated().map { Column("c\($0 + 1)", $1) }
    count = types.count
    (identities, cells) = TableInfo.memory(of: columns)
    (key, keyIsRowid, isWithoutRowid) = ([], false, false)
    (constraints, indexes, options, fullText) = (TableConstraints(), [], [], nil)
    quotedName = name.quotedBytes()
    selectAll = []
    defect = nil
  }

  private static let unnamed = Guarded<[[ColumnType]: TableInfo]>([:])

  /// The columns of a query that goes by a name: the same for all with the same types.
  static func columns(of types: [ColumnType]) -> TableInfo {
    unnamed.withLock { unnamed in
      if let known = unnamed[types] { return known }
      let info = TableInfo(columnsOf: types)
      unnamed[types] = info
      for column in info.columns { column.definition.keep() }
      return info
    }
  }

  /// Another table of the same layout.
  private init(_ own: TableInfo, name: String) {
    model = own.model
    self.name = name
    (columns, count, identities, cells) = (own.columns, own.count, own.identities, own.cells)
    (key, keyIsRowid, isWithoutRowid) = (own.key, own.keyIsRowid, own.isWithoutRowid)
    (constraints, indexes, options) = (own.constraints, own.indexes, own.options)
    quotedName = name.quotedBytes()
    selectAll = own.selectAll.dropLast(own.quotedName.count) + quotedName
    fullText = own.fullText.map { FullTextTable($0, besideTable: name) }
    defect =
      name.isEmpty || name.utf8.contains(0)
      ? .misuse("a table of the layout of \(own.name) has an empty name, or one with a NUL byte") : own.defect
  }

  private static func defect(
    name: String, columns: [Column], declaredKeys: Int, compositeKey: [Int?], indexes: [Index],
    options: [TableOption]
  ) -> SqlError? {
    func wrong(_ message: String) -> SqlError {
      SqlError.misuse("the model of table \(name) \(message)").at(table: name)
    }
    if name.isEmpty || name.utf8.contains(0) { return wrong("has an empty name, or one with a NUL byte") }
    if columns.isEmpty { return wrong("has no columns") }
    if columns.contains(where: { $0.name.isEmpty || $0.name.utf8.contains(0) }) {
      return wrong("has a column with an empty name, or one with a NUL byte")
    }
    if Set(columns.map(\.name.foldedName)).count < columns.count { return wrong("has two columns of one name") }
    if Set(indexes.map { $0.name(inTable: name).foldedName }).count < indexes.count {
      return wrong("has two indexes of one name")
    }
    if declaredKeys > 1 { return wrong("has two primary keys; PrimaryKeys(a, b) declares one of two columns") }
    if declaredKeys > 0, !compositeKey.isEmpty { return wrong("has two primary keys") }
    if compositeKey.contains(nil) { return wrong("has a primary key on a column that is not in its layout") }
    if options.contains(.withoutRowid), declaredKeys == 0, compositeKey.isEmpty {
      return wrong("is WITHOUT ROWID, which needs a primary key")
    }
    return nil
  }

  /// The table of no model, in the place of one that is not known.
  static let none = TableInfo(Nothing.self)

  private static let known = Guarded<[ObjectIdentifier: TableInfo]>([:])

  /// The ones that were asked for lately, by a few bits of the model's address: no lock, no hashing.
  ///
  /// Sound: a slot holds nothing or a `TableInfo` of `known`, which are never freed, and is changed as a whole.
  nonisolated(unsafe) private static let recent: UnsafeMutablePointer<Atomic<UnsafeRawPointer?>> = {
    let slots = UnsafeMutablePointer<Atomic<UnsafeRawPointer?>>.allocate(capacity: recentCount)
    for index in 0..<recentCount { (slots + index).initialize(to: Atomic(nil)) }
    return slots
  }()
  private static let recentCount = 256

  /// The information on a model. Throws `.misuse` when the model contradicts itself.
  @inlinable
  static func of<Model: Sqlable>(_ model: Model.Type) throws -> TableInfo {
    try recent(ObjectIdentifier(model)) ?? checked(model)
  }

  @usableFromInline
  static func checked(_ model: (some Sqlable).Type) throws -> TableInfo {
    let info = unchecked(model)
    if let defect = info.defect { throw defect }
    return info
  }

  /// The information on another table of a model's layout, or on its own.
  static func of(_ model: (some Sqlable).Type, named name: String) throws -> TableInfo {
    let info = unchecked(model).named(name)
    if let defect = info.defect { throw defect }
    return info
  }

  /// Whether both are tables of one model.
  func isOfSameModel(as other: TableInfo) -> Bool { model == other.model }

  /// The information on a table of the same layout. Kept for ever, as that of the model is.
  func named(_ name: String) -> TableInfo {
    // By bytes, as SQLite tells names apart: == takes the two forms of an é for one.
    guard !name.isExactly(self.name) else { return self }
    let key = OtherTable(model: model, name: Array(name.utf8))
    return TableInfo.others.withLock { others in
      if let known = others[key] { return known }
      let info = TableInfo(self, name: name)
      others[key] = info
      return info
    }
  }

  private struct OtherTable: Hashable {
    let model: ObjectIdentifier
    let name: [UInt8]
  }

  private static let others = Guarded<[OtherTable: TableInfo]>([:])

  /// The information on a model, whatever is wrong with it: a statement of it throws that when it is run.
  @inlinable
  static func unchecked<Model: Sqlable>(_ model: Model.Type) -> TableInfo {
    recent(ObjectIdentifier(model)) ?? searched(model)
  }

  @usableFromInline
  static func searched(_ model: (some Sqlable).Type) -> TableInfo {
    let info = remembered(model)
    // A model with a defect is none that is run often.
    if info.defect == nil {
      let address = UnsafeRawPointer(Unmanaged.passUnretained(info).toOpaque())
      slot(ObjectIdentifier(model)).pointee.store(address, ordering: .releasing)
    }
    return info
  }

  /// The information on a model without a defect that was asked for before, and lately.
  @usableFromInline
  static func recent(_ id: ObjectIdentifier) -> TableInfo? {
    guard let address = slot(id).pointee.load(ordering: .acquiring) else { return nil }
    let info = Unmanaged<TableInfo>.fromOpaque(address).takeUnretainedValue()
    return info.model == id ? info : nil
  }

  private static func slot(_ id: ObjectIdentifier) -> UnsafeMutablePointer<Atomic<UnsafeRawPointer?>> {
    // Metadata is aligned to 8 bytes or more: the bits below say nothing.
    recent + Int((UInt(bitPattern: id) >> 4) % UInt(recentCount))
  }

  private static func remembered(_ model: (some Sqlable).Type) -> TableInfo {
    let id = ObjectIdentifier(model)
    if let info = known.withLock({ $0[id] }) { return info }
    // Made outside the lock: the model's static properties may ask for another model's information.
    let info = TableInfo(model)
    return known.withLock { known in
      if let first = known[id] { return first }
      known[id] = info
      for column in info.columns { column.definition.keep() }
      return info
    }
  }

  /// The position of a column of this table; nil for a column of another one.
  func position(of definition: ColumnDefinition) -> Int? { columns.position(of: definition) }

  func position(named name: String) -> Int? { columns.firstIndex { $0.name.isExactly(name) } }

  func keyNames() throws -> [String] {
    guard !key.isEmpty else {
      throw SqlError.misuse("table \(name) has no primary key to refer to").at(table: name)
    }
    return key.map { columns[$0].name }
  }
}

extension [Column] {
  /// The position of a column: of that very declaration, else of one that was made anew for every use.
  func position(of definition: ColumnDefinition) -> Int? {
    firstIndex { $0.definition === definition } ?? firstIndex { $0.definition.isSame(as: definition) }
  }
}

/// A model of nothing.
private struct Nothing: Sqlable {
  static let tableName = ""
  static let tableLayout: [Column] = []

  init(row: ReadRow) throws {}
}
