import CSqlableSQLite
import Sqlable
import Testing

@testable import SqlableCore

/// SQLite's memory is counted where a process asks for it before all else, and then only.
@Suite struct MemoryStatisticsTests {
  @Test func withoutAWordNothingIsCounted() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      #expect(sqlite3_memory_used() == 0)
      #expect(throws: SqlError.self) { try SqliteDatabase.keepMemoryStatistics() }
    }
  }

  @Test func aProcessThatAsksForItFirstHasIt() throws {
    let report = try FaultProcess.run("memory statistics", filter: "MemoryStatisticsProcess")
    #expect(report.isDone)
    #expect(report.violations.isEmpty)
  }
}

@Suite(.enabled(if: FaultProcess.order == "memory statistics", "a process of its own"))
struct MemoryStatisticsProcess {
  @Test func asksForItFirst() throws {
    try SqliteDatabase.keepMemoryStatistics()
    try withDatabase { db in
      try db.createTable(Person.self)
      if sqlite3_memory_used() == 0 { FaultProcess.say("VIOLATION nothing is counted") }
    }
    FaultProcess.say("DONE")
  }
}
