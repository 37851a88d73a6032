import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableRecovery
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Archives of pools and restores at every commit.
@Suite(.needsPlainFiles("an archive reads pages")) struct ArchiveTests {
  /// Calls `body` with a pool that has the tables of bicycles, and with its archive.
  private func withArchive(
    _ options: ArchiveOptions = ArchiveOptions(interval: .milliseconds(10)),
    _ body: (_ pool: SqlitePool, _ archive: PoolArchive, _ directory: String) throws -> Void
  ) throws {
    try withDirectory { directory in
      // A busy machine can stop the archive's thread while it holds the write lock.
      let configuration = PoolConfiguration(handles: .init(busyTimeout: 600), waitTimeout: nil)
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite", configuration: configuration)
      try pool.transaction { db in _ = try db.createTables(Person.self, Bicycle.self) }
      let archive: PoolArchive = try pool.archive(to: directory + "/archive", options)
      try body(pool, archive, directory)
      try pool.close()
    }
  }

  /// Restores an archive at a moment and returns the database as SQL.
  private func restored(_ directory: String, _ moment: DatabaseArchive.RestorePoint, _ commit: Int? = nil) throws
    -> String
  {
    let path = directory + "/restored-\(UUID().uuidString).sqlite"
    let found = try DatabaseArchive(at: directory + "/archive").restore(to: path, at: moment)
    if let commit { #expect(found.commit == commit) }
    let db = try SqliteDatabase(filepath: path)
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try db.dump()
  }

  private func begin(_ pool: SqlitePool, _ path: String, _ options: ArchiveOptions) throws {
    let archive: PoolArchive = try pool.archive(to: path, options)
    try archive.stop()
  }

  private func restore(_ archive: String, _ target: String, _ moment: DatabaseArchive.RestorePoint = .latest) throws {
    try DatabaseArchive(at: archive).restore(to: target, at: moment)
  }

  private func logs(_ directory: String) throws -> [String] {
    let archive = directory + "/archive/"
    return try FileManager.default.subpathsOfDirectory(atPath: archive).filter { $0.contains("/log-") }.sorted()
      .map { archive + $0 }
  }

  @Test(arguments: 1...4) func everyCommitAndTimeIsRestored(seed: Int) throws {
    try withArchive(ArchiveOptions(interval: .seconds(3_600), fileSize: 40_000)) { pool, archive, directory in
      var random = SeededGenerator(seed: SeededGenerator.seed &+ UInt64(seed))
      var moments: [(commit: Int, time: Date, dump: String)] = []
      func note() throws {
        let commit: Int = try archive.flush()
        let dump = try pool.read { db in try db.dump() }
        moments.append((commit, Date(), dump))
        usleep(2_000)
      }
      try note()
      for step in 0..<60 {
        switch Int.random(in: 0..<12, using: &random) {
        case 0: try pool.withWriter { db in try db.execute("VACUUM") }
        case 1:
          try pool.transaction { db in try db.execute(SQL(verbatim: "CREATE TABLE t\(step) AS SELECT * FROM bicycle")) }
        case 2: _ = try Bicycle.delete(Bicycle.id % 3 == 0).run(pool)
        case 3: _ = try Bicycle.updateAll(Bicycle.color.set(to: "\(step)")).run(pool)
        case 4:
          try? pool.transaction { db in
            try Bicycle(name: "undone", color: "red").insert().run(db)
            throw CancellationError()
          }
        case 5: _ = try pool.withWriter { db in try db.query("PRAGMA wal_checkpoint(PASSIVE)") { _ in } }
        default:
          let count = Int.random(in: 1..<200, using: &random)
          let name = String(repeating: "x", count: Int.random(in: 0..<400, using: &random))
          _ = try Bicycle.insert((0..<count).map { Bicycle(name: "\(step)-\($0)-\(name)", color: "red") }).run(pool)
        }
        if random.chance(40) { try note() }
      }
      try note()
      #expect(try logs(directory).count > 3)
      for moment in moments {
        #expect(try restored(directory, .commit(moment.commit), moment.commit) == moment.dump)
        #expect(try restored(directory, .time(moment.time), moment.commit) == moment.dump)
      }
      #expect(try restored(directory, .latest) == moments.last?.dump)
      let ranges = try DatabaseArchive(at: directory + "/archive").ranges()
      #expect(ranges.map(\.first.commit) == [1])
      #expect(ranges.map(\.last.commit) == [moments.last?.commit])
      #expect(moments.map(\.commit) == moments.map(\.commit).sorted())
    }
  }

  @Test func walResetsLoseNoArchivedCommit() throws {
    try withArchive { pool, archive, directory in
      var largest = 0
      for number in 0..<600 {
        _ = try Bicycle.insert((0..<100).map { Bicycle(name: "\(number)-\($0)", color: "red") }).run(pool)
        largest = max(largest, pool.statistics.walSize)
        // A busy machine can delay the archive's thread, which resets the WAL.
        let isLarge = largest > 16 << 20
        if isLarge || number.isMultiple(of: 20) { usleep(isLarge ? 100_000 : 20_000) }
      }
      _ = try archive.flush() as Int
      #expect(largest < 32 << 20)
      #expect(try restored(directory, .latest) == pool.read { db in try db.dump() })
      // A long read blocks the reset of the WAL, but not the archive.
      try pool.read { db in
        #expect(try Bicycle.count().run(db) == 60_000)
        for number in 0..<100 {
          _ = try Bicycle.insert((0..<100).map { Bicycle(name: "late \(number)-\($0)", color: "red") })
            .run(SqliteDatabase(filepath: pool.filepath))
        }
        _ = try archive.flush() as Int
        #expect(try restored(directory, .latest).contains("late 99-99"))
      }
      try Bicycle(name: "last", color: "red").insert().run(pool)
      _ = try archive.flush() as Int
      #expect(try restored(directory, .latest) == pool.read { db in try db.dump() })
      #expect(archive.status.error == nil)
      #expect(archive.status.gaps == 0)
    }
  }

  @Test(.needsSQLiteProgram)
  func commitsOfOtherProcessesAreArchived() throws {
    try withArchive { pool, archive, directory in
      let other = try SQLiteProcess(pool.filepath)
      for number in 0..<300 {
        try other.run("INSERT INTO bicycle (name, color) VALUES ('\(number)', hex(randomblob(2000)));")
        try Person(id: nil, name: "\(number)").insert().run(pool)
      }
      other.kill()
      _ = try archive.flush() as Int
      #expect(try restored(directory, .latest) == pool.read { db in try db.dump() })
      #expect(try Bicycle.count().run(pool) == 300)
    }
  }

  @Test func closeAndStopArchiveTheLastCommits() throws {
    try withArchive(ArchiveOptions(interval: .seconds(3_600))) { pool, archive, directory in
      try Bicycle(name: "one", color: "red").insert().run(pool)
      let one = try pool.read { db in try db.dump() }
      try archive.stop()
      try archive.stop()
      expectError(.closed) { _ = try archive.flush() as Int }
      #expect(try restored(directory, .latest) == one)
      // A new start makes a new copy. Commits in between were not archived.
      let between = Date()
      usleep(2_000)
      try Bicycle(name: "lost", color: "red").insert().run(pool)
      let second: PoolArchive = try pool.archive(to: directory + "/archive", ArchiveOptions(interval: .seconds(3_600)))
      let begin = second.status.commit
      try Bicycle(name: "two", color: "red").insert().run(pool)
      let two = try pool.read { db in try db.dump() }
      try pool.close()
      #expect(try restored(directory, .latest) == two)
      #expect(try restored(directory, .commit(begin)).contains("lost"))
      let error = sqlError { _ = try restored(directory, .time(between)) }
      #expect(
        error?.message
          == "the archive has a gap at that time; restore commit \(begin - 1) before the gap, or commit \(begin) "
          + "after the gap, by its number"
      )
      #expect(try restored(directory, .commit(begin - 1)) == one)
      #expect(try DatabaseArchive(at: directory + "/archive").ranges().count == 2)
    }
  }

  @Test func asyncCallsArchiveCommits() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite")
      try await pool.transaction { db in _ = try db.createTables(Person.self, Bicycle.self) }
      let archive = try await pool.archive(to: directory + "/archive", ArchiveOptions(interval: .milliseconds(5)))
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<200 {
          group.addTask { try await Person(id: nil, name: "\(number)").insert().run(pool) }
          if number.isMultiple(of: 50) { group.addTask { _ = try await archive.flush() } }
        }
        try await group.waitForAll()
      }
      #expect(try await archive.flush() > 1)
      try await pool.close()
      try await DatabaseArchive(at: directory + "/archive").restore(to: directory + "/copy.sqlite")
      #expect(try Person.count().run(SqliteDatabase(filepath: directory + "/copy.sqlite")) == 200)
    }
  }

  // MARK: Missing and damaged files

  @Test func errorNamesDamageAndEarlierCommitsAreRestored() throws {
    try withArchive(ArchiveOptions(interval: .seconds(3_600), fileSize: 1)) { pool, archive, directory in
      var dumps: [Int: String] = [:]
      for number in 0..<6 {
        try Bicycle(name: "\(number)", color: "red").insert().run(pool)
        dumps[try archive.flush()] = try pool.read { db in try db.dump() }
      }
      try archive.stop()
      let files = try logs(directory)
      #expect(files.count == 6)
      func message() -> String? { sqlError { _ = try restored(directory, .latest) }?.message }
      // The copy holds commit 1, so the files begin with commits 2 to 7.
      let (gone, bytes) = (files[2], try Data(contentsOf: URL(filePath: files[2])))
      try FileManager.default.removeItem(atPath: gone)
      #expect(message()?.contains("is damaged: commits 4 to 4 are missing; restore an earlier commit") == true)
      #expect(try restored(directory, .commit(3)) == dumps[3])
      var random = SeededGenerator(seed: 17)
      for _ in 0..<40 {
        var damaged = bytes
        let place = Int.random(in: 0..<bytes.count, using: &random)
        damaged[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
        try damaged.write(to: URL(filePath: gone))
        let error = sqlError { _ = try restored(directory, .latest) }
        #expect(error?.kind == .corrupt, "byte \(place)")
        #expect(error?.message.contains("is damaged") == true, "byte \(place)")
        #expect(try restored(directory, .commit(3)) == dumps[3])
      }
      try bytes.write(to: URL(filePath: gone))
      #expect(try restored(directory, .latest) == dumps[7])
    }
  }

  @Test func tornLastRecordIsIgnored() throws {
    try withArchive(ArchiveOptions(interval: .seconds(3_600))) { pool, archive, directory in
      try Bicycle(name: "whole", color: "red").insert().run(pool)
      let (commit, whole): (Int, String) = (try archive.flush(), try pool.read { db in try db.dump() })
      let file = try #require(try logs(directory).last)
      let size = try Data(contentsOf: URL(filePath: file)).count
      try Bicycle(name: "torn", color: "red").insert().run(pool)
      try archive.stop()
      let bytes = try Data(contentsOf: URL(filePath: file))
      var random = SeededGenerator(seed: 18)
      for _ in 0..<40 {
        let end = Int.random(in: size..<bytes.count, using: &random)
        // The file is cut off, or filled up with zeros to its final length.
        let rest = random.chance(50) ? Data(count: bytes.count - end) : Data()
        try (bytes[..<end] + rest).write(to: URL(filePath: file))
        #expect(try restored(directory, .latest, commit) == whole)
      }
    }
  }

  @Test func archiveAcceptsDurationsOfAnyLength() throws {
    try withDirectory { directory in
      let pool = try SqlitePool(filepath: directory + "/a.sqlite")
      try pool.transaction { db in try db.createTable(Member.self) }
      let endless = Duration.seconds(Int64.max)
      let options = ArchiveOptions(interval: endless, baseInterval: endless, keep: endless)
      let archive = try pool.archive(to: directory + "/archive", options)
      try pool.transaction { db in _ = try Member(id: 1, name: "one").insert().run(db) }
      try archive.flush()
      try archive.stop()
      try DatabaseArchive(at: directory + "/archive").restore(to: directory + "/b.sqlite")
      #expect(try Member.count().run(SqliteDatabase(filepath: directory + "/b.sqlite")) == 1)
      try pool.close()
    }
  }

  @Test func invalidArchivesAndRestoresAreRefused() throws {
    try withArchive { pool, archive, directory in
      let path = directory + "/archive"
      expectError(.busy) { try begin(pool, path, ArchiveOptions()) }
      expectMisuse { try begin(pool, path, ArchiveOptions(interval: .zero)) }
      expectMisuse { try begin(pool, path, ArchiveOptions(keep: .zero)) }
      expectMisuse { try begin(pool, path, ArchiveOptions(fileSize: 0)) }
      let target = directory + "/target.sqlite"
      let commit: Int = try archive.flush()
      let later = sqlError { try restore(path, target, .commit(commit + 1)) }
      #expect(later?.message.contains("lacks commit \(commit + 1); restore commit \(commit)") == true)
      let earlier = sqlError { try restore(path, target, .commit(0)) }
      #expect(earlier?.message.contains("begins after the restore point; restore commit 1") == true)
      let past = sqlError { try restore(path, target, .time(.distantPast)) }
      #expect(past?.message.contains("begins after the restore point") == true)
      expectMisuse { try restore(path, target, .time(Date(timeIntervalSince1970: .nan))) }
      expectMisuse { try restore(path, pool.filepath) }
      expectMisuse { try restore(path, "") }
      expectError(.cannotOpen) { try restore(path, directory + "/no/such/place.sqlite") }
      expectError(.cannotOpen) { try restore(directory + "/none", target) }
      let error = sqlError { try DatabaseArchive(at: path).restore(to: target, schema: Schema(Car.self)) }
      #expect(error?.message.hasPrefix("the restored database: ") == true)
      #expect(!FileManager.default.fileExists(atPath: target))
      #expect(files(in: directory).allSatisfy { !$0.contains("partial") })
      try restore(path, target, .time(.distantFuture))
      #expect(FileManager.default.fileExists(atPath: target))
    }
  }

  @Test func anotherProgramsPartialDirectoryIsKept() throws {
    try withDirectory { directory in
      let pool = try SqlitePool(filepath: directory + "/a.sqlite")
      let (path, partial) = (directory + "/archive", directory + "/archive/partial")
      try FileManager.default.createDirectory(atPath: partial, withIntermediateDirectories: true)
      try Data("mine".utf8).write(to: URL(filePath: partial + "/notes"))
      let error = expectMisuse { _ = try pool.archive(to: path) }
      #expect(error?.message.hasSuffix("another file has the name; move or delete \(partial)") == true)
      #expect(try String(contentsOfFile: partial + "/notes", encoding: .utf8) == "mine")
      // The files of a killed archive are removed.
      unlink(partial + "/notes")
      try Data("half".utf8).write(to: URL(filePath: partial + "/base.sqlite"))
      try pool.archive(to: path).stop()
      #expect(!FileManager.default.fileExists(atPath: partial))
    }
  }

  @Test func oldCommitsAreDeletedAndTheOthersRestored() throws {
    let options = ArchiveOptions(
      interval: .seconds(3_600), baseInterval: .milliseconds(1), keep: .seconds(1))
    try withArchive(options) { pool, archive, directory in
      for number in 0..<20 {
        try Bicycle(name: "\(number)", color: "red").insert().run(pool)
        usleep(100_000)
        _ = try archive.flush() as Int
      }
      let ranges = try DatabaseArchive(at: directory + "/archive").ranges()
      #expect((2..<19).contains(ranges.count))
      #expect((ranges.first?.first.commit ?? 0) > 5)
      #expect(try restored(directory, .latest) == pool.read { db in try db.dump() })
      for range in ranges { _ = try restored(directory, .commit(range.first.commit), range.first.commit) }
    }
  }

  // MARK: Full disks

  @Test(.enabled(if: Administrator.canMount, "no file system can be mounted"))
  func archiveCatchesUpAfterAFullDisk() throws {
    try withSmallDisk(size: "24m") { disk in
      try withDirectory { directory in
        let pool = try SqlitePool(filepath: directory + "/pool.sqlite")
        let failures = Mutex<[SqlError.Kind]>([])
        pool.didFail = { error in
          if let error = error as? SqlError { failures.withLock { $0.append(error.kind) } }
        }
        try pool.transaction { db in _ = try db.createTables(Person.self, Bicycle.self) }
        let archive: PoolArchive = try pool.archive(to: disk + "/archive", ArchiveOptions(interval: .milliseconds(5)))
        let filler = disk + "/filler"
        try Data(count: 23 << 20).write(to: URL(filePath: filler))
        for number in 0..<400 { try Bicycle(name: "\(number)", color: "red").insert().run(pool) }
        expectError(.full) { _ = try archive.flush() as Int }
        #expect(archive.status.error?.kind == .full)
        #expect(failures.withLock { $0.contains(.full) })
        try deleteAndFree(filler)
        _ = try archive.flush() as Int
        #expect(archive.status.error == nil)
        #expect(archive.status.gaps == 0)
        try DatabaseArchive(at: disk + "/archive").restore(to: directory + "/copy.sqlite")
        #expect(try Bicycle.count().run(SqliteDatabase(filepath: directory + "/copy.sqlite")) == 400)
        try pool.close()
      }
    }
  }

  @Test(.enabled(if: Administrator.canMount, "no file system can be mounted"))
  func archiveSkipsCommitsAboveTheMaximumLog() throws {
    try withSmallDisk(size: "2m") { disk in
      try withDirectory { directory in
        let pool = try SqlitePool(filepath: directory + "/pool.sqlite")
        try pool.transaction { db in _ = try db.createTables(Person.self, Bicycle.self) }
        let options = ArchiveOptions(interval: .seconds(3_600), maximumWalSize: 100_000)
        let archive: PoolArchive = try pool.archive(to: disk + "/archive", options)
        let filler = disk + "/filler"
        #expect(FileManager.default.createFile(atPath: filler, contents: nil))
        let file = try FileHandle(forWritingTo: URL(filePath: filler))
        while (try? file.write(contentsOf: Data(count: 4_096))) != nil {}
        for number in 0..<100 { try Bicycle(name: "\(number)", color: "red").insert().run(pool) }
        expectError(.full) { _ = try archive.flush() as Int }
        #expect(archive.status.gaps == 1)
        expectError(.full) { _ = try archive.flush() as Int }
        try file.close()
        try deleteAndFree(filler)
        _ = try archive.flush() as Int
        #expect(archive.status.error == nil)
        #expect(try DatabaseArchive(at: disk + "/archive").ranges().count == 2)
        try DatabaseArchive(at: disk + "/archive").restore(to: directory + "/copy.sqlite")
        #expect(try Bicycle.count().run(SqliteDatabase(filepath: directory + "/copy.sqlite")) == 100)
        try pool.close()
      }
    }
  }
}
