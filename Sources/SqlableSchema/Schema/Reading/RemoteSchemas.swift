import SqlableCore

extension SqliteDatabase {
  /// Returns an in-memory database with the schema of a remote database, without rows.
  package static func inMemory(schemaOf remote: some AsyncSqlExecutor) async throws -> SqliteDatabase {
    let db = try inMemory(configuration: Configuration(foreignKeys: false))
    let texts = try await remote.query(
      "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY rowid",
      as: String.self)
    // Virtual tables come first, because creating a virtual table also creates its shadow tables.
    let virtual = texts.filter { $0.virtualTableModule != nil }
    for text in virtual + texts.filter({ $0.virtualTableModule == nil }) {
      do { try db.execute(SQL(verbatim: text)) } catch let error as SqlError {
        // Ignore the error of a shadow table that already exists, and of a module that this SQLite lacks.
        guard !virtual.isEmpty, error.kind == .other || error.kind == .syntax else { throw error }
      }
    }
    return db
  }
}
