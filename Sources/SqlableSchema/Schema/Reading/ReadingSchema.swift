import SqlableCore

extension SqlExecutor {
  /// Returns the tables, views, indexes and triggers of the database, without SQLite's internal tables and the shadow
  /// tables of virtual tables.
  ///
  /// ```swift
  /// let schema = try db.schema()
  /// // SELECT type, name, tbl_name, sql FROM main.sqlite_schema
  /// schema[table: "bicycle"]?.columns.map(\.name)     // ["id", "name", "color"]
  /// ```
  ///
  /// Throws `.schema(.mismatch)` for text that SQLite did not write, for example in a schema table that was edited by
  /// hand.
  public func schema(file: StaticString = #fileID, line: UInt = #line) throws -> DatabaseSchema {
    try run(SchemaReading(), file: file, line: line)
  }
}

extension AsyncSqlExecutor {
  /// Returns the tables, views, indexes and triggers of the database. Throws `.schema(.mismatch)` for text that SQLite
  /// did not write.
  public func schema(file: StaticString = #fileID, line: UInt = #line) async throws -> DatabaseSchema {
    try await run(SchemaReading(), file: file, line: line)
  }
}

struct SchemaReading: Runnable {
  var sql: String { "SELECT type, name, tbl_name, sql FROM main.sqlite_schema WHERE sql IS NOT NULL" }
  var isReadOnly: Bool { true }

  func requests() throws -> [SqlRequest] { [SqlRequest(sql: sql, values: [], isReadOnly: true)] }

  func run(_ db: SqliteDatabase) throws -> DatabaseSchema { try db.running { try $0.schema() } }

  func run(over transport: some SqlTransport) async throws -> DatabaseSchema {
    guard let answer = try await transport.answers(to: requests()).first else { throw SqlError.withoutAnswer }
    return try DatabaseSchema(
      answer.rows.map { row in
        let texts = row.map { if case .text(let text) = $0 { text } else { "" } }
        guard texts.count == 4 else { throw SqlError.withoutAnswer }
        return SchemaRow(texts)
      })
  }
}

extension SqliteDatabase {
  /// Returns true if the database contains an ordinary or virtual table with a name, compared by SQLite's rules.
  ///
  /// ```swift
  /// try db.tableExists("bicycle")     // SELECT name FROM main.sqlite_schema WHERE type = 'table'
  /// ```
  public func tableExists(_ name: String) throws -> Bool {
    try running { connection in
      let names = try connection.rows("SELECT name FROM main.sqlite_schema WHERE type = 'table'")
      return names.contains { $0[0].isSameName(as: name) }
    }
  }

  /// Returns true if the database contains the model's table or view.
  public func tableExists(_ model: (some Sqlable).Type) throws -> Bool {
    let table = try TableInfo.of(model)
    guard table.view != nil else { return try tableExists(table.name) }
    return try running { try !$0.schema(of: [table.name.foldedName]).views.isEmpty }
  }
}

extension Connection {
  func schemaRows() throws -> [[UInt8]: [SchemaRow]] {
    Dictionary(grouping: try rows(SchemaReading().sql).map { SchemaRow($0) }, by: \.table.foldedName)
  }

  /// - Parameter names: The folded names of the tables and views to return; nil for all tables and views.
  func schema(of names: Set<[UInt8]>? = nil) throws -> DatabaseSchema {
    let rows = try self.rows(SchemaReading().sql).filter { names?.contains($0[2].foldedName) != false }
    return try DatabaseSchema(rows.map { SchemaRow($0) })
  }

  /// Returns the schema of one table or view. The connection must have SQLite's own NOCASE collation.
  func schema(ofTable name: String) throws -> DatabaseSchema {
    let rows = try rows(SchemaReading().sql + " AND tbl_name = \(name.quotedText) COLLATE NOCASE")
    return try DatabaseSchema(rows.map { SchemaRow($0) })
  }
}

struct SchemaRow {
  let type: String
  let name: String
  let table: String
  let sql: String

  /// - Parameter values: A row of ``SchemaReading``.
  init(_ values: [String]) { (type, name, table, sql) = (values[0], values[1], values[2], values[3]) }
}

extension DatabaseSchema {
  init(_ rows: [SchemaRow]) throws {
    let ordinary = rows.filter { !$0.name.foldedName.starts(with: "sqlite_".utf8) }
    let shadows = DatabaseSchema.shadows(of: ordinary)
    var (tablePositions, viewPositions): ([[UInt8]: Int], [[UInt8]: Int]) = ([:], [:])
    for row in ordinary where row.type == "table" && !shadows.contains(row.name.foldedName) {
      tablePositions[row.name.foldedName] = tables.count
      var table = try row.reading { try $0.table() }
      // If a schema table was edited by hand, the name in the CREATE statement can differ from the name in the row.
      table.name = row.name
      tables.append(table)
    }
    for row in ordinary where row.type == "view" {
      viewPositions[row.name.foldedName] = views.count
      views.append(View(name: row.name, sql: SchemaText(row.sql)))
    }
    for row in ordinary {
      let table = row.table.foldedName
      switch row.type {
      case "index":
        if let position = tablePositions[table] {
          tables[position].indexes.append(try row.reading { try $0.index().index })
        }
      case "trigger":
        let trigger = Trigger(name: row.name, sql: SchemaText(row.sql))
        if let position = tablePositions[table] { tables[position].triggers.append(trigger) }
        if let position = viewPositions[table] { views[position].triggers.append(trigger) }
      default: break
      }
    }
    sort()
  }

  /// Replaces the table or view with this name by all tables and views of `schema`. An empty `schema` only removes the
  /// table or view.
  mutating func replace(_ name: String, with schema: DatabaseSchema) {
    tables.removeAll { $0.name.isSameName(as: name) }
    views.removeAll { $0.name.isSameName(as: name) }
    for table in schema.tables {
      tables.insert(table, at: tables.firstIndex { table.name < $0.name } ?? tables.endIndex)
    }
    for view in schema.views { views.insert(view, at: views.firstIndex { view.name < $0.name } ?? views.endIndex) }
  }

  private mutating func sort() {
    for position in tables.indices {
      tables[position].indexes = tables[position].indexes.ordered { $0.name < $1.name }
      tables[position].triggers = tables[position].triggers.ordered { $0.name < $1.name }
    }
    for position in views.indices { views[position].triggers = views[position].triggers.ordered { $0.name < $1.name } }
    tables = tables.ordered { $0.name < $1.name }
    views = views.ordered { $0.name < $1.name }
  }

  private static func shadows(of rows: [SchemaRow]) -> Set<[UInt8]> {
    var shadows: Set<[UInt8]> = []
    for row in rows where row.type == "table" {
      if let module = row.sql.virtualTableModule { shadows.formUnion(ShadowTables.names(of: row.name, module: module)) }
    }
    return shadows
  }
}

extension SchemaRow {
  fileprivate func reading<Value>(_ body: (inout SchemaReader) throws -> Value) throws -> Value {
    var reader = SchemaReader(sql)
    do { return try body(&reader) } catch let error as SqlError { throw error.at(table: name) }
  }
}
