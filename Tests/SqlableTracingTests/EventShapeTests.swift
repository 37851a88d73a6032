import Foundation
import SqlableCore
import SqlableTracing
import Testing

@testable import SqlableTestSupport

/// The SQL and the table of an event, without values.
@Suite struct EventShapeTests {
  @Test(arguments: [
    ("SELECT 1, 'it''s', x'00', 1.5e-3, 0xFF", "SELECT ?…"), ("SELECT 0x1_F", "SELECT ?"),
    ("select  *\n from\tperson -- 'all' of them\n where id=5", "select * from person where id = ?"),
    (
      "SELECT id FROM person WHERE id IN (1, 2,3) /* no \" here */ AND name='x'",
      "SELECT id FROM person WHERE id IN (?…) AND name = ?"
    ),
    ("INSERT INTO person (id, name) VALUES (1, 'a'), (2, 'b'), (3, 'c')", "INSERT INTO person (id, name) VALUES (?…)…"),
    ("INSERT INTO person VALUES (4, 'd')", "INSERT INTO person VALUES (?…)"),
    (
      "INSERT INTO person VALUES (5, 'd'), (6, 'e') ON CONFLICT DO NOTHING",
      "INSERT INTO person VALUES (?…)… ON CONFLICT DO NOTHING"
    ),
    (
      #"SELECT count(*), max("id") FROM "person" AS p WHERE p."id">-7"#,
      #"SELECT count(*), max("id") FROM "person" AS p WHERE p."id" > - ?"#
    ),
    ("SELECT [id], `name` FROM person LIMIT 10 OFFSET 20;", "SELECT [id], `name` FROM person LIMIT ? OFFSET ?"),
    ("SELECT coalesce(id, 1, 2) || 'x' FROM person", "SELECT coalesce(id, ?…) || ? FROM person"),
  ])
  func aShapeHasNoValues(_ sql: String, _ shape: String) throws {
    try withTraced { db, log in
      try db.execute(SQL(verbatim: sql))
      #expect(log.take().first { $0.kind == .read || $0.kind == .write }?.sql == shape)
    }
  }

  /// SQLite before 3.46 refuses the digit separators.
  @Test func aNumberWithDigitSeparatorsIsOneValue() throws {
    try withTraced { db, log in
      for sql in ["SELECT 1_0.5_5", "SELECT .5e1_0", "SELECT 1_a.b"] {
        try? db.execute(SQL(verbatim: sql))
        #expect(log.take().last?.sql == (sql.hasSuffix("b") ? "SELECT ?.b" : "SELECT ?"))
      }
    }
  }

  @Test(
    arguments: [
      (#"SELECT 1 FROM main."person""#, "person"),
      ("DELETE FROM person WHERE id = 1", "person"),
      ("UPDATE OR IGNORE person SET name = 'x'", "person"),
      ("REPLACE INTO person VALUES (1, 'x')", "person"),
      ("WITH n AS (SELECT 1) DELETE FROM person", "person"),
      ("SELECT 1 FROM (SELECT id FROM person) AS p", "person"),
      ("CREATE TABLE IF NOT EXISTS other (x)", "other"),
      ("DROP TABLE IF EXISTS nosuch", "nosuch"),
      ("SELECT 1", nil),
      (#"CREATE TABLE "a ""b"" c" (x)"#, #"a "b" c"#),
    ] as [(String, String?)])
  func theTableOfAnEventIsTheFirstNamedTable(_ sql: String, _ table: String?) throws {
    try withTraced { db, log in
      try db.execute("PRAGMA foreign_keys = OFF")
      _ = log.take()
      try db.execute(SQL(verbatim: sql))
      #expect(log.take().first { $0.kind != .control }?.table == table)
    }
  }

  @Test func listsOfAllLengthsShareAFewShapes() throws {
    try withTraced { db, log in
      for count in [1, 2, 50, 3_000] {
        _ = try Bicycle.read().filter(Bicycle.id.in(Array(1...count))).run(db)
      }
      let shapes = Set(log.take().filter { $0.kind == .read }.map(\.sql))
      #expect(shapes.count <= 3, "\(shapes)")
    }
  }

  @Test func aTextOfMegabytesIsCut() throws {
    try withTraced { db, log in
      let terms = (0..<2_000).map { "\"name\" != coalesce(\"name\", \($0))" }
      _ = try? db.execute(SQL(verbatim: "SELECT \(terms.joined(separator: ", ")) FROM person"))
      let sql = try #require(log.take().last?.sql)
      #expect(sql.utf8.count < 4_200)
      #expect(sql.hasSuffix("…"))
    }
  }
}
