import Sqlable
import Testing

@testable import SqlableTestSupport

/// The examples of Docs/Statements.md that insert, update and delete rows.
@Suite struct StatementChangesGuide {
  @Test func insertsReturnIds() throws {
    try withBicycles { db in
      let bike = Bicycle(name: "Cube", color: "green")
      let id = try bike.insert().run(db)
      let ids = try Bicycle.insert([Bicycle(name: "Scott", color: "red"), Bicycle(name: "Cannondale", color: "red")])
        .run(db)
      #expect(id == 4)
      #expect(ids == [5, 6])
      #expect(bike.insert().sql == #"INSERT INTO "bicycle" ("name", "color") VALUES (?, ?)"#)
      let nameOnly = Bicycle(name: "Bianchi", color: "").insert(Bicycle.name)
      #expect(nameOnly.sql == #"INSERT INTO "bicycle" ("name") VALUES (?)"#)
      #expect(try Bicycle.byId(nameOnly.run(db)).run(db)?.color == "black")
      let empty = Person.insertDefaults()
      #expect(empty.sql == #"INSERT INTO "person" DEFAULT VALUES"#)
    }
  }

  @Test func streamedInsertsStoreEveryStruct() throws {
    struct Reader {
      var rest = ["Kona", "Kona", "Surly"]
      mutating func next() throws -> Bicycle? { rest.popLast().map { Bicycle(name: $0, color: "red") } }
    }
    try withBicycles { db in
      let lines = ["Scott", "Cannondale"]
      var reader = Reader()
      let count = try Bicycle.insert().run(db, streaming: lines.lazy.map { Bicycle(name: $0, color: "red") })
      let more = try Bicycle.insert().ignoreOnConflict().run(db) { try reader.next() }
      #expect(count == 2)
      #expect(more == 2)
      #expect(try Bicycle.count().run(db) == 7)
    }
  }

  @Test(.needs(35, "RETURNING")) func returningReadsChangedRows() throws {
    try withBicycles { db in
      let stored = try Bicycle(name: "Kona", color: "").insert(Bicycle.name).returning().first().run(db)  // Bicycle?
      let gone = try Bicycle.delete(Bicycle.color == "red").returning().run(db)  // [Bicycle]
      #expect(stored?.color == "black")
      #expect(gone.count == 2)
      #expect(
        Bicycle(name: "Kona", color: "").insert(Bicycle.name).returning().sql
          == #"INSERT INTO "bicycle" ("name") VALUES (?) RETURNING "id", "name", "color", "owner_id""#)
      #expect(
        Bicycle.delete(Bicycle.color == "red").returning().sql
          == #"DELETE FROM "bicycle" WHERE "color" = ? RETURNING "id", "name", "color", "owner_id""#)
    }
  }

  @Test(.needs(35, "RETURNING")) func returningReadsTermsOfChangedRows() throws {
    try withBicycles { db in
      try Bicycle(name: "Kona", color: "black").insert().run(db)
      try db.createTable(Car.self)
      try Car(id: 1, name: "Zoe", price: 10_000, isElectric: true).insert().run(db)
      let painted = try Bicycle.update(Bicycle.color.set(to: "blue")).filter(Bicycle.color == "black")
        .returning(Bicycle.id, Bicycle.name.uppercase()).run(db)  // [DynamicRow]
      let sale = Car.update(Car.price.set(to: Car.price * 0.9)).filter(Car.id == 1).returning(Car.price).first()
      let price = try sale.run(db)  // Double?
      #expect(painted.map(\.values) == [[.integer(4), .text("KONA")]])
      #expect(price == 9_000)
      #expect(
        Bicycle.update(Bicycle.color.set(to: "blue")).filter(Bicycle.color == "black")
          .returning(Bicycle.id, Bicycle.name.uppercase()).sql
          == #"UPDATE "bicycle" SET "color" = ? WHERE "color" = ? RETURNING "id", upper("name")"#)
      #expect(sale.sql == #"UPDATE "car" SET "price" = "price" * ? WHERE "id" = ? RETURNING "price""#)
    }
  }

  @Test func updatesAndDeletesReportTheirRows() throws {
    try withBicycles { db in
      var bike = try #require(try Bicycle.byId(1).run(db))
      bike.color = "green"
      let changed = try bike.update().run(db)  // 1; 0 when the row is gone
      let recolored = try Bicycle.update(Bicycle.color.set(to: "black")).filter(Bicycle.color == "red").run(db)
      let deleted = try bike.delete().run(db)
      try Bicycle.delete(Bicycle.color == "blue").run(db)
      #expect(changed == 1)
      #expect(recolored == 1)
      #expect(deleted == 1)
      #expect(try Bicycle.read().run(db).map(\.name) == ["Giant"])
      #expect(
        Bicycle.update(Bicycle.color.set(to: "black")).filter(Bicycle.color == "red").sql
          == #"UPDATE "bicycle" SET "color" = ? WHERE "color" = ?"#)
      #expect(bike.delete().sql == #"DELETE FROM "bicycle" WHERE "id" = ?"#)
      #expect(Bicycle.delete(Bicycle.color == "blue").sql == #"DELETE FROM "bicycle" WHERE "color" = ?"#)
    }
  }

  @Test func updateAllAndDeleteAllChangeEveryRow() throws {
    try withBicycles { db in
      try Bicycle.updateAll(Bicycle.color.set(to: "black")).run(db)
      try Bicycle.deleteAll().run(db)
      #expect(try Bicycle.count().run(db) == 0)
      #expect(Bicycle.updateAll(Bicycle.color.set(to: "black")).sql == #"UPDATE "bicycle" SET "color" = ?"#)
      #expect(Bicycle.deleteAll().sql == #"DELETE FROM "bicycle""#)
    }
  }

  @Test func conditionalUpdateChangesNothingIfTheRowChanged() throws {
    try withBicycles { db in
      let mine = try #require(try Bicycle.byId(1).run(db))
      let repainted = Bicycle(id: mine.id, name: mine.name, color: "green")
      let changed = try repainted.update().filter(Bicycle.color == mine.color).run(db)  // 0 if the color changed since
      #expect(changed == 1)
      #expect(try repainted.update().filter(Bicycle.color == mine.color).run(db) == 0)
      #expect(
        repainted.update().filter(Bicycle.color == "red").sql
          == #"UPDATE "bicycle" SET "name" = ?, "color" = ? WHERE "id" = ? AND ("color" = ?)"#)
    }
  }

  @Test func nilAssignmentStoresNull() throws {
    try withBicycles { db in
      try Person(id: 5, name: "Anna").insert().run(db)
      try Bicycle.updateAll(Bicycle.ownerId.set(to: 5)).run(db)
      try Bicycle.update(Bicycle.ownerId.set(to: nil)).filter(Bicycle.id == 2).run(db)
      #expect(try Bicycle.read().orderBy(Bicycle.id).run(db).map(\.ownerId) == [5, nil, 5])
      #expect(
        Bicycle.update(Bicycle.ownerId.set(to: nil)).filter(Bicycle.id == 2).sql
          == #"UPDATE "bicycle" SET "owner_id" = ? WHERE "id" = ?"#)
    }
  }

  @Test func updatesTakeValuesFromOtherTables() throws {
    try withCompany { db in
      try db.createTable(Car.self)
      let named = Bicycle.update(Bicycle.name.set(to: Person.name)).from(Person.self, on: Bicycle.ownerId == Person.id)
      let lowest = Car.select(Car.name, Car.price.min()).groupBy(Car.name).named("lowest")
      let sale = Car.update(Car.price.set(to: lowest.columns.1.ifNull(0)))
        .from(lowest, on: Car.name == lowest.columns.0)
        .filter(Car.soldAt == nil)
      #expect(
        named.sql == """
          UPDATE "bicycle" SET "name" = "person"."name" FROM "person" WHERE "bicycle"."owner_id" = "person"."id"
          """)
      #expect(
        sale.sql == """
          WITH RECURSIVE "lowest" ("c1", "c2") AS (SELECT "name", min("price") FROM "car" GROUP BY "name") \
          UPDATE "car" SET "price" = coalesce("lowest"."c2", ?) FROM "lowest" \
          WHERE "car"."name" = "lowest"."c1" AND "car"."sold_at" IS NULL
          """)
      try Car.insert([3, 1, 2].map { Car(name: "Zoe", price: $0, isElectric: true) }).run(db)
      let changed = try sale.run(db)
      #expect(changed == 3)
      #expect(try Car.select(Car.price).run(db) == [1, 1, 1])
      try Bicycle.delete(Bicycle.id == 3).run(db)
      #expect(try named.run(db) == 2)
    }
  }

  @Test func limitsApplyToChanges() throws {
    try withBicycles { db in
      let oldest = Bicycle.delete(Bicycle.color == "red").orderBy(Bicycle.id).limit(1)
      #expect(
        oldest.sql == """
          DELETE FROM "bicycle" WHERE "id" IN (SELECT "id" FROM "bicycle" WHERE "color" = ? ORDER BY "id" LIMIT ?)
          """)
      let deleted = try oldest.run(db)
      #expect(deleted == 1)
      #expect(try Bicycle.read().run(db).map(\.name) == ["Trek", "Giant"])
      let purge = try db.prepare(Bicycle.delete().orderBy(Bicycle.id).limit(Parameter("count")))
      let purged = try purge.run(["count": 1])
      #expect(
        purge.sql
          == #"DELETE FROM "bicycle" WHERE "id" IN (SELECT "id" FROM "bicycle" ORDER BY "id" LIMIT max(?, 0))"#)
      #expect(purged == 1)
      #expect(try Bicycle.read().run(db).map(\.name) == ["Giant"])
    }
  }

  @Test(.needs(35, "RETURNING")) func conflictsAreReplacedIgnoredOrUpdated() throws {
    try withBicycles { db in
      let known = Bicycle(name: "Norco", color: "red", ownerId: nil)
      #expect(sqlError { _ = try known.insert().run(db) }?.kind == .constraint(.unique))
      let skipped = try known.insert().ignoreOnConflict().run(db)  // 0
      let replaced = try known.insert().replaceOnConflict().run(db)  // a new id: the old row was deleted
      let kept = try known.insert().onConflict(Bicycle.name, Bicycle.color).run(db)  // 0
      let updated = try known.insert().onConflict(Bicycle.name, Bicycle.color, update: Bicycle.name).run(db)  // its id
      #expect(replaced > 3)
      #expect([skipped, kept, updated] == [0, 0, replaced])
      #expect(
        known.insert().ignoreOnConflict().sql == #"INSERT OR IGNORE INTO "bicycle" ("name", "color") VALUES (?, ?)"#)
      #expect(
        known.insert().replaceOnConflict().sql == #"INSERT OR REPLACE INTO "bicycle" ("name", "color") VALUES (?, ?)"#)
      #expect(
        known.insert().onConflict(Bicycle.name, Bicycle.color).sql == """
          INSERT INTO "bicycle" ("name", "color") VALUES (?, ?) ON CONFLICT ("name", "color") DO NOTHING RETURNING "id"
          """)
      #expect(
        known.insert().onConflict(Bicycle.name, Bicycle.color, update: Bicycle.name).sql == """
          INSERT INTO "bicycle" ("name", "color") VALUES (?, ?) \
          ON CONFLICT ("name", "color") DO UPDATE SET "name" = excluded."name" RETURNING "id"
          """)
      let either = known.insert().onConflict(Bicycle.id, update: Bicycle.color).onConflict(Bicycle.name, Bicycle.color)
      let any = known.insert().onConflict(Bicycle.id, update: Bicycle.color).onConflict()
      #expect(try [either.run(db), any.run(db)] == [0, 0])
      #expect(
        either.sql == """
          INSERT INTO "bicycle" ("name", "color") VALUES (?, ?) \
          ON CONFLICT ("id") DO UPDATE SET "color" = excluded."color" \
          ON CONFLICT ("name", "color") DO NOTHING RETURNING "id"
          """)
      #expect(
        any.sql == """
          INSERT INTO "bicycle" ("name", "color") VALUES (?, ?) \
          ON CONFLICT ("id") DO UPDATE SET "color" = excluded."color" \
          ON CONFLICT DO NOTHING RETURNING "id"
          """)
      let bike = Bicycle(id: 9, name: "Norco", color: "white")
      let id = try bike.save().run(db)
      #expect(id == 9)
      #expect(try Bicycle.byId(9).run(db) == bike)
      #expect(
        bike.save().sql == """
          INSERT INTO "bicycle" ("id", "name", "color") VALUES (?, ?, ?) ON CONFLICT ("id") \
          DO UPDATE SET "name" = excluded."name", "color" = excluded."color" RETURNING "id"
          """)
    }
  }
}
