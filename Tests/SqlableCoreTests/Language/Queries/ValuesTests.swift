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
      #expect(none?.message == "literal rows can't be read from another table")
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
      try db.createTable(Shelf.self)
      try Shelf.insert([
        Shelf(id: 1, tags: ["red", "fast"]),
        Shelf(id: 2, tags: []),
        Shelf(id: 3, tags: ["red"]),
        Shelf(id: 4, tags: nil),
      ]).run(db)
      let tag = JSONEach(Shelf.tags, as: "tag")
      let pairs = Shelf.select(Shelf.id, tag.value(as: String.self)).joining(tag).orderBy(Shelf.id)
        .orderBy(tag.key(as: Int.self))
      #expect(
        pairs.sql == #"""
          SELECT "shelf"."id", "tag"."value" FROM "shelf" JOIN json_each("shelf"."tags") AS "tag" \#
          ORDER BY "shelf"."id", "tag"."key"
          """#)
      let rows = try pairs.run(db)
      #expect(rows.map(\.0) == [1, 1, 3])
      #expect(rows.map(\.1) == ["red", "fast", "red"])
      let counts = try Shelf.read().joining(tag).select(tag.value(as: String.self), countAll())
        .groupBy(tag.value(as: String.self)).orderBy(tag.value(as: String.self)).run(db)
      #expect(counts.map(\.0) == ["fast", "red"])
      #expect(counts.map(\.1) == [1, 2])
      let fast = Shelf.read().filter(Shelf.tags.jsonContains("fast"))
      #expect(
        fast.sql == #"""
          SELECT "id", "tags" FROM "shelf" \#
          WHERE ? IN (SELECT "element"."value" FROM json_each("shelf"."tags") AS "element")
          """#)
      #expect(try fast.run(db).map(\.id) == [1])
      for hostile in hostileTexts { #expect(try Shelf.count().filter(Shelf.tags.jsonContains(hostile)).run(db) == 0) }
      let tree = JSONEach.tree(Shelf.tags, as: "node")
      #expect(
        try Shelf.read().joining(tree).filter(Shelf.id == 1).select(tree.path, tree.type).run(db).map(\.1)
          == ["array", "text", "text"])
    }
  }
}

private struct Shelf: Sqlable {
  static let id = column("id", Int.self, PrimaryKey())
  static let tags = column("tags", [String]?.self)
  static let tableLayout = [id.column, tags.column]
  let id: Int
  let tags: [String]?

  init(id: Int, tags: [String]?) { (self.id, self.tags) = (id, tags) }
  init(row: ReadRow) throws { self.init(id: try row.get(Shelf.id), tags: try row.get(Shelf.tags)) }
  func write(to row: inout RowWriter) throws {
    row.set(Shelf.id, id)
    row.set(Shelf.tags, tags)
  }
}
