import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

private enum New: TableDeclaration {
  static let id = Column("id", .integer, PrimaryKey(autoincrement: true))
  static let name = Column("name", .text, Collate.nocase)
  static let price = Column("price", .real, Default(1.5), Check("price >= 0"))
  static let code = Column("code", .nullable(.text), Unique())
  static let ownerId = Column("owner_id", .nullable(.integer), ForeignKey<Person>(onDelete: .setNull))
  static let columns = [id, name, price, code, ownerId]
  static let indexes = [Index(price), Index(name, ownerId)]
}

/// Tests that a plan converts the tables to the models without losing data.
@Suite struct SchemaPlanTests {
  private let schema = Schema(Person.self, Entry<New>.self)

  private func withOld(
    _ text: String = "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, price TEXT, extra BLOB)",
    _ body: (SqliteDatabase) throws -> Void
  ) throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try db.execute(SQL(verbatim: text))
      try body(db)
    }
  }

  private func texts(_ db: SqliteDatabase) throws -> [String] {
    try db.query("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name", as: String.self)
  }

  @Test func aDatabaseThatIsUpToItsModelsHasAnEmptyPlan() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Entry<New>.self)
      let plan = try schema.plan(db)
      #expect(plan.isEmpty)
      #expect(plan.description == "nothing to change")
      try plan.apply(db)
    }
  }

  @Test func missingTablesColumnsAndIndexesAreAddedWithoutARebuild() throws {
    try withDatabase { db in
      try db.execute(
        """
        CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL COLLATE NOCASE,
          code TEXT UNIQUE, owner_id INTEGER REFERENCES person (id) ON DELETE SET NULL);
        CREATE INDEX t_price ON t (name); PRAGMA foreign_keys = OFF; INSERT INTO t (name) VALUES ('x');
        PRAGMA foreign_keys = ON
        """)
      let plan = try schema.plan(db)
      #expect(!plan.losesData)
      #expect(!plan.rebuilds)
      #expect(
        plan.steps.map(\.description) == [
          "person: create the table", "t: add column price", "t: change index t_price (about 1 rows)",
          "t: create index t_name_owner_id (about 1 rows)",
        ])
      #expect(
        plan.steps[1].statements.map(\.sql) == [
          #"ALTER TABLE "t" ADD COLUMN "price" REAL NOT NULL DEFAULT 1.5 CHECK (price >= 0)"#
        ])
      try plan.apply(db)
      try schema.verify(db)
      #expect(try Entry<New>.read().run(db) == [Entry<New>(1, "x", 1.5, .null, .null)])
    }
  }

  @Test func rebuildKeepsRowsIndexesTriggersViewsAndCounter() throws {
    try withOld { db in
      try db.execute(
        """
        CREATE TABLE log (id INTEGER);
        CREATE INDEX own ON t (extra);
        CREATE VIEW names AS SELECT name FROM t;
        CREATE TRIGGER noted AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.id); END;
        CREATE TRIGGER other AFTER INSERT ON person BEGIN INSERT INTO t (name, price) VALUES (new.name, '2'); END;
        CREATE TABLE child (t INTEGER REFERENCES t (id) ON DELETE CASCADE);
        INSERT INTO t VALUES (3, 'a', '1.25', x'01'), (7, 'b', '0', NULL), (9, 'gone', '1', NULL);
        INSERT INTO child VALUES (3), (7);
        DELETE FROM t WHERE id = 9;
        """)
      let plan = try schema.plan(db)
      let step = try #require(plan.steps.first)
      #expect(plan.steps.count == 1)
      #expect(step.rebuilds)
      #expect(!plan.losesData)
      #expect(step.rows == 5)
      #expect(
        step.description.hasPrefix(
          "t: change whether name can be NULL; change the collation of name; change the type of price"))
      try plan.apply(db)
      try schema.verify(db)
      #expect(
        try Entry<New>.read().orderBy(New.id).run(db) == [
          Entry<New>(3, "a", 1.25, .null, .null), Entry<New>(7, "b", 0.0, .null, .null),
        ])
      #expect(try db.query("SELECT extra FROM t ORDER BY id", as: Data?.self) == [Data([1]), nil])
      #expect(try db.query("SELECT t FROM child", as: Int.self) == [3, 7])
      #expect(try db.query("SELECT name FROM names", as: String.self) == ["a", "b"])
      #expect(try db.schema()[table: "t"]?.indexes.map(\.name) == ["own", "t_name_owner_id", "t_price"])
      // The counter continues, triggers fire and foreign keys are enforced.
      #expect(try Entry<New>(nil, "c", 2.0, nil, nil).insert().run(db) == 10)
      #expect(try db.query("SELECT id FROM log", as: Int.self) == [3, 7, 9, 10])
      try Person(id: nil, name: "Ann").insert().run(db)
      #expect(try db.query("SELECT name FROM t ORDER BY id", as: String.self) == ["a", "b", "c", "Ann"])
      expectError(.constraint(.foreignKey)) { try db.execute("INSERT INTO child VALUES (99)") }
      try db.execute("DELETE FROM t WHERE id = 3")
      #expect(try db.query("SELECT t FROM child", as: Int.self) == [7])
      #expect(try schema.plan(db).isEmpty)
      #expect(try db.query("PRAGMA integrity_check", as: String.self) == ["ok"])
    }
  }

  @Test func columnIsRenamedOnlyOnRequest() throws {
    try withOld(
      """
      CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL COLLATE NOCASE); \
      INSERT INTO t VALUES (1, 'x')
      """
    ) { db in
      let error = sqlError { _ = try schema.plan(db) }
      #expect(
        error?.message == """
          column t.name needs a value for existing rows: it can't be NULL and has no default; use filling: \
          ["t.name": …], or `renamed:` if the column is the new name of title
          """)
      let asking = try schema.plan(db, filling: ["name": "?"], dropping: .columns)
      #expect(asking.questions.map(\.description) == ["was t.title renamed to name or code?"])
      #expect(
        sqlError { try asking.apply(db, allowing: .dataLoss) }?.message
          == "the plan needs renamed: or notRenamed: to answer the question: was t.title renamed to name or code?")
      let plan = try schema.plan(db, renamed: ["t.title": "name"], dropping: .columns)
      #expect(plan.questions == [])
      #expect(plan.steps.first?.description == "t: rename column title to name")
      #expect(!plan.losesData)
      try plan.apply(db)
      try schema.verify(db)
      #expect(try Entry<New>.read().run(db) == [Entry<New>(1, "x", 1.5, .null, .null)])
      #expect(sqlError { _ = try schema.plan(db, renamed: ["code": "nothing"]) } != nil)
    }
  }

  @Test func columnWithoutWhichInsertsFailDoesNotStay() throws {
    try withOld(
      """
      CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL COLLATE NOCASE); \
      INSERT INTO t VALUES (1, 'x')
      """
    ) { db in
      let asking = try schema.plan(db, filling: ["name": "?"])
      #expect(asking.questions.map(\.description) == ["was t.title renamed to name or code?"])
      let error = sqlError { _ = try schema.plan(db, notRenamed: ["title"], filling: ["name": "?"]) }
      #expect(
        error?.message == """
          column t.title is NOT NULL without a default, and no model declares it, so each insert fails; declare the \
          column, rename it with `renamed:`, or drop it with `dropping: .columns`
          """)
      #expect(error?.column == "title")
      let plan = try schema.plan(db, notRenamed: ["title"], filling: ["name": "?"], dropping: .columns)
      try plan.apply(db, allowing: .dataLoss)
      try Entry<New>(nil, "c", 2.0, nil, nil).insert().run(db)
      #expect(try db.query("SELECT name FROM t ORDER BY id", as: String.self) == ["?", "c"])
    }
  }

  @Test func aTableIsRenamed() throws {
    try withOld(
      """
      CREATE TABLE old (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL COLLATE NOCASE); \
      INSERT INTO old VALUES (4, 'x')
      """
    ) { db in
      try schema.plan(db, renamedTables: ["old": "t"]).apply(db)
      try schema.verify(db)
      #expect(try Entry<New>.read().run(db) == [Entry<New>(4, "x", 1.5, .null, .null)])
      #expect(try !db.tableExists("old"))
    }
  }

  @Test func aRenamedTableTakesItsFullTextIndexWithIt() throws {
    try withDatabase { db in
      try db.createTable(Story.self, named: "tale")
      try Story(1, "The fox", "jumps").insert().in("tale").run(db)
      let schema = Schema(Story.self)
      try schema.plan(db, renamedTables: ["tale": "story"]).apply(db)
      try schema.verify(db)
      #expect(try db.schema().tables.map(\.name) == ["story", "story_fulltext"])
      #expect(try db.schema()[table: "story"]?.triggers.count == 3)
      try Story(2, "The hen").insert().run(db)
      try Story.delete(Story.id == 1).run(db)
      #expect(try db.query("SELECT rowid FROM story_fulltext('hen OR fox')", as: Int.self) == [2])
      // A table with the new name already exists.
      try db.execute("CREATE TABLE tale (id INTEGER PRIMARY KEY)")
      #expect(
        sqlError { _ = try schema.plan(db, renamedTables: ["tale": "story"]) }?.message
          == "table tale can't be renamed: table story already exists")
    }
  }

  @Test func losingDataNeedsPermission() throws {
    try withOld { db in
      try db.execute("INSERT INTO t VALUES (1, 'x', '1', x'00')")
      let plan = try schema.plan(db, dropping: .columns)
      #expect(plan.losesData)
      let error = sqlError { try plan.apply(db) }
      #expect(error?.kind == .misuse(error?.message ?? ""))
      #expect(error?.message.hasPrefix("the plan would lose data, which needs the permission .dataLoss: t: ") == true)
      #expect(try db.query("SELECT extra FROM t", as: Data.self) == [Data([0])])
      try plan.apply(db, allowing: .dataLoss)
      #expect(try db.schema()[table: "t"]?.columns.map(\.name) == New.columns.map(\.name))
    }
  }

  @Test func aColumnThatIsDroppedAloneNeedsNoRebuild() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Entry<New>.self)
      try db.execute("ALTER TABLE t ADD COLUMN extra BLOB; CREATE INDEX own ON t (code)")
      let plan = try schema.plan(db, dropping: [.columns, .indexes])
      #expect(plan.steps.map(\.description) == ["t: drop index own", "t: drop column extra (loses data)"])
      try plan.apply(db, allowing: .dataLoss)
      try schema.verify(db)
    }
  }

  @Test func rowsThatDoNotFitAreReportedAndNothingChanges() throws {
    let old =
      "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, price TEXT, code TEXT, owner_id INTEGER)"
    for (rows, message, id) in [
      (
        "(1, 'a', 1, NULL, NULL), (2, NULL, 1, NULL, NULL)",
        "rows of t have no value in column name; affected row ids include 2", 2
      ),
      (
        "(1, 'a', 'much', NULL, NULL)",
        "rows of t have values that are not REAL in column price; affected row ids include 1", 1
      ),
      ("(1, 'a', -1, NULL, NULL)", "rows of t violate CHECK (price >= 0); affected row ids include 1", 1),
      (
        "(4, 'a', 1, 'x', NULL), (5, 'a', 1, 'x', NULL)",
        "rows of t have the same code as other rows in column code; affected row ids include 4", 4
      ),
      ("(1, 'a', 1, NULL, 77)", "rows of t reference missing rows of person; affected row ids include 1", 1),
    ] {
      try withOld(old) { db in
        try db.execute("PRAGMA foreign_keys = OFF")
        try db.execute(SQL(verbatim: "INSERT INTO t VALUES \(rows)"))
        try db.execute("PRAGMA foreign_keys = ON")
        let before = try (texts(db), db.query("SELECT * FROM t", as: DynamicRow.self))
        let plan = try schema.plan(db)
        let error = sqlError { try plan.apply(db) }
        #expect(error?.message == message, "\(String(describing: error))")
        #expect(error?.rowId == id, "\(String(describing: error))")
        #expect(error?.table == "t", "\(String(describing: error))")
        let after = try (texts(db), db.query("SELECT * FROM t", as: DynamicRow.self))
        #expect(before == after)
        #expect(try db.query("PRAGMA foreign_keys", as: Int.self) == [1])
        #expect(try db.query("PRAGMA legacy_alter_table", as: Int.self) == [0])
      }
    }
  }

  @Test func checkRefusesASchemaThatChangedSinceThePlan() throws {
    try withOld { db in
      let plan = try schema.plan(db, filling: ["t.name": "none"])
      try plan.check(db)
      try db.execute("PRAGMA legacy_alter_table = ON")
      try plan.apply(db)
      #expect(try db.query("PRAGMA legacy_alter_table", as: Int.self) == [1])
      let error = sqlError { try plan.check(db) }
      #expect(
        error?.message == "the schema has changed since the plan was made; make a new plan",
        "\(String(describing: error))")
    }
  }

  @Test func fillingSetsMissingValuesOfExistingRows() throws {
    try withOld { db in
      try db.execute("INSERT INTO t VALUES (1, NULL, '2', NULL), (2, 'b', NULL, NULL)")
      try schema.plan(db, filling: ["t.name": "none", "price": 9.5]).apply(db)
      #expect(
        try Entry<New>.read().orderBy(New.id).run(db) == [
          Entry<New>(1, "none", 2.0, .null, .null), Entry<New>(2, "b", 9.5, .null, .null),
        ])
      #expect(
        sqlError { _ = try schema.plan(db, filling: ["nothing": 1]) }?.message
          == "the argument `filling` names column nothing, but no model has the column")
    }
  }

  @Test func storedPlanRefusesASchemaThatChanged() throws {
    try withOld { db in
      let plan = try schema.plan(db)
      let stored = try JSONDecoder().decode(SchemaPlan.self, from: JSONEncoder().encode(plan))
      #expect(stored == plan)
      try db.execute("CREATE TABLE another (a)")
      #expect(
        sqlError { try stored.apply(db) }?.message == "the schema has changed since the plan was made; make a new plan")
      try db.execute("DROP TABLE another")
      try stored.apply(db)
      try schema.verify(db)
    }
  }

  @Test func fullTextIndexesAreBuiltAndKept() throws {
    enum Text: TableDeclaration {
      static let name = "note"
      static let id = Column("id", .integer, PrimaryKey())
      static let body = Column("body", .text)
      static let stars = Column("stars", .integer, Default(0))
      static let columns = [id, body, stars]
      static let fullText = FullTextIndex(body)
    }
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      let schema = Schema(Entry<Text>.self)
      try db.execute(
        """
        CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT NOT NULL, stars TEXT); \
        INSERT INTO note VALUES (1, 'red bike', '3')
        """)
      try schema.plan(db).apply(db)
      try schema.verify(db)
      func found(_ word: String) throws -> [Int] {
        try db.query("SELECT rowid FROM note_fulltext WHERE note_fulltext MATCH \(word)", as: Int.self)
      }
      #expect(try found("bike") == [1])
      // A rebuild keeps the index and its triggers.
      try db.execute("ALTER TABLE note ADD COLUMN more TEXT NOT NULL DEFAULT ''")
      let plan = try schema.plan(db, dropping: .columns)
      try plan.apply(db, allowing: .dataLoss)
      try Entry<Text>(2, "blue bike", 1).insert().run(db)
      #expect(try found("bike") == [1, 2])
      #expect(try db.isFullTextIntact(Entry<Text>.self))
      #expect(try schema.plan(db).isEmpty)
    }
  }
}
