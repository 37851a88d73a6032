import SqlableCore

extension SqlExecutor {
  /// Returns a table or view of the database with all columns, for statements without a model.
  ///
  /// ```swift
  /// let people = try db.table("person")     // PRAGMA table_xinfo("person")
  /// for var person in try people.read().run(db) {
  ///   try person.set("full_name", person.get("full_name", as: String.self).uppercased())
  ///   try people.update(person).run(db)     // UPDATE "person" SET "full_name" = ?, … WHERE "id" = ?
  /// }
  /// ```
  ///
  /// The result contains the primary key and the generated columns, as of this call. Throws `.schema(.missingTable)` if
  /// no table or view has the name.
  public func table(_ name: String, file: StaticString = #fileID, line: UInt = #line) throws -> Table {
    try run(TableReading(name: name), file: file, line: line)
  }
}

extension AsyncSqlExecutor {
  /// Returns a table or view of the database with all columns. Throws `.misuse` for a remote database.
  public func table(_ name: String, file: StaticString = #fileID, line: UInt = #line) async throws -> Table {
    try await run(TableReading(name: name), file: file, line: line)
  }
}

private struct TableReading: Runnable {
  let name: String

  var sql: String { "PRAGMA main.table_xinfo(\(name.quotedName))" }
  var isReadOnly: Bool { true }

  func requests() throws -> [SqlRequest] { [SqlRequest(sql: sql, values: [], isReadOnly: true)] }

  func run(_ db: SqliteDatabase) throws -> Table {
    try db.running { connection in
      var columns: [UntypedColumn] = []
      for row in try connection.rows(sql) {
        // `hidden` is 1 for a hidden column of a virtual table, and 2 or 3 for a generated column.
        guard row[6] != "1" else { continue }
        columns.append(
          UntypedColumn(name: row[1], keyPosition: Int(row[5]) ?? 0, isGenerated: row[6] == "2" || row[6] == "3"))
      }
      guard !columns.isEmpty else {
        throw SqlError(.schema(.missingTable(name)), message: "no such table: \(name)", table: name)
      }
      let tableSchema = try connection.schema(of: [name.foldedName])[table: name]
      if tableSchema?.keyIsRowid == true, let index = columns.firstIndex(where: { $0.keyPosition > 0 }) {
        columns[index].isRowid = true
      }
      return Table(
        UntypedTable(
          name: tableSchema?.name ?? name, columns: columns, isWithoutRowid: tableSchema?.isWithoutRowid == true))
    }
  }

  func run(over transport: some SqlTransport) async throws -> Table {
    throw SqlError.misuse("can't read the columns of table \(name) from a remote database; use a handle or a pool")
  }
}
