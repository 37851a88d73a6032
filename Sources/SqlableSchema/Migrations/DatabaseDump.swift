import CSqlableSQLite
import SqlableCore

extension SqliteDatabase {
  /// Returns SQL that recreates the database.
  ///
  /// The SQL contains the schema, the rows, the AUTOINCREMENT counters, the user version and the application id. Use a
  /// dump for test fixtures, and for small copies that people read and compare.
  ///
  /// ```swift
  /// try db.dump().write(toFile: "Fixtures/release-3.sql", atomically: true, encoding: .utf8)
  /// // CREATE TABLE "bicycle" ("id" INTEGER PRIMARY KEY, "name" TEXT NOT NULL);
  /// // INSERT INTO "bicycle" ("id", "name") VALUES (1, 'Racer');
  /// ```
  ///
  /// ``load(_:)`` and the `sqlite3` shell read the dump. Loading restores every value exactly: integers, reals,
  /// infinities, texts with NUL bytes, and blobs. Loading also restores the ids of rows without a declared key. Two
  /// databases with equal schemas and rows have equal dumps: tables are sorted by name, rows by id or key.
  ///
  /// `dump()` reads in one transaction and keeps the text in memory; ``dump(to:)`` passes each statement to a closure.
  /// Throws `.schema(.mismatch)` for a full-text table that does not store its text. Throws `.decoding` for text that
  /// is not UTF-8; a ``backup(to:_:)-(String,_)`` can copy such text.
  public func dump() throws -> String {
    var text = ""
    try dump { text += $0 + ";\n" }
    return text
  }

  /// Calls `body` with each statement of a dump; see ``dump()``.
  public func dump(to body: (String) throws -> Void) throws {
    try transaction(.deferred) { db in try DatabaseDump(db).write(body) }
  }

  /// Runs the SQL of a dump in one transaction, without enforcing foreign keys while the SQL runs.
  ///
  /// ```swift
  /// let db = try SqliteDatabase.inMemory()
  /// try db.load(String(contentsOfFile: "Fixtures/release-3.sql", encoding: .utf8))
  /// ```
  ///
  /// Throws the errors of the SQL. Throws `.constraint(.foreignKey)` if rows reference missing rows, unless the
  /// handle's ``Configuration/foreignKeys`` is false. An error leaves the database unchanged.
  public func load(_ dump: String) throws {
    try transaction { db in
      try db.running { connection in
        let isEnforcing = try connection.withoutForeignKeys { try db.execute(dump) }
        if isEnforcing { try connection.checkForeignKeys() }
      }
    }
  }
}

package struct DatabaseDump {
  private let db: SqliteDatabase
  private let schema: DatabaseSchema

  package enum Part {
    case statement(String)
    /// The rows that `query` reads and `insert` writes, and their number of columns.
    case rows(query: String, insert: String, columns: Int)
  }

  package init(_ db: SqliteDatabase) throws {
    self.db = db
    schema = try db.schema()
  }

  /// Returns the parts in executable order: indexes, triggers and views come after the rows.
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

  /// Returns a closure that returns the next row's values, and nil after the last row.
  package func rows(of query: String) throws -> () throws -> [DatabaseValue]? {
    let (cursor, layout) = (try CursorCore(db, text: query), ResultLayout([]))
    return {
      try cursor.next { statement in
        var row = ResultRow(ReadRow(statement), types: layout.types)
        return try DynamicRow.next(of: &row).values
      }
    }
  }

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
      // If the key is the rowid, `columns` already contains the rowid.
      if !table.keyIsRowid { columns.insert(rowid, at: 0) }
    }
    let names = columns.map(\.quotedName).joined(separator: ", ")
    let name = table.name.quotedName
    let tail = order.isEmpty ? "" : " ORDER BY \(order.joined(separator: ", "))"
    return .rows(
      query: "SELECT \(names) FROM main.\(name)\(tail)", insert: "INSERT INTO \(name) (\(names))",
      columns: columns.count)
  }

  /// The AUTOINCREMENT counters: the highest ids ever assigned, which can exceed the existing ids.
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
  fileprivate var fullText: FullTextArguments? { FullTextArguments(module) }
}
