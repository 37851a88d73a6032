import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

/// Calls `body` with the tenants of a new directory, and closes them afterwards.
func withTenants<Value>(
  _ configuration: TenantsConfiguration = TenantsConfiguration(), migrations: Migrations? = nil,
  _ body: (SqliteTenants) async throws -> Value
) async throws -> Value {
  try await withDirectoryAsync { directory in
    let tenants = try openTenants(directory + "/tenants", configuration, migrations: migrations)
    let value = try await body(tenants)
    try await tenants.close(within: .seconds(600))
    return value
  }
}

/// Calls `body` with the tenants of two new directories, as on two machines.
func withMachines(
  _ configuration: TenantsConfiguration = TenantsConfiguration(),
  _ body: (SqliteTenants, SqliteTenants) async throws -> Void
) async throws {
  try await withTenants(configuration) { here in
    try await withTenants(configuration) { there in try await body(here, there) }
  }
}

/// Opens the tenants of a directory.
func openTenants(
  _ directory: String, _ configuration: TenantsConfiguration = TenantsConfiguration(), migrations: Migrations? = nil
) throws -> SqliteTenants {
  try SqliteTenants(
    directory: directory, schema: Schema(Note.self), migrations: migrations, configuration: configuration.patient)
}

extension TenantsConfiguration {
  /// With longer waits in place of the defaults: beside the other tests of the suite, calls wait long.
  var patient: TenantsConfiguration {
    var configuration = self
    if waitTimeout == TenantsConfiguration().waitTimeout { configuration.waitTimeout = .seconds(600) }
    if pool.waitTimeout == PoolConfiguration().waitTimeout { configuration.pool.waitTimeout = nil }
    return configuration
  }
}

struct Note: Sqlable, Equatable {
  static let id = column("id", Int?.self, PrimaryKey(autoincrement: true))
  static let text = column("text", String.self)
  static let tableLayout = [id.column, text.column]

  var id: Int?
  var text: String

  init(_ text: String) { self.text = text }

  init(row: ReadRow) throws {
    id = try row.get(Note.id)
    text = try row.get(Note.text)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Note.id, id)
    row.set(Note.text, text)
  }
}

extension SqliteTenant {
  func add(_ text: String) async throws { _ = try await Note(text).insert().run(self) }

  /// Adds two megabytes, whose copy takes several steps.
  func addPages() async throws {
    try await transaction { db in
      for _ in 0..<20 { try Note(String(repeating: "x", count: 100_000)).insert().run(db) }
    }
  }

  func texts() async throws -> [String] { try await Note.read().orderBy(Note.id).run(self).map(\.text) }
}

extension SqliteTenants {
  func allNames() async throws -> [String] {
    var all: [String] = []
    for try await name in names { all.append(name) }
    return all.sorted()
  }
}

/// Damages the file of a closed tenant, whose WAL has a row that a restored tenant must not have.
func damage(_ name: String, _ tenants: SqliteTenants) async throws {
  let path = try tenants.filepath(of: name)
  func close() async throws {
    try await tenants.rename(name, to: name + "-closed")
    try await tenants.rename(name + "-closed", to: name)
  }
  // The WAL of a file that was closed before lacks the first page, so the damage is found.
  try await close()
  try await tenants[name].add("lost")
  let wal = try Data(contentsOf: URL(fileURLWithPath: path + "-wal"))
  try #require(wal.count > 4_096)
  try await close()
  try Data(repeating: 7, count: 8_192).write(to: URL(fileURLWithPath: path))
  try wal.write(to: URL(fileURLWithPath: path + "-wal"))
}

/// Expects `body` to throw an `SqlError` of this kind.
func expectAsync(
  _ kind: SqlError.Kind, sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async {
  var found: (any Error)?
  do { try await body() } catch { found = error }
  #expect((found as? SqlError)?.kind == kind, "\(String(describing: found))", sourceLocation: sourceLocation)
}

/// Takes the lock of another process that creates, deletes or renames a tenant. Closing the descriptor ends the lock.
func lockDirectory(of name: String, _ tenants: SqliteTenants) throws -> Int32 {
  let path = URL(fileURLWithPath: tenants.directory.file(of: try TenantName(name))).deletingLastPathComponent().path
  let lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
  try #require(flock(lock, LOCK_EX) == 0)
  return lock
}
