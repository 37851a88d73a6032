import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema

@testable import SqlableTestSupport

/// True if the suites that need no file run on pools in memory: `SQLABLE_POOLS=memory swift test`.
let isInMemory = ProcessInfo.processInfo.environment["SQLABLE_POOLS"] == "memory"

/// A pool on a new file in the directory, or in memory.
///
/// All tests start at once, so a call can wait long for the thread of the others. The pool waits without a limit,
/// unless the configuration has another limit than the default.
func newPool(in directory: String, _ configuration: PoolConfiguration = .init()) throws -> SqlitePool {
  var configuration = configuration
  if configuration.waitTimeout == PoolConfiguration().waitTimeout { configuration.waitTimeout = nil }
  return try isInMemory
    ? .inMemory(configuration: configuration)
    : SqlitePool(filepath: directory + "/pool.sqlite", configuration: configuration)
}

/// Calls `body` with a pool on a new file, then closes the pool and deletes the file.
func withPool<Result>(_ configuration: PoolConfiguration = .init(), _ body: (SqlitePool) throws -> Result) throws
  -> Result
{
  try withDirectory { directory in
    let pool = try newPool(in: directory, configuration)
    let result = try body(pool)
    try pool.close(within: .seconds(60))
    return result
  }
}

/// Calls `body` with a pool on a new file that has a table of members.
func withMembers<Result>(_ configuration: PoolConfiguration = .init(), _ body: (SqlitePool) throws -> Result) throws
  -> Result
{
  try withPool(configuration) { pool in
    try pool.transaction { db in try db.createTable(Member.self) }
    return try body(pool)
  }
}

/// Calls `body` with a pool on a new file that has a table of members.
func withMembers<Result>(
  _ configuration: PoolConfiguration = .init(), _ body: (SqlitePool) async throws -> Result
) async throws -> Result {
  try await withDirectoryAsync { directory in
    let pool = try newPool(in: directory, configuration)
    try await pool.transaction { db in try db.createTable(Member.self) }
    let result = try await body(pool)
    try await pool.close(within: .seconds(60))
    return result
  }
}
