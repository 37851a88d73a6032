import SqlableCore
import SqlablePool
import SqlableSchema

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Calls `body` with a pool whose table of members is logged.
func withLoggedMembers(_ body: (SqlitePool) async throws -> Void) async throws {
  try await withMembers { pool in
    try await ChangeLog(Member.self).create(pool)
    try await body(pool)
  }
}

/// Calls `body` with a pool whose table of members is logged, and which `body` closes.
func withLoggedMembersToClose(_ body: (SqlitePool) async throws -> Void) async throws {
  try await withDirectoryAsync { directory in
    let pool = try newPool(in: directory)
    try await pool.transaction { db in
      try db.createTable(Member.self)
      try ChangeLog(Member.self).create(db)
    }
    try await body(pool)
  }
}

/// Returns the position of the change with a number.
func logged(_ number: Int, _ db: SqliteDatabase) throws -> ChangePosition {
  let times = try db.query("SELECT at FROM sqlable_changes WHERE seq = \(number)", as: Int.self)
  return ChangePosition(history: try LogState(db).end.history, number: number, time: times.first ?? 0)
}
