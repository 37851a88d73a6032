import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlableTestSupport

/// Logs of chosen columns whose tables change.
@Suite struct ChosenColumnsSchemaTests {
  /// Calls `body` with a database whose table `t` has one row. The log keeps the column `a`.
  private func withLog(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Entry<Before>.self)
      try log.create(db)
      try db.execute("INSERT INTO t VALUES (1, 2, 3)")
      try body(db)
    }
  }

  private let log = ChangeLog(Entry<Before>.self, keeping: .columns(Before.a))

  /// Returns the kept and the omitted columns of the latest entry.
  private func kept(_ db: SqliteDatabase) throws -> String {
    try db.query("SELECT columns || omitted FROM sqlable_change_tables ORDER BY id DESC LIMIT 1", as: String.self)[0]
  }

  private func expectMismatch(_ db: SqliteDatabase) {
    let error = expectSqlError { _ = try db.changeTexts() }
    #expect(error?.message == "table t has other columns than its change log; run ChangeLog(…).create(db) again")
  }

  @Test func schemasIgnoreTheLog() throws {
    try withLog { db in
      let schema = Schema(Entry<Before>.self)
      try schema.verify(db)
      #expect(try schema.plan(db).steps.isEmpty)
      #expect(try schema.differences(db).allSatisfy(\.isHarmless))
    }
  }

  @Test func aPlanDoesNotKeepANewColumn() throws {
    try withLog { db in
      try Schema(Entry<WithGears>.self).plan(db).apply(db)
      try db.execute("UPDATE t SET gears = 8")
      #expect(try kept(db) == #"["id","a"]["b","gears"]"#)
      #expect(try db.changeTexts() == ["t i – → id: 1, a: 2", "t u id: 1, a: 2 → id: 1, a: 2"])
      #expect(try Schema(Entry<WithGears>.self).plan(db).isEmpty)
    }
  }

  @Test func earlierChangesHaveTheDefaultOfANewColumn() throws {
    try withLog { db in
      try db.transaction { db in
        try db.createTable(Entry<WithGears>.self)
        try ChangeLog(Entry<WithGears>.self, keeping: .columns(Before.a, WithGears.gears)).create(db)
      }
      try db.execute("DELETE FROM t")
      #expect(try db.rows(of: Entry<Gears>.self) == [.insert(Entry(1, 2, 5)), .delete(Entry(1, 2, 5))])
      // The log did not keep the other column.
      expectMisuse { _ = try db.rows(of: Entry<WithGears>.self) }
      try ChangeLog(Entry<WithGears>.self).create(db)
      let error = expectSqlError { _ = try db.rows(of: Entry<WithGears>.self) }
      #expect(error?.kindIsMisuse == true && error?.column == "b")
    }
  }

  @Test func aColumnThatTheLogBeganToKeepHasNoEarlierValues() throws {
    try withLog { db in
      try db.createTable(Entry<WithGears>.self)
      try db.execute("UPDATE t SET gears = 8")
      let position = try db.changePosition()
      try ChangeLog(Entry<WithGears>.self, keeping: .columns(Before.a, WithGears.gears)).create(db)
      try db.execute("DELETE FROM t")
      #expect(try db.rows(of: Entry<Gears>.self, since: position) == [.delete(Entry(1, 2, 8))])
      let (changes, next) = try db.changes(
        on: Entry<Gears>.self, since: .init(history: position.history, number: 0, time: 0))
      #expect(changes.map(\.row) == [.insert(Entry(1, 2, 5))])
      expectMisuse { _ = try db.rows(of: Entry<Gears>.self, since: next) }
    }
  }

  enum Change: CaseIterable {
    case plan, statement, migration, text, shell

    /// Runs `sql`, or the same change as a plan or statement.
    fileprivate func apply(
      _ sql: SQL, _ statement: AlterStatement, _ plan: () throws -> SchemaPlan, to db: SqliteDatabase
    ) throws {
      switch self {
      case .plan: try plan().apply(db, allowing: .dataLoss)
      case .statement: try statement.run(db)
      case .migration: try Migrations([Migration("change") { try statement.run($0) }]).apply(db)
      case .text: try Migrations([Migration("change", sql: sql.sql)]).apply(db)
      case .shell: try db.execute(sql)
      }
    }
  }

  @Test(arguments: Change.allCases) func aRenamedColumnStaysChosen(_ change: Change) throws {
    try withLog { db in
      try change.apply(
        "ALTER TABLE t RENAME COLUMN a TO c", .renameColumn("a", to: "c", inTable: "t"),
        { try Schema(Entry<Renamed>.self).plan(db, renamed: ["a": "c"]) }, to: db)
      if change == .shell {
        expectMismatch(db)
        try Schema(Entry<Renamed>.self).plan(db).apply(db)
      }
      try db.execute("DELETE FROM t")
      #expect(try kept(db) == #"["id","c"]["b"]"#)
      #expect(try db.changeTexts() == ["t i – → id: 1, c: 2", "t d id: 1, c: 2 → –"])
    }
  }

  @Test(arguments: Change.allCases) func aRenamedColumnIsNotReadFromEarlierChanges(_ change: Change) throws {
    try withLog { db in
      try change.apply(
        "ALTER TABLE t RENAME COLUMN b TO c", .renameColumn("b", to: "c", inTable: "t"),
        { try Schema(Entry<RenamedOther>.self).plan(db, renamed: ["b": "c"]) }, to: db)
      if change == .shell { expectMismatch(db) }
      try ChangeLog(Entry<RenamedOther>.self).create(db)
      try db.execute("DELETE FROM t")
      #expect(try db.changeTexts() == ["t i – → id: 1, a: 2", "t d id: 1, a: 2, c: 3 → –"])
      let error = expectSqlError { _ = try db.rows(of: Entry<RenamedOther>.self) }
      #expect(error?.kindIsMisuse == true && error?.column == "c")
    }
  }

  @Test func aNewColumnOfAnOldNameHidesNoRename() throws {
    try withLog { db in
      try db.execute("ALTER TABLE t RENAME COLUMN b TO c; ALTER TABLE t ADD COLUMN b INTEGER")
      try ChangeLog(Entry<RenamedOther>.self).create(db)
      #expect(expectSqlError { _ = try db.rows(of: Entry<RenamedOther>.self) }?.column == "c")
    }
  }

  @Test func aNameThatAnotherColumnHasTakenIsNotRead() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, d INTEGER)")
      try ChangeLog(Entry<Before>.self).create(db)
      try db.execute("INSERT INTO t VALUES (1, 2, 3, 4)")
      try log.create(db)
      // Nothing shows that `b` is the former `d`.
      try db.execute("ALTER TABLE t RENAME COLUMN b TO x; ALTER TABLE t RENAME COLUMN d TO b")
      try log.create(db)
      try ChangeLog(Entry<Before>.self).create(db)
      #expect(expectSqlError { _ = try db.rows(of: Entry<Before>.self) }?.column == "b")
      #expect(try db.rows(of: Entry<Narrow>.self) == [.insert(Entry(1, 2))])
    }
  }

  @Test func aRenameWhileOnlyKeysAreKeptIsNoticed() throws {
    try withLog { db in
      try ChangeLog(Entry<Before>.self, keeping: .keys).create(db)
      try db.execute("ALTER TABLE t RENAME COLUMN a TO c")
      try ChangeLog(Entry<Renamed>.self, keeping: .columns(Renamed.columns[1])).create(db)
      #expect(expectSqlError { _ = try db.rows(of: Entry<NarrowRenamed>.self) }?.column == "c")
    }
  }

  /// The columns of the table are `id, a, b, d`, and the log keeps `a`.
  @Test(arguments: [
    "ALTER TABLE t RENAME b TO x; ALTER TABLE t RENAME d TO b",
    "ALTER TABLE t RENAME b TO x; ALTER TABLE t RENAME d TO b; ALTER TABLE t RENAME x TO d",
    "ALTER TABLE t RENAME b TO x; ALTER TABLE t ADD b", "ALTER TABLE t DROP b; ALTER TABLE t RENAME d TO b",
    "ALTER TABLE t RENAME b TO x; ALTER TABLE t RENAME a TO b",
  ]) func aColumnIsNotReadByTheNameOfAnother(_ sql: String) throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER, b INTEGER, d INTEGER)")
      try ChangeLog(Entry<Before>.self).create(db)
      try db.execute("INSERT INTO t VALUES (1, 2, 3, 4)")
      try log.create(db)
      try db.execute(SQL(verbatim: sql))
      try ChangeLog(Entry<Dropped>.self).create(db)
      let rows = Result { try db.rows(of: Entry<Dropped>.self) }
      if sql.hasSuffix("RENAME a TO b") {
        // The triggers show this rename.
        #expect(try rows.get() == [.insert(Entry(1, 2))])
      } else {
        #expect(expectSqlError { _ = try rows.get() }?.column == "b")
      }
      #expect(try db.changeTexts().count == 1)
    }
  }

  @Test func aLogOfKeysFitsATableWithANewColumn() throws {
    try withLog { db in
      try ChangeLog(Entry<Before>.self, keeping: .keys).create(db)
      try db.execute("ALTER TABLE t ADD gears INTEGER; DELETE FROM t")
      #expect(try db.changeTexts() == ["t i – → id: 1, a: 2", "t d id: 1 → –"])
    }
  }

  @Test(arguments: [false, true]) func aColumnRenamedByTextStaysChosenIfAnotherIsDropped(byPlan: Bool) throws {
    try withLog { db in
      if byPlan {
        try db.execute("ALTER TABLE t RENAME a TO c")
        try Schema(Entry<NarrowRenamed>.self).plan(db, dropping: .columns).apply(db, allowing: .dataLoss)
      } else {
        let migration = Migration("change") { db in
          try db.execute("ALTER TABLE t RENAME a TO c")
          try AlterStatement.dropColumn("b", ofTable: "t").run(db)
        }
        try Migrations([migration]).apply(db)
      }
      try db.execute("DELETE FROM t")
      #expect(try kept(db) == #"["id","c"][]"#)
      #expect(try db.changeTexts() == ["t i – → id: 1, c: 2", "t d id: 1, c: 2 → –"])
    }
  }

  @Test func theOldKeyLeavesTheLog() throws {
    try withLog { db in
      try Schema(Entry<OtherKey>.self).plan(db).apply(db)
      try db.execute("DELETE FROM t")
      #expect(try kept(db) == #"["a","b"]["id"]"#)
      #expect(try db.changeTexts() == ["t i – → id: 1, a: 2", "t d a: 2, b: 3 → –"])
      try ChangeLog(Entry<OtherKey>.self, keeping: .columns(Before.a)).create(db)
      #expect(try kept(db) == #"["a","b"]["id"]"#)
    }
  }

  @Test func copiesOfColumnsThatAreNoLongerKeptAreDeleted() throws {
    try withDatabase { db in
      try db.createTable(Entry<Before>.self)
      try ChangeLog(Entry<Before>.self).create(db)
      try db.execute("INSERT INTO t VALUES (1, 2, 3)")
      // A BEFORE trigger copies the row with which the ignored row conflicts.
      try db.execute("INSERT OR IGNORE INTO t VALUES (1, 4, 5)")
      #expect(try db.query("SELECT count(*) FROM sqlable_change_candidates", as: Int.self) == [1])
      try log.create(db)
      #expect(try db.query("SELECT count(*) FROM sqlable_change_candidates", as: Int.self) == [0])
    }
  }

  @Test(arguments: [Change.plan, .statement, .migration]) func aDroppedColumnLeavesTheLog(_ change: Change) throws {
    try withLog { db in
      try change.apply(
        "", .dropColumn("a", ofTable: "t"), { try Schema(Entry<Dropped>.self).plan(db, dropping: .columns) }, to: db)
      try db.execute("INSERT INTO t VALUES (2, 4)")
      #expect(try kept(db) == #"["id"]["b"]"#)
      #expect(try db.changeTexts() == ["t i – → id: 1, a: 2", "t i – → id: 2"])
      let error = expectSqlError { try log.create(db) }
      #expect(error?.kind == .schema(.missingColumn("a")))
      // A new column of the old name is another column.
      try db.createTable(Entry<Before>.self)
      #expect(try kept(db) == #"["id"]["b","a"]"#)
      try log.create(db)
      #expect(try kept(db) == #"["id","a"]["b"]"#)
    }
  }

  @Test(arguments: Change.allCases) func aColumnThatIsNotKeptCanBeDropped(_ change: Change) throws {
    try withLog { db in
      let position = try db.changePosition()
      try change.apply(
        "ALTER TABLE t DROP COLUMN b", .dropColumn("b", ofTable: "t"),
        { try Schema(Entry<Narrow>.self).plan(db, dropping: .columns) }, to: db)
      if change == .shell {
        expectMismatch(db)
        try log.create(db)
      }
      #expect(try kept(db) == #"["id","a"][]"#)
      try db.execute("DELETE FROM t")
      #expect(try db.rows(of: Entry<Narrow>.self, since: position) == [.delete(Entry(1, 2))])
    }
  }

  @Test func aPlanThatRebuildsTheTableKeepsTheColumns() throws {
    try withLog { db in
      let position = try db.changePosition()
      try Schema(Entry<Rebuilt>.self).plan(db).apply(db)
      try db.execute("UPDATE t SET id = 7")
      #expect(try db.changeTexts().last == "t u id: 1, a: 2 → id: 7, a: 2")
      #expect(try db.rows(of: Entry<Narrow>.self, since: position).count == 1)
    }
  }

  @Test func aTableRenamedByAnotherProgramKeepsItsColumns() throws {
    try withLog { db in
      try db.execute("ALTER TABLE t RENAME COLUMN a TO c; ALTER TABLE t RENAME TO other")
      try Migrations([Migration("nothing", sql: "SELECT 1")]).apply(db)
      try db.execute("DELETE FROM other")
      #expect(try db.changeTexts() == ["other i – → id: 1, c: 2", "other d id: 1, c: 2 → –"])
    }
  }

  private struct Before: TableDeclaration {
    static let a = Column("a", .nullable(.integer))
    static let b = Column("b", .nullable(.integer))
    static let columns = [Column("id", .integer, PrimaryKey()), a, b]
  }

  private struct WithGears: TableDeclaration {
    static let gears = Column("gears", .integer, Default(5))
    static let columns = Before.columns + [gears]
  }

  private struct Gears: TableDeclaration {
    static let columns = [Before.columns[0], Before.a, WithGears.gears]
  }

  private struct Renamed: TableDeclaration {
    static let columns = [Before.columns[0], Column("c", .nullable(.integer)), Before.b]
  }

  private struct NarrowRenamed: TableDeclaration {
    static let columns = [Before.columns[0], Column("c", .nullable(.integer))]
  }

  private struct OtherKey: TableDeclaration {
    static let columns = [Column("id", .integer), Before.a, Column("b", .integer, PrimaryKey())]
  }

  private struct RenamedOther: TableDeclaration {
    static let columns = [Before.columns[0], Before.a, Column("c", .nullable(.integer))]
  }

  private struct Dropped: TableDeclaration { static let columns = [Before.columns[0], Before.b] }

  private struct Narrow: TableDeclaration { static let columns = [Before.columns[0], Before.a] }

  private struct Rebuilt: TableDeclaration {
    static let columns = [Before.columns[0], Before.a, Column("b", .nullable(.text))]
  }
}
