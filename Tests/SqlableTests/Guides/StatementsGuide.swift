import Sqlable
import Testing

@testable import SqlableTestSupport

/// The examples of Docs/Statements.md, apart from changes.
@Suite struct StatementsGuide {
  @Test func readsReturnStructs() throws {
    try withBicycles { db in
      let reds = Bicycle.read().filter(Bicycle.color == "red").filter(Bicycle.id > 1)
        .orderBy(Bicycle.name).orderBy(Bicycle.id, .desc).limit(10, offset: 0)
      let bikes = try reds.run(db)  // [Bicycle]
      #expect(bikes.map(\.name) == ["Giant"])
      #expect(
        reds.sql == """
          SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "color" = ? AND "id" > ? \
          ORDER BY "name", "id" DESC LIMIT ? OFFSET ?
          """)
      #expect(reds.bindings == [.text("red"), .integer(1), .integer(10), .integer(0)])
      let last = try Bicycle.read().orderBy(Bicycle.id, .desc).first().run(db)  // Bicycle?
      let second = try Bicycle.byId(2).run(db)  // Bicycle?
      let count = try Bicycle.count().filter(Bicycle.color == "red").run(db)  // Int
      let isThere = try Bicycle.exists().filter(Bicycle.name == "Norco").run(db)  // Bool
      #expect(Bicycle.read(Bicycle.id > 1) == Bicycle.read().filter(Bicycle.id > 1))
      #expect(try Bicycle.count(Bicycle.color == "red").run(db) == count)
      #expect(try Bicycle.exists(Bicycle.name == "Norco").run(db))
      #expect(try !Bicycle.exists(Bicycle.name == "x").run(db))
      #expect(last?.name == "Giant")
      #expect(second?.name == "Trek")
      #expect(count == 2)
      #expect(isThere)
      #expect(
        Bicycle.byId(2).sql == """
          SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "id" = ? LIMIT ?
          """)
      #expect(
        Bicycle.count().filter(Bicycle.color == "red").sql == #"SELECT count(*) FROM "bicycle" WHERE "color" = ?"#)
      #expect(
        Bicycle.exists().filter(Bicycle.name == "Norco").sql
          == #"SELECT EXISTS (SELECT 1 FROM "bicycle" WHERE "name" = ?)"#)
    }
  }

  @Test func cursorReadsRowByRow() throws {
    try withBicycles { db in
      var longest = 0
      try Bicycle.read().forEach(db) { bike in
        longest = max(longest, bike.name.count)
        return bike.name == "Trek" ? .stop : .continue
      }
      #expect(longest == 5)
    }
  }

  @Test func preparedStatementsRunRepeatedly() throws {
    try withBicycles { db in
      let colored = Bicycle.read().filter(Bicycle.color == Parameter("color"))
      let red = try colored.binding(["color": "red"]).run(db)  // [Bicycle]
      #expect(red.map(\.name) == ["Norco", "Giant"])
      let byColor = try db.prepare(Bicycle.read().filter(Bicycle.color == Parameter("color")))
      let reds = try byColor.run(["color": "red"])  // by name
      let blues = try byColor.run("blue")  // by position
      let paint = try db.prepare(
        Bicycle.update(Bicycle.color.set(to: Parameter("to"))).filter(Bicycle.color == Parameter("from")))
      let painted = try paint.run(["from": "red", "to": "black"])
      #expect(reds.map(\.name) == ["Norco", "Giant"])
      #expect(blues.map(\.name) == ["Trek"])
      #expect(painted == 2)
      #expect(byColor.sql == #"SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "color" = ?"#)
      #expect(paint.sql == #"UPDATE "bicycle" SET "color" = ? WHERE "color" = ?"#)
    }
  }

  @Test func structsAreReadAndUpdatedPartially() throws {
    try withBicycles { (db: SqliteDatabase) throws -> Void in
      let bike = Bicycle(name: "x", color: "green")
      try Bicycle.update(Bicycle.color, Bicycle.ownerId, from: bike).filter(Bicycle.id > 3).run(db)
      let bikes = try Bicycle.read(without: Bicycle.ownerId).filter(Bicycle.color == "red").run(db)
      let names = try Bicycle.read(only: Bicycle.id, Bicycle.name).filter(Bicycle.color == "red").run(db)
      #expect(bikes.map(\.name) == names.map(\.name))
      #expect(bikes.allSatisfy { $0.color == "red" })
      #expect(names.allSatisfy { $0.color == "black" })
      #expect(!names.isEmpty)
      #expect(
        Bicycle.update(Bicycle.color, Bicycle.ownerId, from: bike).filter(Bicycle.id > 3).sql
          == #"UPDATE "bicycle" SET "color" = ?, "owner_id" = ? WHERE "id" > ?"#)
      #expect(
        Bicycle.read(without: Bicycle.ownerId).filter(Bicycle.color == "red").sql
          == #"SELECT "id", "name", "color", ? FROM "bicycle" WHERE "color" = ?"#)
      #expect(
        Bicycle.read(only: Bicycle.id, Bicycle.name).filter(Bicycle.color == "red").sql
          == #"SELECT "id", "name", ?, ? FROM "bicycle" WHERE "color" = ?"#)
    }
  }

  @Test func longListsAreBoundAsOneValue() throws {
    try withBicycles { db in
      let ids = Array(1...100_000)
      let found = try Bicycle.read().filter(Bicycle.id ∈ ids).run(db)
      #expect(found.count == 3)
      #expect(
        Bicycle.count().filter(Bicycle.id ∈ ids).sql
          == #"SELECT count(*) FROM "bicycle" WHERE "id" IN (SELECT value FROM sqlable_values(?))"#)
      #expect(
        Bicycle.count().filter(Bicycle.id ∈ [1, 2, 3]).sql
          == #"SELECT count(*) FROM "bicycle" WHERE "id" IN (?, ?, ?, ?)"#)
      let names = SqlExpression.any((1...5000).map { Bicycle.id == $0 })
      #expect(try Bicycle.count().filter(names).run(db) == 3)
    }
  }

  @Test func rawSQLBindsItsValues() throws {
    try withBicycles { db in
      let color = "red"
      let names = try db.query("SELECT name FROM bicycle WHERE color = \(color) ORDER BY name", as: String.self)
      let bikes = try db.query("SELECT * FROM bicycle WHERE color = \(color)", as: Bicycle.self)
      let counts = try db.query("SELECT color, count(*) FROM bicycle GROUP BY color ORDER BY 1") { row in
        (color: try row.get(at: 0, as: String.self), count: try row.get(at: 1, as: Int.self))
      }
      try db.execute("UPDATE \(Bicycle.self) SET \(Bicycle.color) = \(color) WHERE \(Bicycle.name) = 'Trek'")
      #expect(names == ["Giant", "Norco"])
      #expect(bikes.count == 2)
      #expect(counts.map(\.color) == ["blue", "red"])
      #expect(counts.map(\.count) == [1, 2])
      #expect(try Bicycle.count().filter(Bicycle.color == "red").run(db) == 3)
      let update: SQL = "UPDATE \(Bicycle.self) SET \(Bicycle.color) = \(color)"
      #expect(update.text == #"UPDATE "bicycle" SET "color" = ?"#)
    }
  }

  @Test(.needs(35, "RETURNING")) func rawSQLBindsLists() throws {
    try withBicycles { db in
      let kept = [1, 3]
      let deleted = try db.query("DELETE FROM bicycle WHERE id NOT IN (\(kept)) RETURNING id", as: Int.self)  // (?, ?)
      #expect(deleted == [2])
      let ids = Array(1...300_000)
      let count = try db.query(
        "SELECT count(*) FROM bicycle WHERE id IN (SELECT value FROM json_each(\(json: ids)))", as: Int.self)
      #expect(count == [2])
    }
  }

  @Test func termsContainSQL() throws {
    try withBicycles { db in
      try db.createTable(Car.self)
      try Car(name: "Zoe", price: 19_999.99, isElectric: true).insert().run(db)
      let cents = TypedExpression<Int>(sql: "CAST(round(\(Car.price) * 100) AS INTEGER) % \(100)")
      let odd = Car.select(Car.name, cents).filter(cents > 0 && Car.price > 100)
      let second = TypedExpression<Double?>(sql: "nth_value(\(Car.price), 2) OVER (ORDER BY \(Car.price))")
      let seconds = Car.select(Car.name, second)
      let isKept = SqlExpression(
        sql: "EXISTS (SELECT 1 FROM \(Bicycle.self) WHERE name = \(Person.name) AND color IN (\(["red", "blue"])))")
      let people = Person.read().filter(isKept)
      #expect(
        odd.sql == """
          SELECT "name", (CAST(round("price" * 100) AS INTEGER) % ?) FROM "car" \
          WHERE (CAST(round("price" * 100) AS INTEGER) % ?) > ? AND "price" > ?
          """)
      #expect(seconds.sql == #"SELECT "name", (nth_value("price", 2) OVER (ORDER BY "price")) FROM "car""#)
      #expect(
        people.sql == """
          SELECT "id", "name" FROM "person" WHERE \
          (EXISTS (SELECT 1 FROM "bicycle" WHERE name = "person"."name" AND color IN (?, ?)))
          """)
      let rows = try odd.run(db)
      #expect(rows.map(\.1) == [99])
      #expect(try seconds.run(db).map(\.1) == [nil])
      #expect(try people.run(db).isEmpty)
    }
  }

  @Test func explainReturnsTheQueryPlan() throws {
    try withBicycles { db in
      let plan = try Bicycle.byId(2).explain(db)
      print(plan)  // SEARCH bicycle USING INTEGER PRIMARY KEY (rowid=?)
      #expect(plan.description == "SEARCH bicycle USING INTEGER PRIMARY KEY (rowid=?)")
    }
  }

  @Test func invalidStatementsSayWhy() throws {
    try withBicycles { db in
      let error = sqlError { _ = try Bicycle.read().limit(-1).run(db) }
      #expect(error?.kind == .invalidStatement("a limit can't be negative"))
      #expect(Bicycle.read().limit(-1).sql == "-- a limit can't be negative")
      #expect(throws: SqlError.self) { try Bicycle(name: "New", color: "red").update().run(db) }
    }
  }
}
