import SqlableCore

/// A transport to a database of this process.
struct SameProcess: SqlTransport {
  let db: SqliteDatabase

  func answers(to requests: [SqlRequest]) async throws -> [SqlAnswer] { try db.answers(to: requests) }
}
