import Foundation
import Sqlable
import Testing

@Suite(.enabled(if: Program.tool.isAvailable, "the tool is not built"))
struct BackupToolTests {
  @Test func aBackupIsMadeAndRestored() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite")
      try db.createTable(Person.self)
      try Person(id: nil, name: "Anna").insert().run(db)
      for flags in [[], ["--vacuum"], ["--rate", "500"], ["--no-check"]] {
        let run = try Program.tool.run(["backup", "a.sqlite", "copy.sqlite"] + flags, in: directory)
        #expect(run == .init(exitCode: 0, output: "done\n", errors: ""))
      }
      try Person(id: nil, name: "Bert").insert().run(db)
      let run = try Program.tool.run(["restore", "copy.sqlite", "a.sqlite"], in: directory)
      #expect(run == .init(exitCode: 0, output: "done\n", errors: ""))
      #expect(try Person.read().run(db).map(\.name) == ["Anna"])
      let new = try Program.tool.run(["restore", "copy.sqlite", "b.sqlite"], in: directory)
      #expect(new.exitCode == 0)
      #expect(try Person.count().run(SqliteDatabase(filepath: directory + "/b.sqlite")) == 1)
    }
  }

  @Test func mistakesAreReported() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite")
      try db.createTable(Person.self)
      for (arguments, code): ([String], Int32) in [
        (["backup", "a.sqlite"], 2), (["backup", "a.sqlite", "b", "--rate", "0"], 2), (["restore", "a.sqlite"], 2),
        (["backup", "a.sqlite", "a.sqlite"], 1), (["backup", "missing", "b"], 1),
        (["restore", "missing", "a.sqlite"], 1),
        (["restore", "a.sqlite", "a.sqlite"], 1), (["backup", "a.sqlite", "missing/b"], 1),
      ] {
        let run = try Program.tool.run(arguments, in: directory)
        #expect(run.exitCode == code, "\(arguments): \(run)")
        #expect(run.output.isEmpty, "\(arguments): \(run)")
        #expect(run.errors.hasPrefix("sqlable: "), "\(arguments): \(run)")
      }
      #expect(!FileManager.default.fileExists(atPath: directory + "/b"))
      #expect(try Person.count().run(db) == 0)
    }
  }
}
