import Foundation
import Glibc
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

private enum Before: TableDeclaration {
  static let columns = [Column("id", .integer, PrimaryKey()), Column("a", .text), Column("b", .nullable(.text))]
  static let indexes = [Index(columns[1])]
}

private enum After: TableDeclaration {
  static let columns = [Column("id", .integer, PrimaryKey()), Column("a", .text, Collate.nocase), Column("b", .text)]
  static let indexes = [Index(columns[2])]
}

/// Tests that kill processes while they apply a plan: the database then has the old schema or the new one.
@Suite(.enabled(if: TestProgram.isAvailable, "the tests are no program of their own"))
struct SchemaPlanProcesses {
  fileprivate static let variable = "SQLABLE_PLAN_WORKER"

  @Test func killedPlanIsAppliedFullyOrNotAtAll() throws {
    try withDirectory { directory in
      let path = directory + "/plan.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: .init(busyTimeout: 60))
      try db.createTable(Entry<Before>.self)
      let text = String(repeating: "text ", count: 40)
      try db.transaction { _ in
        for id in 1...2_000 { try Entry<Before>(.integer(Int64(id)), .text("\(id) \(text)"), "b").insert().run(db) }
      }
      let rows = try db.query("SELECT * FROM t ORDER BY id", as: DynamicRow.self).map(\.values)
      var (found, random) = (Set<Bool>(), SeededGenerator(seed: 16))
      for _ in 0..<times(300) / (ProcessInfo.processInfo.environment["SQLABLE_SWEEP"] == "all" ? 1 : 10) {
        let worker = try TestProgram.start("PlanWorkerProcess", environment: [SchemaPlanProcesses.variable: path])
        // The worker is running once the schema changes.
        let version = try db.query("PRAGMA schema_version", as: Int.self)
        try waitUntil { try db.query("PRAGMA schema_version", as: Int.self) != version }
        usleep(UInt32.random(in: 0..<40_000, using: &random))
        worker.signal(SIGKILL)
        worker.waitUntilExit()
        let isOld = try Schema(Entry<Before>.self).differences(db).isEmpty
        let isNew = try Schema(Entry<After>.self).differences(db).allSatisfy(\.isHarmless)
        #expect(isOld != isNew)
        found.insert(isNew)
        #expect(try db.query("SELECT * FROM t ORDER BY id", as: DynamicRow.self).map(\.values) == rows)
        #expect(try db.query("PRAGMA integrity_check", as: String.self) == ["ok"])
        #expect(try db.schema().tables.map(\.name) == ["t"])
      }
      #expect(found.count == 2 || times(10) < 10)
    }
  }
}

/// The worker process that `SchemaPlanProcesses` starts: it alternates between two schemas.
@Suite(.enabled(if: ProcessInfo.processInfo.environment[SchemaPlanProcesses.variable] != nil, "a process of its own"))
struct PlanWorkerProcess {
  @Test func work() throws {
    let path = try #require(ProcessInfo.processInfo.environment[SchemaPlanProcesses.variable])
    let db = try SqliteDatabase(filepath: path, configuration: .init(busyTimeout: 60))
    var input = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
    // The loop ends when the parent process is gone.
    while poll(&input, 1, 0) == 0 {
      for schema in [Schema(Entry<After>.self), Schema(Entry<Before>.self)] {
        try schema.plan(db, dropping: .indexes).apply(db)
      }
    }
  }
}
