import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlableTestSupport

/// Logged tables that ALTER TABLE or another program has changed.
@Suite struct LogAlterTests {
  /// Returns all logged changes as texts: `t i id=1 a=2`. Throws if the log's triggers do not fit the tables.
  private func log(_ db: SqliteDatabase) throws -> [String] {
    try LogReader().page(after: nil, in: db).changes.map { change in
      guard let row = change.new ?? change.old else { return "" }
      let values = zip(row.columns, row.values).map { name, value in
        if case .integer(let integer) = value { "\(name)=\(integer)" } else { "\(name)=NULL" }
      }
      return "\(change.table) \("\(change.change)".prefix(1)) \(values.joined(separator: " "))"
    }
  }

  /// Reads the changes of a model's table after a position; the first change without a position.
  private func changes<Model: Sqlable & Sendable>(
    of model: Model.Type, after position: ChangePosition? = nil, _ db: SqliteDatabase
  ) throws -> [LoggedRow<Model>] {
    let source = LogSource<LoggedModelChange<Model>>(TableInfo.unchecked(model))
    return try db.transaction(.deferred) { db in
      let start = ChangePosition(history: try LogState(db).end.history, number: 0, time: 0)
      return try source.page(after: position ?? start, in: db).elements.map(\.row)
    }
  }

  /// Calls `body` with a database whose logged table `t` has one row.
  private func withLog(index: SQL = "", _ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Entry<Before>.self)
      try db.execute(index)
      try ChangeLog(Entry<Before>.self).create(db)
      try db.execute("INSERT INTO t VALUES (1, 2, 3)")
      try body(db)
    }
  }

  // MARK: Renamed tables

  @Test func aMigrationRenamesATableInTheLog() throws {
    try withLog { db in
      try db.transaction { _ = try ConsumerRecord.known("totals", of: "t", startingAt: .log, in: $0) }
      let sql = "ALTER TABLE t RENAME COLUMN b TO c; ALTER TABLE t RENAME TO other; ALTER TABLE other ADD COLUMN d"
      try Migrations([Migration("rename", sql: sql)]).apply(db)
      try db.execute("INSERT INTO other VALUES (2, 4, 5, 6)")
      #expect(try log(db) == ["other i id=1 a=2 c=3", "other i id=2 a=4 c=5 d=6"])
      let consumer = try #require(try db.changeConsumers().first)
      #expect(consumer.lag == 2 && consumer.delay > .zero)
    }
  }

  @Test func tablesOfALogCanExchangeTheirNames() throws {
    try withLog { db in
      try db.createTable(Entry<Other>.self)
      try ChangeLog(Entry<Other>.self).create(db)
      try db.execute("INSERT INTO other VALUES (7, 8, 9)")
      let sql = "ALTER TABLE t RENAME TO x; ALTER TABLE other RENAME TO t; ALTER TABLE x RENAME TO other"
      try Migrations([Migration("exchange", sql: sql)]).apply(db)
      try db.execute("DELETE FROM t; DELETE FROM other")
      #expect(try log(db) == ["other i id=1 a=2 b=3", "t i id=7 a=8 b=9", "t d id=7 a=8 b=9", "other d id=1 a=2 b=3"])
    }
  }

  /// Both tables have two columns, of which one has another name.
  @Test(arguments: ["other", "old"], [true, false]) func tablesThatTextHasExchangedKeepTheirColumns(
    _ name: String, byPlan: Bool
  ) throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)")
      try db.execute("CREATE TABLE other (id INTEGER PRIMARY KEY, x INTEGER)")
      try ChangeLog(Entry<Before>.self, Entry<Other>.self).create(db)
      try db.execute("INSERT INTO t VALUES (1, 2); INSERT INTO other VALUES (3, 4)")
      try db.execute("ALTER TABLE t RENAME TO z; ALTER TABLE other RENAME TO t; ALTER TABLE z RENAME TO \(table: name)")
      if byPlan {
        try Schema(Entry<Exchanged>.self).plan(db).apply(db)
      } else {
        try AlterStatement.renameColumn("x", to: "y", inTable: "t").run(db)
        try ChangeLog(Entry<Before>.self).create(db)
      }
      try db.execute("DELETE FROM t; DELETE FROM \(table: name)")
      let column = byPlan ? "x" : "y"
      let inserts = ["\(name) i id=1 a=2", "t i id=3 \(column)=4"]
      #expect(try log(db) == inserts + ["t d id=3 \(column)=4", "\(name) d id=1 a=2"])
    }
  }

  /// SQLite drops no column that a trigger uses, and the triggers still have the names of the other table.
  @Test(arguments: ["other", "old"]) func aColumnOfATableThatTextHasExchangedCanBeDropped(_ name: String) throws {
    try withLog { db in
      try db.createTable(Entry<Other>.self)
      try ChangeLog(Entry<Other>.self).create(db)
      try db.execute("INSERT INTO other VALUES (7, 8, 9)")
      try db.execute("ALTER TABLE t RENAME TO z; ALTER TABLE other RENAME TO t; ALTER TABLE z RENAME TO \(table: name)")
      try AlterStatement.dropColumn("b", ofTable: "t").run(db)
      try db.execute("DELETE FROM t; DELETE FROM \(table: name)")
      let inserts = ["\(name) i id=1 a=2 b=3", "t i id=7 a=8 b=9"]
      #expect(try log(db) == inserts + ["t d id=7 a=8", "\(name) d id=1 a=2 b=3"])
    }
  }

  @Test func droppingTheLogOfATableThatTextHasExchangedKeepsTheNamesInTheLog() throws {
    try withLog { db in
      try db.createTable(Entry<Other>.self)
      try ChangeLog(Entry<Other>.self).create(db)
      try db.execute("INSERT INTO other VALUES (7, 8, 9)")
      try db.execute("ALTER TABLE t RENAME TO z; ALTER TABLE other RENAME TO t; ALTER TABLE z RENAME TO other")
      try ChangeLog(Entry<Before>.self).drop(db)
      try db.execute("DELETE FROM t; DELETE FROM other")
      #expect(try log(db) == ["other i id=1 a=2 b=3", "t i id=7 a=8 b=9", "other d id=1 a=2 b=3"])
      try ChangeLog(Entry<Before>.self).create(db)
      try db.execute("INSERT INTO t VALUES (10, 11, 12)")
      #expect(try log(db).last == "t i id=10 a=11 b=12")
    }
  }

  @Test func dropKeepsTheNewNameOfAColumn() throws {
    try withLog { db in
      try db.createTable(Entry<Other>.self)
      try ChangeLog(Entry<Other>.self).create(db)
      try db.execute("ALTER TABLE t RENAME COLUMN b TO c")
      try ChangeLog(Entry<Before>.self).drop(db)
      #expect(try log(db) == ["t i id=1 a=2 c=3"])
    }
  }

  @Test func readsReportATableThatWasRenamed() throws {
    try withLog { db in
      try db.execute("ALTER TABLE t RENAME TO other")
      for read in [{ _ = try log(db) }, { _ = try changes(of: Entry<Other>.self, db) }] as [() throws -> Void] {
        #expect(expectSqlError { try read() }?.message.contains("table t was renamed to other, but not in") == true)
      }
      try ChangeLog(Entry<Other>.self).create(db)
      try db.execute("DELETE FROM other")
      #expect(try log(db) == ["other i id=1 a=2 b=3", "other d id=1 a=2 b=3"])
      #expect(try changes(of: Entry<Other>.self, db).count == 2)
    }
  }

  @Test func aPlanFollowsATableThatWasRenamed() throws {
    try withLog { db in
      try db.execute("ALTER TABLE t RENAME TO other")
      let plan = try Schema(Entry<Narrow>.self).plan(db, dropping: .columns)
      try plan.apply(db, allowing: .dataLoss)
      try db.execute("DELETE FROM other")
      #expect(try log(db) == ["other i id=1 a=2 b=3", "other d id=1 a=2"])
      #expect(try Schema(Entry<Narrow>.self).plan(db).isEmpty)
    }
  }

  // MARK: Names that differ in case

  /// Changes the case of names. SQLite refuses to rename a table directly to its name in another case.
  private let changeCase: SQL = """
    ALTER TABLE t RENAME TO x; ALTER TABLE x RENAME TO T;
    ALTER TABLE t RENAME COLUMN a TO A
    """

  @Test(arguments: [Repair.create, .plan, .migration])
  func aTableWhoseNameHasAnotherCaseIsTheSame(_ repair: Repair) throws {
    try withLog(index: "CREATE UNIQUE INDEX t_a ON t (a, lower(b || 'X'))") { db in
      let position = try db.changePosition()
      try db.transaction { _ = try ConsumerRecord.known("totals", of: "t", startingAt: .log, in: $0) }
      try db.execute(changeCase)
      try db.execute("INSERT OR REPLACE INTO t VALUES (2, 2, 3)")
      let expected = ["t i id=1 a=2 b=3", "t d id=1 a=2 b=3", "t i id=2 a=2 b=3"]
      #expect(try log(db) == expected)
      let ids = try db.query("SELECT id FROM sqlable_change_tables", as: Int.self)
      try repair.apply(to: db)
      #expect(try log(db).map { $0.lowercased() } == expected)
      #expect(try changes(of: Entry<Before>.self, after: position, db).count == 2)
      #expect(try db.changeConsumers().map(\.lag) == [3])
      #expect(try db.transaction { try ConsumerRecord.known("totals", of: "T", startingAt: .log, in: $0) }.table != nil)
      try ChangeLog(Entry<Before>.self).create(db)
      #expect(try log(db) == ["T i id=1 A=2 b=3", "T d id=1 A=2 b=3", "T i id=2 A=2 b=3"])
      #expect(try db.query("SELECT id FROM sqlable_change_tables", as: Int.self) == ids)
      #expect(try !Schema(Entry<Before>.self).plan(db).description.contains("change log"))
    }
  }

  @Test func aPlanThatRebuildsATableCanChangeTheCaseOfItsName() throws {
    try withLog { db in
      let position = try db.changePosition()
      try db.transaction { _ = try ConsumerRecord.known("totals", of: "t", startingAt: .log, in: $0) }
      let plan = try Schema(Entry<Capital>.self).plan(db)
      try plan.apply(db)
      #expect(
        try db.query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name = 'T'", as: String.self) == ["T"])
      try db.execute("DELETE FROM t")
      #expect(try changes(of: Entry<Before>.self, after: position, db).count == 1)
      try ChangeLog(Entry<Capital>.self).create(db)
      #expect(try changes(of: Entry<Before>.self, after: position, db).count == 1)
      #expect(try db.changeConsumers().map(\.lag) == [2])
      #expect(try Schema(Entry<Capital>.self).plan(db).isEmpty)
    }
  }

  @Test func literalsThatDifferInCaseAreDifferent() {
    #expect("CREATE TRIGGER \"A\" ON b".isSameSQL(as: "create trigger \"a\" on B"))
    #expect(!"SELECT 'A' FROM t".isSameSQL(as: "SELECT 'a' FROM t"))
    #expect(!"SELECT a FROM t".isSameSQL(as: "SELECT a FROM tt"))
  }

  // MARK: Statements

  @Test func alterStatementsKeepTheLogUpToDate() throws {
    try withLog { db in
      try AlterStatement.dropColumn("b", ofTable: "T").run(db)
      try db.execute("INSERT INTO t VALUES (2, 4)")
      #expect(try log(db) == ["t i id=1 a=2 b=3", "t i id=2 a=4"])
      try AlterStatement.renameColumn("a", to: "c", inTable: "t").run(db)
      #expect(try log(db) == ["t i id=1 c=2 b=3", "t i id=2 c=4"])
      try AlterStatement.renameTable("t", to: "other").run(db)
      try db.execute("DELETE FROM other WHERE id = 1")
      #expect(try log(db) == ["other i id=1 c=2 b=3", "other i id=2 c=4", "other d id=1 c=2"])
      let version = try db.query("PRAGMA schema_version", as: Int.self)
      _ = expectSqlError { try AlterStatement.dropColumn("missing", ofTable: "other").run(db) }
      #expect(try db.query("PRAGMA schema_version", as: Int.self) == version)
    }
  }

  @Test func aMigrationCanDropALoggedColumn() throws {
    try withLog { db in
      try Migrations([Migration("drop") { try AlterStatement.dropColumn("b", ofTable: "t").run($0) }]).apply(db)
      try db.execute("DELETE FROM t")
      #expect(try log(db) == ["t i id=1 a=2 b=3", "t d id=1 a=2"])
    }
  }

  @Test func aMigrationAsTextCanDropALoggedColumn() throws {
    try withLog { db in
      let triggers = try db.query("SELECT name FROM sqlite_schema WHERE type = 'trigger'", as: String.self)
      let sql = triggers.map { "DROP TRIGGER \($0); " }.joined() + "ALTER TABLE t DROP COLUMN b"
      let position = try db.changePosition()
      try Migrations([Migration("drop", sql: sql)]).apply(db)
      try db.execute("DELETE FROM t")
      #expect(try log(db) == ["t i id=1 a=2 b=3", "t d id=1 a=2"])
      // The migration could have changed rows without the triggers.
      let error = expectSqlError { _ = try changes(of: Entry<Before>.self, after: position, db) }
      #expect(error?.kind == .changeLog(.trimmed))
    }
  }

  // MARK: Plans

  @Test func aPlanNoticesANewEntryOfTheLog() throws {
    try withLog { db in
      let plan = try Schema(Entry<Before>.self).plan(db)
      try plan.check(db)
      try db.execute("UPDATE sqlable_change_tables SET id = 2")
      #expect(expectSqlError { try plan.check(db) }?.message.contains("the schema has changed since") == true)
    }
  }

  @Test func aPlanAsksOnceForALoggedTable() throws {
    try withLog { db in
      let plan = try Schema(Entry<Asked>.self).plan(db, dropping: .columns)
      #expect(plan.questions.map(\.description) == ["was t.b renamed to c?"])
    }
  }

  // MARK: Entries and triggers

  @Test func anEntryWithTheLargestIdThrows() throws {
    try withLog { db in
      try db.execute("UPDATE sqlable_change_tables SET id = 9223372036854775807; ALTER TABLE t ADD COLUMN c")
      expectMisuse { try ChangeLog(Entry<Before>.self).create(db) }
    }
  }

  enum Repair: CaseIterable {
    case create, plan, migration, createTable

    func apply(to db: SqliteDatabase) throws {
      switch self {
      case .create: try ChangeLog(Entry<Before>.self).create(db)
      case .plan: try Schema(Entry<Before>.self).plan(db).apply(db)
      case .migration: try Migrations([Migration("nothing", sql: "SELECT 1")]).apply(db)
      case .createTable: try db.createTable(Entry<Before>.self)
      }
    }
  }

  @Test(arguments: Repair.allCases, [true, false]) func lostTriggersEndTheHistory(
    by repair: Repair, hasChanges: Bool
  ) throws {
    try withLog { db in
      if !hasChanges { try db.execute("DELETE FROM sqlable_changes") }
      let position = try db.changePosition()
      try db.execute("DROP TABLE t; CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER)")
      try db.execute("INSERT INTO t VALUES (1, 4)")
      try repair.apply(to: db)
      for old in [position, nil] {
        let error = expectSqlError { _ = try changes(of: Entry<Before>.self, after: old, db) }
        #expect(error?.kind == .changeLog(.trimmed))
      }
      let next = try db.changePosition()
      #expect(try changes(of: Entry<Before>.self, after: next, db).isEmpty)
      try db.createTable(Entry<Before>.self)
      try ChangeLog(Entry<Before>.self).create(db)
      try db.execute("DELETE FROM t")
      #expect(try changes(of: Entry<Before>.self, after: next, db).count == 1)
    }
  }

  private struct Before: TableDeclaration {
    static let columns = [
      Column("id", .integer, PrimaryKey()), Column("a", .nullable(.integer)), Column("b", .nullable(.integer)),
    ]
  }

  private struct Other: TableDeclaration {
    static let name = "other"
    static let columns = Before.columns
  }

  private struct Exchanged: TableDeclaration {
    static let columns = [Before.columns[0], Column("x", .nullable(.integer))]
  }

  private struct Capital: TableDeclaration {
    static let name = "T"
    static let columns = [Column("id", .integer, PrimaryKey()), Column("a", .nullable(.text)), Before.columns[2]]
  }

  private struct Narrow: TableDeclaration {
    static let name = "other"
    static let columns = Array(Before.columns.dropLast())
  }

  private struct Asked: TableDeclaration {
    static let columns = Narrow.columns + [Column("c", .nullable(.integer))]
  }
}
