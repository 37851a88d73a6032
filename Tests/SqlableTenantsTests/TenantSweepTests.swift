import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

@Suite struct TenantSweepTests {
  @Test func eachRunsOnceForEachTenant() async throws {
    try await withTenants(TenantsConfiguration(maximumOpen: 3)) { tenants in
      for index in 0..<20 { try await tenants["t\(index)"].add("\(index)") }
      var found: [String: Int] = [:]
      for try await (name, count) in tenants.each(concurrency: 4, { try await Note.count().run($0) }) {
        found[name, default: 0] += try count.get()
      }
      #expect(found.count == 20)
      #expect(found.values.allSatisfy { $0 == 1 })
    }
  }

  @Test func aFailingTenantDoesNotEndTheLoop() async throws {
    try await withTenants { tenants in
      for index in 0..<5 { try await tenants.create("t\(index)") }
      let path = try tenants.directory.file(of: TenantName("t3"))
      try Data(repeating: 7, count: 4_096).write(to: URL(fileURLWithPath: path))
      var failed: [String] = []
      var count = 0
      for try await (name, result) in tenants.each({ try await Note.count().run($0) }) {
        count += 1
        if case .failure = result { failed.append(name) }
      }
      #expect(count == 5)
      #expect(failed == ["t3"])
    }
  }

  @Test func aLoopRunsAtMostItsConcurrency() async throws {
    try await withTenants { tenants in
      for index in 0..<12 { try await tenants.create("t\(index)") }
      let running = Mutex((now: 0, most: 0))
      for try await _ in tenants.each(
        concurrency: 3,
        { _ in
          running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
          try await Task.sleep(for: .milliseconds(2))
          running.withLock { $0.now -= 1 }
        })
      {}
      #expect(running.withLock { $0.most } <= 3)
      await expectMisuseAsync { for try await _ in tenants.each(concurrency: 0, { _ in }) {} }
    }
  }

  @Test func endingALoopCancelsItsCalls() async throws {
    try await withTenants { tenants in
      for index in 0..<4 { try await tenants.create("t\(index)") }
      let cancelled = Mutex(0)
      for try await _ in tenants.each(
        concurrency: 4,
        { tenant in
          guard tenant.name != "t0" else { return }
          do { try await Task.sleep(for: .seconds(600)) } catch {
            cancelled.withLock { $0 += 1 }
            throw error
          }
        })
      { break }
      try await until { cancelled.withLock { $0 } == 3 }
    }
  }

  @Test func aLoopOverAllTenantsDisplacesNoUsedTenant() async throws {
    try await withTenants(TenantsConfiguration(maximumOpen: 4)) { tenants in
      for index in 0..<20 { try await tenants.create("t\(index)") }
      for name in ["a", "b"] { try await tenants[name].add("1") }
      for try await _ in tenants.each(concurrency: 1, { try await Note.count().run($0) }) {}
      let opened = tenants.statistics.opened
      for name in ["a", "b"] { try await tenants[name].add("2") }
      #expect(tenants.statistics.opened == opened)
    }
  }

  @Test func aLoopOverAllTenantsCreatesNoTenant() async throws {
    try await withTenants(TenantsConfiguration(maximumOpen: 1, waitTimeout: .seconds(300))) { tenants in
      let swept = SqliteTenant(name: "gone", tenants: tenants, isSweep: true)
      await expectAsync(.tenant(.missing)) { _ = try await swept.texts() }
      #expect(try !tenants.contains("gone"))
      // Other calls that wait at the same time create the tenant.
      let (sweep, call) = try await tenants["a"].withPool { _ in
        let sweep = Task { try await swept.texts() }
        let call = Task { try await tenants["gone"].add("1") }
        try await until { tenants.statistics.waiting == 2 }
        return (sweep, call)
      }
      try await call.value
      _ = await sweep.result
      #expect(try await tenants["gone"].texts() == ["1"])
    }
  }

  // MARK: Migrations

  private static let first = Migration("first") { db in
    try db.execute("CREATE TABLE note (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL)")
  }

  private static let second = Migration("second") { db in
    try db.execute("CREATE INDEX note_by_text ON note (text)")
    if try db.query("SELECT count(*) FROM note WHERE text = 'bad'", as: Int.self) != [0] {
      throw SqlError(.other, message: "a bad note")
    }
  }

  private func withTwoVersions(
    _ body: (_ new: SqliteTenants, _ old: SqliteTenants) async throws -> Void
  ) async throws {
    try await withDirectoryAsync { directory in
      let old = try openTenants(directory, migrations: Migrations([Self.first]))
      for index in 0..<10 { try await old["t\(index)"].add(index == 7 ? "bad" : "good") }
      try await old.close()
      let new = try openTenants(directory, migrations: Migrations([Self.first, Self.second]))
      let again = try openTenants(directory, migrations: Migrations([Self.first]))
      try await body(new, again)
      try await new.close()
      try await again.close()
    }
  }

  @Test func aTenantIsMigratedWhenItIsOpened() async throws {
    try await withTwoVersions { new, _ in
      #expect(try await new["t0"].texts() == ["good"])
      let report = try await new.migrationReport()
      #expect(report.current == 1)
      #expect(report.pending == ["second": 9])
      await expectAsync(.other) { _ = try await new["t7"].texts() }
    }
  }

  @Test func migrationsOfRowsAreNoticedWhenATenantIsOpenedAgain() async throws {
    let rows = Migration("rows") { db in try db.execute("UPDATE note SET text = 'new'") }
    let configuration = TenantsConfiguration(maximumOpen: 1)
    try await withTenants(configuration, migrations: Migrations([Self.first])) { old in
      for name in ["a", "b"] { try await old[name].add("1") }
      let new = try openTenants(old.directory.path, migrations: Migrations([Self.first, rows]))
      #expect(try await new["a"].texts() == ["new"])
      try await new.close()
      var found: (any Error)?
      do { _ = try await old["a"].texts() } catch { found = error }
      guard case .schema = (found as? SqlError)?.kind else {
        Issue.record("the newer tenant was opened: \(String(describing: found))")
        return
      }
    }
  }

  @Test func aSweepMigratesAllAndReportsFailures() async throws {
    try await withTwoVersions { new, old in
      let canary = try await new.migrate(limit: 3)
      #expect(canary.migrated + canary.failures.count == 3)
      let counts = Mutex<[Int]>([])
      let report = try await new.migrate { report in counts.withLock { $0.append(report.count) } }
      #expect(counts.withLock { $0 } == Array(1...10))
      #expect(report.failures.map(\.name) == ["t7"])
      #expect(report.migrated == 10 - canary.migrated - 1)
      #expect(report.current == 9)
      #expect(report.count == 10)
      // The failed migration was rolled back.
      #expect(try await new.migrationReport().pending == ["second": 1])
      let again = try await new.migrate()
      #expect(again.migrated == 0)
      // For a service of the old version, the migrated tenants are newer.
      let seen = try await old.migrationReport()
      #expect(seen.newer.count == 9)
      #expect(seen.current == 1)
    }
  }

  @Test func aDryRunFindsFailuresAndChangesNothing() async throws {
    try await withTwoVersions { new, old in
      let calls = old["t3"]
      try await calls.withPool { _ in
        let report = try await new.migrate(dryRun: true)
        #expect(report.failures.map(\.name) == ["t7"])
        #expect(report.pending == ["second": 9])
        #expect((report.current, report.migrated, report.count) == (0, 0, 10))
        try await calls.add("during")
      }
      #expect(try await new.migrate(limit: 2, dryRun: true).count == 2)
      #expect(try await new.migrationReport().pending == ["second": 10])
      #expect(try await old["t3"].texts() == ["good", "during"])
      let files = try FileManager.default.subpathsOfDirectory(atPath: new.directory.path)
      #expect(!files.contains { $0.hasPrefix(".new/") && $0.hasSuffix(".sqlite") })
    }
  }

  @Test(arguments: [false, true])
  func aTenantDeletedDuringADryRunIsNotCounted(_ fails: Bool) async throws {
    struct Failure: Error {}
    let (begun, continuation) = AsyncStream<Void>.makeStream()
    let end = DispatchSemaphore(value: 0)
    let slow = Migration("slow") { db in
      continuation.yield()
      _ = end.wait(timeout: .now() + 900)
      if fails { throw Failure() }
      try db.execute("CREATE INDEX note_by_text ON note (text)")
    }
    try await withTenants(migrations: Migrations([Self.first])) { old in
      for name in ["a", "b"] { try await old[name].add("1") }
      // A tenant that is open elsewhere can't be deleted.
      try await old.close()
      let new = try openTenants(old.directory.path, migrations: Migrations([Self.first, slow]))
      let run = Task { try await new.migrate(concurrency: 1, dryRun: true) }
      var migrations = begun.makeAsyncIterator()
      await migrations.next()
      // The migration of the copy of `a` or `b` runs, and the deletion does not wait for it.
      for name in ["a", "b"] { try await new.delete(name) }
      for _ in 0..<2 { end.signal() }
      let report = try await run.value
      #expect(report.count == 0, "\(report)")
      let files = try FileManager.default.subpathsOfDirectory(atPath: new.directory.path)
      #expect(!files.contains { $0.hasPrefix(".new/") && $0.hasSuffix(".sqlite") })
      try await new.close()
    }
  }

  @Test func aSweepCountsATenantInUseAndEndsWithItsLimit() async throws {
    try await withTwoVersions { new, old in
      #expect(try await new.migrate(limit: 0).count == 0)
      try await new["t0"].withPool { _ in
        let report = try await new.migrate()
        #expect(report.current == 9)
        #expect(report.migrated == 8)
      }
      try await new.close()
      await expectAsync(.closed) { try await new.migrate() }
    }
  }

  @Test func aSweepNeedsMigrations() async throws {
    try await withTenants { tenants in
      await expectMisuseAsync { try await tenants.migrate() }
      await expectMisuseAsync { _ = try await tenants.migrationReport() }
    }
  }

  private func expectMisuseAsync(_ body: () async throws -> Void) async {
    var found: (any Error)?
    do { try await body() } catch { found = error }
    #expect((found as? SqlError)?.kindIsMisuse == true, "\(String(describing: found))")
  }
}
