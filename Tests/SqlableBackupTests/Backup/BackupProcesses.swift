import Foundation
import Glibc
import SqlableBackup
import SqlableCore
import Testing

@testable import SqlableTestSupport

/// Backups and restores of processes that the test kills.
@Suite(.enabled(if: TestProgram.isAvailable, "the tests are no program of their own"))
struct BackupProcesses {
  fileprivate static let variable = "SQLABLE_BACKUP_WORKER"

  @Test(arguments: ["backup", "vacuum", "restore"]) func killedProcessLeavesTheOldOrTheNewState(_ work: String) throws {
    try withDirectory { directory in
      var random = SeededGenerator(seed: 11)
      let path = directory + "/a.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: .init(busyTimeout: 60))
      try BackupTrial.prepare(db, padding: 10_000)
      for number in 1...3 {
        try db.transaction { db in try BackupTrial.transfer(db, number) }
        try db.backup(to: directory + "/backup\(number)")
      }
      try db.backup(to: directory + "/out")
      var (seen, partials) = ([Int: Int](), 0)
      let isSweep = ProcessInfo.processInfo.environment["SQLABLE_SWEEP"] == "all"
      for _ in 0..<(isSweep ? 120 : 5) {
        let worker = try TestProgram.start(
          "BackupWorkerProcess", environment: [BackupProcesses.variable: directory + " " + work])
        waitUntil { access(directory + "/ready", F_OK) == 0 }
        usleep(UInt32.random(in: 0..<30_000, using: &random))
        worker.signal(SIGKILL)
        worker.waitUntilExit()
        unlink(directory + "/ready")
        if work == "restore" {
          // An open handle and a new one see the same commit.
          for handle in [db, try SqliteDatabase(filepath: path)] {
            seen[try BackupTrial.expectOneCommit(handle), default: 0] += 1
          }
        } else {
          let partial = files(in: directory).filter { $0.contains("partial") }
          #expect(Set(partial).isSubset(of: ["out.sqlable-partial", "out.sqlable-partial-journal"]))
          let copy = try SqliteDatabase(
            filepath: directory + "/out", configuration: .init(isReadOnly: true, busyTimeout: 60))
          seen[try BackupTrial.expectOneCommit(copy), default: 0] += 1
          partials += partial.isEmpty ? 0 : 1
        }
      }
      #expect(seen.keys.allSatisfy { (1...3).contains($0) })
      // Most kills hit a process in the middle of its work.
      if isSweep { #expect(work == "restore" ? seen.count == 3 : partials > 20) }
      try db.backup(to: directory + "/out")
      #expect(files(in: directory).filter { $0.contains("partial") }.isEmpty)
    }
  }
}

/// The child process, which backs up or restores repeatedly.
@Suite(.enabled(if: ProcessInfo.processInfo.environment[BackupProcesses.variable] != nil, "a process of its own"))
struct BackupWorkerProcess {
  @Test func childProcessDoesItsTask() throws {
    let words = try #require(ProcessInfo.processInfo.environment[BackupProcesses.variable]).split(separator: " ")
    let (directory, work) = (String(words[0]), String(words[1]))
    let db = try SqliteDatabase(filepath: directory + "/a.sqlite", configuration: .init(busyTimeout: 60))
    let begin = ContinuousClock.now
    try Data().write(to: URL(fileURLWithPath: directory + "/ready"))
    // Without a kill, the process ends by itself.
    while begin.duration(to: .now) < .seconds(20) {
      for number in 1...3 {
        switch work {
        case "restore":
          try db.restore(from: directory + "/backup\(number)", BackupOptions(pagesPerStep: 10))
        case "vacuum": try db.backup(to: directory + "/out", .vacuumed)
        default: try db.backup(to: directory + "/out", BackupOptions(pagesPerStep: 10))
        }
      }
    }
  }
}
