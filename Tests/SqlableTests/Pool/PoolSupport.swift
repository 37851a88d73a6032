import Foundation
import Sqlable

struct Member: Sqlable, Equatable {
  var id: Int
  var name: String
  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self)
  static let tableLayout = [id.column, name.column]

  init(id: Int, name: String) {
    self.id = id
    self.name = name
  }

  init(row: ReadRow) throws {
    id = try row.get(Member.id)
    name = try row.get(Member.name)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Member.id, id)
    row.set(Member.name, name)
  }
}

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
    try pool.close()
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
  let directory = NSTemporaryDirectory() + "sqlable-test-\(UUID().uuidString)"
  try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: directory) }
  let pool = try newPool(in: directory, configuration)
  try await pool.transaction { db in try db.createTable(Member.self) }
  let result = try await body(pool)
  try await pool.close()
  return result
}

/// A list of values that several threads append to.
final class Collected<Value: Sendable>: Sendable {
  private let list = Mutex<[Value]>([])

  var values: [Value] { list.withLock { $0 } }

  func append(_ value: Value) { list.withLock { $0.append(value) } }

  /// Removes and returns the values that were appended since the last call.
  func take() -> [Value] {
    list.withLock { list in
      defer { list = [] }
      return list
    }
  }
}

/// A count of threads inside a region, with its maximum.
final class Counter: Sendable {
  private let counts = Mutex((now: 0, most: 0))

  var most: Int { counts.withLock { $0.most } }

  func enter() {
    counts.withLock { counts in
      counts.now += 1
      counts.most = max(counts.most, counts.now)
    }
  }

  func leave() { counts.withLock { $0.now -= 1 } }
}

/// Calls `body` with a new directory, then deletes the directory.
func withDirectoryAsync<Result>(_ body: (String) async throws -> Result) async throws -> Result {
  let directory = NSTemporaryDirectory() + "sqlable-test-\(UUID().uuidString)"
  try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: directory) }
  return try await body(directory)
}

/// Runs blocking work on a new thread: Swift has as many threads as cores, and other tests need them.
func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Swift.Result { try body() }) }
  }
}
