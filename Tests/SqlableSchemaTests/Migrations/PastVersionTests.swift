import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Tests that every past version of a database migrates to the current schema.
@Suite struct PastVersionTests {
  private let all = [
    Migration(
      "bicycles", sql: "CREATE TABLE bicycle (id INTEGER PRIMARY KEY, name TEXT NOT NULL, colour TEXT, owner TEXT)"),
    Migration("color", sql: "ALTER TABLE bicycle RENAME COLUMN colour TO color"),
    Migration("owners") { db in
      try db.execute(
        """
        CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
        INSERT INTO owner (name) SELECT DISTINCT owner FROM bicycle WHERE owner IS NOT NULL;
        ALTER TABLE bicycle ADD COLUMN owner_id INTEGER REFERENCES owner (id);
        UPDATE bicycle SET owner_id = (SELECT id FROM owner WHERE owner.name = bicycle.owner)
        """)
    },
  ]

  @Test func rowsOfEveryPastVersionSurvive() throws {
    var seen: [String: [String]] = [:]
    try Migrations(all).checkPastVersions { db, name in
      if name == "bicycles" { try db.execute("INSERT INTO bicycle VALUES (1, 'Racer', 'red', 'Ann')") }
      if name == "color" { try db.execute("INSERT INTO bicycle VALUES (1, 'Cargo', 'blue', NULL)") }
    } checking: { db, name in
      seen[name] = try db.query(
        "SELECT color || ' ' || coalesce(owner.name, '-') FROM bicycle LEFT JOIN owner ON owner_id = owner.id",
        as: String.self)
    }
    #expect(seen == ["bicycles": ["red Ann"], "color": ["blue -"], "owners": []])
  }

  @Test func aVersionThatBecomesAnotherSchemaIsNamed() {
    let uneven = Migration("uneven") { db in
      if try db.query("SELECT count(*) FROM bicycle", as: Int.self) == [0] { try db.execute("CREATE TABLE late (a)") }
    }
    let error = sqlError {
      try Migrations(all + [uneven]).checkPastVersions { db, name in
        if name == "color" { try db.execute("INSERT INTO bicycle (name) VALUES ('x')") }
      }
    }
    #expect(
      error?.message.hasPrefix(
        "the migrations leave problems in a database of version color: late: the table is missing")
        == true,
      "\(String(describing: error))")
    let orphan = Migration("orphan", sql: "PRAGMA defer_foreign_keys = ON")
    let broken = sqlError {
      try Migrations(all + [orphan]).checkPastVersions { db, name in
        guard name == "owners" else { return }
        try db.execute("PRAGMA foreign_keys = OFF; INSERT INTO bicycle (name, owner_id) VALUES ('x', 5)")
      }
    }
    #expect(
      broken?.message == "the migrations leave problems in a database of version owners: "
        + "a row of bicycle references a missing row of owner", "\(String(describing: broken))")
  }

  @Test func dumpsOfPastReleasesAreReplayed() throws {
    let old = try SqliteDatabase.inMemory()
    try Migrations([all[0]]).apply(old)
    try old.execute("INSERT INTO bicycle VALUES (1, 'Racer', 'red', 'Ann'), (2, 'Cargo', 'blue', 'Ann')")
    let dump = try old.dump()
    var names: [String] = []
    try Migrations(all).checkPastVersions(dumps: ["release 1": dump]) {
      (db: SqliteDatabase, name: String) throws -> Void in
      names.append(name)
      #expect(try db.query("SELECT name FROM owner", as: String.self) == ["Ann"])
    }
    #expect(names == ["release 1"])
    let unknown = dump.replacing("'bicycles'", with: "'others'")
    #expect(
      sqlError { try Migrations(all).checkPastVersions(dumps: ["x": unknown]) }?.message.hasPrefix(
        "expected migration others, which the database has run, but the program has migration bicycles") == true)
  }

  @Test func sqlFilesRunAsMigrations() throws {
    try withDirectory { directory in
      for (name, text) in [
        ("010-more.sql", "ALTER TABLE a ADD COLUMN b"), ("001-a.sql", "CREATE TABLE a (id)"), ("README.md", "no SQL"),
      ] { try text.write(toFile: "\(directory)/\(name)", atomically: true, encoding: .utf8) }
      let migrations = try Migrations(directory: directory)
      #expect(migrations.all.map(\.name) == ["001-a", "010-more"])
      #expect(migrations.all[0].checksum == Migration("x", sql: "CREATE TABLE a (id)").checksum)
      let db = try SqliteDatabase.inMemory()
      #expect(try migrations.apply(db) == ["001-a", "010-more"])
      #expect(try db.schema()[table: "a"]?.columns.map(\.name) == ["id", "b"])
      try Data([0xff]).write(to: URL(fileURLWithPath: directory + "/020-bad.sql"))
      #expect(sqlError { _ = try Migrations(directory: directory) }?.kind == .cannotOpen)
      #expect(sqlError { _ = try Migrations(directory: directory + "/none") }?.kind == .cannotOpen)
    }
  }
}
