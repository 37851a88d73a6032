import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// SQL text with values that SQLite can't store. The compiler warns of each.
private protocol TextWithOtherValues { func execute(_ db: SqliteDatabase) throws }
private struct TextWithPartOfText: TextWithOtherValues {
  @available(*, deprecated)
  func execute(_ db: SqliteDatabase) throws {
    let part = "1 OR 1".dropFirst(0)
    try db.execute("DELETE FROM person WHERE id = \(part)")
  }
}
private struct TextWithScalars: TextWithOtherValues {
  @available(*, deprecated)
  func execute(_ db: SqliteDatabase) throws {
    let name = "x' OR '1' = '1"
    try db.execute("DELETE FROM person WHERE name = \(name) OR id = \("1 OR 1".unicodeScalars)")
  }
}

/// Statements, queries and terms inside raw SQL.
@Suite struct RawSQLEmbeddingTests {
  @Test func aValueThatSQLiteCannotStoreIsRefused() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person.insert([Person(id: nil, name: "Anna"), Person(id: nil, name: "Bo")]).run(db)
      for text in [TextWithPartOfText(), TextWithScalars()] as [any TextWithOtherValues] {
        let error = sqlError { try text.execute(db) }
        #expect(error?.message.contains("can't store") == true)
        #expect(error?.message.contains("1 OR 1") == false)
        #expect(try Person.count().run(db) == 2)
      }
    }
  }

  @Test func aStatementBecomesItsSQLWithItsValuesBound() throws {
    try withCompany { db in
      let reds = Bicycle.read().filter(Bicycle.color == "red" && Bicycle.id > 1)
      let sql: SQL = "SELECT count(*) FROM (\(reds)) WHERE id < \(9)"
      #expect(
        sql.text == """
          SELECT count(*) FROM (\
          SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "color" = ? AND "id" > ?\
          ) WHERE id < ?
          """)
      #expect(sql.bindings == [.text("red"), .integer(1), .integer(9)])
      #expect(try db.query(sql, as: Int.self) == [1])
      let dear = Worker.select(Worker.name, Worker.salary).filter(Worker.salary > 6)
      #expect(try db.query("SELECT max(salary) FROM (\(dear))", as: Double.self) == [10])
      try db.execute("INSERT INTO person (name) \(Worker.select(Worker.name).filter(Worker.id == 4)); SELECT \(1)")
      #expect(try Person.count().run(db) == 4)
    }
  }

  @Test func otherSQLTextIsEmbeddedWithItsValues() throws {
    try withCompany { db in
      let (color, least) = ("red", 1)
      var condition: SQL = "color = \(color)"
      condition = "\(sql: condition) AND id > \(least)"
      let sql: SQL = "SELECT id + \(100) FROM \(Bicycle.self) WHERE \(sql: condition) AND id < \(9)"
      #expect(sql.text == #"SELECT id + ? FROM "bicycle" WHERE color = ? AND id > ? AND id < ?"#)
      #expect(sql.bindings == [.integer(100), .text("red"), .integer(1), .integer(9)])
      let typed = Bicycle.count(Bicycle.color == "red" && Bicycle.id > 1 && Bicycle.id < 9)
      let (found, expected) = try (db.query(sql, as: Int.self), typed.run(db))
      #expect(found.count == expected)
      let two: SQL = "UPDATE person SET name = \("x") WHERE id = \(1); UPDATE person SET name = \("y") WHERE id = \(2)"
      try db.execute("\(sql: two); DELETE FROM person WHERE id = \(3)")
      #expect(try db.query("SELECT name FROM person WHERE id < 3 ORDER BY id", as: String.self) == ["x", "y"])
      for open in ["name = 'x", "id = 1 /* ", "id = \"a"] as [SQL] {
        let error = expectMisuse { try db.execute("DELETE FROM person WHERE \(sql: open)") }
        #expect(error?.message == "SQL text that is embedded in other SQL text ends inside quotes or a comment")
      }
      // The embedded text can't be run, because its value is inside quotes.
      let broken: SQL = "name = 'a \(1)'"
      let error = expectInvalidStatement { try db.execute("DELETE FROM person WHERE \(sql: broken)") }
      #expect(error?.message.hasPrefix("an interpolation is inside quotes or a comment of the SQL text") == true)
    }
  }

  @Test func aTermBecomesItsSQLInParentheses() throws {
    try withCompany { db in
      let wanted = Bicycle.color == "red" || Bicycle.color == "blue"
      let sql: SQL = "SELECT count(*) FROM bicycle WHERE \(wanted) AND id > \(1)"
      #expect(sql.text == #"SELECT count(*) FROM bicycle WHERE ("color" = ? OR "color" = ?) AND id > ?"#)
      let count = try db.query(sql, as: Int.self)
      #expect(count == [2])
      #expect(try db.query("SELECT \(Worker.salary * 2) FROM worker WHERE id = 1", as: Double.self) == [20])
      let owners = Bicycle.ownerId.in(Person.select(Person.id).filter(Person.name == "Anna"))
      #expect(try db.query("SELECT count(*) FROM bicycle WHERE \(owners)", as: Int.self) == [2])
    }
  }

  @Test func aTermWithALongListBindsTheListOnce() throws {
    try withCompany { db in
      let many = Bicycle.id ∈ Array(2...5_000)
      let sql: SQL = "SELECT count(*) FROM bicycle WHERE \(many) AND color = \("red")"
      #expect(sql.bindings == [.text("red")])
      #expect(try db.query(sql, as: Int.self) == [1])
      try db.execute("DELETE FROM bicycle WHERE \(many); DELETE FROM worker WHERE name = \("Ada")")
      #expect(try Bicycle.count().run(db) == 1)
      #expect(try Worker.count().run(db) == 3)
    }
  }

  @Test func statementsThatCannotBeEmbeddedThrowWhenTheyRun() throws {
    try withCompany { db in
      expectInvalidStatement { try db.execute("\(Bicycle(name: "a", color: "b").insert())") }
      expectInvalidStatement { _ = try db.query("SELECT '\(Bicycle.read())'", as: Int.self) }
      expectInvalidStatement { _ = try db.query("SELECT * FROM (\(Bicycle.read().limit(-1)))", as: Bicycle.self) }
      // SQLite would resolve `id` to the subquery's column instead of the enclosing SQL's.
      let hidden = exists(Bicycle.read().filter(Bicycle.ownerId == Worker.id.expression))
      let error = expectInvalidStatement { _ = try db.query("SELECT 1 FROM worker WHERE \(hidden)", as: Int.self) }
      #expect(error?.message == "a table of the subquery hides column id of the enclosing SQL")
      expectMisuse { _ = try db.query("SELECT \(Parameter<Int>("x"))", as: Int.self) }
    }
  }

  @Test func rowsComeAsTuplesOfValuesAndModels() throws {
    try withCompany { db in
      let rows = try db.query(
        """
        SELECT b.name, p.*, b.id FROM bicycle b LEFT JOIN person p ON p.id = b.owner_id WHERE b.id > \(2) ORDER BY b.id
        """, as: String.self, Person?.self, Int.self)
      #expect(rows.map(\.0) == ["Giant", "Kona"])
      #expect(rows.map(\.1?.name) == ["Anna", nil])
      #expect(rows.map(\.2) == [3, 4])
      expectMisuse { _ = try db.query("SELECT 1, 2", as: Int.self, Int.self, Int.self) }
      let error = sqlError { _ = try db.query("SELECT 1, NULL", as: Int.self, Int.self) }
      #expect(error?.kind == .decoding(.init(expected: "INTEGER", found: "NULL")))
      let dynamic = try db.query("SELECT * FROM person WHERE id = \(2)", as: DynamicRow.self)
      #expect(dynamic.map(\.values) == [[.integer(2), .text("Bo")]])
      #expect(try db.query("SELECT 1, 2 WHERE 0", as: Int.self, Int.self).isEmpty)
    }
  }

  @Test(.needs(38, "the place of an error")) func aTypoIsReportedWithItsPlace() throws {
    try withCompany { db in
      let missing = sqlError {
        _ = try db.query("SELECT name,\n  colour FROM bicycle WHERE id = \(1)", as: String.self)
      }
      #expect(missing?.kind == .schema(.missingColumn("colour")))
      #expect(missing?.offset == 15)
      #expect(missing?.description.contains("at line 2, column 3 in: SELECT name,") == true)
      let typo = sqlError { try db.execute("UPDATE bicycle SETT color = \("red")") }
      #expect(typo?.kind == .syntax)
      #expect(typo?.offset == 15)
      #expect(sqlError { try db.execute("DELETE FROM nosuch") }?.offset == nil)
    }
  }
}
