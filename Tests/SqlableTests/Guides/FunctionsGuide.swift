import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

@Suite struct FunctionsGuide {
  /// The tables of Docs/Functions.md, row by row.
  @Test func functionsBecomeSQL() {
    let cars: [(any AnyTerm, String)] = [
      (Case.when(Car.price > 9, then: "a").else("b"), #"CASE WHEN "price" > ? THEN ? ELSE ? END"#),
      (Case.when(Car.price > 9, then: Car.name).end(), #"CASE WHEN "price" > ? THEN "name" END"#),
      (Car.id.ifNull(0), #"coalesce("id", ?)"#),
      (Car.name.nullIf(""), #"nullif("name", ?)"#),
      (Car.id.isDistinct(from: 3), #""id" IS NOT ?"#),
      (Car.price.least(9), #"min("price", ?)"#),
      (Car.price.cast(to: Int.self), #"CAST("price" AS INTEGER)"#),
      (randomInteger(), #"random()"#),
      (jsonObject(["name": Car.name]), #"json_object(?, "name")"#),
      (jsonArray(Car.name, Car.price), #"json_array("name", "price")"#),
      (Car.name.json("pets", 0), #""name" -> '$.pets[0]'"#),
      (Car.name.jsonValue("age", as: Int.self), #""name" ->> '$.age'"#),
      (Car.name.jsonExtract("age", as: Int.self), #"json_extract("name", '$.age')"#),
      (Car.name.jsonArrayLength("pets"), #"json_array_length("name", '$.pets')"#),
      (Car.name.jsonType("age"), #"json_type("name", '$.age')"#),
      (Car.name.jsonValid(), #"json_valid("name")"#),
      (Car.name.jsonGroupArray(), #"json_group_array("name")"#),
      (Car.name.jsonGroupArray(orderBy: Car.price.desc), #"json_group_array("name" ORDER BY "price" DESC)"#),
      (Car.name.jsonGroupObject(Car.price), #"json_group_object("name", "price")"#),
      (Car.name.jsonSet("age", to: 3), #"json_set("name", '$.age', ?)"#),
      (Car.name.jsonInsert("age", value: 3), #"json_insert("name", '$.age', ?)"#),
      (Car.name.jsonReplace("age", with: 3), #"json_replace("name", '$.age', ?)"#),
      (Car.name.jsonRemove("pets", 0), #"json_remove("name", '$.pets[0]')"#),
      (Car.name.jsonPatch(#"{"age": 3}"#), #"json_patch("name", ?)"#),
    ]
    let mathematics: [(any AnyTerm, String)] = [
      (Car.price.floor(), #"floor("price")"#),
      (Car.price.ceil(), #"ceil("price")"#),
      (Car.price.trunc(), #"trunc("price")"#),
      (Car.price.sign(), #"sign("price")"#),
      (Car.price.sqrt(), #"sqrt("price")"#),
      (Car.price.power(2), #"pow("price", ?)"#),
      (Car.price.mod(0.5), #"mod("price", ?)"#),
      (Car.price.exp(), #"exp("price")"#),
      (Car.price.ln(), #"ln("price")"#),
      (Car.price.log10(), #"log10("price")"#),
      (Car.price.log2(), #"log2("price")"#),
      (Car.price.log(base: 3), #"log(?, "price")"#),
      (Car.price.radians(), #"radians("price")"#),
      (Car.price.degrees(), #"degrees("price")"#),
      (Car.price.sin(), #"sin("price")"#),
      (Car.price.atan2(Car.price), #"atan2("price", "price")"#),
      (pi(), #"pi()"#),
    ]
    let texts: [(any AnyTerm, String)] = [
      (Car.name.hasPrefix("N"), #""name" LIKE ? ESCAPE '\'"#),
      (Car.name.hasSuffix("o"), #""name" LIKE ? ESCAPE '\'"#),
      (Car.name.contains("100%"), #""name" LIKE ? ESCAPE '\'"#),
      (Car.name.hasPrefix(Car.name.substr(1, 1)), #"instr(lower("name"), lower(substr("name", 1, 1))) = ?"#),
      (Car.name.contains(Car.name.trim()), #"instr(lower("name"), lower(trim("name"))) > ?"#),
      (Car.name.glob("[A-N]*"), #""name" GLOB ?"#),
      (Car.name.regexp("^N.*o$"), #""name" REGEXP ?"#),
      (Car.name.glob(Car.name.lowercase()), #""name" GLOB lower("name")"#),
      (Car.name.substr(Car.name.instr(" ")), #"substr("name", instr("name", ?))"#),
      (format("%s: %.2f", Car.name, Car.price), #"printf('%s: %.2f', "name", "price")"#),
      (Car.name.substr(2, 3), #"substr("name", 2, 3)"#),
      (Car.name.trim(), #"trim("name")"#),
      (Car.name.ltrim("x"), #"ltrim("name", 'x')"#),
      (Car.name.rtrim("x"), #"rtrim("name", 'x')"#),
      (Car.name.replace("a", with: "b"), #"replace("name", ?, ?)"#),
      (Car.name.instr("a"), #"instr("name", ?)"#),
      (Car.name.unicode(), #"unicode("name")"#),
      (Car.name.hex(), #"hex("name")"#),
      (Car.name.typeof(), #"typeof("name")"#),
      (Car.price.round(2), #"round("price", 2)"#),
    ]
    let dates: [(any AnyTerm, String)] = [
      (Car.soldAt.year(), #"CAST(strftime('%Y', "sold_at", 'unixepoch') AS INTEGER)"#),
      (Car.soldAt.month(), #"CAST(strftime('%m', "sold_at", 'unixepoch') AS INTEGER)"#),
      (Car.soldAt.day(), #"CAST(strftime('%d', "sold_at", 'unixepoch') AS INTEGER)"#),
      (Car.soldAt.hour(), #"CAST(strftime('%H', "sold_at", 'unixepoch') AS INTEGER)"#),
      (Car.soldAt.minute(), #"CAST(strftime('%M', "sold_at", 'unixepoch') AS INTEGER)"#),
      (Car.soldAt.weekday(), #"CAST(strftime('%w', "sold_at", 'unixepoch') AS INTEGER)"#),
      (Car.soldAt.date(), #"date("sold_at", 'unixepoch')"#),
      (Car.soldAt.strftime("%Y-%m"), #"strftime('%Y-%m', "sold_at", 'unixepoch')"#),
      (Car.soldAt.adding(3, .day), #"("sold_at" + ?)"#),
      (Car.soldAt.second(), #"CAST(strftime('%S', "sold_at", 'unixepoch') AS INTEGER)"#),
      (Car.soldAt.dayOfYear(), #"CAST(strftime('%j', "sold_at", 'unixepoch') AS INTEGER)"#),
      (Car.soldAt.adding(Car.name.length(), .day), #"("sold_at" + length("name") * 86400)"#),
      (Car.soldAt.start(of: .month), #"CAST(strftime('%s', "sold_at", 'unixepoch', 'start of month') AS REAL)"#),
      (Car.soldAt.seconds(since: Car.soldAt), #"CAST("sold_at" AS REAL) - CAST("sold_at" AS REAL)"#),
      (Car.soldAt.days(since: Date()), #"(CAST("sold_at" AS REAL) - ?) / ?"#),
    ]
    for (term, sql) in cars + texts + dates + mathematics {
      #expect(Car.read().select(term.expression).sql == #"SELECT \#(sql) FROM "car""#)
    }
    let bicycles: [(any AnyTerm, String)] = [
      (Bicycle.ownerId.coalesce(Bicycle.id), #"coalesce("owner_id", "id")"#),
      (Bicycle.id.isNotDistinct(from: Bicycle.ownerId), #""id" IS "owner_id""#),
      (Bicycle.id.greatest(Bicycle.ownerId), #"max("id", "owner_id")"#),
      (Bicycle.id.bitAnd(4), #""id" & ?"#),
      (Bicycle.id.bitOr(4), #""id" | ?"#),
      (Bicycle.id.shiftedLeft(1), #""id" << ?"#),
      (Bicycle.id.shiftedRight(1), #""id" >> ?"#),
      (Bicycle.id.inverted(), #"~"id""#),
    ]
    for (term, sql) in bicycles {
      #expect(Bicycle.read().select(term.expression).sql == #"SELECT \#(sql) FROM "bicycle""#)
    }
  }

  @Test func datesAreCountedAndGrouped() throws {
    try withDatabase { db in
      try db.createTable(Car.self)
      try Car.insert([
        Car(name: "Zoe", price: 1, isElectric: true, soldAt: Date(timeIntervalSince1970: 1_706_708_730)),
        Car(name: "Leaf", price: 2, isElectric: true, soldAt: Date(timeIntervalSince1970: 1_706_708_790)),
      ]).run(db)
      let month = Car.soldAt.start(of: .month)
      let perMonth = try Car.select(month, countAll()).groupBy(month).orderBy(month).run(db)  // [(Date?, Int)]
      let old = Car.read().filter(Car.soldAt.days(since: Date()) < -90 && Car.soldAt.weekday() != 0)
      #expect(perMonth.map(\.0) == [Date(timeIntervalSince1970: 1_704_067_200)])
      #expect(perMonth.map(\.1) == [2])
      #expect(try old.run(db).count == 2)
    }
  }

  @Test func queryUsesAnIndexOnAnExpression() throws {
    try withDatabase { db in
      try db.createTable(Car.self)
      try db.execute("CREATE INDEX car_year ON car (CAST(strftime('%Y', sold_at, 'unixepoch') AS INTEGER))")
      let year = Car.count().filter(Car.soldAt.year() == 2024)
      let plan = try year.explain(db)  // SEARCH car USING INDEX car_year (<expr>=?)
      // Newer SQLite versions read only the index.
      #expect(plan.description.replacing("COVERING ", with: "") == "SEARCH car USING INDEX car_year (<expr>=?)")
    }
  }

  @Test func functionsWorkInEveryTerm() throws {
    try withDatabase { db in
      try db.createTable(Car.self)
      try Car.insert([
        Car(name: "50% off", price: 19_000, isElectric: false, soldAt: Date(timeIntervalSince1970: 1_706_708_730)),
        Car(name: "50 more", price: 60_000, isElectric: true, soldAt: nil),
      ]).run(db)
      let word = Case.when(Car.price > 50_000, then: "dear").when(Car.price > 20_000, then: "fair").else("cheap")
      let words = try Car.select(Car.name, word).orderBy(Car.name).run(db)  // [(String, String)]
      let sold = try Car.count().filter(Car.soldAt.year() == 2024 && Car.name.hasPrefix("50%")).run(db)
      #expect(words.map(\.1) == ["dear", "cheap"])
      #expect(sold == 1)
      #expect(
        Car.select(Car.name, word).orderBy(Car.name).sql == """
          SELECT "name", CASE WHEN "price" > ? THEN ? WHEN "price" > ? THEN ? ELSE ? END FROM "car" ORDER BY "name"
          """)
      #expect(
        Car.count().filter(Car.soldAt.year() == 2024 && Car.name.hasPrefix("50%")).sql == #"""
          SELECT count(*) FROM "car" \#
          WHERE CAST(strftime('%Y', "sold_at", 'unixepoch') AS INTEGER) = ? AND "name" LIKE ? ESCAPE '\'
          """#)
    }
  }
}
