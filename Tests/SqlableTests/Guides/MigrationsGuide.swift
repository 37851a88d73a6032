import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// The examples of Docs/Migrations.md.
@Suite struct MigrationsGuide {
  @Test func serviceVerifiesItsSchemaAtTheStart() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      let migrations = Migrations([
        Migration("tables") { db in try db.createTables(Person.self, Bicycle.self) }
      ])
      try migrations.apply(db)
      try Schema(Person.self, Bicycle.self).verify(db)
    }
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Person.self)
      try db.execute(
        """
        CREATE TABLE bicycle
          (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, color BLOB NOT NULL DEFAULT 'black',
          owner_id INTEGER REFERENCES person (id) ON DELETE SET NULL, weight REAL, UNIQUE (name, color));
        CREATE INDEX bicycle_color ON bicycle (color)
        """)
      let lines = try Schema(Bicycle.self).differences(db).map(\.description)
      #expect(
        lines == ["bicycle.color: the type is BLOB, and should be TEXT", "bicycle.weight: the column is not expected"])
      func report() throws {
        for difference in try Schema(Bicycle.self).differences(db) { print(difference) }
        // bicycle.color: the type is BLOB, and should be TEXT
        // bicycle.weight: the column is not expected
      }
      #expect(throws: Never.self) { try report() }
    }
  }

  @Test func migrationChangesATableWithoutAModel() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Person.self)
      try Person.insert([Person(id: 1, name: "Ann Smith"), Person(id: 2, name: "")]).run(db)
      let names = Migration("first names") { db in
        let people = try db.table("person")
        for var person in try people.read().run(db) {
          let name = try person.get("name", as: String.self)
          person.set("name", name.split(separator: " ").first.map(String.init) ?? "")
          try people.update(person).run(db)
        }
      }
      try Migrations([names]).apply(db)
      let people = Table("person", "id", "name")
      let old = try people.read(people["name"] == "").limit(10).run(db)  // [TableRow]
      try people.update(people["name"].set(to: "unknown")).filter(people["name"] == "").run(db)
      try people.insert(["name": "Ann"]).run(db)
      #expect(old == [["id": 2, "name": ""]])
      #expect(
        people.read(people["name"] == "").limit(10).sql
          == #"SELECT "id", "name" FROM "person" WHERE "name" = ? LIMIT ?"#)
      #expect(
        people.update(people["name"].set(to: "unknown")).filter(people["name"] == "").sql
          == #"UPDATE "person" SET "name" = ? WHERE "name" = ?"#)
      #expect(people.insert(["name": "Ann"]).sql == #"INSERT INTO "person" ("name") VALUES (?)"#)
      #expect(try Person.read().orderBy(Person.id).run(db).map(\.name) == ["Ann", "unknown", "Ann"])
    }
  }

  @Test func planRenamesAColumnAndKeepsItsRows() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.execute(
        "CREATE TABLE bicycle (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, colour TEXT NOT NULL)")
      try db.execute("INSERT INTO bicycle VALUES (1, 'Norco', 'red')")
      let schema = Schema(Person.self, Bicycle.self)
      let plan = try schema.plan(db, renamed: ["bicycle.colour": "color"])
      print(plan)
      try plan.apply(db)
      try schema.verify(db)
      #expect(try Bicycle.read().run(db).map(\.color) == ["red"])
    }
  }

  @Test func migrationsRunInOrder() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      let migrations = Migrations([
        Migration(
          "bicycles",
          sql: """
            CREATE TABLE person (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL);
            CREATE TABLE bicycle (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
              colour TEXT NOT NULL DEFAULT 'black', owner_id INTEGER REFERENCES person (id) ON DELETE SET NULL,
              UNIQUE (name, colour))
            """),
        Migration(
          "color",
          sql: "ALTER TABLE bicycle RENAME COLUMN colour TO color; CREATE INDEX bicycle_color ON bicycle (color)"),
        Migration("lower case") { db in
          try db.execute("UPDATE bicycle SET color = lower(color)")
        },
      ])
      try migrations.apply(db)
      try Bicycle(name: "Norco", color: "red").insert().run(db)
      let backfill = Migration(batches: "lower names") { db, last in
        let ids = try db.query("SELECT id FROM bicycle WHERE id > \(last ?? 0) ORDER BY id LIMIT 1000", as: Int.self)
        guard let end = ids.last else { return nil }
        try db.execute("UPDATE bicycle SET name = lower(name) WHERE id > \(last ?? 0) AND id <= \(end)")
        return end
      }
      let all = migrations.all + [backfill]
      #expect(try Migrations(all).apply(db) == ["lower names"])
      #expect(try Bicycle.read().run(db).map(\.name) == ["norco"])
      try Migrations(all, fresh: Schema(Person.self, Bicycle.self)).checkFreshSchema()
      try migrations.checkPastVersions { db, version in
        if version == "bicycles" { try db.execute("INSERT INTO bicycle (name, colour) VALUES ('Norco', 'Red')") }
      } checking: { db, version in
        let colors = try Bicycle.read().run(db).map(\.color)
        #expect(colors == (version == "bicycles" ? ["red"] : []))
      }
      let old = try SqliteDatabase.inMemory()
      try Migrations([migrations.all[0]]).apply(old)
      try old.execute("INSERT INTO bicycle (name, colour) VALUES ('Norco', 'Red')")
      let fixture = try old.dump()
      try migrations.checkPastVersions(dumps: ["release 1": fixture]) { db, version in
        let bikes = try Bicycle.count().run(db)
        #expect(bikes == 1)
      }
      let saved = ["all": try AnyStatement(Bicycle.read())]
      func report() throws {
        for (name, error) in try migrations.broken(saved, in: db) { print(name, error) }
      }
      #expect(try Migrations(all).broken(saved, in: db).isEmpty)
      func read() throws -> Migrations {
        let files = try Migrations(directory: "Migrations")
        return files
      }
      #expect(sqlError { _ = try read() }?.message == "can't read the directory of the migrations: Migrations")
      let columns = try db.schema()[table: "bicycle"]?.columns.map(\.name)
      #expect(columns == ["id", "name", "color", "owner_id"])
    }
  }
}
