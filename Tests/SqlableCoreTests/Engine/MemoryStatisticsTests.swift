import CSqlableSQLite
import SqlableSchema
import Testing

@testable import SqlableCore
@testable import SqlableTestSupport

/// SQLite's memory statistics, which a process must enable before its first use of SQLite.
@Suite struct MemoryStatisticsTests {
  @Test func memoryIsNotCountedByDefault() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      #expect(sqlite3_memory_used() == 0)
      #expect(throws: SqlError.self) { try SqliteDatabase.keepMemoryStatistics() }
    }
  }

  @Test func memoryIsCountedInAProcessThatEnablesItFirst() throws {
    let report = try FaultProcess.run("memory statistics", filter: "MemoryStatisticsProcess")
    #expect(report.isDone)
    #expect(report.violations.isEmpty)
  }
}

@Suite(.enabled(if: FaultProcess.order == "memory statistics", "a process of its own"))
struct MemoryStatisticsProcess {
  @Test func memoryIsCountedWhenEnabledFirst() throws {
    try SqliteDatabase.keepMemoryStatistics()
    try withDatabase { db in
      try db.createTable(Person.self)
      if sqlite3_memory_used() == 0 { FaultProcess.say("VIOLATION nothing is counted") }
    }
    FaultProcess.say("DONE")
  }
}
