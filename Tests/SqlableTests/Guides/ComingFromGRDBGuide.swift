import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

private struct Itinerary: Codable, Equatable, SqlJSON {
  var startsAt: Date
  var link: String

  static func configure(_ encoder: JSONEncoder) {
    encoder.dateEncodingStrategy = .millisecondsSince1970
    encoder.outputFormatting = .sortedKeys
  }

  static func configure(_ decoder: JSONDecoder) { decoder.dateDecodingStrategy = .millisecondsSince1970 }
}

/// A table that GRDB has created and filled.
private struct Voyage: Codable, Equatable {
  var id: Int
  var createdAt: Date
  var itinerary: Itinerary
}

extension Voyage: SqlCodable {
  static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
  static let createdAt = column("createdAt", Date.self, as: .date(.sqliteText), DeclaredType("DATETIME"))
  static let itinerary = column("itinerary", Itinerary.self)
  static let tableLayout = [id.column, createdAt.column, itinerary.column]
}

/// The right columns of the tables of Docs/ComingFromGRDB.md.
@Suite struct ComingFromGRDBGuide {
  @Test func equivalentsOfOpeningAndRunningWork() async throws {
    try await withDirectoryAsync { directory in
      let car = Car(id: nil, name: "Zoe", price: 2, isElectric: true, soldAt: nil)
      let path = directory + "/car.sqlite"
      do {
        let db = try SqliteDatabase(filepath: path)
        try db.createTable(Car.self)
        try db.transaction { db in try car.insert().run(db) }
        _ = try SqliteDatabase.inMemory()
      }
      let pool = try SqlitePool(filepath: path)
      try await pool.transaction { db in try car.insert().run(db) }
      let count = try await pool.read { db in try Car.count().run(db) }
      #expect(count == 2)
      #expect(try await Car.count().run(pool) == 2)
      _ = Car.read().updates(in: pool)
      _ = pool.changes(on: Bicycle.self)
      let all = [Migration("v1", sql: "CREATE TABLE car (id INTEGER PRIMARY KEY)")]
      // The table exists, unknown to the migrations.
      await #expect(throws: SqlError.self) { try await Migrations(all).apply(pool) }
      try await pool.close()
      let fresh = try SqlitePool(filepath: directory + "/fresh.sqlite")
      #expect(try await Migrations(all).apply(fresh) == ["v1"])
      try await fresh.close()
    }
  }

  @Test func equivalentsOfRecordsWork() throws {
    try withDatabase { db in
      try db.createTables(Car.self, Person.self, Bicycle.self)
      var car = Car(id: nil, name: "Zoe", price: 2, isElectric: true, soldAt: nil)
      let id = try car.insert().run(db)
      car.id = id
      try car.update().run(db)
      try car.update(Car.price).run(db)
      try car.save().run(db)
      #expect(try car.insert().onConflict(Car.id, update: Car.price).returning().first().run(db)?.id == id)
      try car.insert().ignoreOnConflict().run(db)
      try car.delete().run(db)
      #expect(try car.insert().returning().first().run(db)?.id == 1)
      let cars = [Car(id: nil, name: "Leaf", price: 3, isElectric: true, soldAt: nil)]
      try Car.insert(cars).run(db)
      #expect(try Car.read().run(db).map(\.name) == ["Zoe", "Leaf"])
    }
  }

  @Test func equivalentsOfRequestsWork() throws {
    try withDatabase { db in
      try db.createTables(Car.self, Person.self, Bicycle.self, Repair.self, Course.self, Enrolment.self)
      try Car(id: nil, name: "Zoe", price: 2, isElectric: true, soldAt: nil).insert().run(db)
      let ids = [1, 2]
      #expect(try Car.byId(1).run(db)?.name == "Zoe")
      #expect(try Car.read().filter(Car.price > 1).run(db).count == 1)
      #expect(try Car.count().run(db) == 1)
      #expect(try Car.exists(Car.price > 1).run(db))
      #expect(try Car.select(Car.price.max()).first(db) == 2)
      #expect(try Car.select(Car.name).asSet().run(db) == ["Zoe"])
      let requests = [
        Car.read().orderBy(Car.price.desc, Car.name), Car.read().limit(10).offset(20),
        Car.read().filter(Car.id ∈ ids), Car.read().filter(Car.soldAt == nil),
        Car.read().filter(Car.name.like("%a%")), Car.read().filter(Car.price.between(1..<5)),
      ]
      for request in requests { _ = try request.run(db) }
      let colors = Bicycle.select(Bicycle.color).groupBy(Bicycle.color).having(countAll() > 1)
      _ = try colors.run(db)
      var cursor = Optional(try Car.read().cursor(db))
      #expect(try cursor?.next()?.name == "Zoe")
      cursor = nil
      _ = try Person.read().including(Person.bikes).run(db)
      _ = try Bicycle.read().including(Bicycle.owner).run(db)
      _ = try Person.read().including(Person.repairs, Person.courses).run(db)
      _ = try Repair.read().including(Repair.owner).run(db)
      _ = try Person.read().including(Person.bikes.count()).run(db)
      _ = try Bicycle.read().including(Bicycle.repairs.aggregate(Repair.cost.max())).run(db)
      _ = try Person.read().filter(Person.bikes.count() > 2).run(db)
      _ = try Person.read().whereNone(Person.bikes).run(db)
      #expect(Car.read().sql.hasPrefix("SELECT"))
      try Car.updateAll(Car.price.set(to: Car.price + 1)).run(db)
      try Car.delete(Car.price > 1).run(db)
      try Car.deleteAll().run(db)
    }
  }

  @Test func filesOfGRDBAreReadAndFiltered() throws {
    try withDatabase { db in
      try db.execute(
        #"""
        CREATE TABLE "voyage" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "createdAt" DATETIME NOT NULL,
          "itinerary" JSONTEXT NOT NULL);
        INSERT INTO voyage VALUES
          (1, '2026-11-23 12:00:00.250', '{"link":"a\/b","startsAt":1795435200250}'),
          (2, '2026-11-23 12:00:00.251', '{"link":"","startsAt":0}')
        """#)
      try Schema(Voyage.self).verify(db)
      let date = Date(timeIntervalSince1970: 1_795_435_200.25)
      let itinerary = Itinerary(startsAt: date, link: "a/b")
      let first = Voyage(id: 1, createdAt: date, itinerary: itinerary)
      #expect(try Voyage.byId(1).run(db) == first)
      #expect(try Voyage.read().filter(Voyage.createdAt <= date && Voyage.itinerary == itinerary).run(db) == [first])
      try first.update().run(db)
      #expect(
        try db.query("SELECT createdAt || itinerary FROM voyage WHERE id = 1", as: String.self) == [
          #"2026-11-23 12:00:00.250{"link":"a\/b","startsAt":1795435200250}"#
        ])
    }
  }

  @Test func equivalentsOfSQLObservationAndSchemaWork() throws {
    try withDatabase { db in
      try db.createTables(Car.self, Person.self, Bicycle.self)
      let price = 3.5
      try Car(id: nil, name: "Zoe", price: 2, isElectric: true, soldAt: nil).insert().run(db)
      try db.execute("UPDATE car SET price = \(price)")
      let rows = try db.query("SELECT * FROM car", as: DynamicRow.self)
      for row in rows { #expect(try row.get("price", as: Double.self) == 3.5) }
      #expect(try db.query("SELECT name FROM car", as: String.self) == ["Zoe"])
      #expect(try db.query("SELECT * FROM car", as: Car.self).count == 1)
      let untyped = try db.table("car").read().run(db)
      #expect(untyped.map { $0["name"] } == [.text("Zoe")])
      let view = View(sql: "SELECT name FROM car")
      #expect(view == View(sql: "SELECT name FROM car"))
      db.observe(on: Bicycle.self) { id in print(id) }
      #expect(try db.tableExists("car"))
      let all = [Migration("v1", sql: "CREATE TABLE car (id INTEGER PRIMARY KEY)")]
      let isCurrent = try Migrations(all).status(db) == .current
      #expect(!isCurrent)
      #expect(try Schema(Car.self).plan(db).isEmpty)
    }
    try withDatabase { db in
      try db.createTables(Car.self, Person.self, Bicycle.self)
      let date = Date(timeIntervalSince1970: 1_000)
      let car = Car(id: 1, name: "Zoe", price: 2, isElectric: true, soldAt: date + 1)
      #expect(try car.update().run(db) == 0)
      #expect(try car.delete().run(db) == 0)
      try car.insert().run(db)
      let sold = try db.query("SELECT id FROM car WHERE sold_at > \(date, as: Car.soldAt)", as: Int.self)
      #expect(sold == [1])
      let anna = try Person(id: nil, name: "Anna").insert().run(db)
      try Bicycle(name: "Norco", color: "red").insert().run(db)
      try Bicycle(name: "Trek", color: "red", ownerId: anna).insert().run(db)
      let required = Bicycle.read().including(Bicycle.owner)
      #expect(try required.run(db).map(\.1?.name) == [nil, "Anna"])
      let owned = try Bicycle.read().whereAny(Bicycle.owner).including(Bicycle.owner).run(db)
      #expect(owned.map(\.1?.name) == ["Anna"])
      let annas = Bicycle.read().whereAny(Bicycle.owner.filter(Person.name == "Anna"))
      #expect(try annas.run(db).count == 1)
    }
    try withDatabase { db in
      let migrations = Migrations(
        [Migration("prices", sql: "UPDATE car SET price = 0 WHERE price < 0")], fresh: Schema(Car.self))
      #expect(try migrations.apply(db).isEmpty)
      #expect(try db.tableExists("car"))
      let old = try SqliteDatabase.inMemory()
      try old.createTable(Car.self)
      #expect(try migrations.apply(old) == ["prices"])
    }
  }
}
