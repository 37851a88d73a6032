import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// Tests that migrations run once each, in order, and report mismatches.
@Suite struct MigrationTests {
  private let first = BicycleMigrations.first
  private let second = BicycleMigrations.second
  private let third = BicycleMigrations.third
  private let all = BicycleMigrations.all

  private func records(_ db: SqliteDatabase) throws -> [String] {
    try db.query("SELECT name FROM sqlable_migration ORDER BY position", as: String.self)
  }

  @Test func eachMigrationRunsOnceInItsOrder() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      #expect(try Migrations(all).status(db) == .pending(["bicycles", "color", "the rest"]))
      #expect(try !db.tableExists("sqlable_migration"))
      #expect(try Migrations([first]).apply(db) == ["bicycles"])
      try db.execute("INSERT INTO bicycle (name, colour) VALUES ('x', 'Red')")
      var begun: [String] = []
      #expect(try Migrations(all).apply(db) { begun.append($0.name) } == ["color", "the rest"])
      #expect(begun == ["color", "the rest"])
      #expect(try Migrations(all).apply(db) == [])
      #expect(try Migrations(all).status(db) == .current)
      #expect(try Bicycle.read().run(db).map(\.color) == ["Red"])
      try Schema(Person.self, Bicycle.self).verify(db)
      #expect(try records(db) == ["bicycles", "color", "the rest"])
    }
  }

  @Test func aMigrationThatFailsIsUndoneAndThoseBeforeItStay() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      let wrong = Migration("wrong", sql: "ALTER TABLE bicycle ADD COLUMN more TEXT; UPDATE unknown SET x = 1")
      let error = sqlError { try Migrations([first, wrong]).apply(db) }
      #expect(error?.message == "migration wrong: no such table: unknown", "\(String(describing: error))")
      #expect(try records(db) == ["bicycles"])
      #expect(try db.schema()[table: "bicycle"]?.columns.map(\.name) == ["id", "name", "colour"])
      #expect(try Migrations(all).apply(db) == ["color", "the rest"])
    }
  }

  @Test func columnOfThisReleaseInANewFileIsExplained() throws {
    try withDatabase { db in
      let color = Migration("color", sql: "ALTER TABLE bicycle ADD COLUMN color TEXT")
      let tables = Migration("tables") { db in try db.createTables(Person.self, Bicycle.self) }
      let error = sqlError { try Migrations([tables, color]).apply(db) }
      #expect(
        error?.message == """
          migration color: duplicate column name: color; createTable and plans use the models of this release; \
          if migration tables calls createTable or applies a plan, write the migration as SQL, or create new files \
          with `fresh:`
          """)
      let other = Migration("color", sql: "ALTER TABLE bicycle ADD COLUMN id TEXT")
      let plain = Migration("tables", sql: "CREATE TABLE bicycle (id INTEGER)")
      let file = try SqliteDatabase.inMemory()
      let duplicate = sqlError { try Migrations([plain, other]).apply(file) }
      #expect(duplicate?.message == "migration color: duplicate column name: id")
    }
  }

  @Test func migrationsInATransactionAreUndoneWithIt() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try Migrations([first]).apply(db)
      struct Stop: Error {}
      #expect(throws: Stop.self) {
        try db.transaction { db in
          let run = try Migrations(all).apply(db)
          #expect(run == ["color", "the rest"])
          throw Stop()
        }
      }
      #expect(try Migrations(all).status(db) == .pending(["color", "the rest"]))
      #expect(try db.schema()[table: "bicycle"]?.columns.map(\.name) == ["id", "name", "colour"])
    }
  }

  private func error(of migrations: Migrations, _ db: SqliteDatabase) -> String? {
    sqlError { _ = try migrations.apply(db) }?.message
  }

  @Test func aChangedMissingOrNewerMigrationIsRefused() throws {
    let changed = Migrations([first, Migration("color", sql: "ALTER TABLE bicycle RENAME colour TO color"), third])
    let (missing, older, twice) = (
      Migrations([second, third]), Migrations([first, second]), Migrations([first, first])
    )
    let current = Migrations(all)
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try current.apply(db)
      #expect(
        error(of: changed, db)
          == "migration color was changed after the database had run it; undo the change, and add a new migration")
      #expect(
        error(of: missing, db)
          == "expected migration bicycles, which the database has run, but the program has migration color at this "
          + "position; keep the order of old migrations, and append new migrations"
      )
      #expect(
        error(of: older, db)
          == "the database has run migration the rest, which this program does not have; deploy the newer program, or "
          + "restore a backup"
      )
      #expect(try older.status(db) == .newer(["the rest"]))
      #expect(error(of: twice, db) == "two migrations are named bicycles")
    }
  }

  @Test func migrationsOfDifferentRevisionsDiffer() {
    let revisions = (1...2).map { Migration("x", revision: $0) { _ in }.checksum }
    #expect(first.checksum != second.checksum)
    #expect(revisions[0] != revisions[1])
  }

  private let owners = Migration(
    "owners",
    sql: """
      CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT);
      CREATE TABLE pet (id INTEGER PRIMARY KEY, owner_id INTEGER NOT NULL REFERENCES owner (id) ON DELETE CASCADE);
      INSERT INTO owner VALUES (1, 'Ann'), (2, NULL);
      INSERT INTO pet VALUES (1, 1), (2, 2)
      """)

  @Test func recreatedTableKeepsTheRowsThatReferenceIt() throws {
    let rebuild = Migration(
      "names",
      sql: """
        CREATE TABLE new_owner (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        INSERT INTO new_owner SELECT id, ifnull(name, '') FROM owner;
        DROP TABLE owner;
        ALTER TABLE new_owner RENAME TO owner
        """)
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      #expect(try Migrations([owners, rebuild]).apply(db) == ["owners", "names"])
      #expect(try db.query("SELECT owner_id FROM pet ORDER BY id", as: Int.self) == [1, 2])
      #expect(sqlError { try db.execute("INSERT INTO pet VALUES (3, 3)") }?.kind == .constraint(.foreignKey))
      try db.execute("DELETE FROM owner WHERE id = 2")
      #expect(try db.query("SELECT id FROM pet", as: Int.self) == [1])
    }
  }

  @Test func aMigrationThatLeavesRowsWithoutTheirParentIsUndone() throws {
    let deletion = Migration("nameless", sql: "DELETE FROM owner WHERE name IS NULL")
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      let error = sqlError { try Migrations([owners, deletion]).apply(db) }
      #expect(error?.kind == .constraint(.foreignKey))
      #expect(error?.table == "pet")
      #expect(error?.rowId == 2)
      #expect(
        error?.message == "migration nameless: rows of pet reference missing rows of owner; affected row ids include 2")
      #expect(try db.query("SELECT count(*) FROM owner", as: Int.self) == [2])
      #expect(try records(db) == ["owners"])
      #expect(sqlError { try db.execute("INSERT INTO pet VALUES (3, 3)") }?.kind == .constraint(.foreignKey))
    }
  }

  @Test func batchesResumeWhereTheyStopped() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try Migrations([first]).apply(db)
      try db.execute(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25) "
          + "INSERT INTO bicycle (name) SELECT i FROM n"
      )
      struct Stopped: Error {}
      func backfill(stoppingAfter id: Int) -> Migration {
        Migration(batches: "names") { db, last in
          if let last, last >= id { throw Stopped() }
          let ids = try db.query("SELECT id FROM bicycle WHERE id > \(last ?? 0) ORDER BY id LIMIT 10", as: Int.self)
          guard let end = ids.last else { return nil }
          try db.execute("UPDATE bicycle SET name = name || '!' WHERE id > \(last ?? 0) AND id <= \(end)")
          return end
        }
      }
      #expect(throws: Stopped.self) { try Migrations([first, backfill(stoppingAfter: 20)]).apply(db) }
      #expect(try Migrations([first, backfill(stoppingAfter: 99)]).status(db) == .pending(["names"]))
      var batches: [Int] = []
      #expect(try Migrations([first, backfill(stoppingAfter: 99)]).apply(db) { batches.append($0.batch) } == ["names"])
      #expect(batches == [0, 1])
      #expect(try db.query("SELECT name FROM bicycle ORDER BY id", as: String.self) == (1...25).map { "\($0)!" })
    }
  }

  @Test func newFileGetsTheFreshSchemaWithoutMigrating() throws {
    let migrations = Migrations(all, fresh: Schema(Person.self, Bicycle.self))
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      #expect(try migrations.apply(db) == [])
      #expect(try migrations.status(db) == .current)
      #expect(try records(db).count == 3)
      try Schema(Person.self, Bicycle.self).verify(db)
    }
    try migrations.checkFreshSchema()
    let other = Migrations(all) { db in try db.createTables(Person.self) }
    #expect(
      sqlError { try other.checkFreshSchema() }?.message.hasPrefix(
        "`fresh` and the migrations create different schemas: bicycle: the table is missing") == true)
    let filled = Migrations(
      all + [Migration("row", sql: "INSERT INTO person (name) VALUES ('Ann')")],
      fresh: Schema(Person.self, Bicycle.self))
    #expect(
      sqlError { try filled.checkFreshSchema() }?.message
        == "`fresh` and the migrations store different rows in table person")
  }

  @Test func statementsRunAsMigrations() throws {
    let red = try Migration("red", AnyStatement(Bicycle.updateAll(Bicycle.color.set(to: "red"))))
    let blue = try Migration("red", AnyStatement(Bicycle.updateAll(Bicycle.color.set(to: "blue"))))
    #expect(red.checksum != blue.checksum)
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try Migrations(all).apply(db)
      try Bicycle(name: "x", color: "black").insert().run(db)
      try Migrations(all + [red]).apply(db)
      #expect(try Bicycle.read().run(db).map(\.color) == ["red"])
    }
  }

  @Test func statementsThatTheMigrationsBreakAreListed() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try Migrations(all).apply(db)
      let saved = [
        "by color": try AnyStatement(Bicycle.read().filter(Bicycle.color == "red")),
        "persons": try AnyStatement(Person.read()),
      ]
      let next = Migrations(
        all + [Migration("no color", sql: "DROP INDEX bicycle_color; ALTER TABLE bicycle RENAME COLUMN color TO paint")]
      )
      let broken = try next.broken(saved, in: db)
      #expect(broken.keys.sorted() == ["by color"])
      #expect(broken["by color"]?.message.contains("color") == true)
      #expect(try Migrations(all).broken(saved, in: db).isEmpty)
      #expect(try db.schema()[table: "bicycle"]?[column: "paint"] == nil)
    }
  }

  @Test func threadsThatStartAtOnceRunEachMigrationOnce() throws {
    try withDirectory { directory in
      let path = directory + "/once.sqlite"
      let count = Mutex(0)
      let counted = Migration("counted") { db in
        count.withLock { $0 += 1 }
        try db.execute("CREATE TABLE counted (a)")
      }
      let migrations = Migrations([first, counted, second])
      onThreads(4) { _ in
        #expect(throws: Never.self) {
          let db = try SqliteDatabase(filepath: path, configuration: .init(busyTimeout: 600))
          try migrations.apply(db)
          try db.close()
        }
      }
      #expect(count.withLock { $0 } == 1)
    }
  }

  @Test func poolMigratesWhileItsReadersRun() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite", configuration: .init(waitTimeout: nil))
      let migrations = Migrations(all)
      #expect(try await migrations.apply(pool).count == 3)
      try await Bicycle(name: "x", color: "red").insert().run(pool)
      #expect(try await Bicycle.read().run(pool).count == 1)
      try await pool.close()
    }
  }
}
