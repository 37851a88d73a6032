import Foundation
import Sqlable
import Testing

@testable import SqlableTool

/// Tests of `sqlable verify`, `plan` and `migrate` on real files.
@Suite(.enabled(if: Program.tool.isAvailable, "the executable is not beside the tests"))
struct SchemaToolsTests {
  private func withFile(_ statements: String, _ body: (SqliteDatabase, String) throws -> Void) throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/garage.sqlite")
      try db.execute(statements)
      try body(db, directory)
    }
  }

  @Test func aDatabaseIsComparedWithAStoredSchemaOrAnother() throws {
    try withFile("CREATE TABLE a (id INTEGER PRIMARY KEY, b TEXT NOT NULL)") { db, directory in
      let schema = try Program.tool.run(["schema", "garage.sqlite", "--json"], in: directory)
      try schema.output.write(toFile: directory + "/expected.json", atomically: true, encoding: .utf8)
      let same = try Program.tool.run(["verify", "garage.sqlite", "expected.json"], in: directory)
      #expect(same.exitCode == 0)
      #expect(same.output == "")
      #expect(same.errors == "")
      try db.execute("CREATE TABLE other (x); CREATE INDEX a_b ON a (b)")
      let extra = try Program.tool.run(["verify", "garage.sqlite", "expected.json"], in: directory)
      #expect(extra.exitCode == 0)
      #expect(
        extra.output == "a: the index a_b is not expected (harmless)\nother: the table is not expected (harmless)\n")
      let shell = try SqliteDatabase(filepath: directory + "/other.sqlite")
      try shell.execute("CREATE TABLE a (id INTEGER PRIMARY KEY, b BLOB NOT NULL, c)")
      let another = try Program.tool.run(["verify", "garage.sqlite", "other.sqlite", "--json"], in: directory)
      let differences = try JSONDecoder().decode([SchemaDifference].self, from: Data(another.output.utf8))
      #expect(another.exitCode == 1)
      #expect(
        differences.map(\.description) == [
          "a.b: the type is TEXT, and should be BLOB", "a.c: the column is missing", "a: the index a_b is not expected",
          "other: the table is not expected",
        ])
      let wrong = try Program.tool.run(["verify", "garage.sqlite", "none.json"], in: directory)
      #expect(wrong.exitCode == 1)
      #expect(wrong.errors == "sqlable: none.json: can't read the file\n")
      #expect(try Program.tool.run(["verify", "garage.sqlite"], in: directory).exitCode == 2)
    }
  }

  @Test func aStoredPlanIsShownTriedAndApplied() throws {
    try withFile("CREATE TABLE person (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, age INTEGER)") {
      db, directory in
      try db.execute("INSERT INTO person (name) VALUES ('Ann')")
      let plan = try Schema(Person.self).plan(db, dropping: .columns)
      try JSONEncoder().encode(plan).write(to: URL(fileURLWithPath: directory + "/plan.json"))
      let shown = try Program.tool.run(["plan", "plan.json", "--database", "garage.sqlite"], in: directory)
      #expect(shown.exitCode == 0)
      #expect(shown.output == plan.description + "\n")
      let before = try db.dump()
      let refused = try Program.tool.run(["migrate", "garage.sqlite", "plan.json"], in: directory)
      #expect(
        refused.exitCode == 1)
      #expect(refused.errors.contains("the plan would lose data, which needs the permission .dataLoss"))
      let dry = try Program.tool.run(
        ["migrate", "garage.sqlite", "plan.json", "--dry-run", "--allow-data-loss"], in: directory)
      #expect(dry.exitCode == 0, "\(dry.errors)")
      #expect(dry.output.hasSuffix("the dry run succeeded; nothing was changed\n"), "\(dry.errors)")
      #expect(try db.dump() == before)
      let done = try Program.tool.run(["migrate", "garage.sqlite", "plan.json", "--allow-data-loss"], in: directory)
      #expect(done.exitCode == 0)
      #expect(done.output.hasSuffix("\ndone\n"))
      try Schema(Person.self).verify(db)
      #expect(try Person.read().run(db).map(\.name) == ["Ann"])
      let again = try Program.tool.run(["plan", "plan.json", "--database", "garage.sqlite"], in: directory)
      #expect(again.exitCode == 1)
      #expect(again.errors.contains("the schema has changed since the plan was made"))
    }
  }

  @Test func commandsThatChangeAFileKeepItsRollbackJournal() throws {
    try withDirectory { directory in
      func mode(_ file: String) throws -> UInt8 {
        try Data(contentsOf: URL(fileURLWithPath: directory + "/" + file))[18]
      }
      for (file, journal) in [("old.sqlite", Configuration.JournalMode.delete), ("new.sqlite", .wal)] {
        let db = try SqliteDatabase(
          filepath: directory + "/" + file, configuration: Configuration(journalMode: journal))
        try db.execute("CREATE TABLE a (b)")
        try db.close()
      }
      try FileManager.default.createDirectory(atPath: directory + "/all", withIntermediateDirectories: true)
      let sql = "INSERT INTO a VALUES (1)"
      try sql.write(toFile: directory + "/all/1.sql", atomically: true, encoding: .utf8)
      let commands = [
        ["migrate", "FILE", "all", "--dry-run"], ["migrate", "FILE", "all"], ["restore", "new.sqlite", "FILE"],
        ["restore", "old.sqlite", "FILE"],
      ]
      for command in commands {
        for (file, expected) in [("old.sqlite", UInt8(1)), ("new.sqlite", 2)] where command[1] != file {
          let result = try Program.tool.run(command.map { $0 == "FILE" ? file : $0 }, in: directory)
          let found = try mode(file)
          #expect(result.exitCode == 0, "\(command) \(file): \(found) \(result.errors)")
          #expect(found == expected, "\(command) \(file): \(found) \(result.errors)")
        }
      }
    }
  }

  @Test func migrationsThatAreFilesRunOnce() throws {
    try withDirectory { directory in
      try FileManager.default.createDirectory(atPath: directory + "/all", withIntermediateDirectories: true)
      func add(_ name: String, _ sql: String) throws {
        try sql.write(toFile: "\(directory)/all/\(name).sql", atomically: true, encoding: .utf8)
      }
      try add("1-a", "CREATE TABLE a (b)")
      try add("2-rows", "INSERT INTO a VALUES (1); INSERT INTO a VALUES (2)")
      let dry = try Program.tool.run(["migrate", "new.sqlite", "all", "--dry-run"], in: directory)
      #expect(dry.exitCode == 0)
      #expect(dry.output == "1-a\n2-rows\nthe dry run succeeded; nothing was changed\n")
      #expect(files(in: directory) == ["all"])
      #expect(try Program.tool.run(["migrate", "new.sqlite", "all"], in: directory).output == "1-a\n2-rows\ndone\n")
      try add("3-unique", "CREATE UNIQUE INDEX a_b ON a (b); UPDATE a SET b = 3")
      for options in [["--dry-run"], []] {
        let failed = try Program.tool.run(["migrate", "new.sqlite", "all"] + options, in: directory)
        #expect(failed.exitCode == 1)
        #expect(failed.output == "3-unique\n")
        #expect(failed.errors.contains("migration 3-unique: "), "\(failed.errors)")
      }
      let db = try SqliteDatabase(filepath: directory + "/new.sqlite")
      #expect(try db.query("SELECT b FROM a", as: Int.self) == [1, 2])
      #expect(try db.query("SELECT name FROM sqlable_migration", as: String.self) == ["1-a", "2-rows"])
      let gone = try Program.tool.run(["migrate", "new.sqlite", "none"], in: directory)
      #expect(gone.exitCode == 1)
      #expect(gone.errors.contains("can't read the directory of the migrations: none"))
      try FileManager.default.createDirectory(atPath: directory + "/empty", withIntermediateDirectories: true)
      let empty = try Program.tool.run(["migrate", "other.sqlite", "empty"], in: directory)
      #expect(empty.exitCode == 1)
      #expect(empty.errors == "sqlable: empty: no file name ends with .sql\n")
      let models = try Program.tool.run(["models", "new.sqlite"], in: directory).output
      #expect(models.contains("struct A {"))
      #expect(!models.contains("SqlableMigration"))
      let records = try Program.tool.run(["models", "new.sqlite", "--table", "sqlable_migration"], in: directory).output
      #expect(records.contains("struct SqlableMigration {"))
    }
  }
}
