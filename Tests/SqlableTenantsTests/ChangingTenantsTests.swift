import Foundation
import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

@Suite struct ChangingTenantsTests {
  @Test func deletionEndsTheCallsAndNothingRecreatesTheFile() async throws {
    try await withTenants { tenants in
      try await tenants["acme"].add("1")
      let (begun, isFollowed) = (Mutex(false), Mutex(false))
      let running = Task {
        try await tenants["acme"].transaction { db in
          begun.withLock { $0 = true }
          while true { _ = try db.query("SELECT 1", as: Int.self) }
        }
      }
      let loop = Task {
        try await tenants["acme"].withPool { pool in
          for try await _ in Note.count().updates(in: pool) { isFollowed.withLock { $0 = true } }
          try await Note("late").insert().run(pool)
        }
      }
      // A loop that begins after the deletion would create the tenant, and would not end.
      try await until { begun.withLock { $0 } && isFollowed.withLock { $0 } }
      try await tenants.delete("acme")
      await expectAsync(.tenant(.deleted)) { try await running.value }
      await expectAsync(.tenant(.deleted)) { try await loop.value }
      #expect(try !tenants.contains("acme"))
      #expect(tenants.statistics.open == 0)
      let path = try tenants.directory.file(of: TenantName("acme"))
      let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [])
      #expect(try await tenants["acme"].texts() == [])
    }
  }

  @Test(arguments: ["a backup", "a backup that blocks", "a backup's bytes"])
  func deletionEndsABackupOfThePool(_ way: String) async throws {
    try await withTenants(TenantsConfiguration(waitTimeout: .seconds(600))) { tenants in
      try await tenants["acme"].addPages()
      let (target, begun) = (tenants.directory.path + "-backup.sqlite", Mutex(false))
      // At this rate, the backup waits for days.
      let options = BackupOptions(pagesPerStep: 64, bytesPerSecond: 1) { _ in begun.withLock { $0 = true } }
      let running = Task {
        try await tenants["acme"].withPool { pool in
          switch way {
          case "a backup": try await pool.backup(to: target, options)
          case "a backup that blocks": try await onOwnThread { try pool.backup(to: target, options) }
          default: for try await _ in pool.backupBytes(options) {}
          }
        }
      }
      try await until { begun.withLock { $0 } }
      try await tenants.delete("acme")
      await expectAsync(.tenant(.deleted)) { try await running.value }
      #expect(try !tenants.contains("acme"))
      #expect(!FileManager.default.fileExists(atPath: target))
    }
  }

  #if SQLCipher
  private static let copies = ["delete", "restore", "delete, during an export"]
  #else
  private static let copies = ["delete", "restore"]
  #endif

  @Test(arguments: copies)
  func deletionEndsACopyOfTheTenant(_ way: String) async throws {
    let (isSlow, begun) = (Mutex(false), Mutex(false))
    var configuration = TenantsConfiguration(waitTimeout: .seconds(600))
    configuration.pool.handles.onOpen("slow") { db in
      try db.register(
        ScalarFunction("slow", isDeterministic: true, isAllowedInSchema: true) { (text: String) in
          if isSlow.withLock({ $0 }) {
            begun.withLock { $0 = true }
            usleep(100_000)
          }
          return text
        })
    }
    try await withTenants(configuration) { tenants in
      for name in ["acme", "other"] { try await tenants[name].add("1") }
      let backup = tenants.directory.path + "-backup.sqlite"
      try await tenants["other"].withPool { pool in try await pool.backup(to: backup) }
      // The check of the copy calls the function for each row.
      try await tenants["acme"].transaction { db in
        try db.execute("CREATE INDEX slow ON note (slow(text))")
        for _ in 0..<20 { try Note.insert((0..<1_000).map { Note("\($0)") }).run(db) }
      }
      isSlow.withLock { $0 = true }
      let copy = Task {
        guard way == "delete, during an export" else { return try await tenants.copy("acme", to: "copy") }
        try await tenants["acme"].withPool { pool in try await pool.export(to: backup + "-export", key: nil) }
      }
      try await until { begun.withLock { $0 } }
      if way == "restore" {
        try await tenants.restore("acme", from: backup)
      } else {
        try await tenants.delete("acme")
      }
      await expectAsync(.tenant(.deleted)) { try await copy.value }
      isSlow.withLock { $0 = false }
      #expect(try await tenants.allNames() == (way == "restore" ? ["acme", "other"] : ["other"]))
      #expect(!FileManager.default.fileExists(atPath: backup + "-export"))
      if way == "restore" { #expect(try await tenants["acme"].texts() == ["1"]) }
    }
  }

  @Test func deletionWaitsForAClosureThatIgnoresItsEnd() async throws {
    try await withTenants(TenantsConfiguration(waitTimeout: .seconds(300))) { tenants in
      try await tenants["a"].add("1")
      let begun = Mutex(false)
      let call = Task {
        try await tenants["a"].read { _ in
          begun.withLock { $0 = true }
          Thread.sleep(forTimeInterval: 2.5)
        }
      }
      try await until { begun.withLock { $0 } }
      try await tenants.delete("a")
      _ = await call.result
      #expect(try !tenants.contains("a"))
    }
  }

  @Test func aMissingTenantIsNotDeletedRenamedOrCopied() async throws {
    try await withTenants { tenants in
      await expectAsync(.tenant(.missing)) { try await tenants.delete("a") }
      await expectAsync(.tenant(.missing)) { try await tenants.rename("a", to: "b") }
      await expectAsync(.tenant(.missing)) { try await tenants.copy("a", to: "b") }
      let names = try await tenants.allNames()
      #expect(names.isEmpty)
    }
  }

  @Test func aTenantThatAnotherProcessUsesIsNotDeleted() async throws {
    try await withTenants { tenants in
      try await tenants["a"].add("1")
      // A handle of this process blocks the move like one of another process.
      let other = try SqliteDatabase(filepath: tenants.directory.file(of: TenantName("a")))
      _ = try other.query("SELECT count(*) FROM note", as: Int.self)
      await expectAsync(.busy) { try await tenants.delete("a") }
      #expect(try await tenants["a"].texts() == ["1"])
      try other.close()
      try await tenants.delete("a")
      #expect(try !tenants.contains("a"))
    }
  }

  @Test func aRenamedTenantHasItsRowsUnderTheNewName() async throws {
    try await withTenants { tenants in
      try await tenants["a"].add("1")
      try await tenants["c"].add("2")
      await expectAsync(.tenant(.exists)) { try await tenants.rename("a", to: "c") }
      await expectAsync(.tenant(.exists)) { try await tenants.rename("a", to: "a") }
      try await tenants.rename("a", to: "B")
      #expect(try await tenants.allNames() == ["B", "c"])
      #expect(try await tenants["B"].texts() == ["1"])
      #expect(try await tenants["c"].texts() == ["2"])
    }
  }

  @Test func renamingWaitsForTheUsersOfATenant() async throws {
    try await withTenants { tenants in
      let name = try TenantName("a")
      try await tenants["a"].add("1")
      try await tenants["a"].withPool { pool in
        await expectAsync(.busy) { try await tenants.rename("a", to: "b", within: .milliseconds(20)) }
        try await Note("2").insert().run(pool)
      }
      #expect(try await tenants["a"].texts() == ["1", "2"])
      let (renaming, late) = try await tenants["a"].withPool { _ in
        let renaming = Task { try await tenants.rename("a", to: "b", within: .seconds(900)) }
        try await until { tenants.withState { $0.slots[name]?.isWanted == true } }
        let late = Task { try await tenants["a"].add("3") }
        try await until { tenants.statistics.waiting == 1 }
        return (renaming, late)
      }
      try await renaming.value
      await expectAsync(.tenant(.deleted)) { try await late.value }
      #expect(try await tenants.allNames() == ["b"])
    }
  }

  @Test func aTakenNameIsRefusedWithoutWaitingForItsCalls() async throws {
    try await withTenants { tenants in
      for name in ["a", "b"] { try await tenants[name].add("1") }
      try await tenants["a"].withPool { _ in
        await expectAsync(.tenant(.exists)) { try await tenants.create("a") }
        await expectAsync(.tenant(.exists)) { try await tenants.copy("b", to: "a") }
        await expectAsync(.tenant(.exists)) { try await tenants.rename("b", to: "a") }
        let texts = try await tenants["a"].texts()
        #expect(texts == ["1"])
      }
    }
  }

  @Test func onlyOneOfTwoKeepersCreatesATenant() async throws {
    try await withTenants { tenants in
      let other = try openTenants(tenants.directory.path)
      let created = Mutex(0)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for index in 0..<20 {
          for keeper in [tenants, other] {
            group.addTask {
              do {
                try await keeper.create("t\(index)")
                created.withLock { $0 += 1 }
              } catch let error as SqlError where error.kind == .tenant(.exists) {
              }
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(created.withLock { $0 } == 20)
      try await other.close()
    }
  }

  @Test func aTenantThatVanishesWhileItIsOpenedStaysAway() async throws {
    let pool = PoolConfiguration(handles: Configuration(busyTimeout: 900), readers: 1)
    try await withTenants(TenantsConfiguration(createsMissing: false, pool: pool)) { tenants in
      try await tenants.create("a")
      let path = try tenants.directory.file(of: TenantName("a"))
      let lock = try lockDirectory(of: "a", tenants)
      let call = Task { try await tenants["a"].texts() }
      try await until { tenants.statistics.open == 1 }
      try await Task.sleep(for: .milliseconds(50))
      unlink(path)
      close(lock)
      await expectAsync(.tenant(.missing)) { _ = try await call.value }
      #expect(try !tenants.contains("a"))
    }
  }

  @Test func theRemainsOfADamagedTenantAreNotInTheWay() async throws {
    try await withTenants { tenants in
      try await tenants["a"].add("1")
      try await tenants.rename("a", to: "b")
      let path = try tenants.directory.file(of: TenantName("a"))
      for ending in ["-wal", "-journal", "-gate"] {
        try Data("old".utf8).write(to: URL(fileURLWithPath: path + ending))
      }
      try await tenants.rename("b", to: "a")
      #expect(try await tenants["a"].texts() == ["1"])
    }
  }

  @Test func aCopyIsASnapshotOfATenantInUse() async throws {
    try await withTenants { tenants in
      try await tenants["a"].add("1")
      try await tenants["a"].withPool { _ in try await tenants.copy("a", to: "b") }
      try await tenants["a"].add("2")
      #expect(try await tenants["b"].texts() == ["1"])
      await expectAsync(.tenant(.exists)) { try await tenants.copy("a", to: "b") }
      await expectAsync(.tenant(.exists)) { try await tenants.copy("a", to: "a") }
    }
  }

  @Test func aTenantIsCreatedFromABackup() async throws {
    try await withTenants { tenants in
      try await tenants["a"].add("1")
      let backup = tenants.directory.path + "/backup.sqlite"
      try await tenants["a"].withPool { pool in try await pool.backup(to: backup) }
      try await tenants.create("b", from: backup)
      #expect(try await tenants["b"].texts() == ["1"])
      await expectAsync(.tenant(.exists)) { try await tenants.create("b", from: backup) }
      await expectAsync(.cannotOpen) { try await tenants.create("c", from: backup + ".missing") }
      try Data(repeating: 7, count: 4_096).write(to: URL(fileURLWithPath: backup))
      await expectAsync(noDatabase) { try await tenants.create("c", from: backup) }
      #expect(try await tenants.allNames() == ["a", "b"])
    }
  }

  @Test func unfinishedFilesAreRemovedByTheNextProcess() async throws {
    try await withTenants { tenants in
      let new = tenants.directory.path + "/.new"
      let left = new + "/left"
      try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: true)
      for file in ["lock", "1.sqlite"] { try Data().write(to: URL(fileURLWithPath: left + "/" + file)) }
      try await tenants.create("a")
      #expect(!FileManager.default.fileExists(atPath: left))
      // The directory of a process that is alive stays.
      let other = try openTenants(tenants.directory.path)
      try await other.create("b")
      #expect(try FileManager.default.contentsOfDirectory(atPath: new).count == 2)
      try await tenants.create("c")
    }
  }
}
