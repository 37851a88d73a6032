import Foundation
import Sqlable
import SqlableAdvice
import Testing

@testable import SqlableTestSupport

/// The later sections of Docs/Queries.md, and the examples of Docs/Statements.md on queries.
@Suite struct QueryFormsGuide {
  private func withAll<Result>(_ body: (SqliteDatabase) throws -> Result) throws -> Result {
    try withDatabase { db in
      try fillCompany(db)
      try db.createTable(Car.self)
      try Car.insert(Car.all).run(db)
      return try body(db)
    }
  }

  @Test func namedQueriesNeedNoModel() throws {
    try withAll { db in
      let perName = Car.select(Car.name, Car.price.average()).groupBy(Car.name).named("per_name")
      let (name, average) = perName.columns  // TypedExpression<String>, TypedExpression<Double?>
      let dear = Car.select(Car.name, Car.price, average).joining(perName, on: Car.name == name)
        .filter(Car.price > average)
      #expect(
        dear.sql == """
          WITH RECURSIVE "per_name" ("c1", "c2") AS (SELECT "name", avg("price") FROM "car" GROUP BY "name") \
          SELECT "car"."name", "car"."price", "per_name"."c2" FROM "car" \
          JOIN "per_name" ON "car"."name" = "per_name"."c1" \
          WHERE "car"."price" > "per_name"."c2"
          """)
      #expect(try dear.run(db).map(\.1) == [30_000])
      let team = Worker.select(Worker.id, TypedExpression(0)).filter(Worker.id == 1).named("team") { team in
        let (id, level) = team.columns
        return Worker.select(Worker.id, level + 1).joining(team, on: Worker.bossId == id)
      }
      let levels = try team.read().run(db)  // [(Int, Int)]
      #expect(levels.map(\.1).sorted() == [0, 1, 1, 2])
    }
  }

  @Test func recursionFollowsAnOrder() throws {
    try withAll { db in
      let level = TypedExpression(0)
      let first = Worker.select(Worker.id, level).filter(Worker.id == 1).orderBy(level, .desc).limit(3)
      let down = first.named("down") { down in
        let (id, depth) = down.columns
        return Worker.select(Worker.id, depth + 1).joining(down, on: Worker.bossId == id)
      }
      #expect(
        down.read().sql == """
          WITH RECURSIVE "down" ("c1", "c2") AS (SELECT "id", ? FROM "worker" WHERE "id" = ? \
          UNION ALL SELECT "worker"."id", "down"."c2" + ? FROM "worker" \
          JOIN "down" ON "worker"."boss_id" = "down"."c1" ORDER BY 2 DESC LIMIT ?) \
          SELECT "down"."c1", "down"."c2" FROM "down"
          """)
      let rows = try down.read().run(db)
      #expect(rows.map(\.0) == [1, 2, 4])
    }
  }

  @Test func namedQueryIsJoinedUnderAnAlias() throws {
    try withAll { db in
      let perBoss = Worker.select(Worker.bossId, countAll()).groupBy(Worker.bossId).named("per_boss")
      let larger = perBoss.alias("larger")
      let pairs = perBoss.read().joining(larger, on: larger.columns.1 > perBoss.columns.1)
      #expect(
        pairs.sql == """
          WITH RECURSIVE "per_boss" ("c1", "c2") AS (SELECT "boss_id", count(*) FROM "worker" GROUP BY "boss_id") \
          SELECT "per_boss"."c1", "per_boss"."c2" FROM "per_boss" \
          JOIN "per_boss" AS "larger" ON "larger"."c2" > "per_boss"."c2"
          """)
      let rows = try pairs.run(db)
      #expect(rows.map(\.1) == [1, 1])
    }
  }

  @Test func joinsCombineThreeModels() throws {
    try withAll { db in
      let reds = Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id)
        .leftJoin(Worker.self, on: Worker.name == Person.name)
        .filter(Bicycle.color == "red").orderBy(Bicycle.id)  // (Bicycle, Person, Worker?)
      let salary = try reds.first(db)?.2?.salary
      let rows = try reds.run(db)
      #expect(rows.map(\.0.name) == ["Norco", "Giant"])
      #expect(rows.allSatisfy { $0.2 == nil })
      #expect(salary == nil)
    }
  }

  @Test func valuesAreJoinedAsATable() throws {
    try withAll { db in
      let rates = values([("EUR", 1.0), ("USD", 1.08)]).named("rate")
      let (currency, factor) = rates.columns
      let prices = Car.select(Car.name, currency, Car.price * factor).crossJoining(rates)
      #expect(
        prices.sql == """
          WITH RECURSIVE "rate" ("c1", "c2") AS (VALUES (?, ?), (?, ?)) \
          SELECT "car"."name", "rate"."c1", "car"."price" * "rate"."c2" FROM "car" CROSS JOIN "rate"
          """)
      let count = try prices.run(db).count
      #expect(count == 6)
      let dearest = Car.read(replacing: Car.price, with: Car.price.max()).groupBy(Car.name)  // Select<Car>
      #expect(
        dearest.sql
          == #"SELECT "id", "name", max("price"), "is_electric", "sold_at" FROM "car" GROUP BY "name""#)
      #expect(try dearest.run(db).count == 2)
      let bounds = Car.read(replacing: [Car.price: Car.price.max(), Car.soldAt: Car.soldAt.max()]).groupBy(Car.name)
      #expect(
        bounds.sql
          == #"SELECT "id", "name", max("price"), "is_electric", max("sold_at") FROM "car" GROUP BY "name""#)
      #expect(try bounds.run(db).count == 2)
    }
  }

  @Test func valuesContainTermsAndSeries() throws {
    try withAll { db in
      let limits = values([
        rowValue(TypedExpression("cheap"), Parameter<Double>("cheap")),
        rowValue(TypedExpression("dear"), TypedExpression(2.0) * Parameter("cheap")),
      ])
      #expect(limits.sql == #"VALUES (?, ?), (?, ? * ?)"#)
      let year = series(2020...2024, by: 2, as: "year")
      let perYear = year.read().select(year.column, Car.id.count())
        .leftJoining(Car.self, on: Car.soldAt.year() == year.column).groupBy(year.column)
      #expect(
        perYear.sql == """
          WITH RECURSIVE "year" ("c1") AS (SELECT * FROM (VALUES (?)) \
          UNION ALL SELECT "year"."c1" + ? FROM "year" WHERE "year"."c1" < ?) \
          SELECT "year"."c1", count("car"."id") FROM "year" \
          LEFT JOIN "car" ON CAST(strftime('%Y', "car"."sold_at", 'unixepoch') AS INTEGER) = "year"."c1" \
          GROUP BY "year"."c1"
          """)
      let (rows, prepared) = (try perYear.run(db), try db.prepare(limits).run(["cheap": 9.5]))
      #expect(rows.map(\.0) == [2020, 2022, 2024])
      #expect(rows.allSatisfy { $0.1 == 0 })
      #expect(prepared.map(\.1) == [9.5, 19])
    }
  }

  @Test func schemaIsReadBySQL() throws {
    try withAll { db in
      let needed = try db.query(#"SELECT name FROM pragma_table_info(\#("car")) WHERE "notnull""#, as: String.self)
      let sql: SQL = #"SELECT name FROM pragma_table_info(\#("car")) WHERE "notnull""#
      #expect(sql.text == #"SELECT name FROM pragma_table_info(?) WHERE "notnull""#)
      #expect(needed.contains("price"))
      #expect(!needed.contains("sold_at"))
    }
  }

  @Test func naturalJoinsCompareColumnsByName() throws {
    try withAll { db in
      let namesakes = Bicycle.join(Person.self, on: Person.using(Bicycle.name))  // (Bicycle, Person)
      #expect(
        namesakes.sql == """
          SELECT "bicycle"."id", "bicycle"."name", "bicycle"."color", "bicycle"."owner_id", "person"."id", \
          "person"."name" \
          FROM "bicycle" JOIN "person" ON "bicycle"."name" = "person"."name"
          """)
      let rows = try namesakes.run(db)
      #expect(rows.isEmpty)
    }
  }

  @Test func cursorReadsOneRowAtATime() throws {
    try withAll { db in
      let cars = try Car.select(Car.name, Car.price).orderBy(Car.price).cursor(db)
      while let (name, price) = try cars.next() {
        if price > 10_000 { break }
        print(name)
      }
      let names = try SQL("SELECT name FROM car ORDER BY name").rows(as: String.self).cursor(db)
      let first = try names.next()  // String?
      #expect(first == "Golf")
    }
  }

  @Test func preparedQueriesRunWithNewValues() throws {
    try withAll { db in
      let dear = try db.prepare(Car.select(Car.name, Car.price).filter(Car.price > Parameter("least")))
      let rows = try dear.run(["least": 10_000])  // [(String, Double)]
      let others = try dear.run(20_000)
      let page = try db.prepare(Car.read().orderBy(Car.id).limit(Parameter("count"), offset: Parameter("skipped")))
      let second = try page.run(["count": 1, "skipped": 1])  // [Car]
      #expect(
        page.sql == """
          SELECT "id", "name", "price", "is_electric", "sold_at" FROM "car" ORDER BY "id" \
          LIMIT max(?, 0) OFFSET max(?, 0)
          """)
      #expect(second.map(\.id) == [2])
      #expect(rows.count == 2)
      #expect(others.count == 1)
    }
  }

  @Test func windowFunctionsReadNeighbouringRows() throws {
    try withAll { db in
      let steps = Car.select(
        Car.price - Car.price.lag(1, default: Car.price).over(orderBy: Car.id.asc),
        Car.name.lead(2, default: "none").over(orderBy: Car.id.asc), Car.name.nthValue(2).over(orderBy: Car.id.asc),
        Car.price.average(where: Car.isElectric == true)
          .over(orderBy: Car.id.asc, frame: .rows(.preceding(1), .following(1), excluding: .currentRow)))
      #expect(
        steps.sql == """
          SELECT "price" - lag("price", ?, "price") OVER (ORDER BY "id"), lead("name", ?, ?) OVER (ORDER BY "id"), \
          nth_value("name", ?) OVER (ORDER BY "id"), \
          avg("price") FILTER (WHERE "is_electric" = ?) OVER (ORDER BY "id" ROWS BETWEEN 1 PRECEDING \
          AND 1 FOLLOWING EXCLUDE CURRENT ROW) \
          FROM "car"
          """)
      let rows = try steps.orderBy(Car.id).run(db)
      #expect(rows.map(\.0) == [0, 6_000, 15_000])
      #expect(rows.map(\.1) == ["Zoe", "none", "none"])
      #expect(rows.map(\.2) == [nil, "Golf", "Golf"])
      #expect(rows.map(\.3) == [nil, 19_500, nil])
    }
  }

  @Test func windowsAreSharedByName() throws {
    try withAll { db in
      let perKind = Window(partitionBy: Car.isElectric, orderBy: Car.price.desc)
      let places = Car.select(Car.name, rank().over(perKind), Car.price.sum().over(perKind))
      let running = perKind.orderBy(Car.id.asc).frame(.rows(.unboundedPreceding, .currentRow))
      let sums = Car.select(Car.name, Car.price.sum().over(running))
      #expect(
        sums.sql == """
          SELECT "name", \
          sum("price") OVER (PARTITION BY "is_electric" \
          ORDER BY "price" DESC, "id" ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) \
          FROM "car"
          """)
      let totals = try sums.run(db).map(\.1)
      #expect(Set(totals) == [15_000, 30_000, 39_000])
      let count = try places.run(db).count
      #expect(count == 3)
    }
  }

  @Test func insertsTakeRowsFromQueries() throws {
    try withAll { db in
      try db.createTable(Bicycle.self, named: "archive")
      let archive = Bicycle.insert(from: Bicycle.read().filter(Bicycle.color == "red")).in("archive")
      let names = Person.insert(Person.name, from: Worker.select(Worker.name).filter(Worker.salary > 6))
      #expect(
        archive.sql == """
          INSERT INTO "archive" ("id", "name", "color", "owner_id") \
          SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "color" = ?
          """)
      #expect(names.sql == #"INSERT INTO "person" ("name") SELECT "name" FROM "worker" WHERE "salary" > ?"#)
      #expect(try archive.run(db) == 2)
      #expect(try names.run(db) == 2)
      let old = try Bicycle.read().in("archive").run(db)
      #expect(old.count == 2)
    }
  }

  @Test(.needs(35, "RETURNING")) func upsertsAssignTerms() throws {
    try withAll { db in
      let car = Car(id: 1, name: "Zoe", price: 8_000, isElectric: true)
      let lower = car.insert().onConflict(Car.id, update: Car.price, where: Car.price > Car.price.excluded)
      let sum = car.insert().onConflict(Car.id, set: Car.price.set(to: Car.price + Car.price.excluded))
      #expect(
        lower.sql == """
          INSERT INTO "car" ("id", "name", "price", "is_electric", "sold_at") VALUES (?, ?, ?, ?, ?) \
          ON CONFLICT ("id") DO UPDATE SET "price" = excluded."price" \
          WHERE "car"."price" > "excluded"."price" RETURNING "id"
          """)
      #expect(
        sum.sql == """
          INSERT INTO "car" ("id", "name", "price", "is_electric", "sold_at") VALUES (?, ?, ?, ?, ?) \
          ON CONFLICT ("id") DO UPDATE SET "price" = "car"."price" + "excluded"."price" RETURNING "id"
          """)
      let ids = try [lower.run(db), sum.run(db)]
      #expect(ids == [1, 1])
      #expect(try Car.byId(1).run(db)?.price == 16_000)
    }
  }

  @Test func sqlContainsTypedStatements() throws {
    try withAll { db in
      let dear = Car.select(Car.name, Car.price).filter(Car.price > 10_000)
      let highest = try db.query("SELECT max(price) FROM (\(dear))", as: Double.self)
      let wanted = Car.isElectric == true && Car.price < 20_000
      let count = try db.query("SELECT count(*) FROM car WHERE \(wanted)", as: Int.self)
      let pairs = try db.query("SELECT name, price FROM car ORDER BY price", as: String.self, Double.self)
      #expect(highest == [30_000])
      #expect(count == [1])
      #expect(pairs.map(\.0) == ["Zoe", "Golf", "Zoe"])
      let prices = pairs.map(\.1)
      let byName = try db.prepare("SELECT price FROM car WHERE name = \(Parameter<String>("name"))", as: Double.self)
      let zoes = try byName.run("Zoe")
      let cars = try db.prepare("SELECT * FROM car WHERE price < \(Parameter<Double>("limit"))", as: Car.self)
      let reduce = try db.prepare(
        "UPDATE car SET price = price - \(Parameter<Double>("by")) WHERE name = \(Parameter<String>("name"))")
      for name in ["Zoe", "Golf"] { try reduce.run(["name": name, "by": 500]) }  // the number of changed rows
      try cars.forEach(["limit": 20_000]) { car in
        print(car.name, car.price)
        return .continue
      }
      #expect(zoes.count == 2)
      #expect(try reduce.run(0.0, "Zoe") == 2)
      #expect(try Car.select(Car.price).orderBy(Car.price).run(db) == prices.map { $0 - 500 })
    }
  }

  @Test func adviceProposesAnIndex() throws {
    try withAll { db in
      let zoes = Car.read().filter(Car.name == "Zoe")
      let plan = try zoes.explain(db)
      if plan.scans.contains("car") {
        for index in try zoes.advice(db) { print(index.sql) }  // CREATE INDEX "car_name" ON "car" ("name")
      }
      #expect(try zoes.advice(db).map(\.sql) == [#"CREATE INDEX "car_name" ON "car" ("name")"#])
    }
  }
}
