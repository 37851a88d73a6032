import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlableTestSupport

/// Changes of the schema of logged tables.
@Suite struct LogSchemaTests {
  private func kinds(_ db: SqliteDatabase) throws -> [Int] {
    try db.query("SELECT kind FROM sqlable_changes ORDER BY seq", as: Int.self)
  }

  private func triggers(_ db: SqliteDatabase) throws -> Int {
    try db.query("SELECT count(*) FROM sqlite_schema WHERE name LIKE 'sqlable_changes_t_%'", as: Int.self)[0]
  }

  @Test func aRebuildKeepsTheTriggersAndLogsNoCopiedRow() throws {
    try withDatabase { db in
      try db.createTable(Entry<Before>.self)
      try ChangeLog(Entry<Before>.self).create(db)
      try db.execute("INSERT INTO t VALUES (1, 'a', 'b')")
      let plan = try Schema(Entry<Required>.self).plan(db)
      #expect(plan.steps.map(\.rebuilds).contains(true))
      try plan.apply(db)
      #expect(try triggers(db) == 7)
      #expect(try kinds(db) == [1])
      let version = try db.query("PRAGMA schema_version", as: Int.self)
      try ChangeLog(Entry<Required>.self).create(db)
      #expect(try db.query("PRAGMA schema_version", as: Int.self) == version)
      try db.execute("INSERT OR REPLACE INTO t VALUES (1, 'c', 'd')")
      #expect(try kinds(db) == [1, 2, 1])
    }
  }

  @Test func aPlanReportsThatItWouldBreakTheTriggersOfADroppedColumn() throws {
    try withDatabase { db in
      try db.createTable(Entry<Before>.self)
      let log = ChangeLog(Entry<Narrow>.self)
      try log.create(db)
      let error = expectSqlError {
        try Schema(Entry<Narrow>.self).plan(db, dropping: .columns).apply(db, allowing: .dataLoss)
      }
      #expect(error?.message.contains("would break a trigger of t") == true)
      try db.transaction { db in
        try log.drop(db)
        try Schema(Entry<Narrow>.self).plan(db, dropping: .columns).apply(db, allowing: .dataLoss)
        try log.create(db)
      }
      try db.execute("INSERT INTO t VALUES (1, 'a')")
      #expect(try kinds(db) == [1])
    }
  }

  private struct Before: TableDeclaration {
    static let columns = [
      Column("id", .integer, PrimaryKey()), Column("a", .nullable(.text)), Column("b", .nullable(.text)),
    ]
  }

  private struct Required: TableDeclaration {
    static let columns = [Column("id", .integer, PrimaryKey()), Column("a", .text), Column("b", .nullable(.text))]
  }

  private struct Narrow: TableDeclaration {
    static let columns = [Column("id", .integer, PrimaryKey()), Column("a", .nullable(.text))]
  }
}
