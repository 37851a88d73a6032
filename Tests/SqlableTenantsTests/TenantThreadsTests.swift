import Dispatch
import Foundation
import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

/// The threads of calls, of copies and of hand-overs, which don't wait for one another.
@Suite struct TenantThreadsTests {
  private let oneThread = TenantsConfiguration(threads: 1, waitTimeout: .seconds(600))

  @Test func aBackupKeepsNoThreadOfTheCalls() async throws {
    try await withDirectoryAsync { directory in
      let tenants = try openTenants(directory + "/tenants", oneThread)
      try await tenants["large"].addPages()
      // At this rate, the copy waits for days.
      let run = Task { try await tenants.backup(to: directory + "/backups", bytesPerSecond: 1) }
      try await until { tenants.withState { !$0.copies.isEmpty } }
      try await tenants["large"].add("during")
      try await tenants["other"].add("during")
      #expect(tenants.withState { $0.copies.count } == 1)
      run.cancel()
      _ = await run.result
      try await tenants.close()
    }
  }

  @Test(arguments: [false, true])
  func aSweepKeepsNoThreadOfTheCalls(_ isDryRun: Bool) async throws {
    let first = Migration("first") { db in
      try db.execute("CREATE TABLE note (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL)")
    }
    let (begun, continuation) = AsyncStream<Void>.makeStream()
    let end = DispatchSemaphore(value: 0)
    let slow = Migration("slow") { db in
      guard try db.query("SELECT count(*) FROM note", as: Int.self) != [0] else { return }
      continuation.yield()
      _ = end.wait(timeout: .now() + 900)
    }
    try await withTenants(migrations: Migrations([first])) { old in
      try await old["slow"].add("1")
      try await old.close()
      let new = try openTenants(old.directory.path, oneThread, migrations: Migrations([first, slow]))
      let run = Task { try await new.migrate(concurrency: 1, dryRun: isDryRun) }
      var migrations = begun.makeAsyncIterator()
      await migrations.next()
      let call = await Task { try await new["other"].add("during") }.result
      end.signal()
      try call.get()
      let report = try await run.value
      // The other tenant can be in the report, too.
      #expect(report.count >= 1)
      #expect(report.failures.isEmpty)
      try await new.close()
    }
  }

  @Test func aHandOverDoesNotWaitForCopies() async throws {
    var configuration = oneThread
    // The time for which the copies wait for the lock of another process.
    configuration.pool.handles.busyTimeout = 900
    try await withMachines(configuration) { here, there in
      try await here["acme"].add("1")
      var copies: [(task: Task<Void, any Error>, lock: Int32)] = []
      for tenants in [here, there] {
        try await tenants["source"].add("1")
        let target = try TenantName("target")
        try #require(try target.directory != TenantName("acme").directory)
        try #require(try target.directory != TenantName("source").directory)
        try tenants.directory.withLock(.creating, of: [target]) {}
        let lock = try lockDirectory(of: "target", tenants)
        copies.append((Task { try await tenants.copy("source", to: "target") }, lock))
        // The copy is complete, and its thread waits for the lock.
        let new = tenants.directory.path + "/.new"
        try await until {
          let names = try? FileManager.default.subpathsOfDirectory(atPath: new)
          return names?.contains { $0.hasSuffix(".sqlite") } == true
        }
      }
      let isHandedOver = Mutex(false)
      let move = Task {
        try await here.handOver("acme") { try await there.receive($0) }
        isHandedOver.withLock { $0 = true }
      }
      try await until { isHandedOver.withLock { $0 } }
      #expect(try !here.contains("target"))
      for (_, lock) in copies { close(lock) }
      try await move.value
      for (copy, _) in copies { try await copy.value }
      #expect(try await there["target"].texts() == ["1"])
      #expect(try await there["acme"].texts() == ["1"])
    }
  }
}
