import Synchronization

/// A model's declarations, evaluated once per process and never freed.
@usableFromInline
package final class TableInfo: Sendable {
  private let model: ObjectIdentifier
  package let modelType: any Sqlable.Type
  package let name: String
  /// The attached database that contains the table; nil if SQLite searches all databases for the table.
  package let database: String?
  package let modelName: String
  @usableFromInline package let columns: [Column]
  let columnNames: [String]
  @usableFromInline package let count: Int
  /// The columns' identities in order, from which a row predicts the column that is read next. Ends with
  /// ``RowState/noColumn``.
  @usableFromInline package nonisolated(unsafe) let identities: UnsafePointer<UnsafeRawPointer>
  /// The cells of the columns in order, for writing. The array ends with a cell that matches no column, because
  /// writers also compare the cell after the last column.
  @usableFromInline package nonisolated(unsafe) let cells: UnsafePointer<Cell>
  /// The positions of the primary key's columns, in the key's order; empty if the table has no key.
  package let key: [Int]
  /// The positions of the key's columns, in a struct without references, so that reading the struct retains no object.
  @usableFromInline let keyPlaces: KeyPlaces
  /// True if the key is a single integer column that SQLite uses as the rowid.
  package let keyIsRowid: Bool
  package let isWithoutRowid: Bool
  /// True if the key is a single integer column, even if the column is not the rowid.
  var hasIntegerKey: Bool { key.count == 1 && columns[key[0]].type.storageClass == .integer }
  package let constraints: TableConstraints
  package let ignoresOrReplaces: Bool
  /// The known structure of a table without a model; nil for a table that has a model.
  let untyped: UntypedTable?
  package let indexes: [Index]
  package let options: [TableOption]
  package let view: View?
  /// The full-text table, if this table is a full-text table; otherwise the table's full-text index, if any.
  package let fullText: FullTextTable?
  package let quotedName: [UInt8]
  let selectAll: [UInt8]
  /// The table with its hidden rowid, if this object is the ``declared`` form of that table; otherwise nil.
  private let whole: TableInfo?
  /// True if a check found no contradiction in the model's declarations.
  private let isSound = Atomic<Bool>(false)
  /// The `KeyedColumns` of a `Codable` model; nil before the first use. Sound: the object is never freed.
  package nonisolated(unsafe) let keyedColumns = Atomic<UnsafeRawPointer?>(nil)
  #if DEBUG
  let (isReadChecked, isWriteChecked) = (ColumnCheck(), ColumnCheck())
  #endif

  /// The properties of a column that are needed for writing. The struct contains no references, so that writing retains
  /// no object.
  @usableFromInline
  package struct Cell {
    /// The column's identity; ``RowState/noColumn`` for a generated column, because such a column is never written.
    @usableFromInline let identity: UnsafeRawPointer
    @usableFromInline package let type: ColumnType
    /// The storage classes that the column accepts without a further check; see ``ColumnType/accepted``.
    @usableFromInline let accepted: UInt8
    @usableFromInline package let isGenerated: Bool
    @usableFromInline let isKey: Bool
    @usableFromInline let takesBool: Bool

    fileprivate init(_ definition: ColumnDefinition, isKey: Bool) {
      self.isKey = isKey
      isGenerated = definition.options.generated != nil
      identity = isGenerated ? RowState.noColumn : UnsafeRawPointer(Unmanaged.passUnretained(definition).toOpaque())
      type = definition.type
      takesBool = type.base == .boolean
      accepted = definition.type.accepted
    }

    fileprivate init() {
      isGenerated = true
      (isKey, takesBool) = (false, false)
      identity = RowState.noColumn
      type = .blob
      accepted = 0
    }
  }

  private init(_ model: any Sqlable.Type) {
    self.model = ObjectIdentifier(model)
    modelType = model
    let columns = model.tableLayout
    self.columns = columns
    columnNames = columns.map(\.name)
    count = columns.count
    name = model.tableName
    (database, modelName) = (nil, name)
    indexes = model.tableIndexes
    options = model.tableOptions
    view = options.view
    untyped = nil
    constraints = model.declaredConstraints
    ignoresOrReplaces = constraints.clauses(with: columns).contains {
      $0.onConflict == .ignore || $0.onConflict == .replace
    }
    isWithoutRowid = options.contains(.withoutRowid)
    quotedName = name.quotedBytes()
    let quotedColumns = columns.map(\.definition.quotedName).joined(separator: [UInt8](", ".utf8))
    selectAll = Array("SELECT ".utf8) + quotedColumns + Array(" FROM ".utf8) + quotedName
    let declared = columns.indices.filter { columns[$0].definition.options.primaryKey != nil }
    let composite = constraints.primaryKeys.first?.columns ?? []
    key =
      declared.isEmpty
      ? composite.compactMap { key in columns.firstIndex { $0.name.isExactly(key.name) } } : declared
    (identities, cells) = TableInfo.memory(of: columns, key: key)
    keyPlaces = KeyPlaces(key, columns)
    // SQLite uses any single integer key as the rowid, except a key that is declared PRIMARY KEY DESC: an old quirk.
    keyIsRowid =
      key.count == 1 && columns[key[0]].type.storageClass == .integer && !isWithoutRowid && view == nil
      && columns[key[0]].definition.options.primaryKey?.isDescending != true
      && columns[key[0]].definition.options.declaredType?.sql.isSameName(as: "INTEGER") != false
    fullText = FullTextTable(model, columns: columns)
    whole = nil
  }

  // The pointers are safe to share: this function writes the memory before any other thread gets the pointers, and the
  // memory is never freed.
  private static func memory(
    of columns: [Column], key: [Int]
  ) -> (UnsafePointer<UnsafeRawPointer>, UnsafePointer<Cell>) {
    let identities = UnsafeMutableBufferPointer<UnsafeRawPointer>.allocate(capacity: columns.count + 1)
    _ = identities.initialize(from: columns.map(\.identity) + [RowState.noColumn])
    let cells = UnsafeMutableBufferPointer<Cell>.allocate(capacity: columns.count + 1)
    _ = cells.initialize(from: columns.indices.map { Cell(columns[$0].definition, isKey: key.contains($0)) } + [Cell()])
    return (UnsafePointer(identities.baseAddress.unsafelyUnwrapped), UnsafePointer(cells.baseAddress.unsafelyUnwrapped))
  }

  private init(columnsOf types: [ColumnType]) {
    model = ObjectIdentifier(Nothing.self)
    modelType = Nothing.self
    (name, database, modelName) = ("", nil, "")
    columns = types.enumerated().map { Column("c\($0 + 1)", $1) }
    columnNames = columns.map(\.name)
    count = types.count
    (identities, cells) = TableInfo.memory(of: columns, key: [])
    (key, keyPlaces, keyIsRowid, isWithoutRowid) = ([], KeyPlaces([], []), false, false)
    (constraints, indexes, options, fullText) = (TableConstraints(), [], [], nil)
    (ignoresOrReplaces, untyped, view) = (false, nil, nil)
    quotedName = name.quotedBytes()
    selectAll = []
    whole = nil
    isSound.store(true, ordering: .relaxed)
  }

  init(_ table: UntypedTable) {
    model = ObjectIdentifier(TableRow.self)
    modelType = TableRow.self
    (name, database, modelName) = (table.name, table.database, table.name)
    columns = table.declarations
    columnNames = columns.map(\.name)
    count = columns.count
    key = table.key
    (identities, cells) = TableInfo.memory(of: columns, key: key)
    keyPlaces = KeyPlaces(key, columns)
    keyIsRowid = key.count == 1 && table.columns[key[0]].isRowid
    isWithoutRowid = table.isWithoutRowid
    (constraints, indexes, options, fullText) = (TableConstraints(), [], [], nil)
    (untyped, view, whole) = (table, nil, nil)
    // Assume true, because the table's constraints are unknown.
    ignoresOrReplaces = true
    quotedName = Array(name.quotedName(inDatabase: database).utf8)
    let quotedColumns = columns.map(\.definition.quotedName).joined(separator: [UInt8](", ".utf8))
    selectAll = Array("SELECT ".utf8) + quotedColumns + Array(" FROM ".utf8) + quotedName
  }

  /// The placeholder for a table without a model, used if the program has already used too many such tables.
  static let excessive = TableInfo(UntypedTable(name: "", columns: []))

  private struct Layouts {
    var tables: [[ColumnType]: TableInfo] = [:]
    var columns = 0
  }

  private static let unnamed = LockedValue(Layouts())

  /// Returns a table with columns of these types, for a named query. All queries with the same types share one object.
  package static func columns(of types: [ColumnType]) -> TableInfo {
    unnamed.withLock { unnamed in
      if let known = unnamed.tables[types] { return known }
      let info = TableInfo(columnsOf: types)
      unnamed.tables[types] = info
      unnamed.columns += types.count
      for column in info.columns { column.definition.keep() }
      return info
    }
  }

  /// Returns ``columns(of:)`` for the column types of a decoded query. Throws `.misuse` after too many different lists
  /// of types, because `TableInfo` objects are never freed.
  package static func decodedColumns(of types: [ColumnType]) throws -> TableInfo {
    let isNew = unnamed.withLock {
      $0.tables[types] == nil && ($0.tables.count >= maximumLayouts || $0.columns + types.count > maximumColumns)
    }
    guard !isNew else {
      throw SqlError.misuse(
        "decoded named queries have more than \(maximumLayouts) lists of column types, or \(maximumColumns) columns")
    }
    return columns(of: types)
  }

  private static let maximumLayouts = 20_000
  private static let maximumColumns = 200_000

  private init(_ original: TableInfo, name: String, database: String?) {
    (model, modelType) = (original.model, original.modelType)
    (self.name, self.database, modelName) = (name, database, original.modelName)
    (columns, columnNames, count) = (original.columns, original.columnNames, original.count)
    (identities, cells, keyPlaces) = (original.identities, original.cells, original.keyPlaces)
    (key, keyIsRowid, isWithoutRowid) = (original.key, original.keyIsRowid, original.isWithoutRowid)
    (constraints, ignoresOrReplaces, untyped) = (original.constraints, original.ignoresOrReplaces, nil)
    (indexes, options, view) = (original.indexes, original.options, original.view)
    quotedName = Array(name.quotedName(inDatabase: database).utf8)
    selectAll = original.selectAll.dropLast(original.quotedName.count) + quotedName
    fullText = original.fullText.map { FullTextTable($0, forTable: name, in: database) }
    whole = nil
  }

  /// Creates the information on ``declared``: the table without the hidden rowid.
  private init(declarationOf whole: TableInfo) {
    (model, modelType, self.whole) = (whole.model, whole.modelType, whole)
    (name, database, modelName) = (whole.name, whole.database, whole.modelName)
    columns = whole.columns.filter { !$0.definition.options.isRowId }
    columnNames = columns.map(\.name)
    count = columns.count
    (identities, cells) = TableInfo.memory(of: columns, key: [])
    (key, keyPlaces, keyIsRowid, isWithoutRowid) = ([], KeyPlaces([], []), false, false)
    (constraints, ignoresOrReplaces, untyped) = (whole.constraints, whole.ignoresOrReplaces, nil)
    (indexes, options, view, fullText) = (whole.indexes, whole.options, whole.view, whole.fullText)
    (quotedName, selectAll) = (whole.quotedName, [])
  }

  /// The table as CREATE TABLE declares it: without a column that is SQLite's hidden rowid.
  package var declared: TableInfo {
    guard columns.contains(where: \.definition.options.isRowId) else { return self }
    return TableInfo.declarations.withLock { declarations in
      if let known = declarations[ObjectIdentifier(self)] { return known }
      let info = TableInfo(declarationOf: self)
      declarations[ObjectIdentifier(self)] = info
      return info
    }
  }

  private static let declarations = LockedValue<[ObjectIdentifier: TableInfo]>([:])

  /// The contradiction in the model's declarations, if any. Every statement of the model throws this error.
  ///
  /// The check runs on access, until it passes. The initializer can't run the check: a foreign key reads the other
  /// model's declarations, and that model can have a foreign key to this model. Two threads can run the check at the
  /// same time.
  package var defect: SqlError? {
    if isSound.load(ordering: .relaxed) { return nil }
    let defect = whole?.defect ?? findDefect()
    if defect == nil { isSound.store(true, ordering: .relaxed) }
    return defect
  }

  @inline(__always)
  package func checkDeclarations() throws {
    if !isSound.load(ordering: .relaxed) { try throwDefect() }
  }

  @inline(never)
  private func throwDefect() throws {
    if let defect { throw defect }
  }

  package static let none = TableInfo(Nothing.self)

  private static let known = LockedValue<[ObjectIdentifier: TableInfo]>([:])

  /// A cache of recently used tables, indexed by a few bits of the model's address. A lookup needs no lock and no
  /// hashing.
  ///
  /// Sound: a slot contains nil or a `TableInfo` from `known`, which is never freed. Slots are written atomically.
  nonisolated(unsafe) private static let recent: UnsafeMutablePointer<Atomic<UnsafeRawPointer?>> = {
    let slots = UnsafeMutablePointer<Atomic<UnsafeRawPointer?>>.allocate(capacity: recentCount)
    for index in 0..<recentCount { (slots + index).initialize(to: Atomic(nil)) }
    return slots
  }()
  private static let recentCount = 256

  /// Returns the information on a model. Throws `.misuse` if the model's declarations are inconsistent.
  @inlinable
  package static func of<Model: Sqlable>(_ model: Model.Type) throws -> TableInfo {
    try recent(ObjectIdentifier(model)) ?? checked(model)
  }

  @usableFromInline
  static func checked(_ model: (some Sqlable).Type) throws -> TableInfo {
    let info = unchecked(model)
    try info.checkDeclarations()
    return info
  }

  package func hasSameModel(as other: TableInfo) -> Bool { model == other.model }

  package func named(_ name: String) -> TableInfo { named(name, in: database) }

  /// Returns a table with this name and database, and with the layout of this table. The object is never freed.
  package func named(_ name: String, in database: String?) -> TableInfo {
    // Compare names by bytes, as SQLite does: == equates the two encodings of an é.
    guard !name.isExactly(self.name) || !database.isExactly(self.database) else { return self }
    if let untyped { return untyped.named(name, in: database).info }
    if database == nil, name.isExactly(modelName), let modelTable = TableInfo.known(model) { return modelTable }
    let key = OtherTable(model: model, name: Array(name.utf8), database: database.map { Array($0.utf8) })
    return TableInfo.otherTables.withLock { otherTables in
      if let known = otherTables[key] { return known }
      let info = TableInfo(self, name: name, database: database)
      otherTables[key] = info
      return info
    }
  }

  private struct OtherTable: Hashable {
    let model: ObjectIdentifier
    let name: [UInt8]
    let database: [UInt8]?
  }

  private static let otherTables = LockedValue<[OtherTable: TableInfo]>([:])

  package static func known(_ model: ObjectIdentifier) -> TableInfo? { known.withLock { $0[model] } }

  /// Returns the information on a model, even if the model has a defect. Running a statement of such a model throws the
  /// defect as an error.
  @inlinable
  package static func unchecked<Model: Sqlable>(_ model: Model.Type) -> TableInfo {
    recent(ObjectIdentifier(model)) ?? searched(model)
  }

  /// Returns the result of ``unchecked(_:)`` without counting a reference: the object is never freed.
  @inlinable
  static func reference<Model: Sqlable>(_ model: Model.Type) -> Unmanaged<TableInfo> {
    recentReference(ObjectIdentifier(model)) ?? .passUnretained(searched(model))
  }

  @usableFromInline
  static func searched(_ model: (some Sqlable).Type) -> TableInfo {
    let info = declared(model)
    // Every statement of a defective model throws, so such a model needs no fast path.
    if info.defect == nil {
      let address = UnsafeRawPointer(Unmanaged.passUnretained(info).toOpaque())
      slot(ObjectIdentifier(model)).pointee.store(address, ordering: .releasing)
    }
    return info
  }

  /// Returns a model's information from the cache of recent tables. The cache contains only models without a defect.
  @usableFromInline
  static func recent(_ id: ObjectIdentifier) -> TableInfo? { recentReference(id)?.takeUnretainedValue() }

  @usableFromInline
  static func recentReference(_ id: ObjectIdentifier) -> Unmanaged<TableInfo>? {
    guard let address = slot(id).pointee.load(ordering: .acquiring) else { return nil }
    let info = Unmanaged<TableInfo>.fromOpaque(address)
    return info._withUnsafeGuaranteedRef { $0.model == id } ? info : nil
  }

  private static func slot(_ id: ObjectIdentifier) -> UnsafeMutablePointer<Atomic<UnsafeRawPointer?>> {
    // The id is the address of type metadata, which is aligned to at least 8 bytes, so its lowest bits are always zero.
    recent + Int((UInt(bitPattern: id) >> 4) % UInt(recentCount))
  }

  /// Returns the information on a model without reading the models that its foreign keys reference.
  static func declared(_ model: (some Sqlable).Type) -> TableInfo {
    let id = ObjectIdentifier(model)
    if let info = known.withLock({ $0[id] }) { return info }
    // Created outside the lock, because the model's static properties can request another model's information.
    let info = TableInfo(model)
    return known.withLock { known in
      if let first = known[id] { return first }
      known[id] = info
      for column in info.columns { column.definition.keep() }
      return info
    }
  }

  /// Returns the table that has this column; nil if no model that was used so far has the column.
  static func table(with definition: ColumnDefinition) -> TableInfo? {
    known.withLock { known in
      known.values.first { info in info.columns.contains { $0.definition === definition } }
    }
  }
}

/// The placeholder model of named queries and of unknown tables.
private struct Nothing: Sqlable {
  static let tableName = ""
  static let tableLayout: [Column] = []

  init(row: ReadRow) throws {}
}
