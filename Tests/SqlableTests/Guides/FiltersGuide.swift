import Sqlable
import Testing

@Suite struct FiltersGuide {
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
      (Bicycle.color ∈ ["red", "blue"], #""color" IN (?, ?)"#),
      (Bicycle.color.in(["red", "blue"]), #""color" IN (?, ?)"#),
      (contains(Bicycle.color, ["red", "blue"]), #""color" IN (?, ?)"#),
      (Bicycle.color.notIn(["red"]), #"NOT "color" IN (?)"#),
      (Bicycle.name.like("N%"), #""name" LIKE ?"#),
      (Bicycle.name.like("100!%", escape: "!"), #""name" LIKE ? ESCAPE '!'"#),
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

  @Test func nilIsNull() {
    let owner: Int? = nil
    let free = Bicycle.count().filter(Bicycle.ownerId == owner)
    let taken = Bicycle.count().filter(Bicycle.ownerId != owner)
    #expect(free.sql == #"SELECT count(*) FROM "bicycle" WHERE "owner_id" IS NULL"#)
    #expect(taken.sql == #"SELECT count(*) FROM "bicycle" WHERE "owner_id" IS NOT NULL"#)
  }

  @Test func conditionsOfNullDropTheRow() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try db.createTable(Bicycle.self)
      let anna = try Person(id: nil, name: "Anna").insert().run(db)
      let bob = try Person(id: nil, name: "Bob").insert().run(db)
      try Bicycle.insert([
        Bicycle(name: "a", color: "red", ownerId: anna), Bicycle(name: "b", color: "red", ownerId: bob),
        Bicycle(name: "c", color: "red", ownerId: nil),
      ]).run(db)
      let notAnnas = try Bicycle.count().filter(Bicycle.ownerId != anna).run(db)  // 1: NULL <> 1 is NULL
      let allOthers = try Bicycle.count().filter(Bicycle.ownerId.isNot(anna)).run(db)  // 2
      #expect(notAnnas == 1 && allOthers == 2)
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
