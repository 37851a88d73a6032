import SqlableChanges
import SqlablePool
import SqlableSchema

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
