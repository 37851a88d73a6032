import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableRecovery
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Restores after a lost machine: the test kills the process and keeps only its archive.
@Suite(
  .needsPlainFiles("an archive reads pages"),
  .enabled(if: TestProgram.isAvailable, "the tests are no program of their own"))
struct ArchiveProcesses {
  fileprivate static let variable = "SQLABLE_ARCHIVE_WORKER"
  fileprivate static let mark = "<stored>"

  @Test func killedProcessLosesAtMostTheLastSecond() throws {
    var random = SeededGenerator(seed: 19)
    for _ in 0..<times(100) / (ProcessInfo.processInfo.environment["SQLABLE_SWEEP"] == "all" ? 1 : 20) {
      // A busy machine can stop the archive's thread for a second, but not in each of ten attempts.
      var isInTime = false
      for _ in 0..<10 where !isInTime { isInTime = try killAWorker(&random) }
      #expect(isInTime)
    }
  }

  /// Kills a worker and restores its archive. Returns true if the restored database has all rows that were stored more
  /// than a second before the kill.
  private func killAWorker(_ random: inout SeededGenerator) throws -> Bool {
    try withDirectory { directory in
      let worker = try TestProgram.start("ArchiveWorkerProcess", environment: [ArchiveProcesses.variable: directory])
      let time = Duration.milliseconds(Int.random(in: 1_200..<2_500, using: &random))
      var (text, stored) = ("", [(id: Int, at: ContinuousClock.Instant)]())
      // A busy machine starts the process late: the time begins with the first row.
      while stored.first.map({ ContinuousClock.now < $0.at + time }) ?? true {
        let data = worker.output.availableData
        if data.isEmpty { break }
        text += String(decoding: data, as: UTF8.self)
        while let line = text.firstIndex(of: "\n") {
          if text[..<line].hasPrefix(ArchiveProcesses.mark) {
            stored.append((Int(text[..<line].dropFirst(ArchiveProcesses.mark.count)) ?? 0, .now))
          }
          text = String(text[text.index(after: line)...])
        }
      }
      let killed = ContinuousClock.now
      worker.signal(SIGKILL)
      worker.waitUntilExit()
      for file in files(in: directory) where file != "archive" {
        try FileManager.default.removeItem(atPath: directory + "/" + file)
      }
      try DatabaseArchive(at: directory + "/archive").restore(to: directory + "/restored.sqlite")
      let db = try SqliteDatabase(filepath: directory + "/restored.sqlite")
      let ids = try db.query("SELECT id FROM bicycle ORDER BY id", as: Int.self)
      // The rows have no gap.
      #expect(ids == Array(1..<(ids.count + 1)))
      let old = stored.filter { $0.at.duration(to: killed) > .seconds(1) }
      #expect(!old.isEmpty)
      return ids.count >= old.last?.id ?? 0
    }
  }
}

/// The child process, which stores rows and reports their ids.
@Suite(.enabled(if: ProcessInfo.processInfo.environment[ArchiveProcesses.variable] != nil, "a process of its own"))
struct ArchiveWorkerProcess {
  @Test func childProcessStoresRows() throws {
    let directory = try #require(ProcessInfo.processInfo.environment[ArchiveProcesses.variable])
    let pool = try SqlitePool(filepath: directory + "/pool.sqlite")
    try pool.transaction { db in _ = try db.createTables(Person.self, Bicycle.self) }
    let archive: PoolArchive = try pool.archive(to: directory + "/archive")
    let end = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < end {
      let id = try Bicycle(name: "\(UInt64.random(in: 0...(.max)))", color: "red").insert().run(pool)
      try FileHandle.standardOutput.write(contentsOf: Data("\(ArchiveProcesses.mark)\(id)\n".utf8))
      // A few hundred commits a second: a debug build in a busy test run archives no more in time.
      usleep(3_000)
    }
    try archive.stop()
  }
}
