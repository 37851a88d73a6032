import Foundation
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

@Suite struct RestoringTenantTests {
  /// Calls `body` with a tenant `a` that has the notes 1 and 2, and a backup that has only the first.
  private func withBackup(_ body: (SqliteTenants, String) async throws -> Void) async throws {
    try await withTenants { tenants in
      let backup = tenants.directory.path + "-backup.sqlite"
      try await tenants["a"].add("1")
      try await tenants["a"].withPool { pool in try await pool.backup(to: backup) }
      try await tenants["a"].add("2")
      try await body(tenants, backup)
    }
  }

  @Test func aTenantIsReplacedByABackup() async throws {
    try await withBackup { tenants, backup in
      try await tenants.restore("a", from: backup)
      #expect(try await tenants["a"].texts() == ["1"])
      try await tenants["a"].add("3")
      #expect(try await tenants["a"].texts() == ["1", "3"])
      // The backup stays.
      try await tenants.restore("a", from: backup)
      #expect(try await tenants["a"].texts() == ["1"])
    }
  }

  @Test func aMissingTenantIsCreatedFromABackup() async throws {
    try await withBackup { tenants, backup in
      try await tenants.delete("a")
      try await tenants.restore("a", from: backup)
      try await tenants.restore("New", from: backup)
      #expect(try await tenants["a"].texts() == ["1"])
      #expect(try await tenants["New"].texts() == ["1"])
    }
  }

  @Test func aRestoreEndsTheCallsThatUseTheTenant() async throws {
    try await withBackup { tenants, backup in
      let (begun, continuation) = AsyncStream<Void>.makeStream()
      let call = Task {
        try await tenants["a"].withPool { pool in
          for try await _ in Note.read().updates(in: pool) { continuation.yield() }
          try await pool.transaction { db in try Note("lost").insert().run(db) }
        }
      }
      var events = begun.makeAsyncIterator()
      await events.next()
      try await tenants.restore("a", from: backup)
      await expectAsync(.tenant(.deleted)) { try await call.value }
      #expect(try await tenants["a"].texts() == ["1"])
    }
  }

  @Test func callsThatArriveDuringARestoreUseTheRestoredTenant() async throws {
    try await withBackup { tenants, backup in
      for round in 0..<10 {
        async let restored: Void = tenants.restore("a", from: backup)
        for _ in 0..<20 {
          do { try await tenants["a"].add("\(round)") } catch let error as SqlError {
            #expect(error.kind == .tenant(.deleted), "\(error)")
          }
        }
        try await restored
        let texts = try await tenants["a"].texts()
        #expect(texts.first == "1")
        #expect(Set(texts.dropFirst()).isSubset(of: ["\(round)"]))
      }
    }
  }

  @Test func aDamagedTenantIsRestored() async throws {
    try await withBackup { tenants, backup in
      try await tenants.close()
      let again = try openTenants(tenants.directory.path)
      let path = try again.directory.file(of: TenantName("a"))
      for (file, count) in [(path, 8_192), (path + "-wal", 100)] {
        try Data(repeating: 7, count: count).write(to: URL(fileURLWithPath: file))
      }
      await expectAsync(noDatabase) { _ = try await again["a"].texts() }
      #expect(again.health().tenantProblems.map(\.problem) == [.noAnswer(noDatabase)])
      try await again.restore("a", from: backup)
      #expect(again.health().tenantProblems.isEmpty)
      #expect(try await again["a"].texts() == ["1"])
      try await again.close()
    }
  }

  @Test func aDamagedBackupReplacesNothing() async throws {
    try await withBackup { tenants, backup in
      let handle = try #require(FileHandle(forUpdatingAtPath: backup))
      try handle.seek(toOffset: 4_096)
      try handle.write(contentsOf: Data(repeating: 7, count: 4_096))
      try handle.close()
      await expectAsync(.corrupt) { try await tenants.restore("a", from: backup) }
      await expectAsync(.cannotOpen) { try await tenants.restore("a", from: backup + "-missing") }
      #expect(try await tenants["a"].texts() == ["1", "2"])
      #expect(tenants.statistics.opened == 1)
    }
  }

  @Test func aFailedRestoreLeavesTheTenant() async throws {
    try await withBackup { tenants, backup in
      try await tenants.close()
      let again = try openTenants(tenants.directory.path)
      // Another handle stands for a connection that the kernel's list does not show.
      let other = try SqliteDatabase(filepath: again.filepath(of: "a"))
      #expect(try Note.count().run(other) == 2)
      await expectAsync(.busy) { try await again.restore("a", from: backup) }
      #expect(try await again["a"].texts() == ["1", "2"])
      try other.close()
      try await again.restore("a", from: backup)
      #expect(try await again["a"].texts() == ["1"])
      try await again.close()
    }
  }

  @Test func anOlderBackupIsMigratedWhenTheTenantIsUsed() async throws {
    let first = Migration("first") { db in try Schema(Note.self).create(db) }
    let second = Migration("second") { db in try db.execute("CREATE TABLE extra (id INTEGER PRIMARY KEY)") }
    try await withTenants(migrations: Migrations([first])) { old in
      try await old["a"].add("1")
      let target = old.directory.path + "-backups"
      _ = try await old.backup(to: target)
      try await old.close()
      let new = try openTenants(old.directory.path, migrations: Migrations([first, second]))
      #expect(try await new["a"].read { db in try db.query("SELECT count(*) FROM extra", as: Int.self) } == [0])
      let backup = try #require(try new.backups(of: "a", in: target).last)
      try await new.restore("a", from: backup.path)
      #expect(try await new["a"].read { db in try db.query("SELECT count(*) FROM extra", as: Int.self) } == [0])
      #expect(try await new["a"].texts() == ["1"])
      try await new.close()
    }
  }
}
