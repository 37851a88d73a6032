import SqlableCore

extension SqliteDatabase {
  /// Creates the model's table and indexes, or adds the columns and indexes that an existing table lacks.
  ///
  /// ```swift
  /// try db.createTable(Bicycle.self)
  /// // CREATE TABLE "bicycle" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "name" TEXT NOT NULL, …)
  /// ```
  ///
  /// The method never drops or rewrites existing tables, columns or indexes. Columns that the model no longer declares
  /// stay. Existing columns, indexes, table constraints and views stay unchanged, even if they differ from the model.
  /// All changes run in one transaction.
  ///
  /// Throws `.misuse` for a model that contradicts itself. Throws `.schema(.mismatch)` if the name of an index is
  /// taken. Throws `.schema(.mismatch)` too if a column without a default, or a key column, can't be added to a table
  /// with rows. An error leaves the database unchanged.
  ///
  /// A new full-text index is filled from the existing rows. The index is rebuilt if its columns or tokenizer differ
  /// from the model's. A model's table that is itself a full-text table can't be changed: if the table differs from the
  /// model, the method throws `.schema(.mismatch)`.
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

  /// Creates the tables and triggers of a schema; see ``createTables(_:)``.
  ///
  /// A trigger that differs from the schema's trigger stays unchanged, and is reported as drift.
  @discardableResult
  public func createTables(of schema: Schema) throws -> [SchemaChange] {
    try schema.check()
    return try transaction { db in
      var changes = try Schema.ordered(schema.tables).map { try db.createTable($0) }
      for (index, table) in Schema.ordered(schema.tables).enumerated() {
        try db.createTriggers(of: table, in: schema, &changes[index])
      }
      return changes
    }
  }

  private func createTriggers(of table: TableInfo, in schema: Schema, _ change: inout SchemaChange) throws {
    try running { connection in
      let triggers = try schema.triggers(of: table, for: connection)
      guard !triggers.isEmpty else { return }
      let existing = try connection.schema(of: [table.name.foldedName])[table: table.name]?.triggers ?? []
      for trigger in triggers {
        guard let match = existing.first(where: { $0.name.isSameName(as: trigger.name) }) else {
          try execute(SQL(verbatim: trigger.sql.text))
          change.addedTriggers.append(trigger.name)
          continue
        }
        guard match.sql != trigger.sql else { continue }
        change.drift.append(
          SchemaDifference(table.name, .trigger, name: match.name, expected: trigger.sql.text, found: match.sql.text))
      }
    }
  }

  private func createTable(_ table: TableInfo) throws -> SchemaChange {
    try running { connection in try writing(on: connection, atomically: false) { try create(table, on: connection) } }
  }

  private func create(_ table: TableInfo, on connection: Connection) throws -> SchemaChange {
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
    // Look the table up by name: `table_xinfo` also returns the columns of table-valued functions such as json_each.
    let existingNames = try query(
      """
      SELECT name FROM main.sqlite_schema WHERE type IN ('table', 'view') AND name = \(table.name) COLLATE NOCASE
      """, as: String.self)
    let columns = existingNames.isEmpty ? [] : try connection.rows("PRAGMA main.table_xinfo(\(table.name.quotedName))")
    let existing = Set(columns.map { $0[1].foldedName })
    if existing.isEmpty {
      try execute(SQL(verbatim: TableDefinition(table).createTable(for: connection)))
      change.createdTable = true
    } else {
      for column in table.columns where !existing.contains(column.name.foldedName) {
        try execute(SQL(verbatim: TableDefinition(table).addColumn(column, for: connection)))
        if !Library.checksAddedColumns { try connection.checkRows(of: table, column.name) }
        change.addedColumns.append(column.name)
      }
    }
    for index in table.indexes {
      let name = index.name(inTable: table.name)
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
    if !change.createdTable { try noteDrift(of: table, in: &change, on: connection) }
    return change
  }

  /// Creates a view. If the view exists, reports its differences as drift.
  private func create(_ view: View, of table: TableInfo, on connection: Connection) throws -> SchemaChange {
    var change = SchemaChange(table: table.name)
    let sql = try TableDefinition(table).create(view, for: connection)
    let existing = try connection.schema(of: [table.name.foldedName])
    if existing[table: table.name] != nil || !existing.views.isEmpty {
      change.drift = try SchemaComparison.differences(of: existing, from: table, connection)
    } else {
      try execute(SQL(verbatim: sql))
      change.createdTable = true
    }
    return change
  }

  /// Records possible renames, and the differences that `createTable` does not remove.
  private func noteDrift(of table: TableInfo, in change: inout SchemaChange, on connection: Connection) throws {
    let names = [table.name, table.fullText?.name ?? table.name].map(\.foldedName)
    let existing = try connection.schema(of: Set(names))
    let differences = try SchemaComparison.differences(of: existing, from: table, connection)
    change.drift = differences.filter { !$0.isHarmless }
    let types = existing[table: table.name]
    for difference in differences where difference.kind == .column && difference.isExtra {
      let added = change.addedColumns.filter { types?[column: $0]?.type.text == difference.found }
      if let old = difference.column, !added.isEmpty { change.possibleRenames[old] = added }
    }
  }
}

extension Connection {
  /// Throws if rows violate a constraint of an added column. SQLite before 3.37 does not check this.
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
  /// True if the table was created.
  public internal(set) var createdTable = false
  /// The columns that were added to an existing table.
  public internal(set) var addedColumns: [String] = []
  /// The indexes that were created.
  public internal(set) var addedIndexes: [String] = []
  /// The triggers of a schema that were created.
  public internal(set) var addedTriggers: [String] = []

  /// True if the full-text index was created, or was rebuilt because the model's declaration differs.
  public internal(set) var builtFullText = false

  /// The remaining differences from the model: types, NOT NULL, defaults, constraints, and indexes with the same name
  /// but other columns. A ``SchemaPlan`` removes these differences.
  public internal(set) var drift: [SchemaDifference] = []
  /// The possible renames: for each old column, the added columns that might be its new name. An old column is not in
  /// the model and has the same type as the added column. The values stay in the old column.
  public internal(set) var possibleRenames: [String: [String]] = [:]

  init(table: String) { self.table = table }

  /// True if nothing changed because the database already matched the model.
  public var isEmpty: Bool {
    !createdTable && addedColumns.isEmpty && addedIndexes.isEmpty && addedTriggers.isEmpty && !builtFullText
  }
}
