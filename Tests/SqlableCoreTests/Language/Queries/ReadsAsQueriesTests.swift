import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Statements of `read()` used as queries: joined, grouped, combined, selected from and nested.
@Suite struct ReadsAsQueriesTests {
  private func withGarage(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try db.createTable(Bicycle.self, named: "archive")
      try Person.insert(["Ann", "Bob"].map { Person(id: nil, name: $0) }).run(db)
      try Bicycle.insert([
        Bicycle(name: "Trek", color: "red", ownerId: 1),
        Bicycle(name: "Giant", color: "blue", ownerId: 1),
        Bicycle(name: "Norco", color: "red", ownerId: nil),
      ]).run(db)
      try Bicycle(id: 9, name: "Old", color: "red").insert().in("archive").run(db)
      try body(db)
    }
  }

  private let reds = Bicycle.read().filter(Bicycle.color == "red").orderBy(Bicycle.name)

  @Test func aReadIsJoined() throws {
    try withGarage { db in
      let owned = reds.leftJoin(Person.self, on: Bicycle.ownerId == Person.id)
      #expect(
        owned.sql == """
          SELECT "bicycle"."id", "bicycle"."name", "bicycle"."color", "bicycle"."owner_id", "person"."id", \
          "person"."name" \
          FROM "bicycle" LEFT JOIN "person" ON "bicycle"."owner_id" = "person"."id" \
          WHERE "bicycle"."color" = ? ORDER BY "bicycle"."name"
          """)
      let pairs = try owned.run(db).map { "\($0.0.name) \($0.1?.name ?? "-")" }
      #expect(pairs == ["Norco -", "Trek Ann"])
      let ofAnn = try owned.filter(Person.name == "Ann").limit(1).run(db).map(\.0.name)
      #expect(ofAnn == ["Trek"])
    }
  }

  @Test func aReadIsSelectedFromGroupedAndCounted() throws {
    try withGarage { db in
      let read = Bicycle.read().filter(Bicycle.id < 9)
      let counts = read.groupBy(Bicycle.color).select(Bicycle.color, Bicycle.id.count()).orderBy(Bicycle.color.asc)
      #expect(
        counts.sql
          == #"SELECT "color", count("id") FROM "bicycle" WHERE "id" < ? GROUP BY "color" ORDER BY "color""#)
      let groups = try counts.run(db).map(\.values)
      #expect(groups == [[.text("blue"), .integer(1)], [.text("red"), .integer(2)]])
      let numbers = try [read.count(db), read.limit(2).count(db)]
      #expect(numbers == [3, 2])
      let first = try reds.first(db)
      #expect(first?.name == "Norco")
      let colors = try read.select(Bicycle.color).distinct().count(db)
      #expect(colors == 2)
    }
  }

  @Test func readsAreCombined() throws {
    try withGarage { db in
      let all = reds.union(Bicycle.read().in("archive")).limit(3)
      #expect(
        all.sql == """
          SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "color" = ? UNION \
          SELECT "id", "name", "color", "owner_id" FROM "archive" ORDER BY "name" LIMIT ?
          """)
      let either = try all.run(db).map(\.name)
      #expect(either == ["Norco", "Old", "Trek"])
      let rest = try reds.except(Bicycle.read().filter(Bicycle.ownerId.isNull)).run(db).map(\.name)
      #expect(rest == ["Trek"])
    }
  }

  @Test func aReadIsUsedAsASubquery() throws {
    try withGarage { db in
      let owners = Person.read().filter(exists(reds.filter(Bicycle.ownerId == Person.id)))
      let withBikes = try owners.run(db).map(\.name)
      #expect(withBikes == ["Ann"])
      let same = Person.read().filter(Person.id.in(reds.select(Bicycle.ownerId)))
      let withReds = try same.run(db).map(\.name)
      #expect(withReds == ["Ann"])
      let inserted = try Bicycle.insert(from: reds.limit(1)).in("archive").run(db)
      #expect(inserted == 1)
      let archived = try Bicycle.read().in("archive").orderBy(Bicycle.id).run(db).map(\.name)
      #expect(archived == ["Norco", "Old"])
      let old = Alias(Bicycle.self, "old") { _ in Bicycle.read().in("archive") }
      let ninth = try old.read().filter(old[Bicycle.id] == 9).run(db).map(\.name)
      #expect(ninth == ["Old"])
      let counted = try db.query("SELECT count(*) FROM (\(reds))", as: Int.self)
      #expect(counted == [2])
    }
  }

  @Test func asSelectKeepsTheSQLAndBindings() throws {
    try withGarage { db in
      let page = reds.limit(1, offset: 1)
      #expect(page.asSelect().sql == page.sql)
      #expect(page.asSelect().bindings == page.bindings)
      let rows = try page.run(db)
      let again = try page.asSelect().run(db)
      #expect(again == rows)
    }
  }

  @Test func aReturningChangeIsRefusedAsAQuery() throws {
    try withGarage { db in
      let gone = Bicycle.delete(Bicycle.color == "red").returning()
      let errors = [
        sqlError { _ = try gone.asSelect().run(db) }, sqlError { _ = try gone.count(db) },
        sqlError { _ = try gone.distinct().run(db) },
      ]
      let messages = errors.map { $0?.message }
      let message = "a change with RETURNING can't be used as a query; run the change, and use the returned rows"
      #expect(messages == Array(repeating: message, count: 3))
      let rows14 = try Bicycle.count().run(db)
      #expect(rows14 == 3)
    }
  }
}
