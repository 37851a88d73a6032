import SqlableCore

extension SqliteDatabase {
  /// Returns a database in memory with the schema of a remote one, and without its rows.
  package static func inMemory(schemaOf remote: some AsyncSqlExecutor) async throws -> SqliteDatabase {
    let db = try inMemory(configuration: Configuration(foreignKeys: false))
    let texts = try await remote.query(
      "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY rowid",
      as: String.self)
    // Virtual tables first: their shadow tables come with them. Views and triggers last: they name tables.
    let virtual = texts.filter { $0.virtualTableModule != nil }
    for text in virtual + texts.filter({ $0.virtualTableModule == nil }) {
      do { try db.execute(SQL(verbatim: text)) } catch let error as SqlError {
        // A shadow table that is there, or a module that this SQLite lacks.
        guard !virtual.isEmpty, error.kind == .other || error.kind == .syntax else { throw error }
      }
    }
    return db
  }
}
