import Foundation
import Glibc
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Tests that kill migrating processes: a migration is recorded exactly if it has run.
@Suite(.enabled(if: TestProgram.isAvailable, "the tests are no program of their own"))
struct MigrationProcesses {
  fileprivate static let variable = "SQLABLE_MIGRATION_WORKER"

  fileprivate static let migrations: Migrations = {
    var all = [Migration("table", sql: "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER NOT NULL DEFAULT 0)")]
    all.append(
      Migration("rows") { db in
        try db.execute(
          """
          WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) INSERT INTO t (id) \
          SELECT i FROM n
          """)
      })
    all.append(
      Migration(batches: "batches") { db, last in
        let begin = last ?? 0
        // This change is not idempotent, so a batch that ran twice shows.
        try db.execute("UPDATE t SET a = a + 1 WHERE id > \(begin) AND id <= \(begin + 50)")
        return begin >= 2_950 ? nil : begin + 50
      })
    all += (0..<20).map { Migration("column \($0)", sql: "ALTER TABLE t ADD COLUMN c\($0); UPDATE t SET c\($0) = a") }
    return Migrations(all)
  }()

  @Test func everyMigrationAndBatchRunsOnceThoughProcessesAreKilled() throws {
    try withDirectory { directory in
      var random = SeededGenerator(seed: 6)
      var deaths = 0
      for round in 0..<max(2, times(40) / (ProcessInfo.processInfo.environment["SQLABLE_SWEEP"] == "all" ? 1 : 10)) {
        let path = directory + "/\(round).sqlite"
        while true {
          let workers = try (0..<2).map { _ in
            try TestProgram.start("MigrationWorkerProcess", environment: [MigrationProcesses.variable: path])
          }
          // The kills start soon after the file exists, so that they hit every migration.
          waitUntil { access(path, F_OK) == 0 }
          usleep(UInt32.random(in: 0..<60_000, using: &random))
          for worker in workers { worker.signal(SIGKILL) }
          for worker in workers { worker.waitUntilExit() }
          deaths += 1
          let db = try SqliteDatabase(filepath: path, configuration: .init(busyTimeout: 60))
          #expect(try db.query("PRAGMA integrity_check", as: String.self) == ["ok"])
          let isCurrent = try MigrationProcesses.migrations.status(db) == .current
          if isCurrent || deaths % 4 == 0 {
            try MigrationProcesses.migrations.apply(db)
            #expect(try db.query("SELECT count(*) FROM t WHERE a = 1 AND c19 = 1", as: Int.self) == [3_000])
            break
          }
        }
      }
      #expect(deaths > 1)
    }
  }
}

/// The worker process that `MigrationProcesses` starts and kills.
@Suite(
  .enabled(if: ProcessInfo.processInfo.environment[MigrationProcesses.variable] != nil, "a process of its own"))
struct MigrationWorkerProcess {
  @Test func work() throws {
    let path = try #require(ProcessInfo.processInfo.environment[MigrationProcesses.variable])
    let db = try SqliteDatabase(filepath: path, configuration: .init(busyTimeout: 60))
    try MigrationProcesses.migrations.apply(db)
    var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
    while poll(&input, 1, 1_000) == 0 {}
  }
}
