import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableRecovery
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Faults of an archive's directory, clock and copies, and their reports.
@Suite(.needsPlainFiles("an archive reads pages")) struct ArchiveStateTests {
  fileprivate let seldom = ArchiveOptions(interval: .seconds(3_600))

  fileprivate func withPool(_ body: (_ pool: SqlitePool, _ directory: String) throws -> Void) throws {
    try withDirectory { directory in
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite")
      try pool.transaction { db in _ = try db.createTables(Person.self, Bicycle.self) }
      try body(pool, directory)
      try pool.close()
    }
  }

  fileprivate func begin(_ pool: SqlitePool, _ path: String, _ options: ArchiveOptions) throws -> PoolArchive {
    try pool.archive(to: path, options)
  }

  private func insert(_ name: String, _ pool: SqlitePool) throws { try Person(id: nil, name: name).insert().run(pool) }

  private func names(_ path: String, _ moment: DatabaseArchive.RestorePoint, _ target: String) throws -> [String] {
    let target = target + "/restored-\(UUID().uuidString)"
    try DatabaseArchive(at: path).restore(to: target, at: moment)
    return try Person.read().run(SqliteDatabase(filepath: target)).map(\.name).sorted()
  }

  /// Changes the description of a generation, as if another clock had been in use.
  private func change(_ path: String, generation: Int, _ change: (inout [String: Any]) -> Void) throws {
    let all = try FileManager.default.subpathsOfDirectory(atPath: path).filter { $0.hasSuffix("/generation.json") }
    let url = URL(filePath: path + "/" + all.sorted()[generation])
    var object = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any])
    change(&object)
    try JSONSerialization.data(withJSONObject: object).write(to: url)
  }

  @Test func archivePausesWhileThePoolIsBlocked() throws {
    try withPool { pool, directory in
      let path = directory + "/archive"
      let archive = try begin(pool, path, seldom)
      let block = try pool.block()
      try Person(id: nil, name: "blocked").insert().run(block)
      expectError(.busy) { _ = try archive.flush() as Int }
      block.end()
      let commit: Int = try archive.flush()
      #expect(try names(path, .commit(commit), directory) == ["blocked"])
      try archive.stop()
    }
  }

  @Test(.disabled(if: isSanitized)) func aForkedProcessDoesNotKeepTheLock() async throws {
    await #expect(processExitsWith: .success) {
      let tests = ArchiveStateTests()
      try tests.withPool { pool, directory in
        let archive = try tests.begin(pool, directory + "/archive", tests.seldom)
        let child = Fork.beginIdle()
        defer { Fork.end(child) }
        #expect(child > 0)
        try archive.stop()
        try tests.begin(pool, directory + "/archive", tests.seldom).stop()
      }
    }
  }

  // MARK: The clock

  @Test func clockAheadAtStartDeletesNoHistory() throws {
    try withPool { pool, directory in
      let path = directory + "/archive"
      let options = ArchiveOptions(interval: .seconds(3_600), keep: .seconds(7 * 86_400))
      for name in ["one", "two"] {
        let archive = try begin(pool, path, options)
        if name == "one" { try insert(name, pool) }
        try archive.stop()
      }
      // Two ranges that are a year old look the same as a clock that is a year ahead.
      let year = 365 * 86_400 * 1_000_000
      for generation in 0...1 {
        try change(path, generation: generation) { object in
          for key in ["time", "age"] { object[key] = (object[key] as? Int).map { $0 - year } }
        }
      }
      for _ in 0..<3 {
        let archive = try begin(pool, path, options)
        try archive.stop()
      }
      let ranges = try DatabaseArchive(at: path).ranges()
      #expect(ranges.count == 5)
      #expect(ranges.first?.first.commit == 1)
      #expect(try names(path, .commit(2), directory) == ["one"])
    }
  }

  @Test func commitsAfterAClockWasSetBackAreFoundByTheirTimes() throws {
    try withPool { pool, directory in
      let path = directory + "/archive"
      let first = try begin(pool, path, seldom)
      try first.stop()
      try change(path, generation: 0) { object in
        object["time"] = (object["time"] as? Int).map { $0 + 3_600 * 1_000_000 }
      }
      let archive = try begin(pool, path, seldom)
      try insert("one", pool)
      try archive.flush()
      usleep(5_000)
      let noon = Date()
      usleep(5_000)
      try insert("two", pool)
      try archive.flush()
      #expect(try names(path, .time(noon), directory) == ["one"])
      #expect(try names(path, .time(Date()), directory) == ["one", "two"])
      try archive.stop()
    }
  }

  @Test func quietHoursBeforeANewCopyAreRestoredByTime() throws {
    try withPool { pool, directory in
      let path = directory + "/archive"
      let options = ArchiveOptions(interval: .seconds(3_600), baseInterval: .milliseconds(300))
      let archive = try begin(pool, path, options)
      try insert("one", pool)
      try archive.flush()
      usleep(100_000)
      let quiet = Date()
      usleep(300_000)
      // The commit precedes the new copy, so it belongs to the range that ends.
      try insert("two", pool)
      try archive.flush()
      #expect(try DatabaseArchive(at: path).ranges().count > 1)
      #expect(try names(path, .time(quiet), directory) == ["one"])
      #expect(try names(path, .latest, directory) == ["one", "two"])
      try archive.stop()
    }
  }

  // MARK: The directory

  @Test func removedDirectoryIsReportedAndNotRecreated() throws {
    try withPool { pool, directory in
      let path = directory + "/archive"
      let failures = Mutex<[SqlError.Kind]>([])
      pool.didFail = { error in
        if let error = error as? SqlError { failures.withLock { $0.append(error.kind) } }
      }
      let archive = try begin(pool, path, seldom)
      #expect(pool.health(within: .seconds(60)).problems.allSatisfy { !isOfArchive($0) })
      try FileManager.default.removeItem(atPath: path)
      try insert("one", pool)
      expectError(.cannotOpen) { _ = try archive.flush() as Int }
      #expect(archive.status.error?.kind == .cannotOpen)
      #expect(archive.status.gaps == 1)
      #expect(failures.withLock { $0 } == [.cannotOpen])
      #expect(pool.health(within: .seconds(60)).problems.contains(where: isOfArchive))
      expectError(.cannotOpen) { _ = try archive.flush() as Int }
      #expect(!FileManager.default.fileExists(atPath: path))
      // A file takes the place of the directory.
      try Data().write(to: URL(filePath: path))
      expectError(.cannotOpen) { _ = try archive.flush() as Int }
      try FileManager.default.removeItem(atPath: path)
      // A new directory gets a whole copy.
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      try archive.flush()
      #expect(archive.status.error == nil)
      #expect(pool.health(within: .seconds(60)).problems.allSatisfy { !isOfArchive($0) })
      try insert("two", pool)
      try archive.stop()
      #expect(try names(path, .latest, directory) == ["one", "two"])
    }
  }

  @Test(arguments: ["archive", "archive/from", "archive/from/base.sqlite", "archive/from/log"])
  func flushFailsAfterArchiveFilesAreRemoved(part: String) throws {
    try withPool { pool, directory in
      let path = directory + "/archive"
      let archive = try begin(pool, path, seldom)
      let parts = try FileManager.default.subpathsOfDirectory(atPath: directory).sorted()
      let name = part.replacing("from", with: "from-0000000000000000001")
      let found = try #require(parts.first { $0.hasPrefix(name) })
      try FileManager.default.moveItem(atPath: directory + "/" + found, toPath: directory + "/moved")
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      try insert("one", pool)
      expectError(.cannotOpen) { _ = try archive.flush() as Int }
      try archive.flush()
      try archive.stop()
      #expect(try names(path, .latest, directory) == ["one"])
    }
  }

  private func isOfArchive(_ problem: SqlitePool.Health.Problem) -> Bool {
    if case .archiveFails = problem { true } else { false }
  }

  // MARK: Copies

  @Test func flippedBitOfABaseCopyIsDetected() throws {
    try withPool { pool, directory in
      let path = directory + "/archive"
      try insert("a name", pool)
      let archive = try begin(pool, path, seldom)
      try archive.stop()
      let parts = try FileManager.default.subpathsOfDirectory(atPath: path)
      let base = URL(filePath: path + "/" + (try #require(parts.first { $0.hasSuffix("base.sqlite") })))
      let bytes = try Data(contentsOf: base)
      var random = SeededGenerator(seed: 41)
      for _ in 0..<40 {
        var damaged = bytes
        let place = Int.random(in: 0..<bytes.count, using: &random)
        damaged[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        try damaged.write(to: base)
        let error = sqlError { _ = try names(path, .latest, directory) }
        #expect(
          error?.kind == .corrupt, "byte \(place)")
        #expect(error?.message.contains("base.sqlite does not match") == true, "byte \(place)")
      }
      try bytes.dropLast(4_096).write(to: base)
      expectError(.corrupt) { _ = try names(path, .latest, directory) }
      try bytes.write(to: base)
      #expect(try names(path, .latest, directory) == ["a name"])
    }
  }

  @Test func theArchiveOfAnotherDatabaseIsRefused() throws {
    try withPool { pool, directory in
      let path = directory + "/archive"
      let archive = try begin(pool, path, seldom)
      try archive.stop()
      let other = try SqlitePool(filepath: directory + "/other.sqlite")
      let error = sqlError { _ = try begin(other, path, seldom) }
      #expect(error?.message.contains("; use another directory") == true)
      let moved = try begin(other, path, ArchiveOptions(interval: .seconds(3_600), acceptsOtherDatabase: true))
      try moved.stop()
      try other.close()
      #expect(try DatabaseArchive(at: path).ranges().count == 2)
    }
  }

  @Test func theLagOfAnArchiveIsReported() throws {
    try withPool { pool, directory in
      let archive = try begin(pool, directory + "/archive", seldom)
      usleep(50_000)
      #expect(archive.status.lag > .milliseconds(40))
      #expect(!archive.status.isCopying)
      func isBehind(_ lag: Duration) -> Bool {
        let limits = SqlitePool.HealthLimits(archiveLag: lag)
        return pool.health(within: .seconds(60), limits: limits).problems.contains {
          if case .archiveIsBehind = $0 { true } else { false }
        }
      }
      // The first limit lies within the interval. The second one acts as if the interval were over.
      #expect(!isBehind(.zero))
      #expect(isBehind(.seconds(-3_600)))
      let start = ContinuousClock.now
      try archive.flush()
      #expect(archive.status.lag <= start.duration(to: .now))
    }
  }
}
