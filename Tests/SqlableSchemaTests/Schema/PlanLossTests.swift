import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

private enum Owner: TableDeclaration {
  static let name = "owner"
  static let columns = [Column("id", .integer, PrimaryKey())]
}

/// A table `t` with one column besides its key.
private enum Computed: TableDeclaration {
  static let columns = [id, Column("a", .integer, Generated("id * 2", stored: true))]
}
private enum OneIgnored: TableDeclaration {
  static let columns = [id, Column("a", .text, Unique(onConflict: .ignore))]
}
private enum OneReplaced: TableDeclaration {
  static let columns = [id, Column("a", .text, Unique(onConflict: .replace))]
}
private enum NullReplaced: TableDeclaration {
  static let columns = [id, Column("a", .text, Default("x"), NotNull(onConflict: .replace))]
}
private enum NullIgnored: TableDeclaration {
  static let columns = [id, Column("a", .text, NotNull(onConflict: .ignore))]
}
private enum KeyReplaced: TableDeclaration {
  static let columns = [Column("a", .text, PrimaryKey(onConflict: .replace))]
}
private enum Reals: TableDeclaration { static let columns = [id, Column("a", .nullable(.real))] }
private enum Integers: TableDeclaration { static let columns = [id, Column("a", .nullable(.integer))] }
private enum Texts: TableDeclaration { static let columns = [id, Column("a", .nullable(.text))] }
private enum Counted: TableDeclaration {
  static let columns = [Column("id", .integer, PrimaryKey(autoincrement: true)), Column("a", .text)]
}
private enum Owned: TableDeclaration {
  static let columns = [id, Column("a", .nullable(.integer), ForeignKey<Entry<Owner>>())]
}
private enum Doubled: TableDeclaration {
  static let columns = [id, Column("a", .nullable(.text)), Column("b", .nullable(.text))]
}
private enum Dated: TableDeclaration {
  static let columns = [id, Column("at", .date(.unixMilliseconds))]
}
private enum DatedInText: TableDeclaration {
  static let name = "u"
  static let columns = [id, Column("at", .date(.iso8601))]
}

private enum Cents: TableDeclaration { static let columns = [id, Column("a", .nullable(.decimal(scale: 2)))] }
private enum Milliseconds: TableDeclaration {
  static let columns = [id, Column("a", .nullable(.date(.unixMilliseconds)))]
}

private let id = Column("id", .integer, PrimaryKey())

/// Tests that a plan refuses every change that would silently drop or change a row.
@Suite struct PlanLossTests {
  private func rows(_ db: SqliteDatabase, _ table: String = "t") throws -> [[DatabaseValue]] {
    try db.query(SQL(verbatim: "SELECT * FROM \(table)"), as: DynamicRow.self).map(\.values)
  }

  /// Applies a model's plan and expects an error with unchanged rows and schema.
  private func expectRefusal(
    _ setup: String, _ model: any Sqlable.Type, _ message: String, filling: [String: any SqlValue] = [:],
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    try withDatabase { db in
      try db.execute(SQL(verbatim: setup))
      let before = try (db.schema(), rows(db))
      let error = sqlError { try Schema(model).plan(db, filling: filling).apply(db) }
      #expect(error?.message == message, sourceLocation: sourceLocation)
      let after = try (db.schema(), rows(db))
      #expect(before == after, sourceLocation: sourceLocation)
    }
  }

  @Test func aConflictPolicyOfTheModelRemovesNoRow() throws {
    let twice = "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT NOT NULL); INSERT INTO t VALUES (1, 'x'), (2, 'x')"
    for model in [Entry<OneIgnored>.self, Entry<OneReplaced>.self] as [any Sqlable.Type] {
      try expectRefusal(
        twice, model, "rows of t have the same a as other rows in column a; affected row ids include 1")
    }
    let none = "CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO t VALUES (1, 'x'), (2, NULL)"
    for model in [Entry<NullReplaced>.self, Entry<NullIgnored>.self] as [any Sqlable.Type] {
      try expectRefusal(none, model, "rows of t have no value in column a; affected row ids include 2")
    }
    try expectRefusal(
      "CREATE TABLE t (a TEXT NOT NULL); INSERT INTO t VALUES ('x'), ('x')", Entry<KeyReplaced>.self,
      "rows of t have the same a as other rows in column a; affected row ids include 1")
  }

  @Test func aColumnWhoseValuesWillBeComputedLosesData() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER NOT NULL); INSERT INTO t VALUES (1, 77)")
      let plan = try Schema(Entry<Computed>.self).plan(db)
      #expect(plan.losesData)
      #expect(sqlError { try plan.apply(db) } != nil)
      #expect(try rows(db) == [[.integer(1), .integer(77)]])
      try plan.apply(db, allowing: .dataLoss)
      #expect(try rows(db) == [[.integer(1), .integer(2)]])
    }
  }

  @Test func aValueThatAnotherTypeWouldChangeIsReported() throws {
    func reject(_ type: String, _ value: String, _ model: any Sqlable.Type, _ name: String) throws {
      try expectRefusal(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, a \(type)); INSERT INTO t VALUES (1, NULL), (3, \(value))", model,
        "rows of t have values that \(name) can't hold exactly in column a; affected row ids include 3")
    }
    for value in ["'007'", "'-01'", "'+4930'", "' 010 '"] {
      try reject("TEXT", value, Entry<Integers>.self, "INTEGER")
      try reject("TEXT", value, Entry<Reals>.self, "REAL")
    }
    for value in ["9007199254740993", "-9007199254740993", "9223372036854775807", "9223372036854774785"] {
      try reject("INTEGER", value, Entry<Reals>.self, "REAL")
      try reject("TEXT", "'\(value)'", Entry<Reals>.self, "REAL")
    }
    for value in ["'1e400'", "'0.12345678901234567890123'", "'00.5'"] {
      try reject("TEXT", value, Entry<Reals>.self, "REAL")
    }
    try reject("REAL", "0.1 + 0.2", Entry<Texts>.self, "TEXT")
  }

  @Test func aValueThatAnotherTypeHoldsExactlyIsKept() throws {
    func expect(_ type: String, _ values: String, _ model: any Sqlable.Type, _ expected: [DatabaseValue]) throws {
      try withDatabase { db in
        try db.execute(
          SQL(verbatim: "CREATE TABLE t (id INTEGER PRIMARY KEY, a \(type)); INSERT INTO t (a) VALUES \(values)"))
        try Schema(model).plan(db).apply(db)
        #expect(try rows(db).map { $0[1] } == expected)
      }
    }
    try expect(
      "TEXT", "('7'), ('-5'), ('0'), ('9223372036854775807'), (NULL)", Entry<Integers>.self,
      [7, -5, 0, .integer(.max), .null])
    try expect("REAL", "(1.0), (-2e15)", Entry<Integers>.self, [1, -2_000_000_000_000_000])
    try expect(
      "INTEGER", "(9007199254740992), (-7), (9223372036854774784)", Entry<Reals>.self,
      [9_007_199_254_740_992.0, -7.0, 9_223_372_036_854_774_784.0])
    try expect(
      "TEXT", "('0.5'), ('-0.25'), ('1e300'), ('0.30000000000000004')", Entry<Reals>.self,
      [0.5, -0.25, 1e300, .real(0.1 + 0.2)])
    try expect("INTEGER", "(9223372036854775807), (0)", Entry<Texts>.self, ["9223372036854775807", "0"])
    try expect("REAL", "(0.5), (1e300)", Entry<Texts>.self, ["0.5", "1.0e+300"])
  }

  @Test func numberIsNotReinterpretedInAnotherUnit() throws {
    for type in ["REAL", "NUMERIC", "TEXT", "DECIMAL(10, 2)"] {
      let setup = "CREATE TABLE t (id INTEGER PRIMARY KEY, a \(type)); INSERT INTO t VALUES (1, NULL), (2, 12)"
      try expectRefusal(
        setup, Entry<Cents>.self,
        "rows of t have values that a migration must convert to a Decimal with 2 digits after the point in column a; "
          + "affected row ids include 2")
      try expectRefusal(
        setup, Entry<Milliseconds>.self,
        "rows of t have values that a migration must convert to INTEGER (date as unixMilliseconds) in column a; "
          + "affected row ids include 2")
    }
    try withDatabase { db in
      try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a INT); INSERT INTO t VALUES (1, 1250)")
      try Schema(Entry<Cents>.self).plan(db).apply(db)
      #expect(try rows(db) == [[1, 1250]])
    }
  }

  @Test func planRefusesARowWithoutAKey() throws {
    try expectRefusal(
      "CREATE TABLE t (id INTEGER, a TEXT); INSERT INTO t VALUES (5, 'x'), (NULL, 'y')", Entry<Texts>.self,
      "rows of t have no value in column id; affected row ids include 2")
  }

  @Test func autoincrementCounterSurvivesANameInAnotherCase() throws {
    try withDatabase { db in
      try db.execute(
        """
        CREATE TABLE T (id INTEGER PRIMARY KEY AUTOINCREMENT, a TEXT); INSERT INTO T VALUES (100, 'gone');
        DELETE FROM T; INSERT INTO T VALUES (3, 'x')
        """)
      try Schema(Entry<Counted>.self).plan(db).apply(db)
      #expect(try Entry<Counted>(nil, "y").insert().run(db) == 101)
    }
  }

  @Test func aFillingThatRefersToNoRowIsReported() throws {
    try expectRefusal(
      "CREATE TABLE owner (id INTEGER PRIMARY KEY); CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)",
      Entry<Owned>.self, "rows of t reference missing rows of owner; affected row ids include 1", filling: ["a": 99])
  }

  @Test func aFillingFiresNoTriggers() throws {
    try withDatabase { db in
      try db.execute(
        """
        CREATE TABLE log (a); CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO t VALUES (1, 'x');
        CREATE TRIGGER noted AFTER UPDATE ON t BEGIN INSERT INTO log VALUES (new.b); END
        """)
      let plan = try Schema(Entry<Doubled>.self).plan(db, filling: ["b": "y"])
      #expect(!plan.rebuilds)
      try plan.apply(db)
      #expect(try rows(db, "log") == [])
      try db.execute("UPDATE t SET a = b")
      #expect(try rows(db, "log") == [["y"]])
      #expect(try rows(db) == [[1, "y", "y"]])
    }
  }

  @Test func fillingFitsEachColumnAndPrefersATableName() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)")
      try db.execute("CREATE TABLE u (id INTEGER PRIMARY KEY); INSERT INTO u VALUES (1)")
      let schema = Schema(Entry<Dated>.self, Entry<DatedInText>.self)
      let (first, second) = (Date(timeIntervalSince1970: 1), Date(timeIntervalSince1970: 2))
      for _ in 0..<10 {
        let plan = try schema.plan(db, filling: ["at": first, "u.at": second])
        #expect(plan.steps.map { $0.statements.flatMap(\.values) } == [[1_000], ["1970-01-01T00:00:02.000Z"]])
      }
      try schema.plan(db, filling: ["at": first]).apply(db)
      #expect(try rows(db) == [[1, 1_000]])
      #expect(try rows(db, "u") == [[1, "1970-01-01T00:00:01.000Z"]])
    }
  }

  @Test func renamesFollowAChainAndRefuseACycle() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      let schema = Schema(Entry<Doubled>.self)
      try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, z TEXT, a TEXT); INSERT INTO t VALUES (1, 'z', 'a')")
      let chain = ["z": "a", "a": "b"]
      try schema.plan(db, renamed: chain).apply(db)
      #expect(try db.query("SELECT a || b FROM t", as: String.self) == ["za"])
      #expect(try schema.plan(db, renamed: chain).isEmpty)
      let error = sqlError { _ = try schema.plan(db, renamed: ["a": "b", "b": "a"]) }
      #expect(error?.message.contains("the new names form a cycle") == true, "\(String(describing: error))")
    }
  }

  @Test func ambiguousRenameIsAQuestionUnlessItNamesItsTable() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      let schema = Schema(Entry<Doubled>.self)
      try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO t VALUES (1, 'x')")
      let plan = try schema.plan(db, renamed: ["a": "b"])
      #expect(plan.questions.map(\.description) == ["was t.a renamed to b?"])
      #expect(try schema.plan(db, renamed: ["a": "b"], notRenamed: ["t.a"]).questions.isEmpty)
      try schema.plan(db, renamed: ["t.a": "b"]).apply(db)
      #expect(try rows(db) == [[1, "x", .null]])
      #expect(try schema.plan(db, renamed: ["t.a": "b"]).isEmpty)
    }
  }

  @Test func temporaryTableIsNotMistakenForAModelsTable() throws {
    try expectRefusal(
      """
      CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT); CREATE TEMP TABLE t (id INTEGER PRIMARY KEY)
      """, Entry<Doubled>.self, "a temporary table has the same name as table t; drop the temporary table first")
    try withDatabase { db in
      try db.execute(
        """
        CREATE TABLE t (id INTEGER PRIMARY KEY, a BLOB); CREATE TEMP TABLE log (a);
        CREATE TEMP TRIGGER noted AFTER INSERT ON t BEGIN INSERT INTO log VALUES (new.a); END
        """)
      try Schema(Entry<Doubled>.self).plan(db).apply(db)
      #expect(try db.schema()[table: "t"]?.triggers == [])
    }
  }

  @Test func viewOrTriggerThatAPlanBreaksIsReported() throws {
    for (text, message) in [
      ("CREATE VIEW v AS SELECT extra FROM t", "the plan would break view v: no such column: extra"),
      ("CREATE VIEW v AS SELECT \"extra\" FROM t", "the plan would break view v: no such column: extra"),
      (
        "CREATE TRIGGER v AFTER INSERT ON t BEGIN SELECT new.extra; END",
        "the plan would break a trigger of t, on insert: no such column: new.extra"
      ),
      (
        "CREATE TABLE o (a); CREATE TRIGGER v AFTER DELETE ON o BEGIN UPDATE t SET extra = 1; END",
        "the plan would break a trigger of o, on delete: no such column: extra"
      ),
      (
        "CREATE TABLE o (a); CREATE TRIGGER v AFTER UPDATE OF a ON o BEGIN INSERT INTO t VALUES (1, 2, 3); END",
        "the plan would break a trigger of o, on update: table t has 4 columns but 3 values were supplied"
      ),
    ] {
      try withDatabase { db in
        try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a TEXT, extra BLOB); INSERT INTO t VALUES (1, 'x', 2)")
        try db.execute(SQL(verbatim: text))
        let dropping: SchemaDropping = message.contains("4 columns") ? [] : .columns
        let error = sqlError { _ = try Schema(Entry<Doubled>.self).plan(db, dropping: dropping) }
        #expect(
          error?.message == message
            + "; drop the view or trigger before the plan, and create the view or trigger again afterwards")
        #expect(try rows(db) == [[1, "x", 2]])
      }
    }
  }
}
