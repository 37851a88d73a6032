import Sqlable
import Testing

@testable import SqlableTestSupport

@Suite struct QueriesGuide {
  private func withCars<Result>(_ body: (SqliteDatabase) throws -> Result) throws -> Result {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self, Car.self)
      try Person.insert([Person(id: 1, name: "Anna"), Person(id: 2, name: "Bo")]).run(db)
      try Bicycle.insert([
        Bicycle(name: "Norco", color: "red", ownerId: 1), Bicycle(name: "Trek", color: "blue"),
        Bicycle(name: "Giant", color: "red"),
      ]).run(db)
      try Car.insert(Car.all).run(db)
      return try body(db)
    }
  }

  @Test func queriesSelectColumnsAndTerms() throws {
    try withCars { db in
      let prices = Car.select(Car.name, Car.price).filter(Car.price < 20_000).orderBy(Car.price.desc)
      for (name, price) in try prices.run(db) { print(name, price) }  // String, Double
      let names = try Car.select(Car.name).distinct().run(db)  // [String]
      let cheapest = try prices.first(db)?.0  // String?
      #expect(prices.sql == #"SELECT "name", "price" FROM "car" WHERE "price" < ? ORDER BY "price" DESC"#)
      #expect(Car.select(Car.name).distinct().sql == #"SELECT DISTINCT "name" FROM "car""#)
      #expect(names.count == 2)
      #expect(cheapest == "Golf")
    }
  }

  @Test func queriesSelectUntypedColumns() throws {
    try withCars { db in
      let rows = try Bicycle.select(Bicycle.name, Bicycle.ownerId).orderBy(Bicycle.id).run(db)  // [DynamicRow]
      let owner = try rows[0].get(at: 1, as: Int?.self)
      let colors = try Bicycle.select(Bicycle.color.typed(as: String.self)).distinct().run(db)  // [String]
      #expect(owner == 1)
      #expect(colors.sorted() == ["blue", "red"])
    }
  }

  @Test func groupsBecomeSQL() throws {
    try withCars { db in
      let perColor = Bicycle.select(Bicycle.color.typed(as: String.self), countAll())
        .groupBy(Bicycle.color).having(countAll() > 1).orderBy(Bicycle.color)
      let figures = Car.select(
        Car.price.average(), Car.price.max(where: Car.isElectric == true), Car.name.count(distinct: true))
      #expect(
        perColor.sql
          == #"SELECT "color", count(*) FROM "bicycle" GROUP BY "color" HAVING count(*) > ? ORDER BY "color""#)
      #expect(
        figures.sql
          == #"SELECT avg("price"), max("price") FILTER (WHERE "is_electric" = ?), count(DISTINCT "name") FROM "car""#)
      let (colors, row) = (try perColor.run(db), try figures.first(db))
      #expect(colors.map(\.0) == ["red"])
      #expect(colors.map(\.1) == [2])
      #expect(row?.0 == 18_000)
      #expect(row?.1 == 30_000)
      #expect(row?.2 == 2)
      let listed = Car.select(
        Car.name.groupConcat(", ", orderBy: Car.price.desc), Car.price.total(distinct: true))
      #expect(
        listed.sql
          == #"SELECT group_concat("name", ? ORDER BY "price" DESC), total(DISTINCT "price") FROM "car""#)
    }
  }

  @Test(.needs(39, "HAVING without GROUP BY")) func allRowsAreOneGroup() throws {
    try withCars { db in
      let mean = Car.select(Car.price.average()).having(countAll() >= 10)
      #expect(mean.sql == #"SELECT avg("price") FROM "car" HAVING count(*) >= ?"#)
      let rows = try mean.run(db)
      #expect(rows.isEmpty)
    }
  }

  @Test func indexHintsBecomeSQL() throws {
    try withCars { db in
      let reds = Bicycle.read().indexed(by: Index(Bicycle.color)).filter(Bicycle.color == "red")
      let scanned = Bicycle.read().notIndexed().filter(Bicycle.color == "red")
      #expect(
        reds.sql
          == #"SELECT "id", "name", "color", "owner_id" FROM "bicycle" INDEXED BY "bicycle_color" WHERE "color" = ?"#)
      #expect(
        scanned.sql
          == #"SELECT "id", "name", "color", "owner_id" FROM "bicycle" NOT INDEXED WHERE "color" = ?"#)
      let (found, same) = (try reds.run(db), try scanned.run(db))
      #expect(found.count == 2)
      #expect(same == found)
    }
  }

  @Test func joinsReturnPairsOfModels() throws {
    try withCars { db in
      let owned = Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id)  // (Bicycle, Person)
      let all = Bicycle.leftJoin(Person.self, on: Bicycle.ownerId == Person.id)  // (Bicycle, Person?)
      for (bike, owner) in try all.orderBy(Bicycle.id).run(db) { print(bike.name, owner?.name ?? "nobody's") }
      #expect(
        owned.sql == """
          SELECT "bicycle"."id", "bicycle"."name", "bicycle"."color", "bicycle"."owner_id", "person"."id", \
          "person"."name" \
          FROM "bicycle" JOIN "person" ON "bicycle"."owner_id" = "person"."id"
          """)
      #expect(
        all.orderBy(Bicycle.id).sql == """
          SELECT "bicycle"."id", "bicycle"."name", "bicycle"."color", "bicycle"."owner_id", "person"."id", \
          "person"."name" \
          FROM "bicycle" LEFT JOIN "person" ON "bicycle"."owner_id" = "person"."id" ORDER BY "bicycle"."id"
          """)
      let (pairs, everything) = (try owned.run(db), try all.run(db))
      #expect(pairs.map(\.1.name) == ["Anna"])
      #expect(everything.count == 3)
      let perOwner = Person.leftJoin(Bicycle.self, on: Bicycle.ownerId == Person.id)
        .select(Person.self, Bicycle.id.count().typed(as: Int.self)).groupBy(Person.id).orderBy(Person.id)
      for (person, count) in try perOwner.run(db) { print(person.name, count) }
      #expect(
        perOwner.sql == """
          SELECT "person"."id", "person"."name", count("bicycle"."id") FROM "person" \
          LEFT JOIN "bicycle" ON "bicycle"."owner_id" = "person"."id" GROUP BY "person"."id" \
          ORDER BY "person"."id"
          """)
      let other = Alias(Bicycle.self, "other")
      let sameColor = Bicycle.join(other, on: Bicycle.color == other[Bicycle.color] && Bicycle.id < other[Bicycle.id])
        .select(Bicycle.name, other[Bicycle.name])
      #expect(
        sameColor.sql == """
          SELECT "bicycle"."name", "other"."name" FROM "bicycle" \
          JOIN "bicycle" AS "other" ON "bicycle"."color" = "other"."color" AND "bicycle"."id" < "other"."id"
          """)
      #expect(try sameColor.run(db).map(\.values) == [[.text("Norco"), .text("Giant")]])
      let combinations = Car.crossJoin(Person.self).filter(Car.price < 20_000)  // (Car, Person)
      #expect(
        combinations.sql == """
          SELECT "car"."id", "car"."name", "car"."price", "car"."is_electric", "car"."sold_at", "person"."id", \
          "person"."name" \
          FROM "car" CROSS JOIN "person" WHERE "car"."price" < ?
          """)
      #expect(try combinations.count(db) == 4)
    }
  }

  @Test(.needs(39, "a FULL JOIN")) func rightAndFullJoinsKeepRowsOfTheJoinedTable() throws {
    try withCars { db in
      let everyone = Bicycle.rightJoin(Person.self, on: Bicycle.ownerId == Person.id)  // (Bicycle?, Person)
      let both = Bicycle.fullJoin(Person.self, on: Bicycle.ownerId == Person.id)  // (Bicycle?, Person?)
        .select(Bicycle.name.typed(as: String?.self), Person.name.typed(as: String?.self))  // (String?, String?)
      #expect(
        both.sql == """
          SELECT "bicycle"."name", "person"."name" FROM "bicycle" \
          FULL JOIN "person" ON "bicycle"."owner_id" = "person"."id"
          """)
      let (people, all) = (try everyone.orderBy(Person.id).run(db), try both.run(db))
      #expect(people.map(\.0?.name) == ["Norco", nil])
      #expect(people.map(\.1.name) == ["Anna", "Bo"])
      #expect(all.count == 4)
    }
  }

  @Test func leftJoinsOfAnAliasReturnOptionals() throws {
    try withCompany { db in
      let boss = Alias(Worker.self, "boss")
      let bosses = Worker.leftJoin(boss, on: Worker.bossId == boss[Worker.id])
        .select(boss.optional, Worker.name, boss[Worker.name].typed(as: String?.self))  // (Worker?, String, String?)
      let rows = try bosses.orderBy(Worker.id).run(db)
      #expect(rows.map(\.0?.id) == [nil, 1, 1, 2])
      #expect(rows.map(\.2) == [nil, "Ada", "Ada", "Ben"])
    }
  }

  @Test func subqueriesBecomeSQL() throws {
    try withCars { db in
      let annas = Bicycle.read().filter(Bicycle.ownerId.in(Person.select(Person.id).filter(Person.name == "Anna")))
      let withoutBike = Person.read().filter(!exists(Bicycle.read().filter(Bicycle.ownerId == Person.id)))
      let aboveAverage = Car.read().filter(Car.price > scalar(Car.select(Car.price.average())))
      #expect(
        annas.sql == """
          SELECT "id", "name", "color", "owner_id" FROM "bicycle" \
          WHERE "owner_id" IN (SELECT "person"."id" FROM "person" WHERE "person"."name" = ?)
          """)
      #expect(
        withoutBike.sql == """
          SELECT "id", "name" FROM "person" \
          WHERE NOT EXISTS (SELECT 1 FROM "bicycle" WHERE "bicycle"."owner_id" = "person"."id")
          """)
      #expect(
        aboveAverage.sql == """
          SELECT "id", "name", "price", "is_electric", "sold_at" FROM "car" \
          WHERE "price" > (SELECT avg("car"."price") FROM "car")
          """)
      let (bikes, people, cars) = (try annas.run(db), try withoutBike.run(db), try aboveAverage.run(db))
      #expect(bikes.map(\.name) == ["Norco"])
      #expect(people.map(\.name) == ["Bo"])
      #expect(cars.map(\.id) == [3])
    }
  }

  @Test func queriesAreCountedAndTestedForRows() throws {
    try withCars { db in
      let owned = Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id)
      let isAny = try owned.filter(Bicycle.color == "red").exists().run(db)  // Bool
      let colors = try Bicycle.read().select(Bicycle.color).distinct().count().run(db)  // Int
      let ofPerson = Bicycle.read().filter(Bicycle.ownerId == Person.id)
      let counts = Person.select(Person.name.typed(as: String.self), scalar(ofPerson.count()))  // [(String, Int?)]
      #expect(
        owned.filter(Bicycle.color == "red").exists().sql == """
          SELECT EXISTS (SELECT 1 FROM "bicycle" \
          JOIN "person" ON "bicycle"."owner_id" = "person"."id" \
          WHERE "bicycle"."color" = ?)
          """)
      #expect(
        Bicycle.read().select(Bicycle.color).distinct().count().sql
          == #"SELECT count(*) FROM (SELECT DISTINCT "bicycle"."color" FROM "bicycle")"#)
      #expect(
        counts.sql == """
          SELECT "name", (SELECT count(*) FROM "bicycle" WHERE "bicycle"."owner_id" = "person"."id") FROM "person"
          """)
      let rows = try counts.orderBy(Person.id).run(db)
      #expect(isAny == true)
      #expect(colors == 2)
      #expect(rows.map(\.1) == [1, 0])
    }
  }

  @Test func namedQueriesBecomeCommonTableExpressions() throws {
    try withCompany { db in
      let team = Alias(Worker.self, "team") { team in
        Worker.read().filter(Worker.id == 2)
          .unionAll(Worker.read().joining(team, on: Worker.bossId == team[Worker.id]))
      }
      let members = try team.read().orderBy(team[Worker.id]).run(db)  // [Worker]
      #expect(members.map(\.name) == ["Ben", "Dan"])
      #expect(
        team.read().orderBy(team[Worker.id]).sql == """
          WITH RECURSIVE "team" ("id", "name", "boss_id", "salary") \
          AS (SELECT "id", "name", "boss_id", "salary" FROM "worker" WHERE "id" = ? \
          UNION ALL SELECT "worker"."id", "worker"."name", "worker"."boss_id", "worker"."salary" \
          FROM "worker" JOIN "team" ON "worker"."boss_id" = "team"."id") \
          SELECT "team"."id", "team"."name", "team"."boss_id", "team"."salary" FROM "team" \
          ORDER BY "team"."id"
          """)
    }
  }

  @Test func combinedQueriesBecomeCompoundSelects() throws {
    try withCars { db in
      let cheap = Car.select(Car.name).filter(Car.price < 10_000)
      let electric = Car.select(Car.name).filter(Car.isElectric == true)
      let either = cheap.union(electric).orderBy(Car.name).limit(10)
      #expect(
        either.sql == """
          SELECT "name" FROM "car" WHERE "price" < ? \
          UNION SELECT "name" FROM "car" WHERE "is_electric" = ? ORDER BY "name" LIMIT ?
          """)
      let names = try either.run(db)
      #expect(names == ["Zoe"])
      let rest = either.except(electric.orderBy(Car.price).limit(3))
      #expect(
        rest.sql == """
          SELECT "name" FROM "car" WHERE "price" < ? \
          UNION SELECT "name" FROM "car" WHERE "is_electric" = ? \
          EXCEPT SELECT * FROM (SELECT "name" FROM "car" WHERE "is_electric" = ? ORDER BY "price" LIMIT ?) \
          ORDER BY "name" LIMIT ?
          """)
      #expect(try rest.run(db).isEmpty)
      let whole = cheap.union(electric).named("whole")
      let some = whole.read().filter(whole.column > "M")
      #expect(
        some.sql == """
          WITH RECURSIVE "whole" ("c1") AS (SELECT "name" FROM "car" WHERE "price" < ? \
          UNION SELECT "name" FROM "car" WHERE "is_electric" = ?) \
          SELECT "whole"."c1" FROM "whole" WHERE "whole"."c1" > ?
          """)
      #expect(try some.run(db) == ["Zoe"])
      let misplaced = sqlError { _ = try either.filter(Car.price > 1).run(db) }
      #expect(misplaced?.message.hasPrefix("a filter after a union, intersect or except") == true)
    }
  }

  @Test func windowsBecomeSQL() throws {
    try withCars { db in
      let ranked = Car.select(
        Car.name, rank().over(partitionBy: Car.isElectric, orderBy: Car.price.desc),
        Car.price.sum().over(orderBy: Car.id.asc, frame: .rows(.preceding(6), .currentRow)))
      #expect(
        ranked.sql == """
          SELECT "name", rank() OVER (PARTITION BY "is_electric" ORDER BY "price" DESC), \
          sum("price") OVER (ORDER BY "id" ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) \
          FROM "car"
          """)
      let rows = try ranked.orderBy(Car.id).run(db)
      #expect(rows.map(\.1) == [2, 1, 1])
      #expect(rows.map(\.2) == [9_000, 24_000, 54_000])
    }
  }
}
