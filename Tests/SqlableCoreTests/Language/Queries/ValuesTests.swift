import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Queries of literal rows, of replaced columns and of JSON elements.
@Suite struct ValuesTests {
  @Test func rowsOfValuesAreAQuery() throws {
    try withCompany { db in
      let pairs = values([(1, "a"), (2, "b")])
      #expect(pairs.sql == "VALUES (?, ?), (?, ?)")
      #expect(pairs.bindings.count == 4)
      let rows = try pairs.run(db)
      #expect(rows.map(\.0) == [1, 2])
      #expect(rows.map(\.1) == ["a", "b"])
      #expect(try values([3, 1, 2]).run(db) == [3, 1, 2])
      #expect(try values(["x"]).first(db) == "x")
      #expect(try values([1, 2, 3]).except(Worker.select(Worker.id).filter(Worker.id < 3)).run(db) == [3])
      #expect(try Worker.count().filter(Worker.name.in(values(["Ada", "Dan", "Eve"]))).run(db) == 2)
      expectInvalidStatement { _ = try values([Int]()).run(db) }
      expectInvalidStatement { _ = try values([1]).filter(Worker.id == 1).run(db) }
      let none = expectInvalidStatement { _ = try values([1]).in("archive").run(db) }
      #expect(none?.message == "in(_:) needs a query that reads a table, not literal rows")
      expectError(.encoding(.init(expected: "REAL", found: "NaN, which SQLite can't store"))) {
        _ = try values([Double.nan]).run(db)
      }
    }
  }

  @Test func rowsOfValuesAreJoinedUnderAName() throws {
    try withCompany { db in
      let bonus = Alias(Note.self, "bonus") { _ in values([(1, "gold"), (3, "silver")]) }
      let query = Worker.select(Worker.name, bonus[Note.name].typed(as: String.self))
        .joining(bonus, on: Worker.id.expression == bonus[Note.id]).orderBy(Worker.id)
      #expect(
        query.sql == #"""
          WITH RECURSIVE "bonus" ("id", "name") AS (VALUES (?, ?), (?, ?)) SELECT "worker"."name", "bonus"."name" \#
          FROM "worker" JOIN "bonus" ON "worker"."id" = "bonus"."id" ORDER BY "worker"."id"
          """#)
      let rows = try query.run(db)
      #expect(rows.map(\.0) == ["Ada", "Cleo"])
      #expect(rows.map(\.1) == ["gold", "silver"])
    }
  }

  @Test func aTermIsReadInThePlaceOfAColumn() throws {
    try withCompany { db in
      let dearest = Worker.read(replacing: Worker.salary, with: Worker.salary.max()).groupBy(Worker.bossId)
        .orderBy(Worker.id)
      #expect(
        dearest.sql == #"""
          SELECT "id", "name", "boss_id", max("salary") FROM "worker" GROUP BY "boss_id" ORDER BY "id"
          """#)
      #expect(try dearest.run(db).map(\.name) == ["Ada", "Cleo", "Dan"])
      let doubled = try Worker.read(replacing: Worker.salary, with: Worker.salary * 2).filter(Worker.id == 3).run(db)
      #expect(doubled == [Worker(id: 3, name: "Cleo", bossId: 1, salary: 14)])
      let named = try Bicycle.read(replacing: Bicycle.name, with: Bicycle.name.uppercase()).filter(Bicycle.id == 1).run(
        db)
      #expect(named.map(\.name) == ["NORCO"])
      try Worker.deleteAll().run(db)
      // An aggregate of no rows is NULL, which the struct's property can't hold.
      let null = expectDecoding("REAL", "NULL") {
        _ = try Worker.read(replacing: Worker.salary, with: Worker.salary.max()).run(db)
      }
      #expect(null?.column == "salary", "\(String(describing: null))")
    }
  }

  @Test func termsAreReadInThePlaceOfSeveralColumns() throws {
    try withCompany { db throws in
      let raised = Worker.read(replacing: [Worker.salary: Worker.salary * 2, Worker.name: Worker.name.uppercase()])
        .filter(Worker.id == 3)
      #expect(raised.sql == #"SELECT "id", upper("name"), "boss_id", "salary" * ? FROM "worker" WHERE "id" = ?"#)
      #expect(try raised.run(db) == [Worker(id: 3, name: "CLEO", bossId: 1, salary: 14)])
      let named = Bicycle.read(replacing: [Bicycle.name: Bicycle.name.uppercase(), Bicycle.color: Bicycle.name])
      #expect(named.sql == #"SELECT "id", upper("name"), "name", "owner_id" FROM "bicycle""#)
      #expect(try named.filter(Bicycle.id == 1).run(db).map(\.color) == ["Norco"])
      #expect(Worker.read(replacing: [:]).sql == Worker.read().sql)
      expectDecoding("REAL", "TEXT") { _ = try Worker.read(replacing: [Worker.salary: Worker.name]).run(db) }
      expectError(.schema(.missingColumn("color"))) {
        _ = try Worker.read(replacing: [Bicycle.color: Worker.name]).run(db)
      }
      let twice = expectInvalidStatement {
        _ = try Worker.read(replacing: [Worker.salary: Worker.salary.max(), Worker.salary: Worker.salary * 2]).run(db)
      }
      #expect(twice?.message == "column salary is replaced by two terms; pass one term")
      #expect(twice?.column == "salary")
    }
  }

  @Test func elementsOfJSONAreRows() throws {
    try withDatabase { db in
      try db.createTable(Sample.self)
      try Sample.insert([
        Sample(id: 1, tags: ["red", "fast"]),
        Sample(id: 2, tags: []),
        Sample(id: 3, tags: ["red"]),
        Sample(id: 4, tags: nil),
      ]).run(db)
      let tag = JSONEach(Sample.tags, as: "tag")
      let pairs = Sample.select(Sample.id, tag.value(as: String.self)).joining(tag).orderBy(Sample.id)
        .orderBy(tag.key(as: Int.self))
      #expect(
        pairs.sql == #"""
          SELECT "sample"."id", "tag"."value" FROM "sample" JOIN json_each("sample"."tags") AS "tag" \#
          ORDER BY "sample"."id", "tag"."key"
          """#)
      let rows = try pairs.run(db)
      #expect(rows.map(\.0) == [1, 1, 3])
      #expect(rows.map(\.1) == ["red", "fast", "red"])
      let counts = try Sample.read().joining(tag).select(tag.value(as: String.self), countAll())
        .groupBy(tag.value(as: String.self)).orderBy(tag.value(as: String.self)).run(db)
      #expect(counts.map(\.0) == ["fast", "red"])
      #expect(counts.map(\.1) == [1, 2])
      let fast = Sample.select(Sample.id).filter(Sample.tags.jsonContains("fast"))
      #expect(
        fast.sql == #"""
          SELECT "id" FROM "sample" \#
          WHERE ? IN (SELECT "element"."value" FROM json_each("sample"."tags") AS "element")
          """#)
      #expect(try fast.run(db) == [1])
      for hostile in hostileTexts { #expect(try Sample.count().filter(Sample.tags.jsonContains(hostile)).run(db) == 0) }
      let tree = JSONEach.tree(Sample.tags, as: "node")
      #expect(
        try Sample.read().joining(tree).filter(Sample.id == 1).select(tree.path, tree.type).run(db).map(\.1)
          == ["array", "text", "text"])
    }
  }
}
