import SqlableCore

extension SqliteDatabase {
  /// Creates the model's table and indexes, or adds the columns and indexes that an existing table lacks.
  ///
  /// ```swift
  /// try db.createTable(Bicycle.self)
  /// // CREATE TABLE "bicycle" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "name" TEXT NOT NULL, …)
  /// ```
  ///
  /// Apart from full-text indexes, the method drops and rewrites nothing that exists. Columns that the model no longer
  /// declares stay. All changes run in one transaction.
  ///
  /// Throws `.schema(.mismatch)` if adding columns and indexes can't make the table match the model. The error lists
  /// every such difference: a missing UNIQUE constraint, for example, or another type. Extra objects are ignored if
  /// they don't affect the model; see ``SchemaDifference/isHarmless``. After this method,
  /// ``Schema/verify(_:file:line:)-(SqlExecutor,_,_)`` succeeds.
  ///
  /// Also throws `.schema(.mismatch)` if a column is missing, and the table has an undeclared column of the same type.
  /// The missing column might be the undeclared column under a new name. Rename the column with a ``SchemaPlan`` or a
  /// migration, or add the column with a plan.
  ///
  /// Throws `.misuse` for a model that contradicts itself, and `.schema(.mismatch)` if the name of an index is taken.
  /// An error leaves the database unchanged.
  ///
  /// A new full-text index is filled from the existing rows. The index is rebuilt if the index or one of its triggers
  /// differs from the model. A model's table that is itself a full-text table can't be changed: if the table differs
  /// from the model, the method throws `.schema(.mismatch)`.
  @discardableResult
  public func createTable<Model: Sqlable>(_ model: Model.Type) throws -> SchemaChange {
    try createTable(TableInfo.of(model).declared)
  }

  /// Creates another table with the model's layout, or adds missing columns and indexes; see ``createTable(_:)``.
  ///
  /// ```swift
  /// try db.createTable(Bicycle.self, named: "archive")
  /// ```
  @discardableResult
  public func createTable<Model: Sqlable>(_ model: Model.Type, named name: String) throws -> SchemaChange {
    try createTable(TableInfo.of(model, named: name).declared)
  }

  /// Creates the tables and indexes of several models, or adds missing columns and indexes, in one transaction; see
  /// ``createTable(_:)``.
  ///
  /// ```swift
  /// try db.createTables(Bicycle.self, Person.self)     // CREATE TABLE "person" …; CREATE TABLE "bicycle" …
  /// ```
  ///
  /// Referenced tables among the models are created before the tables that reference them. Returns the changes in the
  /// order of creation.
  @discardableResult
  public func createTables(_ models: any Sqlable.Type...) throws -> [SchemaChange] {
    try createTables(of: Schema(models))
  }

  /// Creates the tables and indexes of several models; see ``createTables(_:)``.
  @discardableResult
  public func createTables(_ models: [any Sqlable.Type]) throws -> [SchemaChange] {
    try createTables(of: Schema(models))
  }

  /// Creates the tables and triggers of a schema; see `createTables(_:)` and `Schema.create(_:)`.
  ///
  /// Throws `.schema(.mismatch)` also for a trigger that differs from the schema's trigger of the same name.
  @discardableResult
  public func createTables(of schema: Schema) throws -> [SchemaChange] {
    try schema.check()
    return try transaction { db in
      let tables = Schema.ordered(schema.tables)
      // The schema is read once: reading it for each table would take quadratic time.
      let rows = try db.running { try $0.schemaRows() }
      try db.running { connection in try db.checkDrift(of: tables, in: schema, on: connection, rows) }
      let losses = try db.running { try $0.changeLogLosses(of: tables.map(\.name)) }
      var changes = try tables.map { table in try db.running { try db.create(table, on: $0, rows) } }
      for (index, table) in tables.enumerated() { try db.createTriggers(of: table, in: schema, &changes[index]) }
      let altered = changes.filter(\.altersTable).map(\.table)
      if !altered.isEmpty { try db.running { try $0.updateChangeLog(of: altered, after: losses) } }
      return changes
    }
  }

  private func createTriggers(of table: TableInfo, in schema: Schema, _ change: inout SchemaChange) throws {
    try running { connection in
      let triggers = try schema.triggers(of: table, for: connection)
      guard !triggers.isEmpty else { return }
      let existing = try connection.schema(of: [table.name.foldedName])
      let names = (existing.tables.flatMap(\.triggers) + existing.views.flatMap(\.triggers)).map(\.name)
      for trigger in triggers where !names.contains(where: trigger.name.isSameName) {
        try execute(SQL(verbatim: trigger.sql.text))
        change.addedTriggers.append(trigger.name)
      }
    }
  }

  private func createTable(_ table: TableInfo) throws -> SchemaChange {
    try running { connection in
      try writing(on: connection, atomically: false) {
        let rows = try connection.schemaRows()
        try checkDrift(of: [table], in: Schema([]), on: connection, rows)
        let losses = try connection.changeLogLosses(of: [table.name])
        let change = try create(table, on: connection, rows)
        if change.altersTable { try connection.updateChangeLog(of: [change.table], after: losses) }
        return change
      }
    }
  }

  private func create(
    _ table: TableInfo, on connection: Connection, _ rows: [[UInt8]: [SchemaRow]]
  ) throws -> SchemaChange {
    var change = SchemaChange(table: table.name)
    guard !table.name.isSameName(as: ValueListModule.name) else {
      throw SqlError.misuse("the name \(ValueListModule.name) is reserved; give the table another name")
        .at(table: table.name)
    }
    if let fullText = table.fullText, !fullText.isExternal {
      change.createdTable = try createFullTextTable(fullText)
      return change
    }
    if let view = table.view { return try create(view, of: table, on: connection) }
    let existing = try DatabaseSchema(rows[table.name.foldedName] ?? [])
    if let existing = existing[table: table.name] {
      for column in table.columns where existing[column: column.name] == nil {
        try execute(SQL(verbatim: TableDefinition(table).addColumn(column, for: connection)))
        if !Library.checksAddedColumns { try connection.checkRows(of: table, column.name) }
        change.addedColumns.append(column.name)
      }
    } else {
      try execute(SQL(verbatim: TableDefinition(table).createTable(for: connection)))
      change.createdTable = true
    }
    for index in table.indexes {
      let name = index.name(in: table)
      if existing[table: table.name]?.indexes.contains(where: { $0.name.isSameName(as: name) }) == true { continue }
      // Index names are built from table and column names, and can collide: order_item(id) and order(item_id).
      let matches = try query(
        """
        SELECT type = 'index' AND tbl_name = \(table.name) COLLATE NOCASE FROM main.sqlite_schema
        WHERE name = \(name) COLLATE NOCASE
        """, as: Bool.self)
      guard !matches.contains(false) else {
        let message = "the name of index \(name) of table \(table.name) is taken; give the index another name"
        throw SqlError(
          .schema(.mismatch(message)), message: message, table: table.name, label: configuration.label)
      }
      guard matches.isEmpty else { continue }
      try execute(SQL(verbatim: TableDefinition(table).create(index, for: connection)))
      change.addedIndexes.append(name)
    }
    if let fullText = table.fullText {
      change.builtFullText = try createFullTextIndex(fullText, isNewTable: change.createdTable)
    }
    return change
  }

  private func create(_ view: View, of table: TableInfo, on connection: Connection) throws -> SchemaChange {
    var change = SchemaChange(table: table.name)
    guard try connection.schema(of: [table.name.foldedName]).views.isEmpty else { return change }
    try execute(SQL(verbatim: TableDefinition(table).create(view, for: connection)))
    change.createdTable = true
    return change
  }
}

extension Connection {
  /// Throws if rows violate a constraint of an added column. SQLite before 3.37 does not check the rows itself.
  fileprivate func checkRows(of table: TableInfo, _ column: String) throws {
    var failure: SqlError.Constraint?
    for row in try rows("PRAGMA main.quick_check(\(table.name.quotedName))") {
      guard let problem = row.first else { continue }
      if problem.begins(with: "CHECK constraint failed") { failure = failure ?? .check }
      if problem.begins(with: "NULL value in ") { failure = failure ?? .notNull }
    }
    guard let failure else { return }
    let message = "\(failure == .check ? "CHECK" : "NOT NULL") constraint failed"
    throw SqlError(.constraint(failure), message: message).at(table: table.name, column: column).labelled(label)
  }
}

/// The changes that `createTable` made.
public struct SchemaChange: Sendable, Hashable {
  public let table: String
  /// True if the table or view was created.
  public internal(set) var createdTable = false
  /// The columns that were added to an existing table.
  public internal(set) var addedColumns: [String] = []
  /// The indexes that were created.
  public internal(set) var addedIndexes: [String] = []
  /// The schema's triggers that were created.
  public internal(set) var addedTriggers: [String] = []

  /// True if the full-text index was created or rebuilt. An index is rebuilt if the index differs from the model, or if
  /// one of its triggers is missing or differs.
  public internal(set) var builtFullText = false

  init(table: String) { self.table = table }

  fileprivate var altersTable: Bool { !createdTable && !isEmpty }

  /// True if nothing changed because the database already matched the model.
  public var isEmpty: Bool {
    !createdTable && addedColumns.isEmpty && addedIndexes.isEmpty && addedTriggers.isEmpty && !builtFullText
  }
}
