import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct HandleStatisticsTests {
  @Test func statisticsCountAHandlesWork() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      // The lock keeps other tests from releasing the statements: `releaseMemory` skips handles in use.
      try db.locked {
        let before = try db.statistics
        try db.transaction { db in
          for name in ["Trek", "Norco", "Cube"] { try Bicycle(name: name, color: "red").insert().run(db) }
        }
        try? db.transaction { db in
          try Bicycle(name: "Giant", color: "red").insert().run(db)
          throw CancellationError()
        }
        for _ in 1...5 { _ = try Bicycle.read().run(db) }
        let after = try db.statistics
        #expect(after.committed - before.committed == 1)
        #expect(after.rolledBack - before.rolledBack == 1)
        #expect(after.rowsChanged - before.rowsChanged == 4)
        #expect(after.statements - before.statements == 9)
        #expect(after.statementCache.hits - before.statementCache.hits == 7)
        #expect(after.pageHits > before.pageHits)
        #expect(after.pageHitRate > 0)
        #expect(after.pageHitRate <= 1)
        #expect(after.pageWrites > before.pageWrites)
        #expect(after.pageCacheBytes > 0)
        #expect(after.schemaBytes > 0)
        #expect(after.statementBytes > 0)
        #expect(after.bytes == after.pageCacheBytes + after.schemaBytes + after.statementBytes)
      }
    }
  }

  @Test func eachHandleCountsForItself() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let child = try db.createChild()
      try child.transaction { db in try Bicycle(name: "Trek", color: "red").insert().run(db) }
      #expect(try child.statistics.committed == 1)
      #expect(try child.statistics.rowsChanged == 1)
      #expect(try db.statistics.rowsChanged == 0)
      try child.close()
      expectError(.closed) { _ = try child.statistics }
    }
  }

  /// Deletes and restores a million rows 2,150 times, which takes about a minute:
  /// `SQLABLE_SWEEP=all swift test --filter countsOfChangedRowsExceed32Bits`.
  @Test(
    .enabled(
      if: ProcessInfo.processInfo.environment["SQLABLE_SWEEP"] == "all" && SQLiteLibrary.isAtLeast(37),
      "takes a minute"))
  func countsOfChangedRowsExceed32Bits() throws {
    let db = try SqliteDatabase.inMemory()
    try db.execute(
      """
      CREATE TABLE a (b);
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 1000000) INSERT INTO a SELECT NULL FROM n
      """)
    for _ in 1...2_150 {
      try db.transaction { db in
        try db.execute("DELETE FROM a")
        return .rollback
      }
    }
    #expect(try db.statistics.rowsChanged == 2_151_000_000)
    try db.execute("DELETE FROM a")
    #expect(try db.statistics.rowsChanged == 2_152_000_000)
  }
}
