import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableRecovery
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// The guide's promises about archives: times, pools in memory, and one writer at a time.
@Suite(.needsPlainFiles("an archive reads pages")) struct ArchivePromiseTests {
  fileprivate static let variable = "SQLABLE_SECOND_ARCHIVE"
  private let seldom = ArchiveOptions(interval: .seconds(3_600))

  @Test func clockSetBackStartsARangeWithItsTimes() throws {
    try withDirectory { directory in
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite")
      try pool.transaction { db in _ = try db.createTables(Person.self, Bicycle.self) }
      let path = directory + "/archive"
      do {
        let archive: PoolArchive = try pool.archive(to: path, seldom)
        try archive.stop()
      }
      // The description looks as if the clock had been an hour ahead.
      let description = try #require(
        FileManager.default.subpathsOfDirectory(atPath: path).first { $0.hasSuffix("/generation.json") })
      let url = URL(filePath: path + "/" + description)
      var object = try #require(try JSONSerialization.jsonObject(with: Data(contentsOf: url)) as? [String: Any])
      let ahead = Int((Date().timeIntervalSince1970 + 3_600) * 1_000_000)
      object["time"] = ahead
      try JSONSerialization.data(withJSONObject: object).write(to: url)

      let archive: PoolArchive = try pool.archive(to: path, seldom)
      var times = [try #require(archive.status.time)]
      for number in 0..<3 {
        try Person(id: nil, name: "\(number)").insert().run(pool)
        _ = try archive.flush() as Int
        times.append(try #require(archive.status.time))
      }
      #expect(times == times.sorted())
      #expect(times.allSatisfy { abs($0.timeIntervalSinceNow) < 600 })
      let ranges = try DatabaseArchive(at: path).ranges()
      try #require(ranges.count == 2)
      #expect(ranges[1].last.time == times.last)
      let last = try DatabaseArchive(at: path).restore(to: directory + "/restored", at: .time(Date()))
      #expect(last.commit == ranges[1].last.commit)
      try archive.stop()
      try pool.close()
    }
  }

  @Test func inMemoryPoolIsArchived() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool.inMemory()
      try await pool.transaction { db in try db.createTables(Person.self, Bicycle.self) }
      let archive = try await pool.archive(to: directory + "/archive", seldom)
      try await Person(id: nil, name: "Anna").insert().run(pool)
      let commit = try await archive.flush()
      try await Person(id: nil, name: "Bert").insert().run(pool)
      try await pool.close()
      let restored = DatabaseArchive(at: directory + "/archive")
      try await restored.restore(to: directory + "/one", at: .commit(commit))
      try await restored.restore(to: directory + "/two")
      #expect(try Person.read().run(SqliteDatabase(filepath: directory + "/one")).map(\.name) == ["Anna"])
      #expect(try Person.read().run(SqliteDatabase(filepath: directory + "/two")).map(\.name) == ["Anna", "Bert"])
    }
  }

  /// A flush writes nothing to the database: a reset of the WAL waits for the timer.
  @Test func aFlushInsideAReadOrATransactionArchivesTheCommits() throws {
    try withDirectory { directory in
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite")
      try pool.transaction { db in _ = try db.createTables(Person.self, Bicycle.self) }
      let archive: PoolArchive = try pool.archive(to: directory + "/archive", seldom)
      // Enough commits that a reset of the WAL is due.
      for number in 0..<700 { try Person(id: nil, name: "\(number)").insert().run(pool) }
      #expect(pool.statistics.walSize > 1_000 * 4_120)
      let commit = try pool.read { _ in try archive.flush() as Int }
      try Person(id: nil, name: "last").insert().run(pool)
      #expect(try pool.transaction { _ in try archive.flush() as Int } == commit + 1)
      #expect(archive.status.error == nil)
      try archive.stop()
      try DatabaseArchive(at: directory + "/archive").restore(to: directory + "/restored")
      #expect(try Person.count().run(SqliteDatabase(filepath: directory + "/restored")) == 701)
      try pool.close()
    }
  }

  @Test func releasingAPoolEndsItsArchive() throws {
    try withDirectory { directory in
      for round in 0..<times(10) {
        let path = directory + "/\(round).sqlite"
        do {
          let pool = try SqlitePool(filepath: path)
          try pool.transaction { db in _ = try db.createTables(Person.self, Bicycle.self) }
          // The tiny baseInterval makes the archive copy all the time, so it usually holds the writer.
          let options = ArchiveOptions(interval: .milliseconds(1), baseInterval: .nanoseconds(1))
          let _: PoolArchive = try pool.archive(to: path + ".archive", options)
          try Person(id: nil, name: "Anna").insert().run(pool)
          usleep(UInt32.random(in: 0...5_000))
        }
        // The archive locks its directory until it ends.
        let next = try SqlitePool(filepath: path)
        let end = ContinuousClock.now + .seconds(600)
        while true {
          do {
            let archive: PoolArchive = try next.archive(to: path + ".archive", seldom)
            try archive.stop()
            break
          } catch let error as SqlError where error.kind == .busy && ContinuousClock.now < end { usleep(1_000) }
        }
        try next.close()
        try DatabaseArchive(at: path + ".archive").restore(to: path + ".restored")
        #expect(try Person.count().run(SqliteDatabase(filepath: path + ".restored")) == 1)
      }
    }
  }

  @Test(.enabled(if: TestProgram.isAvailable, "the tests are no program of their own"))
  func archiveRefusesAPoolOfAnotherProcess() throws {
    try withDirectory { directory in
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite")
      try pool.transaction { db in _ = try db.createTables(Person.self, Bicycle.self) }
      func answer() throws -> String {
        let process = try TestProgram.start(
          "SecondArchiveProcess", environment: [ArchivePromiseTests.variable: directory])
        let text = String(decoding: process.output.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return text.split(separator: "\n").last { $0.hasPrefix("<answer>") }.map(String.init) ?? ""
      }
      let archive: PoolArchive = try pool.archive(to: directory + "/archive", seldom)
      #expect(try answer() == "<answer>busy: another pool writes to the archive at \(directory)/archive")
      // The first archive continues, and its end frees the directory.
      try Person(id: nil, name: "Anna").insert().run(pool)
      _ = try archive.flush() as Int
      try archive.stop()
      #expect(try answer() == "<answer>archived")
      try DatabaseArchive(at: directory + "/archive").restore(to: directory + "/restored")
      #expect(try Person.count().run(SqliteDatabase(filepath: directory + "/restored")) == 1)
      try pool.close()
    }
  }
}

/// The child process, which archives the same database to the same directory.
@Suite(.enabled(if: ProcessInfo.processInfo.environment[ArchivePromiseTests.variable] != nil, "a process of its own"))
struct SecondArchiveProcess {
  @Test func childProcessStartsAnArchive() throws {
    let directory = try #require(ProcessInfo.processInfo.environment[ArchivePromiseTests.variable])
    let pool = try SqlitePool(filepath: directory + "/pool.sqlite")
    var answer = "archived"
    do {
      let archive: PoolArchive = try pool.archive(to: directory + "/archive")
      try archive.stop()
    } catch let error as SqlError { answer = "\(error.kind): \(error.message)" }
    try FileHandle.standardOutput.write(contentsOf: Data("\n<answer>\(answer)\n".utf8))
    try pool.close()
  }
}
