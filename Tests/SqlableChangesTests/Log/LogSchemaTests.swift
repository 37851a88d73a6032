import Foundation
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

  /// Returns all logged changes as texts: `i id=1 a='x'`. Throws if the log's triggers do not fit the tables.
  private func log(_ db: SqliteDatabase) throws -> [String] {
    try LogReader().page(after: nil, in: db).changes.map { change in
      guard let row = change.new ?? change.old else { return "" }
      let values = zip(row.columns, row.values).map { "\($0)=\(text($1))" }
      return "\("\(change.change)".prefix(1)) \(values.joined(separator: " "))"
    }
  }

  private func text(_ value: DatabaseValue) -> String {
    switch value {
    case .text(let text): "'\(text)'"
    case .integer(let integer): "\(integer)"
    default: "NULL"
    }
  }

  /// Returns all logged changes as rows of a model.
  private func rows<Model: Sqlable & Sendable>(_ model: Model.Type, _ db: SqliteDatabase) throws -> [LoggedRow<Model>] {
    let source = LogSource<LoggedModelChange<Model>>(TableInfo.unchecked(model))
    return try db.transaction(.deferred) { db in
      let start = ChangePosition(history: try LogState(db).end.history, number: 0, time: 0)
      return try source.page(after: start, in: db).elements.map(\.row)
    }
  }

  private func withLog<Declaration: TableDeclaration>(
    _ model: Entry<Declaration>.Type, _ body: (SqliteDatabase) throws -> Void
  ) throws {
    try withDatabase { db in
      try db.createTable(model)
      try ChangeLog(model).create(db)
      try body(db)
    }
  }

  // MARK: Plans

  @Test func aRebuildKeepsTheTriggersAndLogsNoCopiedRow() throws {
    try withLog(Entry<Before>.self) { db in
      try db.execute("INSERT INTO t VALUES (1, 'a', 'b')")
      let plan = try Schema(Entry<Required>.self).plan(db)
      #expect(plan.steps.map(\.rebuilds).contains(true))
      try plan.apply(db)
      #expect(try log(db) == ["i id=1 a='a' b='b'"])
      let version = try db.query("PRAGMA schema_version", as: Int.self)
      try ChangeLog(Entry<Required>.self).create(db)
      #expect(try db.query("PRAGMA schema_version", as: Int.self) == version)
      try db.execute("INSERT OR REPLACE INTO t VALUES (1, 'c', 'd')")
      #expect(try kinds(db) == [1, 2, 1])
    }
  }

  @Test func aPlanKeepsTheLogOfATableThatLosesAColumn() throws {
    try withLog(Entry<Before>.self) { db in
      try db.execute("INSERT INTO t VALUES (1, 'a', 'b')")
      let plan = try Schema(Entry<Narrow>.self).plan(db, dropping: .columns)
      #expect(plan.steps.map(\.rebuilds) == [false, false, false])
      #expect(plan.description.contains("t: pause the change log\n") && plan.description.contains("\nt: update the"))
      try plan.apply(db, allowing: .dataLoss)
      try db.execute("INSERT INTO t VALUES (2, NULL)")
      #expect(try log(db) == ["i id=1 a='a' b='b'", "i id=2 a=NULL"])
      #expect(
        try rows(Entry<Narrow>.self, db) == [
          .insert(Entry(.integer(1), .text("a"))), .insert(Entry(.integer(2), .null)),
        ])
      #expect(try Schema(Entry<Narrow>.self).plan(db).isEmpty)
    }
  }

  @Test func aPlanKeepsTheLogOfATableThatGetsAColumn() throws {
    try withLog(Entry<Narrow>.self) { db in
      try db.execute("INSERT INTO t VALUES (1, 'a')")
      let plan = try Schema(Entry<Wide>.self).plan(db)
      #expect(plan.steps.map(\.rebuilds) == [false, false, false])
      // A plan is data: another process can apply it.
      try JSONDecoder().decode(SchemaPlan.self, from: JSONEncoder().encode(plan)).apply(db)
      try db.execute("INSERT INTO t VALUES (2, 'c', NULL, 'y')")
      #expect(try log(db) == ["i id=1 a='a'", "i id=2 a='c' b=NULL c='y'"])
      // The default of a column that the old change lacks.
      #expect(
        try rows(Entry<Wide>.self, db) == [
          .insert(Entry(.integer(1), .text("a"), .null, .text("x"))),
          .insert(Entry(.integer(2), .text("c"), .null, .text("y"))),
        ])
    }
  }

  @Test func aPlanKeepsTheLogWithAnEmptyTableAndRows() throws {
    try withLog(Entry<Before>.self) { db in
      try Schema(Entry<Required>.self).plan(db).apply(db)
      try db.execute("INSERT INTO t VALUES (1, 'c', NULL)")
      #expect(try log(db) == ["i id=1 a='c' b=NULL"])
    }
  }

  @Test func aPlanRenamesAColumnInOldChanges() throws {
    try withLog(Entry<Before>.self) { db in
      try db.execute("INSERT INTO t VALUES (1, 'a', 'b')")
      try Schema(Entry<Renamed>.self).plan(db, renamed: ["b": "name"]).apply(db)
      try db.execute("UPDATE t SET name = NULL")
      #expect(try log(db) == ["i id=1 a='a' name='b'", "u id=1 a='a' name=NULL"])
      let (old, new) = (
        Entry<Renamed>(.integer(1), .text("a"), .text("b")), Entry<Renamed>(.integer(1), .text("a"), .null)
      )
      #expect(try rows(Entry<Renamed>.self, db) == [.insert(old), .update(old: old, new: new)])
    }
  }

  @Test func aRenamedColumnDoesNotGetValuesOfADroppedOne() throws {
    try withLog(Entry<Before>.self) { db in
      try db.execute("INSERT INTO t VALUES (1, 'a', 'b')")
      try Schema(Entry<OnlyB>.self).plan(db, dropping: .columns).apply(db, allowing: .dataLoss)
      try Schema(Entry<Narrow>.self).plan(db, renamed: ["b": "a"]).apply(db)
      #expect(try rows(Entry<Narrow>.self, db) == [.insert(Entry(.integer(1), .text("b")))])
    }
  }

  @Test func aPlanRenamesATableInTheLog() throws {
    try withLog(Entry<Before>.self) { db in
      try db.execute("INSERT INTO t VALUES (1, 'a', 'b')")
      try Schema(Entry<Other>.self).plan(db, renamedTables: ["t": "other"]).apply(db)
      try db.execute("DELETE FROM other")
      #expect(
        try rows(Entry<Other>.self, db) == [
          .insert(Entry(.integer(1), .text("a"), .text("b"))), .delete(Entry(.integer(1), .text("a"), .text("b"))),
        ])
      #expect(try db.query("SELECT DISTINCT name FROM sqlable_change_tables", as: String.self) == ["other"])
    }
  }

  @Test func aPlanKeepsALogOfKeysWithoutRowids() throws {
    try withDatabase { db in
      try db.createTable(Entry<Keyed>.self)
      try ChangeLog(Entry<Keyed>.self, keeping: .keys).create(db)
      try db.execute("INSERT INTO t VALUES ('k', 'a')")
      try Schema(Entry<KeyedStrictly>.self).plan(db, renamed: ["k": "code"]).apply(db)
      try db.execute("INSERT OR REPLACE INTO t VALUES ('k', 'b')")
      #expect(try log(db) == ["i code='k'", "d code='k'", "i code='k'"])
    }
  }

  @Test func aPlanKeepsTheLogNewerThanItsTriggers() throws {
    try withLog(Entry<Before>.self) { db in
      let trigger = Trigger(
        "z_clear", after: .insert, on: Entry<Before>.self, run: Entry<Before>.updateAll(Before.columns[2].set(to: "z")))
      try Schema(Entry<Before>.self).adding(trigger).plan(db).apply(db)
      try db.execute("INSERT INTO t VALUES (1, 'a', 'b')")
      #expect(try log(db) == ["i id=1 a='a' b='b'", "u id=1 a='a' b='z'"])
    }
  }

  @Test func aPlanKeepsTheLogOfANewUniqueIndex() throws {
    try withLog(Entry<Before>.self) { db in
      try db.execute("INSERT INTO t VALUES (1, 'a', 'b')")
      try Schema(Entry<Indexed>.self).plan(db).apply(db)
      try db.execute("INSERT OR REPLACE INTO t VALUES (2, 'a', 'c')")
      #expect(try log(db) == ["i id=1 a='a' b='b'", "d id=1 a='a' b='b'", "i id=2 a='a' b='c'"])
    }
  }

  @Test func aFailedPlanLeavesTheLogAsItWas() throws {
    try withLog(Entry<Before>.self) { db in
      try db.execute("INSERT INTO t VALUES (1, NULL, 'b')")
      let plan = try Schema(Entry<Required>.self).plan(db)
      #expect(expectSqlError { try plan.apply(db) }?.column == "a")
      try db.execute("DELETE FROM t")
      #expect(try kinds(db) == [1, 2])
    }
  }

  @Test func theTablesAndTriggersOfALogAreNoDifference() throws {
    try withLog(Entry<Before>.self) { db in
      let schema = Schema(Entry<Before>.self)
      try schema.verify(db)
      #expect(try schema.differences(db).allSatisfy(\.isHarmless))
      #expect(try schema.plan(db, dropping: [.columns, .indexes]).isEmpty)
    }
  }

  // MARK: createTable and migrations

  @Test func createTableAddsAColumnToTheLog() throws {
    try withLog(Entry<Narrow>.self) { db in
      try db.createTable(Entry<Wide>.self)
      try db.execute("INSERT INTO t VALUES (1, 'a', 'b', 'c')")
      #expect(try log(db) == ["i id=1 a='a' b='b' c='c'"])
    }
  }

  @Test func aMigrationAddsAColumnToTheLog() throws {
    try withLog(Entry<Narrow>.self) { db in
      try Migrations([Migration("add") { try $0.execute("ALTER TABLE t ADD COLUMN b TEXT") }]).apply(db)
      try db.execute("INSERT INTO t VALUES (1, 'a', 'b')")
      #expect(try log(db) == ["i id=1 a='a' b='b'"])
    }
  }

  @Test func aMigrationRenamesColumnsInOldChanges() throws {
    try withLog(Entry<Before>.self) { db in
      try db.execute("INSERT INTO t VALUES (1, 'a', 'b')")
      let sql = "ALTER TABLE t RENAME COLUMN a TO \"c \"\"d\"; ALTER TABLE t RENAME COLUMN b TO a"
      try Migrations([Migration("rename", sql: sql)]).apply(db)
      try db.execute("DELETE FROM t")
      #expect(try log(db) == ["i id=1 c \"d='a' a='b'", "d id=1 c \"d='a' a='b'"])
    }
  }

  @Test func aTableThatAMigrationCreatesAgainIsLogged() throws {
    try withLog(Entry<Before>.self) { db in
      try db.execute("INSERT INTO t VALUES (1, 'a', 'b')")
      let migration = Migration("rebuild") { db in
        try db.execute("CREATE TABLE n (id INTEGER PRIMARY KEY, a TEXT)")
        try db.execute("INSERT INTO n SELECT id, a FROM t")
        try db.execute("DROP TABLE t")
        try db.execute("ALTER TABLE n RENAME TO t")
      }
      try Migrations([migration]).apply(db)
      try db.execute("DELETE FROM t")
      #expect(try log(db) == ["i id=1 a='a' b='b'", "d id=1 a='a'"])
    }
  }

  @Test func aMigrationCanDropALog() throws {
    try withLog(Entry<Before>.self) { db in
      try db.createTable(Entry<Other>.self)
      try ChangeLog(Entry<Other>.self).create(db)
      try Migrations([Migration("drop") { try ChangeLog(Entry<Before>.self).drop($0) }]).apply(db)
      try db.execute("INSERT INTO t VALUES (1, 'a', 'b')")
      #expect(try log(db).isEmpty)
      try ChangeLog(Entry<Before>.self).create(db)
      try db.execute("INSERT INTO t VALUES (2, 'a', 'b')")
      #expect(try log(db) == ["i id=2 a='a' b='b'"])
    }
  }

  @Test func readsReportATableThatLostItsTriggers() throws {
    try withLog(Entry<Before>.self) { db in
      try db.execute("DROP TABLE t")
      #expect(try log(db).isEmpty)
      try db.createTable(Entry<Before>.self)
      let error = expectSqlError { _ = try log(db) }
      #expect(error?.message.contains("has lost triggers of its change log") == true)
      try ChangeLog(Entry<Before>.self).create(db)
      #expect(try log(db).isEmpty)
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

  private struct OnlyB: TableDeclaration {
    static let columns = [Column("id", .integer, PrimaryKey()), Column("b", .nullable(.text))]
  }

  private struct Wide: TableDeclaration {
    static let columns = Narrow.columns + [Column("b", .nullable(.text)), Column("c", .text, Default("x"))]
  }

  private struct Renamed: TableDeclaration {
    static let columns = Narrow.columns + [Column("name", .nullable(.text))]
  }

  private struct Other: TableDeclaration {
    static let name = "other"
    static let columns = Before.columns
  }

  private struct Indexed: TableDeclaration {
    static let columns = Before.columns
    static let indexes = [Index(Before.columns[1], unique: true)]
  }

  private struct Keyed: TableDeclaration {
    static let columns = [Column("k", .text, PrimaryKey()), Column("a", .nullable(.text))]
    static let options: [TableOption] = [.withoutRowid]
  }

  private struct KeyedStrictly: TableDeclaration {
    static let columns = [Column("code", .text, PrimaryKey()), Column("a", .nullable(.text))]
    static let options: [TableOption] = [.withoutRowid, .strict]
  }
}
