import Foundation
import Sqlable
import Testing

/// Tests of the reports of `sqlable doctor`.
@Suite(.enabled(if: Program.tool.isAvailable, "the tool is not built"))
struct DoctorTests {
  private func doctor(_ directory: String, _ arguments: String...) throws -> Program.Run {
    try Program.tool.run(["doctor", "a.sqlite"] + arguments, in: directory)
  }

  @Test func aSoundDatabaseHasNoProblems() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite")
      try db.createTables(Person.self, Bicycle.self)
      try db.close()
      let before = try Data(contentsOf: URL(filePath: directory + "/a.sqlite"))
      let run = try doctor(directory)
      #expect(run.exitCode == 0)
      #expect(run.errors == "")
      let (size, pages) = ((before.count + 500) / 1_000, before.count / 4_096)
      #expect(run.output.hasPrefix("a.sqlite: \(size) kB, \(pages) pages of 4096 bytes, "))
      #expect(run.output.contains("\n  bicycle: 1 page, 4.1 kB, "))
      #expect(run.output.contains(/\nfree space of the file system: [0-9.]+ [kMGT]B\n/))
      #expect(run.output.contains("table bicycle has no index that begins with owner_id, so a change of a key"))
      #expect(run.output.hasSuffix("\n\nNothing is wrong.\n"))
      #expect(!run.output.contains("\nSettings"))
      #expect(files(in: directory) == ["a.sqlite"])
      #expect(try Data(contentsOf: URL(filePath: directory + "/a.sqlite")) == before)
    }
  }

  @Test func aLinkIsFollowedToTheFileAndItsLog() throws {
    try withDirectory { directory in
      try FileManager.default.createDirectory(atPath: directory + "/real", withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(
        atPath: directory + "/a.sqlite", withDestinationPath: "real/a.sqlite")
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite")
      try db.createTables(Person.self, Bicycle.self)
      // All pages of the database are in the WAL, next to the link's target.
      let run = try doctor(directory)
      #expect(run.exitCode == 0, "\(run)")
      #expect(run.output.contains("\n  bicycle: 1 page,"), "\(run)")
      let schema = try Program.tool.run(["schema", "a.sqlite"], in: directory)
      #expect(schema.output.contains("CREATE TABLE \"bicycle\""))
      try db.close()
    }
  }

  @Test func aPipeIsRefusedWithoutWaitingForAWriter() throws {
    try withDirectory { directory in
      #expect(mkfifo(directory + "/a.sqlite", 0o600) == 0)
      let run = try doctor(directory)
      #expect(run.exitCode == 1)
      #expect(run.errors.contains("is not a regular file"))
      let salvage = try Program.tool.run(["salvage", "a.sqlite", "b.sqlite"], in: directory)
      #expect(salvage.exitCode == 1)
      #expect(salvage.errors.contains("not a regular file"))
    }
  }

  @Test func problemsAreNamedWithTheirRows() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let db = try SqliteDatabase(
        filepath: path, configuration: Configuration(journalMode: .delete, foreignKeys: false))
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle.insert((1...5).map { Bicycle(name: "\($0)", color: "red", ownerId: 77) }).run(db)
      try db.close()
      let run = try doctor(directory)
      #expect(run.exitCode == 1)
      #expect(
        run.output.contains("5 rows of bicycle reference missing rows of person, such as 1, 2, 3, 4, 5\n"))
      #expect(run.output.contains("journal_mode is a rollback journal, usually wal: readers block the writer"))
      #expect(run.output.contains("bicycle has indexes but no statistics; run PRAGMA optimize"))
      #expect(try doctor(directory, "--no-check").exitCode == 0)
      let json = try doctor(directory, "--json")
      let report = try #require(
        try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
      #expect((report["problems"] as? [String])?.count == 1)
      #expect(report["pageSize"] as? Int == 4_096)
      #expect(report["size"] as? Int == (try Data(contentsOf: URL(filePath: path)).count))
      // Damages the last page, which belongs to an index or table.
      let file = try FileHandle(forWritingTo: URL(filePath: path))
      try file.seek(toOffset: try file.seekToEnd() - 4_096)
      try file.write(contentsOf: Data(repeating: 0x5A, count: 4_096))
      try file.close()
      let damaged = try doctor(directory)
      #expect(damaged.exitCode == 1)
      #expect(damaged.output.contains("damage: "))
    }
  }

  @Test func aFunctionOfTheProgramIsNotDamage() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite")
      let twice = ScalarFunction("twice", isDeterministic: true, isAllowedInSchema: true) { (number: Int) in number * 2
      }
      try db.register(twice)
      try db.execute("CREATE TABLE t(a); CREATE INDEX by_twice ON t(twice(a)); INSERT INTO t VALUES (1)")
      try db.close()
      let run = try doctor(directory)
      #expect(run.exitCode == 1)
      #expect(run.output.contains("the integrity can't be checked: "), "\(run)")
      #expect(!run.output.contains("damage: "), "\(run)")
    }
  }

  @Test(.needsSQLiteProgram) func processesAndTheirLocksAreNamed() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: Configuration(walAutocheckpoint: 0))
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle(name: "a", color: "red").insert().run(db)
      let other = try SQLiteProcess(path)
      try other.run("BEGIN; SELECT count(*) FROM bicycle;")
      var run = try doctor(directory)
      #expect(run.exitCode == 0)
      #expect(run.output.contains("(sqlite3): "))
      #expect(run.output.contains("open in WAL mode"))
      #expect(run.output.contains("reads a snapshot in the WAL"))
      try db.beginTransaction()
      run = try doctor(directory)
      #expect(run.output.contains("write lock"))
      try db.rollbackTransaction()
      // The WAL can't be reset while a reader needs it.
      for number in 0..<30 {
        try db.execute("INSERT INTO bicycle (name, color) VALUES (\(number), hex(randomblob(300000)))")
      }
      run = try doctor(directory, "--no-check")
      #expect(run.output.contains(/the WAL has [0-9]+ MB: read transactions of process [0-9]/))
      other.kill()
      try db.close()
    }
  }

  @Test func indexesThatNoStatementUsesAreNamed() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite")
      try db.createTables(Person.self, Bicycle.self)
      try db.execute("CREATE INDEX unused ON bicycle (owner_id, color)")
      try db.close()
      let statement = Bicycle.read().filter(Bicycle.color == "red")
      try statement.json().write(to: URL(filePath: directory + "/red.json"))
      let run = try doctor(directory, "--statement", "red.json")
      #expect(run.output.contains("no statement uses index unused of table bicycle\n"))
      #expect(!run.output.contains("uses the index bicycle_color"))
    }
  }

  @Test func mistakesAreReported() throws {
    try withDirectory { directory in
      try Data("this is no database, but long enough to have a header".utf8)
        .write(to: URL(filePath: directory + "/a.sqlite"))
      for (arguments, code): ([String], Int32) in [
        (["doctor"], 2), (["doctor", "a", "b"], 2), (["doctor", "none"], 1), (["doctor", "a.sqlite"], 1),
        (["doctor", "a.sqlite", "--statement"], 2),
      ] {
        let run = try Program.tool.run(arguments, in: directory)
        #expect(run.exitCode == code, "\(arguments): \(run)")
        #expect(run.errors.hasPrefix("sqlable: "), "\(arguments): \(run)")
      }
    }
  }
}
