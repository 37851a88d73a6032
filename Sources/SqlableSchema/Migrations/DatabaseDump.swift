import CSqlableSQLite
import SqlableCore

extension SqliteDatabase {
  /// Returns the SQL that creates a database like this one. The SQL contains the schema, the rows, the counters of
  /// `autoincrement`, the user version and the application id. Use a dump for test fixtures, and for small copies that
  /// can be read and compared.
  ///
  /// ```swift
  /// try db.dump().write(toFile: "Fixtures/release-3.sql", atomically: true, encoding: .utf8)
  /// // CREATE TABLE "bicycle" ("id" INTEGER PRIMARY KEY, "name" TEXT NOT NULL);
  /// // INSERT INTO "bicycle" ("id", "name") VALUES (1, 'Racer');
  /// ```
  ///
  /// ``load(_:)`` and the `sqlite3` shell read the dump. Every value comes back as it was: integers, reals, infinities,
  /// texts with NUL bytes, and blobs. The ids of rows without a declared key come back too. Two databases with equal
  /// schemas and rows have equal dumps: tables are sorted by name, rows by id or key.
  ///
  /// `dump()` reads in one transaction and holds the text in memory; ``dump(to:)`` passes each statement on. Throws
  /// `.schema(.mismatch)` for a full-text table that does not store its text. Throws `.decoding` for text that is not
  /// UTF-8, which a ``backup(to:_:)-(String,_)`` copies.
  public func dump() throws -> String {
    var text = ""
    try dump { text += $0 + ";\n" }
    return text
  }

  /// Calls `body` with each statement of a dump; see ``dump()``.
  public func dump(to body: (String) throws -> Void) throws {
    try transaction(.deferred) { db in try DatabaseDump(db).write(body) }
  }

  /// Runs the SQL of a dump in one transaction, without enforcing foreign keys meanwhile.
  ///
  /// ```swift
  /// let db = try SqliteDatabase.inMemory()
  /// try db.load(String(contentsOfFile: "Fixtures/release-3.sql", encoding: .utf8))
  /// ```
  ///
  /// Throws the errors of the SQL. Throws `.constraint(.foreignKey)` for rows that reference missing rows, unless the
  /// handle's ``Configuration/foreignKeys`` is false. After an error nothing has changed.
  public func load(_ dump: String) throws {
    try transaction { db in
      try db.running { connection in
        let isEnforcing = try connection.withoutForeignKeys { try db.execute(dump) }
        if isEnforcing { try connection.checkForeignKeys() }
      }
    }
  }
}

/// The source of a dump's parts and statements.
package struct DatabaseDump {
  private let db: SqliteDatabase
  private let schema: DatabaseSchema

  /// A part of a dump.
  package enum Part {
    case statement(String)
    /// Rows that `query` reads and `insert` writes, with the number of columns.
    case rows(query: String, insert: String, columns: Int)
  }

  package init(_ db: SqliteDatabase) throws {
    self.db = db
    schema = try db.schema()
  }

  /// Returns the parts in the order in which they run: indexes, triggers and views after the rows.
  package func parts() throws -> [Part] {
    var parts: [Part] = []
    for table in schema.tables {
      parts.append(.statement(table.sql))
      if let rows = try rows(of: table) { parts.append(rows) }
    }
    parts += counters
    let tables = Set(schema.tables.map(\.sql))
    parts += schema.statements.filter { !tables.contains($0) }.map { .statement($0) }
    for table in schema.tables where table.fullText?.content?.isEmpty == false {
      let name = table.name.quotedName
      parts.append(.statement("INSERT INTO \(name) (\(name)) VALUES ('rebuild')"))
    }
    for name in ["user_version", "application_id"] {
      let number = try db.running { try $0.pragma("PRAGMA main.\(name)") } ?? "0"
      if number != "0" { parts.append(.statement("PRAGMA \(name) = \(number)")) }
    }
    return parts
  }

  func write(_ body: (String) throws -> Void) throws {
    for part in try parts() {
      switch part {
      case .statement(let sql): try body(sql)
      case .rows(let query, let insert, _):
        let next = try rows(of: query)
        while let values = try next() { try body(text(of: values, insert)) }
      }
    }
  }

  /// Returns a closure that returns the values of the next row, and nil after the last row.
  package func rows(of query: String) throws -> () throws -> [DatabaseValue]? {
    let (cursor, layout) = (try CursorCore(db, text: query), ResultLayout([]))
    return {
      try cursor.next { statement in
        var row = ResultRow(ReadRow(statement), types: layout.types)
        return try DynamicRow.next(of: &row).values
      }
    }
  }

  /// Returns the statement that inserts a row.
  package func text(of values: [DatabaseValue], _ insert: String) throws -> String {
    let literals = try values.map { value in
      try value.literal { real in try db.running { try $0.literal(real, isConstant: false) } }
    }
    return "\(insert) VALUES (\(literals.joined(separator: ", ")))"
  }

  private func rows(of table: DatabaseSchema.Table) throws -> Part? {
    if let content = table.fullText?.content {
      guard !content.isEmpty else {
        throw SchemaPlanner.mismatch(
          "table \(table.name) can't be dumped: the full-text table does not store the text of its rows", table.name)
      }
      return nil
    }
    var columns: [String] = []
    try db.running { connection in
      // The pragma's `hidden` is 1 for hidden columns of virtual tables, and 2 or 3 for generated columns.
      for row in try connection.rows("PRAGMA main.table_xinfo(\(table.name.quotedName))") {
        if row[6] == "0" { columns.append(row[1]) }
      }
    }
    var order = (table.primaryKey?.columns ?? []).map(\.expression.text)
    if !table.isWithoutRowid, table.module == nil || table.fullText != nil,
      let rowid = String.rowidName(avoiding: table.columns.map(\.name) + columns)
    {
      order = [rowid]
      // The rowid is in the list already if the key is the rowid.
      if !table.keyIsRowid { columns.insert(rowid, at: 0) }
    }
    let names = columns.map(\.quotedName).joined(separator: ", ")
    let name = table.name.quotedName
    let tail = order.isEmpty ? "" : " ORDER BY \(order.joined(separator: ", "))"
    return .rows(
      query: "SELECT \(names) FROM main.\(name)\(tail)", insert: "INSERT INTO \(name) (\(names))",
      columns: columns.count)
  }

  /// The AUTOINCREMENT counters: the highest ids that tables have assigned, which may be above the ids of their rows.
  private var counters: [Part] {
    guard schema.tables.contains(where: { $0.primaryKey?.isAutoincrement == true }) else { return [] }
    return [
      .statement("DELETE FROM sqlite_sequence"),
      .rows(
        query: "SELECT name, seq FROM main.sqlite_sequence ORDER BY name",
        insert: "INSERT INTO sqlite_sequence (name, seq)", columns: 2),
    ]
  }
}

extension DatabaseSchema.Table {
  /// The arguments of an FTS5 table; nil for a table that is no full-text table.
  fileprivate var fullText: FullTextArguments? { FullTextArguments(module) }
}
