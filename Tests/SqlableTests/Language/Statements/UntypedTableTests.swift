import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// Statements on tables without a model: their SQL, bound values and checked names.
@Suite struct UntypedTableTests {
  private let people = Table("old person", "id", "full name", "born")

  private func withPeople(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.execute(
        """
        CREATE TABLE "old person" (id INTEGER PRIMARY KEY, "full name" TEXT NOT NULL DEFAULT 'nobody', born REAL, extra)
        """)
      try db.execute(#"INSERT INTO "old person" VALUES (1, 'Ann', 10.5, x'00'), (2, 'Bob', NULL, 'x')"#)
      try body(db)
    }
  }

  @Test func readsReturnTheNamedColumns() throws {
    try withPeople { (db: SqliteDatabase) throws -> Void in
      let read = people.read(people["born"] > 5).orderBy(people["full name"], .desc).limit(3)
      #expect(
        read.sql == #"""
          SELECT "id", "full name", "born" FROM "old person" WHERE "born" > ? ORDER BY "full name" DESC LIMIT ?
          """#)
      #expect(try read.run(db).map(\.description) == ["id: 1, full name: Ann, born: 10.5"])
      #expect(try read.run(db) == [["id": 1, "full name": "Ann", "born": 10.5]])
      let row = try people.read(people["born"].isNull).first().run(db)
      #expect(try row?.get("id", as: Int.self) == 2)
      #expect(try row?.get("born", as: Double?.self) == nil)
      #expect(row?["full name"] == .text("Bob"))
      #expect(row?["extra"] == nil)
      #expect(sqlError { _ = try row?.get("extra", as: Int.self) }?.kind == .schema(.missingColumn("extra")))
      #expect(try people.count().run(db) == 2)
      #expect(try people.count(people["id"] == 2).run(db) == 1)
      #expect(try people.exists().run(db))
      #expect(try !people.exists(people["full name"] == "Eve").run(db))
      #expect(try people.select(people["id"].max()).run(db).map(\.values) == [[.integer(2)]])
      #expect(try people.select(people["id"].typed(as: Int.self)).orderBy(people["id"]).run(db) == [1, 2])
      #expect(try Table("old person").count().run(db) == 2)
    }
  }

  @Test func changesNameTheirColumns() throws {
    try withPeople { (db: SqliteDatabase) throws -> Void in
      let insert = people.insert(["full name": "Cid", "born": nil])
      #expect(insert.sql == #"INSERT INTO "old person" ("full name", "born") VALUES (?, ?)"#)
      #expect(try insert.run(db) == 3)
      #expect(try people.insert([:]).run(db) == 4)
      #expect(try people.insert([["id": 9], ["born": 1, "full name": "Dee"]]).run(db) == [9, 10])
      #expect(try people.insert().run(db, streaming: [["full name": "Eve"] as TableRow]) == 1)
      let update = people.update(people["born"].set(to: people["id"] * 2)).filter(people["born"].isNull)
      #expect(update.sql == #"UPDATE "old person" SET "born" = "id" * ? WHERE "born" IS NULL"#)
      #expect(try update.run(db) == 5)
      #expect(try people.delete(people["full name"] == "nobody").returning(people["id"]).run(db).count == 2)
      #expect(try people.updateAll(people["full name"].set(to: "x")).run(db) == 5)
      #expect(try people.delete().orderBy(people["id"]).limit(2).run(db) == 2)
      #expect(try people.read().orderBy(people["id"]).run(db).map { try $0.get("id", as: Int.self) } == [3, 10, 11])
      let upsert = people.insert(["id": 3, "full name": "again"])
        .onConflict(people["id"], update: people["full name"])
      try upsert.run(db)
      #expect(try people.read(people["id"] == 3).run(db).first?["full name"] == .text("again"))
      #expect(try people.deleteAll().run(db) == 3)
    }
  }

  @Test func aTableOfTheDatabaseHasAllColumnsAndItsKey() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.execute(
        """
        CREATE TABLE "A b" (n TEXT, "id" INTEGER PRIMARY KEY, twice AS (id * 2), "é" BLOB);
        CREATE TABLE pair (a TEXT, b INTEGER, c, PRIMARY KEY (b, a)) WITHOUT ROWID;
        CREATE VIEW seen AS SELECT n, twice AS t FROM "A b"
        """)
      let table = try db.table("a B")
      #expect(table.name == "A b")
      #expect(table.columns == ["n", "id", "twice", "é"])
      let id = try table.insert(["n": "x", "é": Data([1])]).run(db)
      var row = try #require(try table.byId(id).run(db))
      #expect(row.description == "n: x, id: 1, twice: 2, é: 1 bytes")
      row["n"] = .text("y")
      row.set("é", nil)
      #expect(try table.update(row).run(db) == 1)
      #expect(try table.read().run(db) == [["n": "y", "id": 1, "twice": 2, "é": nil]])
      row["id"] = nil
      #expect(try table.save(row).run(db) == 2)
      #expect(try table.count().run(db) == 2)
      #expect(try table.delete(["id": 1]).run(db) == 1)
      let pair = try db.table("pair")
      try pair.save(["a": "x", "b": 1, "c": 5]).run(db)
      try pair.save(["a": "x", "b": 1, "c": 6]).run(db)
      #expect(try pair.read().run(db).map(\.values) == [[.text("x"), .integer(1), .integer(6)]])
      #expect(try pair.delete().limit(5).run(db) == 1)
      #expect(try db.table("seen").read().run(db).map(\.values) == [[.text("y"), .integer(4)]])
      let missing = sqlError { _ = try db.table("none") }
      #expect(missing?.kind == .schema(.missingTable("none")))
      #expect(missing?.table == "none")
    }
  }

  @Test func valuesAreStoredAsTheyAre() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.execute("CREATE TABLE t (a, b INTEGER)")
      let t = Table("t", "a", "b")
      let id = UUID()
      let values: [any SqlValue] = [Int.min, 1.5, "é", Data([0, 1]), true, id, Date(timeIntervalSince1970: 0.5)]
      try t.insert(values.map { ["a": $0] }).run(db)
      let stored = try t.read().run(db).map { $0["a"] }
      #expect(try stored == values.map { try $0.databaseValue })
      for value in values { #expect(try t.count(t["a"] == value).run(db) == 1) }
      // SQLite applies the column's affinity.
      try t.update(t["b"].set(to: "7")).filter(t["a"] == "é").run(db)
      #expect(try t.read(t["b"] == "7").run(db).map { $0["b"] } == [.integer(7)])
      let wrong = sqlError { try t.insert(["a": Double.nan]).run(db) }
      #expect(wrong?.column == "a", "\(String(describing: wrong))")
      #expect(wrong?.table == "t", "\(String(describing: wrong))")
      #expect(try t.count().run(db) == values.count)
    }
  }

  @Test func missingTablesColumnsAndKeysThrow() throws {
    try withPeople { (db: SqliteDatabase) throws -> Void in
      expectError(.schema(.missingColumn("extra"))) { _ = try people.read(people["extra"] == 1).run(db) }
      expectError(.schema(.missingColumn("extra"))) { try people.insert(["extra": 1]).run(db) }
      expectError(.schema(.missingColumn("gone"))) { _ = try Table("old person", "gone").read().run(db) }
      expectError(.schema(.missingTable("none"))) { _ = try Table("none", "a").read().run(db) }
      expectMisuse { _ = try Table("old person").read().run(db) }
      expectMisuse { _ = try TableRow.read().run(db) }
      expectMisuse { _ = try people.byId(1).run(db) }
      expectMisuse { try people.update(["id": 1, "born": 2]).run(db) }
      expectMisuse { try people.delete().run(db) }
      expectMisuse { _ = try Table("t", "a", "A").read().run(db) }
      expectMisuse { _ = try Table("", "a").read().run(db) }
      expectMisuse { _ = try Table("t", "a\0").read().run(db) }
      #expect(try people.count().run(db) == 2)
    }
  }

  @Test func namesAreQuoted() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      for name in [#"x" (a); DROP TABLE t; --"#, "select", "a.b", "[x]", "'", "\"", "ü\u{308}", " "] {
        try db.execute("CREATE TABLE \(table: name) (\(table: name + "1") TEXT)")
        let table = Table(name, name + "1")
        try table.insert([:]).run(db)
        try table.updateAll(table[name + "1"].set(to: name)).run(db)
        #expect(try table.read(table[name + "1"] == name).run(db).map(\.columns) == [[name + "1"]])
        #expect(try db.table(name) == db.table(name))
        #expect(try db.table(name).columns == [name + "1"])
      }
    }
  }

  @Test func columnsBelongToTheirTables() throws {
    try withPeople { (db: SqliteDatabase) throws -> Void in
      try db.createTables(Person.self, Bicycle.self)
      try Person(id: 1, name: "Ann").insert().run(db)
      try Bicycle(name: "Trek", color: "red", ownerId: 1).insert().run(db)
      let bikes = Table("bicycle", "id", "owner_id")
      let joined = Bicycle.read().joining(people, on: people["id"] == Bicycle.ownerId)
      #expect(
        joined.sql == #"""
          SELECT "bicycle"."id", "bicycle"."name", "bicycle"."color", "bicycle"."owner_id" FROM "bicycle" JOIN \#
          "old person" ON "old person"."id" = "bicycle"."owner_id"
          """#)
      #expect(try joined.filter(people["full name"] == "Ann").run(db).map(\.name) == ["Trek"])
      let ids = bikes.select(bikes["id"], people["id"]).joining(people, on: people["id"] == bikes["owner_id"])
      #expect(try ids.run(db).map(\.values) == [[.integer(1), .integer(1)]])
      try people.insert(people["full name"], from: Person.select(Person.name)).run(db)
      #expect(try people.count(people["full name"] == "Ann").run(db) == 2)
      try db.execute(#"CREATE TABLE other AS SELECT * FROM "old person""#)
      #expect(try people.read().in("other").run(db).count == 3)
      try Bicycle.insert(
        Bicycle.name, Bicycle.color,
        from: people.select(people["full name"], people["id"].cast(to: String.self).expression)
      )
      .run(db)
      #expect(try Bicycle.count().run(db) == 4)
    }
  }

  @Test func untypedChangesNotifyObserversOfAModel() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTables(Person.self, Bicycle.self)
      let heard = Mutex<[Int]>([])
      db.observe(.insert, on: Bicycle.self) { (id: Int) in heard.withLock { $0.append(id) } }
      try Table("bicycle", "name").insert(["name": "x"]).run(db)
      #expect(heard.withLock { $0 } == [1])
    }
  }

  @Test func poolsAndMigrationsRunUntypedStatements() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite", configuration: .init(waitTimeout: nil))
      let migrations = Migrations([
        Migration("people", sql: "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT)"),
        try Migration("rows", AnyStatement(Table("person", "name").insert([["name": "Cid"]]))),
        Migration("first") { db in
          let person = try db.table("person")
          try person.insert([["name": "Ann"], ["name": "Bob"]]).run(db)
          for var row in try person.read().run(db) {
            try row.set("name", row.get("name", as: String.self).uppercased())
            try person.update(row).run(db)
          }
        },
      ])
      try await migrations.apply(pool)
      let person = try await pool.table("person")
      let names = try await person.read().orderBy(person["id"]).run(pool).map { $0["name"] }
      #expect(names == [.text("CID"), .text("ANN"), .text("BOB")])
      await #expect(throws: SqlError.self) { _ = try await pool.table("none") }
      try await pool.close()
    }
  }

  @Test func aModelDecodesAnUntypedStatement() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTables(Person.self, Bicycle.self)
      let bikes = Table("bicycle", "id", "name", "color", "owner_id")
      let read = bikes.read(bikes["color"] == "red").orderBy(bikes["id"])
      let data = try JSONEncoder().encode(read)
      let decoded = try JSONDecoder().decode(Statement<Bicycle, [Bicycle]>.self, from: data)
      #expect(decoded == Bicycle.read(Bicycle.color == "red").orderBy(Bicycle.id))
      expectMisuse { _ = try JSONDecoder().decode(Statement<TableRow, [TableRow]>.self, from: data) }
    }
  }

  @Test func theNumberOfUntypedTablesIsLimited() async throws {
    await #expect(processExitsWith: .success) {
      let db = try SqliteDatabase.inMemory()
      try db.execute("CREATE TABLE t (a)")
      for number in 0..<20_010 { _ = Table("t\(number)", "a") }
      #expect(throws: SqlError.self) { _ = try Table("t", "a").count().run(db) }
      try db.execute("CREATE TABLE t1 (a)")
      #expect(throws: Never.self) { _ = try Table("t1", "a").count().run(db) }
    }
  }
}
