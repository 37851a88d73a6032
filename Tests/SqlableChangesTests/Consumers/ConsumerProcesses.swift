import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Tests of consumers in processes that are killed, while other processes write.
@Suite(.enabled(if: TestProgram.isAvailable, "the tests are no program of their own"), .needsSQLiteProgram)
struct ConsumerProcesses {
  fileprivate static let variable = "SQLABLE_CHANGE_CONSUMER"

  /// The state that a consumer keeps in a second file: a copy of the table, and the number of the last applied change.
  fileprivate static func openCopy(_ directory: String) throws -> SqliteDatabase {
    let copy = try SqliteDatabase(filepath: directory + "/copy.sqlite", configuration: .init(busyTimeout: 600))
    try copy.createTable(Member.self)
    try copy.execute("CREATE TABLE IF NOT EXISTS seen (number INTEGER)")
    try copy.execute("INSERT INTO seen SELECT 0 WHERE NOT EXISTS (SELECT * FROM seen)")
    try copy.execute("CREATE TABLE IF NOT EXISTS problem (number INTEGER)")
    return copy
  }

  @Test func killedConsumersLoseNoChange() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/log.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: .init(busyTimeout: 600))
      try db.createTable(Member.self)
      try ChangeLog(Member.self).create(db)
      try db.execute("CREATE TABLE total (inserts INTEGER, deletes INTEGER)")
      try db.execute("INSERT INTO total VALUES (0, 0)")
      let copy = try ConsumerProcesses.openCopy(directory)
      var random = SeededGenerator(seed: SeededGenerator.seed)
      let shell = try SQLiteProcess(path)
      try shell.run(".timeout 600000")
      var workers: [ChildProcess] = []
      func startWorker() throws -> ChildProcess {
        try TestProgram.start("ConsumerWorkerProcess", environment: [ConsumerProcesses.variable: directory])
      }
      for _ in 0..<2 { workers.append(try startWorker()) }
      for round in 0..<300 {
        let (id, name) = (Int.random(in: 1...40, using: &random), "name \(round)")
        if random.chance(50) {
          try shell.run("INSERT OR REPLACE INTO member VALUES (\(id), '\(name)');")
        } else if random.chance(50) {
          try Member(id: id, name: name).save().run(db)
        } else {
          try Member.delete(Member.id <= id).run(db)
        }
        guard round % 40 == 39 else { continue }
        // The kill hits a worker while it consumes, or while it waits for the other's lease.
        let victim = Int.random(in: 0..<workers.count, using: &random)
        workers[victim].signal(SIGKILL)
        workers[victim].waitUntilExit()
        workers[victim] = try startWorker()
      }
      shell.quit()
      let rows = try Member.read().orderBy(Member.id).run(db)
      try waitUntil(within: .seconds(900)) { try Member.read().orderBy(Member.id).run(copy) == rows }
      #expect(try copy.query("SELECT number FROM problem", as: Int.self).isEmpty)
      let logged = try [1, 2].map { kind in
        try db.query(
          "SELECT count(*) FROM sqlable_changes WHERE kind = \(kind) AND NOT (kind = 1 AND v0 = 13)", as: Int.self)[0]
      }
      try waitUntil(within: .seconds(900)) {
        try db.query("SELECT inserts, deletes FROM total", as: Int.self, Int.self).map { [$0, $1] } == [logged]
      }
      let refused = try db.query(
        "SELECT seq FROM sqlable_changes WHERE kind = 1 AND v0 = 13 ORDER BY seq", as: Int.self)
      // The totals do not count these changes, and the last of them can still be ahead of the consumer.
      try waitUntil(within: .seconds(900)) {
        try db.quarantinedChanges(of: "totals").map(\.change.position.number) == refused
      }
      for worker in workers {
        worker.signal(SIGKILL)
        worker.waitUntilExit()
      }
      let failed = try db.quarantinedChanges(of: "totals")
      // An attempt that another worker has begun before the last one counts, too.
      #expect(failed.allSatisfy { $0.attempts >= 2 && $0.error == "Refused" })
      #expect(failed.map(\.change.position.number) == refused)
    }
  }
}

/// The program of a consumer process, which runs until it is killed.
@Suite(.enabled(if: ProcessInfo.processInfo.environment[ConsumerProcesses.variable] != nil, "a process of its own"))
struct ConsumerWorkerProcess {
  private struct Refused: Error {}

  @Test func work() async throws {
    let directory = try #require(ProcessInfo.processInfo.environment[ConsumerProcesses.variable])
    let pool = try SqlitePool(
      filepath: directory + "/log.sqlite", configuration: .init(handles: .init(busyTimeout: 600), waitTimeout: nil))
    let copy = try ConsumerProcesses.openCopy(directory)
    let retries = ChangeRetries(
      attempts: 2, pause: .milliseconds(1), longestPause: .milliseconds(1), then: .quarantine)
    async let totals: Void = pool.consume("totals", on: Member.self, startingWith: .log, retries: retries) {
      db, change in
      switch change.row {
      case .insert(let member) where member.id == 13: throw Refused()
      case .insert: try db.execute("UPDATE total SET inserts = inserts + 1")
      case .delete: try db.execute("UPDATE total SET deletes = deletes + 1")
      case .update: break
      }
    }
    for try await batch in pool.changes(on: Member.self, as: "copy", startingWith: .log, lease: .milliseconds(300)) {
      let changes = try await batch.all()
      try copy.transaction(.immediate) { copy in try apply(changes, copy) }
      try await batch.acknowledge()
    }
    try await totals
  }

  /// Applies changes to the copy. On a busy machine, this worker can have lost its lease after it has read the batch.
  /// Another worker has then applied the same changes, and maybe later ones.
  private func apply(_ changes: [LoggedModelChange<Member>], _ copy: SqliteDatabase) throws {
    let seen = try copy.query("SELECT number FROM seen", as: Int.self).first ?? 0
    for change in changes where change.position.number > seen {
      // A lost change would be visible in the old row of the next change.
      let (old, new): (Member?, Member?) =
        switch change.row {
        case .insert(let new): (nil, new)
        case .update(let old, let new): (old, new)
        case .delete(let old): (old, nil)
        }
      let id = old?.id ?? new?.id ?? 0
      if try Member.read().filter(Member.id == id).run(copy) != [old].compactMap(\.self) {
        try copy.execute("INSERT INTO problem VALUES (\(change.position.number))")
      }
      try old?.delete().run(copy)
      try new?.save().run(copy)
    }
    guard let last = changes.last?.position.number, last > seen else { return }
    try copy.execute("UPDATE seen SET number = \(last)")
  }
}
