import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlableTestSupport

/// Changes of the schema, by other programs, after which the log can lack changes.
@Suite struct LogLossTests {
  private func position(_ db: SqliteDatabase) throws -> ChangePosition { try db.changePosition() }

  /// Returns the changes after a position as texts: `i 1 a`.
  private func log(_ db: SqliteDatabase, after position: ChangePosition) throws -> [String] {
    let source = LogSource<LoggedChange>()
    let page = try db.transaction(.deferred) { try source.page(after: position, in: $0) }
    return try page.elements.map { change in
      let values = (change.new ?? change.old)?.values.map { value in
        switch value {
        case .integer(let integer): "\(integer)"
        case .text(let text): text
        default: "NULL"
        }
      }
      return (["\("\(change.change)".prefix(1))"] + (values ?? [])).joined(separator: " ")
    }
  }

  private func isTrimmed(_ db: SqliteDatabase, after position: ChangePosition) -> Bool {
    do { _ = try log(db, after: position) } catch let error as SqlError {
      return error.kind == .changeLog(.trimmed)
    } catch {}
    return false
  }

  /// Calls `body` with a database whose logged table `t` has one row.
  private func withLog(
    _ definition: String = "CREATE TABLE t (id INTEGER PRIMARY KEY, a)", _ body: (SqliteDatabase) throws -> Void
  ) throws {
    try withDatabase { db in
      try db.execute(SQL(verbatim: definition))
      try ChangeLog(Entry<Table>.self).create(db)
      try body(db)
    }
  }

  private let createIndex: SQL = "CREATE UNIQUE INDEX t_a ON t (a)"

  // MARK: Unique indexes

  @Test func aUniqueIndexOfAnotherProgramEndsTheHistory() throws {
    try withLog { db in
      try db.execute("INSERT INTO t VALUES (1, 'x')")
      let old = try position(db)
      try db.execute(createIndex)
      try db.execute("INSERT OR REPLACE INTO t VALUES (2, 'x')")
      let error = expectSqlError { _ = try log(db, after: old) }
      #expect(error?.message.contains("has other unique indexes, keys or triggers than its change log") == true)
      try ChangeLog(Entry<Table>.self).create(db)
      #expect(isTrimmed(db, after: old))
      let new = try position(db)
      try db.execute("INSERT OR REPLACE INTO t VALUES (3, 'x')")
      #expect(try log(db, after: new) == ["d 2 x", "i 3 x"])
      try ChangeLog(Entry<Table>.self).create(db)
      #expect(!isTrimmed(db, after: new))
    }
  }

  @Test func alterStatementsDoNotHideAUniqueIndex() throws {
    try withLog { db in
      let old = try position(db)
      try db.execute(createIndex)
      try AlterStatement.renameColumn("a", to: "b", inTable: "t").run(db)
      #expect(isTrimmed(db, after: old))
      let new = try position(db)
      try db.execute("INSERT INTO t VALUES (1, 'x')")
      try db.execute("INSERT OR REPLACE INTO t VALUES (2, 'x')")
      #expect(try log(db, after: new) == ["i 1 x", "d 1 x", "i 2 x"])
    }
  }

  /// Changes by which the log loses nothing.
  @Test(arguments: ["migration", "rebuild", "createTable", "plan", "rename", "drop"])
  func theHistoryContinuesAfterChangesThatTheLogFollows(_ change: String) throws {
    try withLog { db in
      if ["rename", "drop"].contains(change) { try db.execute("CREATE UNIQUE INDEX t_lower ON t (lower(a))") }
      try ChangeLog(Entry<Table>.self).create(db)
      let old = try position(db)
      switch change {
      case "migration":
        try Migrations([Migration("index") { try $0.execute("CREATE UNIQUE INDEX n ON t (a)") }]).apply(db)
      case "rebuild":
        let migration = Migration("rebuild") { db in
          let plan = try Schema(Entry<Table>.self).plan(db)
          #expect(plan.steps.map(\.rebuilds).contains(true))
          try plan.apply(db)
        }
        try Migrations([migration]).apply(db)
      case "createTable": try db.createTable(Entry<Indexed>.self)
      case "plan": try Schema(Entry<Indexed>.self).plan(db).apply(db)
      case "rename": try db.execute("ALTER TABLE t RENAME COLUMN a TO b; ALTER TABLE t ADD COLUMN c")
      default: try db.execute("DROP INDEX t_lower")
      }
      try ChangeLog(Entry<Table>.self).create(db)
      try db.execute("INSERT INTO t (id) VALUES (1)")
      #expect(try log(db, after: old).count == 1)
    }
  }

  // MARK: Triggers

  @Test(arguments: [["delete"], ["beforeInsert", "beforeUpdate", "insert", "update", "insertReplaced"]])
  func lossOfSomeTriggersEndsTheHistory(_ names: [String]) throws {
    try withLog { db in
      try db.execute("INSERT INTO t VALUES (1, 'x')")
      let old = try position(db)
      for name in names { try db.execute("DROP TRIGGER \(table: "sqlable_changes_t_" + name)") }
      try db.execute("DELETE FROM t")
      // The statement leaves the loss to the next `create`.
      try AlterStatement.renameColumn("a", to: "b", inTable: "t").run(db)
      let error = expectSqlError { _ = try log(db, after: old) }
      #expect(error?.message.contains("has lost triggers of its change log") == true)
      try ChangeLog(Entry<Table>.self).create(db)
      #expect(isTrimmed(db, after: old))
    }
  }

  /// Migrations that change rows of `t` while the table has no triggers of the log.
  @Test(arguments: [
    "DROP TABLE t; CREATE TABLE t (id INTEGER PRIMARY KEY, a)",
    """
    CREATE TABLE n (id INTEGER PRIMARY KEY, a); INSERT INTO n SELECT * FROM t WHERE id > 1;
    DROP TABLE t; ALTER TABLE n RENAME TO t
    """,
    """
    ALTER TABLE t RENAME TO n; CREATE TABLE t (id INTEGER PRIMARY KEY, a); INSERT INTO t SELECT id, 'y' FROM n;
    DROP TABLE n
    """,
    "DROP TRIGGER sqlable_changes_t_delete; DELETE FROM t",
  ])
  func aMigrationThatDropsALoggedTableEndsTheHistory(_ sql: String) throws {
    try withLog { db in
      try db.execute("INSERT INTO t VALUES (1, 'x')")
      let old = try position(db)
      let migrations = [Migration("change", sql: sql), Migration("nothing", sql: "SELECT 1")]
      try Migrations(Array(migrations.prefix(1))).apply(db)
      #expect(isTrimmed(db, after: old))
      let new = try position(db)
      try db.execute("INSERT INTO t VALUES (9, 'z')")
      try Migrations(migrations).apply(db)
      #expect(try log(db, after: new) == ["i 9 z"])
    }
  }

  @Test func aLogThatIsDroppedAndCreatedAgainEndsTheHistory() throws {
    try withLog { db in
      try db.execute("CREATE TABLE other (id INTEGER PRIMARY KEY)")
      try ChangeLog(Entry<Other>.self).create(db)
      let old = try position(db)
      try ChangeLog(Entry<Table>.self).drop(db)
      try db.execute("INSERT INTO t VALUES (1, 'x')")
      #expect(try !Schema(Entry<Table>.self).plan(db).description.contains("update the change log"))
      try ChangeLog(Entry<Table>.self).create(db)
      #expect(isTrimmed(db, after: old))
      // Other programs find the loss as a row of kind 0.
      #expect(try db.query("SELECT kind FROM sqlable_changes ORDER BY seq DESC LIMIT 1", as: Int.self) == [0])
      let new = try position(db)
      try ChangeLog(Entry<Table>.self, Entry<Other>.self).create(db)
      #expect(!isTrimmed(db, after: new))
    }
  }

  @Test func aMigrationThatRenamesATableWithoutATriggerEndsTheHistory() throws {
    try withLog { db in
      try db.execute("INSERT INTO t VALUES (1, 'x')")
      let old = try position(db)
      let sql = "ALTER TABLE t RENAME TO n; DROP TRIGGER sqlable_changes_t_delete; DELETE FROM n"
      try Migrations([Migration("rename", sql: sql)]).apply(db)
      #expect(isTrimmed(db, after: old))
    }
  }

  @Test func aRenamedTableThatLostATriggerEndsTheHistory() throws {
    try withLog { db in
      let old = try position(db)
      try db.execute("DROP TRIGGER sqlable_changes_t_delete; ALTER TABLE t RENAME TO other")
      let error = expectSqlError { _ = try log(db, after: old) }
      #expect(error?.message.contains("table t was renamed to other") == true)
      try ChangeLog(Entry<Other>.self).create(db)
      #expect(isTrimmed(db, after: old))
    }
  }

  @Test func theErrorOfAConsumerNamesTheRenameOfItsTable() throws {
    try withLog { db in
      func start(_ table: String) throws {
        try db.transaction { _ = try ConsumerRecord.known("index", of: table, startingAt: .rows, in: $0) }
      }
      try start("t")
      try db.execute("ALTER TABLE t RENAME TO other")
      #expect(expectSqlError { try start("other") }?.message.contains("table t was renamed to other") == true)
      #expect(expectSqlError { try start("third") }?.message.contains("has no change log") == true)
    }
  }

  @Test func aPlanThatRenamesATableKeepsTheLossOfATrigger() throws {
    try withLog("CREATE TABLE t (id INTEGER PRIMARY KEY)") { db in
      let old = try position(db)
      try db.execute("DROP TRIGGER sqlable_changes_t_delete")
      try Schema(Entry<Other>.self).plan(db, renamedTables: ["t": "other"]).apply(db)
      #expect(isTrimmed(db, after: old))
    }
  }

  @Test func createTableKeepsTheLossOfARenamedTable() throws {
    try withLog { db in
      let old = try position(db)
      try db.execute("CREATE TABLE wider (id INTEGER PRIMARY KEY)")
      try db.execute("ALTER TABLE t RENAME TO renamed; CREATE UNIQUE INDEX renamed_a ON renamed (a)")
      try db.createTable(Entry<Wider>.self)
      #expect(isTrimmed(db, after: old))
    }
  }

  @Test func tablesWhoseNamesContinueEachOtherCanBeLogged() throws {
    try withLog { db in
      let names = ["t_before", "t_insert", "t_before_insert", "t_", "t_insertReplaced"]
      var all = ChangeLog(Entry<Table>.self)
      for name in names {
        try db.execute("CREATE TABLE \(table: name) (id INTEGER PRIMARY KEY)")
        all = all.adding(Entry<Table>.self, named: name)
      }
      try all.create(db)
      let start = try position(db)
      for name in names { try db.execute("INSERT INTO \(table: name) VALUES (1)") }
      #expect(try log(db, after: start) == names.map { _ in "i 1" })
    }
  }

  // MARK: Candidates

  @Test(arguments: ["a TEXT PRIMARY KEY, v", "a UNIQUE, v"])
  func aCandidateOfAnEarlierStatementIsNotLoggedAfterARebuild(_ columns: String) throws {
    try withLog("CREATE TABLE t (\(columns))") { db in
      try db.execute("INSERT INTO t VALUES ('k0', 0), ('k1', 1), ('k2', 2)")
      try db.execute("DELETE FROM t WHERE a = 'k0'")
      try db.execute("INSERT OR IGNORE INTO t VALUES ('k2', 9)")
      try db.execute(SQL(verbatim: "CREATE TABLE n (\(columns))"))
      // ORDER BY, because SQLite would copy whole rows with their rowids.
      try db.execute("INSERT INTO n SELECT * FROM t ORDER BY a; DROP TABLE t")
      try db.execute("ALTER TABLE n RENAME TO t")
      try ChangeLog(Entry<Table>.self).create(db)
      let start = try position(db)
      try db.execute("INSERT INTO t VALUES ('new', 1)")
      #expect(try log(db, after: start).map { $0.prefix(1) } == ["i"])
    }
  }

  @Test func aCandidateIsIdentifiedByThePrimaryKey() throws {
    try withLog("CREATE TABLE t (a TEXT PRIMARY KEY, v)") { db in
      try db.execute("INSERT INTO t VALUES ('k0', 0), ('k1', 1), ('k2', 2)")
      try db.execute("DELETE FROM t WHERE a = 'k0'")
      try db.execute("INSERT OR IGNORE INTO t VALUES ('k2', 9)")
      // SQLite allows VACUUM to change the rowids of such a table.
      try db.execute("VACUUM; UPDATE sqlable_change_candidates SET \"row\" = \"row\" + 1")
      let start = try position(db)
      try db.execute("INSERT INTO t VALUES ('k3', 3)")
      try db.execute("DELETE FROM t WHERE a = 'k2'")
      try db.execute("INSERT OR REPLACE INTO t VALUES ('k3', 4)")
      #expect(try log(db, after: start) == ["i k3 3", "d k2 2", "d k3 3", "i k3 4"])
    }
  }

  @Test func aBeforeTriggerCanChangeARowThatIsReplaced() throws {
    let definition = """
      CREATE TABLE t (id INTEGER PRIMARY KEY, a UNIQUE, pos);
      CREATE TRIGGER shift BEFORE INSERT ON t BEGIN UPDATE t SET pos = pos + 1 WHERE pos >= new.pos; END
      """
    try withLog(definition) { db in
      try db.execute("INSERT INTO t VALUES (1, 'a', 1)")
      try db.execute("INSERT INTO t VALUES (2, 'b', 5)")
      let start = try position(db)
      // First the trigger changes another row, then the row that is replaced.
      try db.execute("INSERT OR REPLACE INTO t VALUES (3, 'a', 4)")
      try db.execute("INSERT OR REPLACE INTO t VALUES (4, 'a', 4)")
      #expect(
        try log(db, after: start) == ["u 2 b 6", "d 1 a 1", "i 3 a 4", "u 2 b 7", "u 3 a 5", "d 3 a 5", "i 4 a 4"])
    }
  }

  // MARK: Conflicts

  @Test(arguments: [("n = 5", "5"), ("a = 'admin'", "'ADMIN'")], ["", "NOT NULL DEFAULT '5'"])
  func expressionsOfAnIndexHaveTheAffinityAndCollationOfColumns(_ term: (String, String), _ notNull: String) throws {
    let (condition, value) = term
    let column = condition.prefix(1)
    let definition = """
      CREATE TABLE t (id INTEGER PRIMARY KEY, \(column) TEXT \(notNull) COLLATE NOCASE);
      CREATE UNIQUE INDEX one ON t (CASE WHEN \(condition) THEN 1 END)
      """
    try withLog(definition) { db in
      try db.execute(SQL(verbatim: "INSERT INTO t VALUES (1, \(value))"))
      let start = try position(db)
      try db.execute(SQL(verbatim: "INSERT OR REPLACE INTO t VALUES (2, \(value))"))
      #expect(try log(db, after: start).map { $0.prefix(3) } == ["d 1", "i 2"])
      guard column == "n", !notNull.isEmpty else { return }
      // OR REPLACE stores the default.
      try db.execute("INSERT OR REPLACE INTO t VALUES (3, NULL)")
      #expect(try log(db, after: start).map { $0.prefix(3) } == ["d 1", "i 2", "d 2", "i 3"])
    }
  }

  @Test func textsInTheExpressionOfAnIndexAreNoColumns() throws {
    try withLog("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT)") { db in
      try db.execute("CREATE UNIQUE INDEX i ON t (replace(a, 'id', ''))")
      try ChangeLog(Entry<Table>.self).create(db)
      let start = try position(db)
      try db.execute("INSERT INTO t VALUES (1, 'idx'); INSERT OR REPLACE INTO t VALUES (2, 'x')")
      #expect(try log(db, after: start) == ["i 1 idx", "d 1 idx", "i 2 x"])
    }
  }

  @Test(arguments: [
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a); CREATE UNIQUE INDEX i ON t (id % 3)",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a, g AS (id % 3), h AS (g) UNIQUE)",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL DEFAULT 'x', g AS (a || '1') UNIQUE)",
    "CREATE TABLE t (id INTEGER PRIMARY KEY, a NOT NULL DEFAULT 1, g AS (a)); CREATE UNIQUE INDEX i ON t (g + 1)",
  ])
  func refusesConflictsByValuesThatSQLiteSetsLate(_ definition: String) throws {
    try withDatabase { db in
      try db.execute(SQL(verbatim: definition))
      let error = expectMisuse { try ChangeLog(Entry<Table>.self).create(db) }
      #expect(error?.message.contains("a change log can't record table t: a unique index ") == true)
      #expect(try !db.tableExists("sqlable_changes"))
    }
  }

  private struct Table: TableDeclaration {
    static let columns = [Column("id", .integer, PrimaryKey()), Column("a", .nullable(.text))]
  }

  private struct Indexed: TableDeclaration {
    static let columns = [Column("id", .integer, PrimaryKey()), Column("a", .nullable(.blob))]
    static let indexes = [Index(columns[1], unique: true)]
  }

  private struct Other: TableDeclaration {
    static let (name, columns) = ("other", [Column("id", .integer, PrimaryKey())])
  }

  private struct Wider: TableDeclaration {
    static let (name, columns) = ("wider", [Column("id", .integer, PrimaryKey()), Column("a", .nullable(.blob))])
  }
}
