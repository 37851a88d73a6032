import Foundation
import Sqlable
import SqlableRecovery
import Testing

/// Tests of the progress that long commands show on a terminal.
@Suite(.enabled(if: Program.tool.isAvailable, "the tool is not built"))
struct ProgressTests {
  /// Creates a database of bicycles with colors of 200 characters.
  private func makeDatabase(_ directory: String, rows: Int) throws {
    let db = try SqliteDatabase(filepath: directory + "/a.sqlite", configuration: Configuration(synchronous: .off))
    try db.createTables(Person.self, Bicycle.self)
    try db.execute(
      """
      WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < \(rows))
      INSERT INTO bicycle (name, color) SELECT 'bicycle ' || n, hex(randomblob(100)) FROM number
      """)
    try db.close()
  }

  @Test func aTerminalShowsPagesAndTimeLeftOfABackup() throws {
    try withDirectory { directory in
      try makeDatabase(directory, rows: 60_000)
      let run = try Program.tool.run(
        ["backup", "a.sqlite", "b.sqlite", "--rate", "20"], in: directory, terminal: "xterm")
      #expect(run.exitCode == 0)
      #expect(run.output == "done\n")
      #expect(run.errors.contains(/\rcopying: \d+ of \d+ pages, \d+ %, \d s left/), "\(run.errors)")
      #expect(run.errors.contains("\rchecking the copy"), "\(run.errors)")
      #expect(!run.errors.contains("\u{1B}"))
      // The line is cleared at the end.
      #expect(screen(run.errors) == [""])
      #expect(run.errors.hasSuffix("\r"))
    }
  }

  @Test func aFileAndADumbTerminalGetNoProgress() throws {
    try withDirectory { directory in
      try makeDatabase(directory, rows: 1_000)
      for terminal in [nil, "dumb", ""] {
        for arguments in [
          ["backup", "a.sqlite", "b.sqlite"], ["restore", "b.sqlite", "a.sqlite"],
          ["salvage", "a.sqlite", "c-\(terminal ?? "nil").sqlite"],
        ] {
          let run = try Program.tool.run(arguments, in: directory, terminal: terminal)
          #expect(run.exitCode == 0, "\(run)")
          #expect(run.errors == "")
        }
      }
    }
  }

  @Test func anErrorAfterProgressBeginsOnAFreshLine() throws {
    try withDirectory { directory in
      try makeDatabase(directory, rows: 1_000)
      let file = try FileHandle(forWritingTo: URL(filePath: directory + "/a.sqlite"))
      try file.seek(toOffset: try file.seekToEnd() - 4_096)
      try file.write(contentsOf: Data(repeating: 0x5A, count: 4_096))
      try file.close()
      let run = try Program.tool.run(["backup", "a.sqlite", "b.sqlite"], in: directory, terminal: "xterm")
      #expect(run.exitCode == 1)
      #expect(run.errors.contains("\rchecking the copy"), "\(run.errors)")
      let lines = screen(run.errors)
      #expect(lines.first?.hasPrefix("sqlable: ") == true, "\(lines)")
      #expect(lines.last == "")
    }
  }

  @Test func restoreSalvageAndArchiveShowTheirProgress() throws {
    try withDirectory { directory in
      try makeDatabase(directory, rows: 10_000)
      try FileManager.default.copyItem(atPath: directory + "/a.sqlite", toPath: directory + "/b.sqlite")
      let pool = try SqlitePool(filepath: directory + "/b.sqlite")
      _ = try pool.archive(to: directory + "/archived")
      try Person(id: nil, name: "Anna").insert().run(pool)
      try pool.close()
      for (arguments, progress) in [
        (["restore", "a.sqlite", "c.sqlite"], /\rcopying: (\d+) of \1 pages, 100 %/),
        (["salvage", "a.sqlite", "d.sqlite"], /\rrecovering: \d+ of (\d+) pages, \d+ %/),
        (["archive", "archived", "e.sqlite"], /\rrestoring: [0-9.]+ MB of ([0-9.]+) MB, \d+ %/),
      ] {
        let run = try Program.tool.run(arguments, in: directory, terminal: "xterm")
        #expect(run.exitCode == 0, "\(run)")
        #expect(run.errors.contains(progress), "\(run.errors)")
        #expect(screen(run.errors) == [""])
      }
    }
  }

  @Test func migrateShowsTheRowsOfARebuild() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: Configuration(synchronous: .off))
      try db.execute("CREATE TABLE person (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)")
      try db.execute(
        """
        WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < 150000)
        INSERT INTO person (name) SELECT 'person ' || n FROM number
        """)
      let plan = try Schema(Person.self).plan(db)
      try JSONEncoder().encode(plan).write(to: URL(filePath: directory + "/plan.json"))
      try db.close()
      let run = try Program.tool.run(["migrate", "a.sqlite", "plan.json"], in: directory, terminal: "xterm")
      #expect(run.exitCode == 0, "\(run)")
      #expect(run.output == "\(plan.steps[0])\ndone\n")
      #expect(run.errors.contains("\rstep 1 of 1: 100000 of 150000 rows, 66 %"), "\(run.errors)")
      #expect(screen(run.errors) == [""])
    }
  }

  @Test func migrateShowsTheNumberOfTheMigration() throws {
    try withDirectory { directory in
      try FileManager.default.createDirectory(atPath: directory + "/changes", withIntermediateDirectories: true)
      for number in 1...2 {
        try Data("CREATE TABLE t\(number) (id INTEGER PRIMARY KEY);".utf8)
          .write(to: URL(filePath: directory + "/changes/\(number).sql"))
      }
      let run = try Program.tool.run(["migrate", "a.sqlite", "changes"], in: directory, terminal: "xterm")
      #expect(run.exitCode == 0, "\(run)")
      #expect(run.errors.contains("\rmigration 2 of 2"), "\(run.errors)")
      #expect(screen(run.errors) == [""])
    }
  }
}
