import Foundation
import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

@Suite struct TenantBackupTests {
  /// Calls `body` with tenants and a directory for their backups.
  fileprivate func withBackups(
    _ configuration: TenantsConfiguration = TenantsConfiguration(),
    _ body: (SqliteTenants, String) async throws -> Void
  ) async throws {
    try await withDirectoryAsync { parent in
      let tenants = try openTenants(parent + "/tenants", configuration)
      try await body(tenants, parent + "/backups")
      try await tenants.close(within: .seconds(600))
    }
  }

  private func texts(_ backup: TenantBackup) throws -> [String] {
    let db = try SqliteDatabase(filepath: backup.path, configuration: Configuration(isReadOnly: true))
    defer { try? db.close() }
    return try db.query("SELECT text FROM note ORDER BY id", as: String.self)
  }

  /// Makes the last changes of all tenants' files older than the times of files are precise.
  private func age(_ tenants: SqliteTenants) async throws {
    try await Task.sleep(for: .milliseconds(3_100))
  }

  @Test func onlyChangedTenantsAreCopiedAgain() async throws {
    try await withBackups { tenants, target in
      for name in ["a", "B", "c"] { try await tenants[name].add("1") }
      try await age(tenants)
      let first = try await tenants.backup(to: target)
      #expect(first.copied == 3)
      #expect(first.bytes >= 3 * 4_096)
      // Reading changes no file.
      for name in ["a", "B"] { #expect(try await tenants[name].texts() == ["1"]) }
      try await tenants["c"].add("2")
      let second = try await tenants.backup(to: target)
      #expect((second.copied, second.unchanged, second.failures.count) == (1, 2, 0))
      #expect(try tenants.backups(of: "B", in: target).count == 1)
      let all = try tenants.backups(of: "c", in: target)
      #expect(try all.map(texts) == [["1"], ["1", "2"]])
      #expect(all[0].time < all[1].time)
    }
  }

  @Test func aChangeJustBeforeABackupIsCopiedAgain() async throws {
    try await withBackups { tenants, target in
      try await tenants["a"].add("1")
      // The last change seems to be in the future, so a later one might not change the time.
      let path = try tenants.directory.file(of: TenantName("a"))
      try FileManager.default.setAttributes([.modificationDate: Date() + 600], ofItemAtPath: path)
      #expect(try await tenants.backup(to: target).copied == 1)
      #expect(try tenants.backups(of: "a", in: target).map(\.mark) == [nil])
      #expect(try await tenants.backup(to: target).copied == 1)
    }
  }

  @Test func aClosedTenantIsBackedUpWithoutBeingOpened() async throws {
    try await withBackups { tenants, target in
      for index in 0..<5 { try await tenants.create("t\(index)") }
      try await tenants["t0"].add("1")
      try await tenants.close()
      let again = try openTenants(tenants.directory.path)
      try await age(again)
      #expect(try await again.backup(to: target).copied == 5)
      #expect(again.statistics.opened == 0)
      #expect(try tenants.backups(of: "t0", in: target).map(texts) == [["1"]])
      let files = try FileManager.default.subpathsOfDirectory(atPath: again.directory.path)
      #expect(!files.contains { $0.hasSuffix("-wal") })
      try await again.close()
    }
  }

  @Test func aDamagedTenantIsReportedAndTheOthersAreCopied() async throws {
    try await withBackups { tenants, target in
      for name in ["a", "b", "c"] { try await tenants.create(name) }
      let path = try tenants.directory.file(of: TenantName("b"))
      try Data(repeating: 7, count: 8_192).write(to: URL(fileURLWithPath: path))
      let reports = LockedValue<[Int]>([])
      let report = try await tenants.backup(to: target) { report in reports.withLock { $0.append(report.count) } }
      #expect(report.failures.map(\.name) == ["b"])
      #expect(report.copied == 2)
      #expect(reports.withLock { $0 } == [1, 2, 3])
      #expect(try tenants.backups(of: "b", in: target).isEmpty)
    }
  }

  @Test func allCopiesShareOneRate() async throws {
    try await withBackups { tenants, target in
      // Each file is copied in one step, and would not be slowed down alone.
      for index in 0..<12 { try await tenants.create("t\(index)") }
      let size = DatabaseFiles(of: try tenants.filepath(of: "t0")).size
      let begin = ContinuousClock.now
      let report = try await tenants.backup(to: target, bytesPerSecond: size * 4)
      #expect(report.copied == 12)
      #expect(begin.duration(to: .now) >= .seconds(2))
    }
  }

  @Test func aStoppedRunContinues() async throws {
    try await withBackups { tenants, target in
      for index in 0..<6 { try await tenants["t\(index)"].add("1") }
      try await age(tenants)
      let done = LockedValue(0)
      let run = Task {
        try await tenants.backup(to: target, concurrency: 2) { report in
          done.withLock { $0 = report.copied }
          guard report.copied == 2 else { return }
          // Here, because another task could be too late on a busy machine.
          withUnsafeCurrentTask { task in
            if let task { task.cancel() }
          }
        }
      }
      var found: (any Error)?
      do { _ = try await run.value } catch { found = error }
      #expect(found is CancellationError)
      let before = done.withLock { $0 }
      let report = try await tenants.backup(to: target)
      #expect(report.count == 6)
      #expect(report.unchanged >= before)
      #expect(report.unchanged < 6)
    }
  }

  @Test func oneRunAtATimeUsesADirectory() async throws {
    try await withBackups { tenants, target in
      try await tenants["a"].add("1")
      let lock = try BackupDirectory(path: target).lock()
      await expectAsync(.busy) { _ = try await tenants.backup(to: target) }
      // A child process that another test starts can still have the descriptor.
      flock(lock, LOCK_UN)
      close(lock)
      #expect(try await tenants.backup(to: target).copied == 1)
    }
  }

  @Test(.disabled(if: isSanitized)) func aForkedProcessDoesNotKeepTheLockOfARun() async throws {
    await #expect(processExitsWith: .success) {
      try await TenantBackupTests().withBackups { tenants, target in
        try await tenants["a"].add("1")
        let children = Collected<pid_t>()
        defer { children.values.forEach(Fork.end) }
        for count in 1...2 {
          _ = try await tenants.backup(to: target) { _ in children.append(Fork.beginIdle()) }
          #expect(children.values.count(where: { $0 > 0 }) == count)
          try await tenants["a"].add("2")
        }
      }
    }
  }

  @Test func mistakesOfABackupAreMisuse() async throws {
    try await withBackups { tenants, target in
      for body in [
        { _ = try await tenants.backup(to: tenants.directory.path + "/backups") },
        { _ = try await tenants.backup(to: tenants.directory.path) },
        { _ = try await tenants.backup(to: "") },
        { _ = try await tenants.backup(to: target, bytesPerSecond: 0) },
      ] as [() async throws -> Void] {
        var found: (any Error)?
        do { try await body() } catch { found = error }
        #expect((found as? SqlError)?.kindIsMisuse == true, "\(String(describing: found))")
      }
      try await tenants.close()
      await expectAsync(.closed) {
        try await openTenants(tenants.directory.path).create("a")
        _ = try await tenants.backup(to: target)
      }
    }
  }

  // MARK: Calls meanwhile

  @Test func callsOfATenantContinueDuringItsCopy() async throws {
    try await withBackups { tenants, target in
      try await tenants["big"].addPages()
      let run = Task { try await tenants.backup(to: target, bytesPerSecond: 1) }
      try await until { tenants.withState { !$0.copies.isEmpty } }
      try await tenants["big"].add("during")
      #expect(tenants.withState { !$0.copies.isEmpty })
      run.cancel()
      _ = await run.result
      #expect(tenants.withState { $0.copies.isEmpty })
    }
  }

  @Test func deleteEndsTheCopyOfItsTenant() async throws {
    try await withBackups { tenants, target in
      try await tenants["big"].addPages()
      let run = Task { try await tenants.backup(to: target, bytesPerSecond: 1) }
      try await until { tenants.withState { !$0.copies.isEmpty } }
      try await tenants.delete("big")
      let report = try await run.value
      #expect(report.count == 0)
      #expect(try tenants.backups(of: "big", in: target).isEmpty)
    }
  }

  @Test func closeEndsARun() async throws {
    try await withBackups { tenants, target in
      try await tenants["big"].addPages()
      let run = Task { try await tenants.backup(to: target, bytesPerSecond: 1) }
      try await until { tenants.withState { !$0.copies.isEmpty } }
      try await tenants.close()
      await expectAsync(.closed) { _ = try await run.value }
    }
  }

  // MARK: Retention

  @Test func oldBackupsAreDeletedUnlessATimeNeedsThem() async throws {
    try await withBackups { tenants, target in
      try await tenants["a"].add("1")
      let directory = try BackupDirectory(path: target).directory(of: TenantName("a"))
      _ = try await tenants.backup(to: target)
      let backup = try #require(try tenants.backups(of: "a", in: target).first)
      // The clock has been set back by a day: later backups are still the last ones.
      for hours in [-1_000, -500, -10, -5, 24] {
        let name = backup.time.addingTimeInterval(Double(hours) * 3_600).backupTime + ".sqlite"
        try FileManager.default.copyItem(atPath: backup.path, toPath: directory + "/" + name)
      }
      try await tenants["a"].add("2")
      _ = try await tenants.backup(to: target, keep: .seconds(7 * 3_600))
      let all = try tenants.backups(of: "a", in: target)
      let hours = all.map { ($0.time.timeIntervalSince(backup.time) / 3_600).rounded() }
      // The backup of ten hours ago is needed for the time seven hours ago.
      #expect(hours == [-10, -5, 0, 24, 24])
      #expect(try texts(#require(all.last)) == ["1", "2"])
    }
  }

  @Test func backupsOfADeletedTenantAreDeletedAfterTheTimeToKeep() async throws {
    try await withBackups { tenants, target in
      for name in ["a", "b"] { try await tenants[name].add("1") }
      _ = try await tenants.backup(to: target)
      try await tenants.delete("a")
      let directory = try BackupDirectory(path: target).directory(of: TenantName("a"))
      _ = try await tenants.backup(to: target, keep: .seconds(3_600))
      _ = try await tenants.backup(to: target, keep: .seconds(3_600))
      #expect(try tenants.backups(of: "a", in: target).count == 1)
      // A tenant that exists again begins a new time.
      try await tenants.restore("a", from: tenants.backups(of: "a", in: target)[0].path)
      _ = try await tenants.backup(to: target, keep: .seconds(3_600))
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory).allSatisfy { $0.hasSuffix(".sqlite") })
      try await tenants.delete("a")
      _ = try await tenants.backup(to: target, keep: .seconds(3_600))
      let note = try #require(
        try FileManager.default.contentsOfDirectory(atPath: directory).first { $0.hasSuffix(".deleted") })
      let old = Date(timeIntervalSinceNow: -3_700).backupTime + ".deleted"
      try FileManager.default.moveItem(atPath: directory + "/" + note, toPath: directory + "/" + old)
      _ = try await tenants.backup(to: target)
      #expect(try !tenants.backups(of: "a", in: target).isEmpty)
      _ = try await tenants.backup(to: target, keep: .seconds(3_600))
      #expect(!FileManager.default.fileExists(atPath: directory))
      #expect(try tenants.backups(of: "b", in: target).count >= 1)
    }
  }

  @Test func theTimeOfABackupIsReadFromItsName() throws {
    let time = Date(timeIntervalSince1970: 1_796_024_712.000123)
    #expect(time.backupTime == "20261130T074512.000123Z")
    #expect(Date(backupTime: "20261130T074512.000123Z") == time)
    for text in ["", "20261130T074512Z", "20261330T074512.000123Z", "20261130T074512.00012xZ", "new"] {
      #expect(Date(backupTime: Substring(text)) == nil, "\(text)")
    }
  }
}
