import Foundation
import Sqlable
import SqlableTenants
import Testing

struct Bicycle: Sqlable, Equatable {
  var id: Int?
  var name: String
  var color: String

  static let id = column("id", Int?.self, PrimaryKey())
  static let name = column("name", String.self, Unique())
  static let color = column("color", String.self)
  static let tableLayout = [id.column, name.column, color.column]

  init(name: String, color: String) { (self.name, self.color) = (name, color) }

  init(row: ReadRow) throws {
    id = try row.get(Bicycle.id)
    name = try row.get(Bicycle.name)
    color = try row.get(Bicycle.color)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Bicycle.id, id)
    row.set(Bicycle.name, name)
    row.set(Bicycle.color, color)
  }
}

/// A query that takes hours.
let endless: SQL = """
  WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 100000000000) SELECT count(*) FROM c
  """

/// Calls `body` with a pool on a new file that has a red bicycle; closes the pool and deletes the file afterwards.
func withPool<Result>(
  _ configuration: PoolConfiguration = .init(handles: .init(label: "bikes"), waitTimeout: nil),
  _ body: (SqlitePool) async throws -> Result
) async throws -> Result {
  let directory = NSTemporaryDirectory() + "sqlable-integrations-\(UUID().uuidString)"
  try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: directory) }
  let pool = try SqlitePool(filepath: directory + "/bikes.sqlite", configuration: configuration)
  try await pool.transaction { db in
    try db.createTable(Bicycle.self)
    try Bicycle(name: "Trek", color: "red").insert().run(db)
  }
  let result = try await body(pool)
  try await pool.close()
  return result
}

/// Waits until the condition holds; at most 18 minutes, which is longer than all tests of a slow machine take.
func until(
  _ place: SourceLocation = #_sourceLocation, _ condition: () throws -> Bool
) async throws {
  let end = ContinuousClock.now + .seconds(1_080)
  while try !condition() {
    guard ContinuousClock.now < end else {
      Issue.record("the condition did not come true", sourceLocation: place)
      return
    }
    try await Task.sleep(for: .milliseconds(5))
  }
}

/// A value that threads share.
final class Shared<Value: Sendable>: @unchecked Sendable {
  private let lock = NSLock()
  private var stored: Value

  init(_ value: Value) { stored = value }

  var value: Value { lock.withLock { stored } }

  func change(_ body: (inout Value) -> Void) { lock.withLock { body(&stored) } }
}

/// Calls `body` with the tenants of a new directory, and closes them afterwards.
func withTenants(_ body: (SqliteTenants) async throws -> Void) async throws {
  let directory = NSTemporaryDirectory() + "sqlable-integrations-\(UUID().uuidString)"
  defer { try? FileManager.default.removeItem(atPath: directory) }
  let tenants = try SqliteTenants(
    directory: directory, schema: Schema(Bicycle.self), configuration: TenantsConfiguration(maximumOpen: 8))
  try await body(tenants)
  try await tenants.close()
}
