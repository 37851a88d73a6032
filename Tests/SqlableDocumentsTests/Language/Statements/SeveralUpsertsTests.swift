import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Inserts with several conflict clauses.
@Suite(.needs(35, "several ON CONFLICT clauses")) struct SeveralUpsertsTests {
  @Test func theFirstClauseWhoseColumnsConflictApplies() throws {
    try withHostileRows { db in
      func insert(_ id: Int, _ text: String, _ other: String) throws -> Int {
        try Hostile(id: id, text: text, other: other).insert()
          .onConflict(Hostile.id, update: Hostile.text)
          .onConflict(Hostile.other, set: Hostile.text.set(to: "both")).run(db)
      }
      let ids = try [insert(1, "new", "x"), insert(9, "new", "b"), insert(3, "third", "c")]
      #expect(ids == [1, 2, 3])
      let stored = try Hostile.read().orderBy(Hostile.id).run(db)
      #expect(stored.map(\.text) == ["new", "both", "third"])
      #expect(stored.map(\.other) == ["a", "b", "c"])
    }
  }

  @Test func namesAreQuotedAndTheClausesKeepTheirOrder() throws {
    let insert = Hostile(id: 1, text: "t", other: "o").insert().onConflict(Hostile.other)
      .onConflict(Hostile.id, update: Hostile.text, where: Hostile.text != "kept").onConflict()
    let (table, text) = (#""order ""x""; DROP TABLE person; --""#, #""a'b""c` [d] /* -- \#n?1 :x""#)
    let other = #""naïve 日本 😀""#
    #expect(
      insert.sql == """
        INSERT INTO \(table) ("group", \(text), \(other)) VALUES (?, ?, ?) ON CONFLICT (\(other)) DO NOTHING \
        ON CONFLICT ("group") DO UPDATE SET \(text) = excluded.\(text) WHERE \(table).\(text) <> ? \
        ON CONFLICT DO NOTHING RETURNING "group"
        """)
    let same = try Statement<Hostile, Int>(json: insert.json())
    #expect(same == insert)
    try withHostileRows { db in
      let skipped = try insert.run(db)
      let first = try Hostile.byId(1).run(db)
      #expect(skipped == 1)
      #expect(first?.text == "t")
      let known = try Hostile(id: 7, text: "t", other: "b").insert().onConflict(Hostile.id, update: Hostile.text)
        .onConflict().run(db)
      #expect(known == 0)
    }
  }

  @Test func batchesAndQueriesTakeSeveralConflictClauses() throws {
    try withHostileRows { db in
      let batch = Hostile.insert([
        Hostile(id: 1, text: "n", other: "z"),
        Hostile(id: 8, text: "n", other: "b"),
        Hostile(id: 9, text: "n", other: "d"),
      ]).onConflict(Hostile.id, update: Hostile.text).onConflict(Hostile.other)
      let ids = try batch.run(db)
      #expect(ids == [1, 0, 9])
      let copies = Hostile.insert(from: Hostile.read()).onConflict(Hostile.other)
        .onConflict(Hostile.id, set: Hostile.text.set(to: "copied"))
      let count = try copies.run(db)
      #expect(count == 0)
      let returned = try Hostile(id: 2, text: "r", other: "q").insert().onConflict(Hostile.other)
        .onConflict(Hostile.id, update: Hostile.text).returning().first().run(db)
      #expect(returned == Hostile(id: 2, text: "r", other: "b"))
    }
  }

  @Test func clausesThatCannotApplyAreRefused() throws {
    try withHostileRows { db in
      let insert = Hostile(id: 1, text: "t", other: "o").insert()
      let twice = expectInvalidStatement {
        _ = try insert.onConflict(Hostile.id).onConflict(Hostile.id, update: Hostile.text).run(db)
      }
      #expect(twice?.message == "an insert has two conflict clauses for the same columns")
      let early = expectInvalidStatement { _ = try insert.onConflict().onConflict(Hostile.id).run(db) }
      #expect(early?.message == "only the last of several conflict clauses can omit its columns")
      let policy = expectInvalidStatement { _ = try insert.onConflict(Hostile.id).ignoreOnConflict().run(db) }
      #expect(policy?.message == "an insert can't have two conflict policies")
      let one = #"{"insert":{"into":"bicycle","row":{"name":"x"},"upsert":[{"target":["id"]}]},"sqlable":1}"#
      let alone = expectSqlError { _ = try Statement<Bicycle, Int>(json: Array(one.utf8)) }
      #expect(alone?.message.contains("a list of upserts needs at least two") == true)
      let none = #"{"insert":{"into":"bicycle","row":{"name":"x"},"upsert":[{"target":["id"]},3]},"sqlable":1}"#
      expectSqlError { _ = try Statement<Bicycle, Int>(json: Array(none.utf8)) }
    }
  }

  private func withHostileRows(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Hostile.self)
      try Hostile.insert([Hostile(id: 1, text: "one", other: "a"), Hostile(id: 2, text: "two", other: "b")]).run(db)
      try body(db)
    }
  }
}
