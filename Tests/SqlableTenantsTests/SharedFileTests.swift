import Foundation
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

/// A file that all tenants attach read-only.
@Suite struct SharedFileTests {
  private func withSharedFile(
    _ mode: Configuration.JournalMode = .wal, _ body: (SqliteTenants, String) async throws -> Void
  ) async throws {
    try await withDirectoryAsync { parent in
      let path = parent + "/shared file's?.sqlite"
      try write(["one"], to: path, mode)
      let handles = Configuration(attached: ["shop": path], attachedReadOnly: ["shop"])
      let tenants = try openTenants(
        parent + "/tenants", TenantsConfiguration(maximumOpen: 2, pool: PoolConfiguration(handles: handles, readers: 1))
      )
      try await body(tenants, path)
      try await tenants.close()
    }
  }

  private func write(_ rows: [String], to path: String, _ mode: Configuration.JournalMode = .wal) throws {
    let db = try SqliteDatabase(filepath: path, configuration: Configuration(journalMode: mode))
    try Schema(Note.self).create(db)
    for row in rows { try Note(row).insert().run(db) }
    try db.close()
  }

  private func shared(_ tenant: SqliteTenant) async throws -> [String] {
    try await Note.read().in(database: "shop").orderBy(Note.id).run(tenant).map(\.text)
  }

  @Test func allTenantsReadASharedFile() async throws {
    try await withSharedFile { tenants, _ in
      for name in ["a", "b", "c"] {
        try await tenants[name].add(name)
        #expect(try await shared(tenants[name]) == ["one"])
        #expect(try await tenants[name].texts() == [name])
      }
    }
  }

  @Test func aWriteToASharedFileThrows() async throws {
    try await withSharedFile { tenants, _ in
      await expectAsync(.readOnly) { _ = try await Note("two").insert().in(database: "shop").run(tenants["a"]) }
      await expectAsync(.readOnly) {
        _ = try await tenants["a"].transaction { db in try db.execute("DELETE FROM shop.note") }
      }
      let rows = try await shared(tenants["a"])
      #expect(rows == ["one"])
    }
  }

  @Test func writersOfTenantsDoNotLockTheSharedFile() async throws {
    try await withSharedFile { tenants, path in
      try await tenants["a"].withPool { pool in
        try await pool.transaction { db in
          try Note("1").insert().run(db)
          let other = try SqliteDatabase(filepath: path, configuration: Configuration(busyTimeout: 0))
          try Note("two").insert().run(other)
          try other.close()
        }
      }
      #expect(try await shared(tenants["a"]) == ["one", "two"])
    }
  }

  @Test func aMissingSharedFileIsNamedAndNotCreated() async throws {
    try await withSharedFile { tenants, path in
      try FileManager.default.removeItem(atPath: path)
      var found: (any Error)?
      do { try await tenants["a"].add("1") } catch { found = error }
      let error = try #require(found as? SqlError)
      #expect(error.kind == .cannotOpen)
      #expect(error.message == "the attached database shop: no such file: \(path)")
      #expect(!FileManager.default.fileExists(atPath: path))
      #expect(try !tenants.contains("a"))
      try write(["back"], to: path)
      #expect(try await shared(tenants["a"]) == ["back"])
    }
  }

  @Test(arguments: [Configuration.JournalMode.wal, .delete])
  func openTenantsSeeChangesOfASharedFile(_ mode: Configuration.JournalMode) async throws {
    try await withSharedFile(mode) { tenants, path in
      #expect(try await shared(tenants["a"]) == ["one"])
      try write(["two"], to: path, mode)
      #expect(try await shared(tenants["a"]) == ["one", "two"])
      // A restore replaces the contents, not the file.
      try write(["x", "y"], to: path + "-new")
      let db = try SqliteDatabase(filepath: path, configuration: Configuration(journalMode: mode))
      try db.restore(from: path + "-new")
      try db.close()
      #expect(try await shared(tenants["a"]) == ["x", "y"])
    }
  }

  @Test func tenantsThatAreOpenedLaterSeeARenamedFile() async throws {
    try await withSharedFile(.delete) { tenants, path in
      #expect(try await shared(tenants["a"]) == ["one"])
      try write(["new file"], to: path + "-other", .delete)
      #expect(rename(path + "-other", path) == 0)
      #expect(try await shared(tenants["a"]) == ["one"])
      #expect(try await shared(tenants["b"]) == ["new file"])
      for name in ["c", "d"] { _ = try await tenants[name].texts() }
      #expect(try await shared(tenants["a"]) == ["new file"])
    }
  }

  @Test func tenantsAreBackedUpWithoutTheSharedFile() async throws {
    try await withSharedFile { tenants, path in
      try await tenants["a"].add("1")
      try await tenants.close()
      try FileManager.default.removeItem(atPath: path)
      let again = try openTenants(tenants.directory.path, tenants.configuration)
      let target = tenants.directory.path + "-backups"
      let report = try await again.backup(to: target)
      #expect(report.copied == 1, "\(report)")
      try await again.restore("b", from: #require(again.backups(of: "a", in: target).last).path)
      try await again.close()
    }
  }

  @Test func aSharedFileMustBeReadOnly() throws {
    let handles = Configuration(attached: ["shop": "/tmp/shop.sqlite"])
    expectMisuse {
      _ = try openTenants("/tmp/sqlable-never", TenantsConfiguration(pool: PoolConfiguration(handles: handles)))
    }
  }
}
