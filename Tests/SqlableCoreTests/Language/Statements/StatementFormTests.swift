import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Every form of statement: its SQL, bindings, result and effect on the rows.
@Suite struct StatementFormTests {
  private func withBikes(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try Person.insert([Person(id: 1, name: "Ann"), Person(id: 2, name: "Bob")]).run(db)
      try Bicycle.insert([
        Bicycle(name: "Norco", color: "red", ownerId: 1),
        Bicycle(name: "Trek", color: "blue", ownerId: 1),
        Bicycle(name: "Giant", color: "red"),
        Bicycle(name: "Cube", color: "green", ownerId: 2),
      ]).run(db)
      try body(db)
    }
  }

  private func rows(_ db: SqliteDatabase) throws -> [String] {
    try Bicycle.read().orderBy(Bicycle.id).run(db).map { bike in
      "\(bike.id ?? 0) \(bike.name) \(bike.color) \(bike.ownerId.map(String.init) ?? "-")"
    }
  }

  @Test func readsHaveTheExpectedSQLAndRows() throws {
    try withBikes { db throws in
      let all = #"SELECT "id", "name", "color", "owner_id" FROM "bicycle""#
      #expect(Bicycle.read().sql == all)
      #expect(Bicycle.read().bindings == [])
      let reds = Bicycle.read().filter(Bicycle.color == "red").orderBy(Bicycle.id, .desc)
      #expect(reds.sql == all + #" WHERE "color" = ? ORDER BY "id" DESC"#)
      #expect(try reds.run(db).map(\.name) == ["Giant", "Norco"])
      #expect(reds.first().sql == reds.sql + " LIMIT ?")
      #expect(reds.first().bindings == [.text("red"), .integer(1)])
      #expect(try reds.first().run(db)?.name == "Giant")
      #expect(try reds.limit(0).first().run(db) == nil)
      #expect(Bicycle.byId(2).sql == all + #" WHERE "id" = ? LIMIT ?"#)
      #expect(Bicycle.byId(2).bindings == [.integer(2), .integer(1)])
      #expect(try Bicycle.byId(2).run(db)?.name == "Trek")
      #expect(try Bicycle.byId(99).run(db) == nil)
      #expect(Bicycle.read().limit(2).sql == all + " LIMIT ?")
      #expect(Bicycle.read().offset(2).sql == all + " LIMIT ? OFFSET ?")
      #expect(Bicycle.read().offset(2).bindings == [.integer(-1), .integer(2)])
      let ordered = Bicycle.read().orderBy(Bicycle.id)
      #expect(try ordered.offset(2).run(db).map(\.id) == [3, 4])
      #expect(try ordered.limit(2, offset: 1).run(db).map(\.id) == [2, 3])
      let nobody = Bicycle.read().filter(Bicycle.ownerId.in([Int]())).orderBy(Bicycle.ownerId.in([Int]()))
      #expect(try nobody.run(db).isEmpty)
    }
  }

  @Test func countsAndExistsHaveTheExpectedSQLAndResult() throws {
    try withBikes { db throws in
      #expect(Bicycle.count().sql == #"SELECT count(*) FROM "bicycle""#)
      #expect(try Bicycle.count().run(db) == 4)
      let some = Bicycle.count().filter(Bicycle.ownerId.isNotNull)
      #expect(some.sql == #"SELECT count(*) FROM "bicycle" WHERE "owner_id" IS NOT NULL"#)
      #expect(try some.run(db) == 3)
      #expect(
        some.limit(2).sql == #"SELECT count(*) FROM (SELECT 1 FROM "bicycle" WHERE "owner_id" IS NOT NULL LIMIT ?)"#)
      #expect(try some.limit(2).run(db) == 2)
      #expect(try some.offset(2).run(db) == 1)
      let exists = Bicycle.exists().filter(Bicycle.color == "pink")
      #expect(exists.sql == #"SELECT EXISTS (SELECT 1 FROM "bicycle" WHERE "color" = ?)"#)
      #expect(try exists.run(db) == false)
      #expect(try Bicycle.exists().run(db))
      #expect(try Bicycle.exists().offset(4).run(db) == false)
    }
  }

  @Test func insertsReturnTheNewIds() throws {
    try withBikes { db throws in
      let bike = Bicycle(name: "Scott", color: "white")
      #expect(bike.insert().bindings == [.text("Scott"), .text("white")])
      #expect(try bike.insert().run(db) == 5)
      let withId = Bicycle(id: 40, name: "BMC", color: "white").insert()
      #expect(withId.sql == #"INSERT INTO "bicycle" ("id", "name", "color") VALUES (?, ?, ?)"#)
      #expect(try withId.run(db) == 40)
      let chosen = Bicycle(id: 50, name: "Haibike", color: "ignored").insert(Bicycle.name)
      #expect(chosen.sql == #"INSERT INTO "bicycle" ("name") VALUES (?)"#)
      #expect(chosen.bindings == [.text("Haibike")])
      #expect(try chosen.run(db) == 41)
      #expect(try Bicycle.byId(41).run(db)?.color == "black")
      let batch = Bicycle.insert([Bicycle(name: "a", color: "b"), Bicycle(id: 60, name: "c", color: "d")])
      #expect(batch.sql == #"INSERT INTO "bicycle" ("name", "color") VALUES (?, ?)"#)
      #expect(try batch.run(db) == [42, 60])
      #expect(try Bicycle.insert([]).run(db) == [])
    }
  }

  @Test func conflictingInsertsFollowTheirPolicy() throws {
    try withBikes { db throws in
      let again = Bicycle(name: "Norco", color: "red", ownerId: 2)
      let columns = #"("name", "color", "owner_id") VALUES (?, ?, ?)"#
      #expect(sqlError { try again.insert().run(db) }?.kind == .constraint(.unique))
      #expect(again.insert().ignoreOnConflict().sql == #"INSERT OR IGNORE INTO "bicycle" "# + columns)
      #expect(try again.insert().ignoreOnConflict().run(db) == 0)
      #expect(again.insert().onConflict(.abort).sql == again.insert().sql)
      let upsert = again.insert().onConflict(Bicycle.name, Bicycle.color, update: Bicycle.ownerId)
      #expect(
        upsert.sql == #"INSERT INTO "bicycle" \#(columns) ON CONFLICT ("name", "color") DO UPDATE "#
          + #"SET "owner_id" = excluded."owner_id""# + SQLiteLibrary.returningId)
      #expect(try upsert.run(db) == 1)
      #expect(try rows(db)[0] == "1 Norco red 2")
      let nothing = Bicycle(name: "Trek", color: "blue").insert().onConflict(Bicycle.name, Bicycle.color)
      #expect(nothing.sql.hasSuffix(#" ON CONFLICT ("name", "color") DO NOTHING"# + SQLiteLibrary.returningId))
      #expect(try nothing.run(db) == 0)
      #expect(try Bicycle(name: "Trek", color: "x").insert().onConflict(Bicycle.name, Bicycle.color).run(db) > 4)
      #expect(again.insert().replaceOnConflict().sql == #"INSERT OR REPLACE INTO "bicycle" "# + columns)
      let replaced = try again.insert().replaceOnConflict().run(db)
      #expect(replaced > 5)
      #expect(try Bicycle.byId(1).run(db) == nil)
      #expect(try Bicycle.byId(replaced).run(db)?.ownerId == 2)
      let mixed = try Bicycle.insert([again, Bicycle(name: "new", color: "n")]).ignoreOnConflict().run(db)
      try #require(mixed.count == 2)
      #expect(mixed[0] == 0)
      #expect(mixed[1] > replaced)
    }
  }

  @Test func savesInsertOrUpdateByKey() throws {
    try withBikes { db throws in
      let new = Bicycle(name: "Scott", color: "white")
      #expect(
        new.save().sql == #"INSERT INTO "bicycle" ("name", "color") VALUES (?, ?) ON CONFLICT ("id") DO UPDATE SET "#
          + #""name" = excluded."name", "color" = excluded."color""# + SQLiteLibrary.returningId)
      #expect(try new.save().run(db) == 5)
      // The save leaves the owner out, so the stored owner stays.
      #expect(try Bicycle(id: 1, name: "Norco 2", color: "red").save().run(db) == 1)
      #expect(try Bicycle(id: 77, name: "BMC", color: "red").save().run(db) == 77)
      #expect(try rows(db).first == "1 Norco 2 red 1")
      #expect(try rows(db).last == "77 BMC red -")
      #expect(try Bicycle.count().run(db) == 6)
    }
  }

  @Test func updatesChangeTheSelectedRows() throws {
    try withBikes { db throws in
      let bike = Bicycle(id: 1, name: "Norco", color: "pink")
      #expect(bike.update().bindings == [.text("Norco"), .text("pink"), .integer(1)])
      #expect(try bike.update().run(db) == 1)
      #expect(try rows(db)[0] == "1 Norco pink 1")
      let chosen = bike.update(Bicycle.ownerId)
      #expect(chosen.sql == #"UPDATE "bicycle" SET "owner_id" = ? WHERE "id" = ?"#)
      #expect(chosen.bindings == [.null, .integer(1)])
      #expect(try chosen.run(db) == 1)
      #expect(try rows(db)[0] == "1 Norco pink -")
      #expect(try Bicycle(id: 99, name: "x", color: "y").update().run(db) == 0)
      let guarded = bike.update(Bicycle.name).filter(Bicycle.color == "red" || Bicycle.color == "blue")
      #expect(guarded.sql == #"UPDATE "bicycle" SET "name" = ? WHERE "id" = ? AND ("color" = ? OR "color" = ?)"#)
      #expect(try guarded.run(db) == 0)
      let many = Bicycle.update(
        Bicycle.color.set(to: "x"), Bicycle.name.set(to: Bicycle.name.concatenated("!")),
        Bicycle.ownerId.set(to: nil)
      ).filter(Bicycle.id > 2)
      #expect(many.sql == #"UPDATE "bicycle" SET "color" = ?, "name" = "name" || ?, "owner_id" = ? WHERE "id" > ?"#)
      #expect(many.bindings == [.text("x"), .text("!"), .null, .integer(2)])
      #expect(try many.run(db) == 2)
      #expect(try rows(db)[2...] == ["3 Giant! x -", "4 Cube! x -"])
      let clash = Bicycle.updateAll(Bicycle.name.set(to: "same"), Bicycle.color.set(to: "same"))
      #expect(sqlError { try clash.run(db) }?.kind == .constraint(.unique))
      #expect(clash.ignoreOnConflict().sql == #"UPDATE OR IGNORE "bicycle" SET "name" = ?, "color" = ?"#)
      #expect(try clash.ignoreOnConflict().run(db) == 1)
      #expect(try clash.replaceOnConflict().run(db) >= 1)
      #expect(try Bicycle.count().run(db) == 1)
    }
  }

  @Test func deletesRemoveTheSelectedRows() throws {
    try withBikes { db throws in
      let bike = Bicycle(id: 2, name: "", color: "")
      #expect(bike.delete().bindings == [.integer(2)])
      #expect(try bike.delete().run(db) == 1)
      #expect(try bike.delete().run(db) == 0)
      let limited = Bicycle.delete(Bicycle.color == "red").orderBy(Bicycle.name).limit(1)
      #expect(
        limited.sql == #"DELETE FROM "bicycle" WHERE "id" IN "#
          + #"(SELECT "id" FROM "bicycle" WHERE "color" = ? ORDER BY "name" LIMIT ?)"#)
      #expect(try limited.run(db) == 1)
      #expect(try rows(db) == ["1 Norco red 1", "4 Cube green 2"])
      // The foreign key changes the owner's bicycles, which SQLite does not count.
      #expect(try Person.delete(Person.id == 1).run(db) == 1)
      #expect(try rows(db)[0] == "1 Norco red -")
      #expect(try Bicycle.deleteAll().run(db) == 2)
    }
  }
}
