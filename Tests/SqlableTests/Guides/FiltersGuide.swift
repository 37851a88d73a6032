import Sqlable
import Testing

@testable import SqlableTestSupport

@Suite struct FiltersGuide {
  /// Docs/Statements.md, "Filters": with and without parameters.
  @Test func optionalConditionsAreAddedOneByOne() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle.insert(
        [("Red Trek", "red"), ("Trek", "red"), ("Red Norco", "blue")].map { Bicycle(name: $0, color: $1) }
      ).run(db)
      func find(_ color: String?, _ words: [String]) throws -> (names: [String], sql: String) {
        var list = Bicycle.read()
        if let color { list = list.filter(Bicycle.color == color) }
        for word in words { list = list.filter(Bicycle.name.contains(word)) }
        let bikes = try list.orderBy(Bicycle.name).run(db)  // every bicycle, if there is no condition
        return (bikes.map(\.name), list.orderBy(Bicycle.name).sql)
      }
      let all = try find(nil, [])
      #expect(all.names == ["Red Norco", "Red Trek", "Trek"])
      #expect(all.sql == #"SELECT "id", "name", "color", "owner_id" FROM "bicycle" ORDER BY "name""#)
      let some = try find("red", ["Red", "Trek"])
      #expect(some.names == ["Red Trek"])
      #expect(
        some.sql == #"""
          SELECT "id", "name", "color", "owner_id" FROM "bicycle" \#
          WHERE "color" = ? AND "name" LIKE ? ESCAPE '\' AND "name" LIKE ? ESCAPE '\' ORDER BY "name"
          """#)
      #expect(try find(nil, ["Red"]).names == ["Red Norco", "Red Trek"])
      #expect(try Bicycle.read().filter(.any([Bicycle.color == "blue", Bicycle.id == 2])).run(db).count == 2)
      expectMisuse { try Bicycle.delete().run(db) }
    }
  }

  /// The tables of Docs/Statements.md, row by row.
  @Test func operatorsBecomeSQL() {
    let conditions: [(SqlExpression, String)] = [
      (Bicycle.id == 1, #""id" = ?"#),
      (Bicycle.id != 1, #""id" <> ?"#),
      (Bicycle.id < 1, #""id" < ?"#),
      (Bicycle.id <= 1, #""id" <= ?"#),
      (Bicycle.id > 1, #""id" > ?"#),
      (Bicycle.id >= 1, #""id" >= ?"#),
      (Bicycle.name == Bicycle.color, #""name" = "color""#),
      (Bicycle.id.between(1, and: 9), #""id" BETWEEN ? AND ?"#),
      (Bicycle.id.between(Bicycle.ownerId, and: Bicycle.id), #""id" BETWEEN "owner_id" AND "id""#),
      (Bicycle.id.between(1...9), #""id" BETWEEN ? AND ?"#),
      (Bicycle.id.between(1..<9), #""id" >= ? AND "id" < ?"#),
      (Bicycle.id.between(1...), #""id" >= ?"#),
      (Bicycle.id.between(..<9), #""id" < ?"#),
      (Bicycle.color ∈ ["red", "blue"], #""color" IN (?, ?)"#),
      (Bicycle.color.in(["red", "blue"]), #""color" IN (?, ?)"#),
      (contains(Bicycle.color, ["red", "blue"]), #""color" IN (?, ?)"#),
      (Bicycle.color.notIn(["red"]), #"NOT "color" IN (?)"#),
      (Bicycle.name.like("N%"), #""name" LIKE ?"#),
      (Bicycle.name.like("100!%", escape: "!"), #""name" LIKE ? ESCAPE '!'"#),
      (Bicycle.name.like(Bicycle.color), #""name" LIKE "color""#),
      (Bicycle.ownerId.isNull, #""owner_id" IS NULL"#),
      (!Bicycle.ownerId, #""owner_id" IS NULL"#),
      (Bicycle.ownerId == nil, #""owner_id" IS NULL"#),
      (Bicycle.ownerId != nil, #""owner_id" IS NOT NULL"#),
      (Bicycle.ownerId.isNotNull, #""owner_id" IS NOT NULL"#),
      (Bicycle.ownerId.is(1), #""owner_id" IS ?"#),
      (Bicycle.ownerId.isNot(1), #""owner_id" IS NOT ?"#),
      (Bicycle.id > 1 && Bicycle.id < 9, #""id" > ? AND "id" < ?"#),
      (Bicycle.id < 1 || Bicycle.id > 9, #""id" < ? OR "id" > ?"#),
      (!(Bicycle.id == 1), #"NOT "id" = ?"#),
      (!(Bicycle.id == 1 && Bicycle.id <= 2), #"NOT ("id" = ? AND "id" <= ?)"#),
      (Bicycle.id + 1 == 3, #""id" + ? = ?"#),
      (Bicycle.id % 2 == 0, #""id" % ? = ?"#),
      (-Bicycle.id < 0, #"-"id" < ?"#),
      (Bicycle.name.lowercase() == "norco", #"lower("name") = ?"#),
      (Bicycle.name.uppercase() == "NORCO", #"upper("name") = ?"#),
      (Bicycle.name.length() > 3, #"length("name") > ?"#),
      (Bicycle.id.abs() < 3, #"abs("id") < ?"#),
      (Bicycle.name.concatenated(Bicycle.color) == "ab", #""name" || "color" = ?"#),
      (Bicycle.name.collate(.nocase) == "norco", #""name" COLLATE NOCASE = ?"#),
    ]
    for (condition, sql) in conditions {
      #expect(Bicycle.count().filter(condition).sql == #"SELECT count(*) FROM "bicycle" WHERE "# + sql)
    }
  }

  @Test func rowValuesAreCompared() throws {
    let conditions: [(SqlExpression, String)] = [
      (rowValue(Car.price, Car.name) < (9, "x"), #"("price", "name") < (?, ?)"#),
      (rowValue(Car.price, Car.name) == rowValue(Car.price, Car.name), #"("price", "name") = ("price", "name")"#),
      (rowValue(Car.price, Car.name).in([(9, "x"), (8, "y")]), #"("price", "name") IN (VALUES (?, ?), (?, ?))"#),
      (
        rowValue(Car.price, Car.name).in(Car.select(Car.price, Car.name)),
        #"("price", "name") IN (SELECT "car"."price", "car"."name" FROM "car")"#
      ),
    ]
    try withDatabase { db in
      try db.createTable(Car.self)
      try Car.insert([Car(name: "x", price: 9, isElectric: true), Car(name: "a", price: 9, isElectric: true)]).run(db)
      for ((condition, sql), names) in zip(conditions, [["a"], ["x", "a"], ["x"], ["x", "a"]]) {
        #expect(Car.read().filter(condition).sql.hasSuffix(" WHERE " + sql))
        #expect(try Car.read().filter(condition).run(db).map(\.name) == names, "\(sql)")
      }
    }
  }

  @Test func booleanColumnIsACondition() {
    let electric = Car.read().filter(Car.isElectric)
    let silent = Car.read().filter(Car.isElectric.isTrue && Car.price < 20_000)
    #expect(
      electric.sql == #"SELECT "id", "name", "price", "is_electric", "sold_at" FROM "car" WHERE "is_electric""#)
    #expect(
      silent.sql == """
        SELECT "id", "name", "price", "is_electric", "sold_at" FROM "car" WHERE "is_electric" AND "price" < ?
        """)
  }

  @Test func conditionsAreCombinedAsValues() {
    let toggled = Car.updateAll(Car.isElectric.set(to: (!Car.isElectric).typed(as: Bool.self)))
    #expect(toggled.sql == #"UPDATE "car" SET "is_electric" = NOT "is_electric""#)
  }

  /// Docs/Statements.md, "Pages".
  @Test func pagesBeginAfterARow() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle.insert(
        [("Norco", "red"), ("Trek", "blue"), ("Cube", "red"), ("Giant", "green")].map { Bicycle(name: $0, color: $1) }
      ).run(db)
      let list = Bicycle.read().orderBy(Bicycle.color, .desc)
      let first = try list.page(limit: 2).run(db)
      guard let last = first.last else { return }
      let next = try list.page(after: last, limit: 2).run(db)
      #expect(first.map(\.name) == ["Cube", "Norco"])
      #expect(next.map(\.name) == ["Giant", "Trek"])
      #expect(
        list.page(after: last, limit: 2).sql == """
          SELECT "id", "name", "color", "owner_id" FROM "bicycle" \
          WHERE "color" <= ? AND ("color" < ? OR "id" < ?) ORDER BY "color" DESC, "id" DESC LIMIT ?
          """)
    }
  }

  @Test func pagesBeginAfterAToken() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle.insert((1...5).map { Bicycle(name: "\($0)", color: $0 < 3 ? "red" : "blue") }).run(db)
      let list = Bicycle.read().orderBy(Bicycle.color, .desc)
      func page(after text: String?) throws -> (bikes: [Bicycle], next: PageToken?) {
        let bikes = try list.page(after: text.map(PageToken.init(rawValue:)), limit: 2).run(db)
        return (bikes, try list.pageToken(after: bikes.last))  // nil after an empty page
      }
      var (found, text): ([Int?], String?) = ([], nil)
      repeat {
        let (bikes, next) = try page(after: text)
        found += bikes.map(\.id)
        text = next?.rawValue
      } while text != nil
      #expect(found == [2, 1, 5, 4, 3])
    }
  }

  @Test func pagesOfAQueryBeginAfterValues() throws {
    try withDatabase { db in
      try db.createTable(Car.self)
      try Car.insert((1...60).map { Car(id: $0, name: "\($0)", price: Double($0 / 2), isElectric: false) }).run(db)
      let query = Car.select(Car.name, Car.price, Car.id).orderBy(Car.price.desc, Car.id.desc)
      let dearest = try query.page(limit: 50).run(db)
      guard let last = dearest.last else { return }
      let others = try query.page(after: [last.1, last.2], limit: 50).run(db)
      #expect((dearest + others).map(\.2) == (1...60).reversed())
      #expect(
        query.page(after: [5, 3], limit: 50).sql == """
          SELECT "name", "price", "id" FROM "car" \
          WHERE "price" <= ? AND ("price" < ? OR "id" < ?) ORDER BY "price" DESC, "id" DESC LIMIT ?
          """)
    }
  }

  @Test func nilIsNull() {
    let owner: Int? = nil
    let free = Bicycle.count().filter(Bicycle.ownerId == owner)
    let taken = Bicycle.count().filter(Bicycle.ownerId != owner)
    #expect(free.sql == #"SELECT count(*) FROM "bicycle" WHERE "owner_id" IS NULL"#)
    #expect(taken.sql == #"SELECT count(*) FROM "bicycle" WHERE "owner_id" IS NOT NULL"#)
  }

  @Test func conditionsOfNullDropTheRow() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let anna = try Person(id: nil, name: "Anna").insert().run(db)
      let bob = try Person(id: nil, name: "Bob").insert().run(db)
      try Bicycle.insert([
        Bicycle(name: "a", color: "red", ownerId: anna), Bicycle(name: "b", color: "red", ownerId: bob),
        Bicycle(name: "c", color: "red", ownerId: nil),
      ]).run(db)
      let notAnnas = try Bicycle.count().filter(Bicycle.ownerId != anna).run(db)  // 1: NULL <> 1 is NULL
      let allOthers = try Bicycle.count().filter(Bicycle.ownerId.isNot(anna)).run(db)  // 2
      #expect(notAnnas == 1)
      #expect(allOthers == 2)
      #expect(try Bicycle.count().filter(!(Bicycle.ownerId == anna)).run(db) == 1)
      #expect(try Bicycle.count().filter(Bicycle.ownerId ∈ [Int]()).run(db) == 0)
      #expect(try Bicycle.count().filter(Bicycle.ownerId.notIn([Int]())).run(db) == 3)
      #expect(try Bicycle.count().filter(Bicycle.ownerId.notIn([anna])).run(db) == 1)
      #expect(try Bicycle.count().filter(Bicycle.ownerId.notIn([anna, nil])).run(db) == 0)
      #expect(try Bicycle.read().orderBy(Bicycle.ownerId).run(db).map(\.name) == ["c", "a", "b"])
      #expect(try Bicycle.read().orderBy(Bicycle.ownerId, .desc).run(db).map(\.name) == ["b", "a", "c"])
      let owned = Int?.none
      #expect(try Bicycle.count().filter(Bicycle.ownerId < owned).run(db) == 0)
    }
  }

  @Test func typedColumnsRefuseWrongTypesAtCompileTime() {
    let affordable = Car.read().filter(Car.price * 1.19 < 20_000 && Car.isElectric == true).orderBy(Car.price)
    // Car.price < "20000" does not compile
    #expect(
      affordable.sql.hasSuffix(#"FROM "car" WHERE "price" * ? < ? AND "is_electric" = ? ORDER BY "price""#))
  }
}
