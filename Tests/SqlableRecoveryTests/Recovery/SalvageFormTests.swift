import Foundation
import SqlableCore
import SqlableRecovery
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite("Salvage: every form of table, encoding and log", .needsPlainFiles("it damages pages by their contents"))
struct SalvageFormTests {
  private static let sql = """
    CREATE TABLE person(id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE);
    CREATE TABLE pair(b TEXT, a INTEGER, v BLOB, PRIMARY KEY(a, b)) WITHOUT ROWID;
    CREATE TABLE made(a INTEGER, twice INTEGER AS (a * 2), b TEXT, kept TEXT AS (b || '!') STORED);
    CREATE TABLE real_values(r REAL, n NUMERIC, x);
    CREATE VIEW names AS SELECT name FROM person;
    CREATE TABLE log(text);
    CREATE TRIGGER t AFTER INSERT ON person BEGIN INSERT INTO log VALUES (new.name); END;
    CREATE INDEX partial ON person(name) WHERE id > 5;
    """

  private static func fill(_ db: SqliteDatabase) throws {
    try db.execute(SQL(verbatim: sql))
    try db.transaction { _ in
      for id in 1...800 {
        try db.execute("INSERT INTO person(name) VALUES (\("Grüße \(id) 🚲"))")
        try db.execute("INSERT INTO pair VALUES (\("b\(id % 7)"), \(id), randomblob(\(id % 300)))")
        try db.execute("INSERT INTO made(a, b) VALUES (\(id), \("b\(id)"))")
        try db.execute("INSERT INTO real_values VALUES (\(id), \("\(id).5"), \(id % 2 == 0 ? "1e400" : "x"))")
      }
      try db.execute("ALTER TABLE person ADD COLUMN added TEXT NOT NULL DEFAULT 'yes'")
      try db.execute("INSERT INTO person(name, added) VALUES ('last', 'no')")
      try db.execute("DELETE FROM person WHERE id = 801")
      try db.execute("INSERT INTO real_values VALUES (9e999, -9e999, x'00ff'), (-0.0, 9223372036854775807, NULL)")
    }
  }

  private static let tables = [
    ("person", ["id", "name", "added"]), ("pair", ["a", "b", "v"]), ("made", ["rowid", "a", "twice", "b", "kept"]),
    ("real_values", ["rowid", "r", "n", "x"]), ("names", ["name"]), ("log", ["rowid", "text"]),
  ]

  @Test(arguments: ["UTF-8", "UTF-16le", "UTF-16be"], ["auto_vacuum = 0", "auto_vacuum = 1", "auto_vacuum = 2"])
  func everyFormOfTableComesBack(encoding: String, vacuum: String) throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite", encoding: encoding, pragmas: [vacuum]) {
        try SalvageFormTests.fill($0)
      }
      let output = directory + "/b.sqlite"
      let report = try Salvage(damaged: damaged.path).recover(into: output)
      #expect(report.isComplete, "\(report)")
      for (table, columns) in SalvageFormTests.tables {
        #expect(try literals(output, columns, from: table) == literals(damaged.path, columns, from: table))
      }
      #expect(try integrity(output) == ["ok"])
      let (old, new) = try (SqliteDatabase(filepath: damaged.path), SqliteDatabase(filepath: output))
      #expect(try old.schema() == new.schema())
      #expect(try new.query("PRAGMA encoding", as: String.self) == [encoding])
      // AUTOINCREMENT continues after the deleted row's id.
      #expect(try new.query("SELECT seq FROM sqlite_sequence WHERE name = 'person'", as: Int.self) == [801])
    }
  }

  @Test func rowsWithoutARowidAreFoundWithoutTheirRoot() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { try SalvageFormTests.fill($0) }
      let all = try literals(damaged.path, ["a", "b", "v"], from: "pair")
      let root = try damaged.root(of: "pair")
      try damaged.zero(page: root)
      let report = try Salvage(damaged: damaged.path).recover(into: directory + "/b.sqlite")
      let found = try literals(directory + "/b.sqlite", ["a", "b", "v"], from: "pair")
      #expect(Set(found).isSubset(of: all))
      // The root page held rows, too.
      #expect(found.count > 780)
      #expect(report[table: "pair"]?.rowsFromPages == found.count)
    }
  }

  @Test func pointerMapAssignsAnOrphanToOneOfTwoEqualTables() throws {
    try withDirectory { directory in
      for vacuum in ["auto_vacuum = 1", "auto_vacuum = 0"] {
        let damaged = try DamagedDatabase(directory + "/\(vacuum).sqlite", pragmas: [vacuum]) { db in
          try db.execute(
            "CREATE TABLE one(id INTEGER PRIMARY KEY, a TEXT); CREATE TABLE two(id INTEGER PRIMARY KEY, a TEXT)")
          try db.transaction { _ in
            for id in 1...2_000 {
              try db.execute("INSERT INTO one VALUES (\(id), \("one \(id)"))")
              try db.execute("INSERT INTO two VALUES (\(id), \("two \(id)"))")
            }
          }
        }
        let all = try ["one", "two"].map { try literals(damaged.path, ["id", "a"], from: $0) }
        for name in ["one", "two"] { try damaged.zero(page: damaged.root(of: name)) }
        let output = directory + "/\(vacuum) b.sqlite"
        let report = try Salvage(damaged: damaged.path).recover(into: output)
        let found = try ["one", "two"].map { try literals(output, ["id", "a"], from: $0) }
        if vacuum == "auto_vacuum = 1" {
          #expect(found == all)
        } else {
          // The two tables are indistinguishable, so no row may be assigned to either.
          #expect(found.enumerated().allSatisfy { Set($1).isSubset(of: all[$0]) })
          #expect(report.rowsOfUnknownTables > 0)
        }
      }
    }
  }

  /// Calls `body` with a directory that has a database `copy.sqlite`, and the WAL with all rows of its table.
  private func withWALOfFiftyCommits(_ body: (_ directory: String, _ log: FileHandle) throws -> Void) throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: Configuration(walAutocheckpoint: 0))
      try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT)")
      try db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
      for id in 1...50 { try db.execute("INSERT INTO t VALUES (\(id), \(String(repeating: "x", count: 500)))") }
      for suffix in ["", "-wal"] {
        try FileManager.default.copyItem(atPath: path + suffix, toPath: directory + "/copy.sqlite" + suffix)
      }
      try body(directory, FileHandle(forUpdating: URL(fileURLWithPath: directory + "/copy.sqlite-wal")))
    }
  }

  @Test func walCountsUpToItsLastCommit() throws {
    try withWALOfFiftyCommits { directory, log in
      let whole = try Salvage(damaged: directory + "/copy.sqlite").recover(into: directory + "/b.sqlite")
      #expect(whole[table: "t"]?.rowsFromPages == 50)
      #expect(whole.isComplete)
      // The last frame is damaged, so its commit does not count.
      try log.seek(toOffset: log.seekToEnd() - 10)
      try log.write(contentsOf: Data([1, 2, 3, 4]))
      let cut = try Salvage(damaged: directory + "/copy.sqlite").recover(into: directory + "/c.sqlite")
      #expect(cut[table: "t"]?.rowsFromPages == 49)
      // A process that was killed during a commit leaves the same.
      #expect(cut.isComplete)
      // The WAL's header is damaged, but the checksums of the frames still form a chain.
      try log.seek(toOffset: 0)
      try log.write(contentsOf: Data(repeating: 0, count: 32))
      let headless = try Salvage(damaged: directory + "/copy.sqlite").recover(into: directory + "/d.sqlite")
      #expect(headless[table: "t"]?.rowsFromPages == 49)
    }
  }

  @Test func commitsAfterADamagedFrameOfTheWALAreReported() throws {
    try withWALOfFiftyCommits { directory, log in
      let frame: UInt64 = 32 + 20 * (24 + 4096)
      // The size of the database, which only the last frame of a commit has.
      try log.seek(toOffset: frame + 4)
      let isCommit = try log.read(upToCount: 4) != Data(count: 4)
      try log.seek(toOffset: frame + 1_000)
      try log.write(contentsOf: Data([1, 2, 3, 4]))
      let report = try Salvage(damaged: directory + "/copy.sqlite").recover(into: directory + "/b.sqlite")
      let rows = try #require(report[table: "t"]?.rowsFromPages)
      #expect(rows > 0)
      #expect(
        report.problems == [
          "a frame of the WAL is damaged; \(50 - rows - (isCommit ? 1 : 0)) commits after it were not recovered"
        ]
      )
      #expect(!report.isComplete)
      // Without its header and its first checksums, nothing of the WAL can be read.
      try log.seek(toOffset: 0)
      try log.write(contentsOf: Data(repeating: 0xFF, count: 10_000))
      let lost = try Salvage(damaged: directory + "/copy.sqlite").recover(into: directory + "/c.sqlite")
      #expect(!lost.isComplete)
    }
  }

  @Test(.needsSQLiteProgram)
  func anUnfinishedTransactionIsRolledBack() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { try DamagedDatabase.bicycles($0, 3_000) }
      let all = try literals(damaged.path, SalvageTests.columns, from: "bicycle")
      let process = try SQLiteProcess(damaged.path)
      // A small page cache makes SQLite write pages before the commit.
      try process.run("PRAGMA cache_size = 5; BEGIN; UPDATE bicycle SET name = name || ' changed', price = 0;")
      process.kill()
      #expect(files(in: directory).contains("a.sqlite-journal"))
      let report = try Salvage(damaged: damaged.path).recover(into: directory + "/b.sqlite")
      #expect(try literals(directory + "/b.sqlite", SalvageTests.columns, from: "bicycle") == all)
      #expect(report.problems == ["an unfinished transaction was rolled back"])
    }
  }

  @Test(.needsSQLiteProgram) func reservedBytesAreLeftOut() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let process = try SQLiteProcess(path)
      try process.run(
        ".filectrl reserve_bytes 32\nPRAGMA page_size = 1024; VACUUM; CREATE TABLE t(a, b); "
          + "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000) "
          + "INSERT INTO t SELECT i, hex(randomblob(i % 600)) FROM n;")
      process.quit()
      let all = try literals(path, ["rowid", "a", "b"], from: "t")
      #expect(try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))[20] == 32)
      let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
      _ = try Salvage(damaged: path).recover(into: directory + "/b.sqlite")
      #expect(try literals(directory + "/b.sqlite", ["rowid", "a", "b"], from: "t") == all)
      // The header claims zero reserved bytes.
      try file.seek(toOffset: 20)
      try file.write(contentsOf: Data([0]))
      _ = try Salvage(damaged: path).recover(into: directory + "/c.sqlite")
      #expect(try literals(directory + "/c.sqlite", ["rowid", "a", "b"], from: "t") == all)
    }
  }

  @Test(.needsFullText) func fullTextIndexIsRebuilt() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { db in
        try db.execute("CREATE VIRTUAL TABLE own USING fts5(title, body)")
        try db.execute("CREATE TABLE text(id INTEGER PRIMARY KEY, body TEXT)")
        try db.execute("CREATE VIRTUAL TABLE outer_text USING fts5(body, content='text', content_rowid='id')")
        try db.execute("CREATE VIRTUAL TABLE bare USING fts5(body, content='')")
        for id in 1...400 {
          try db.execute("INSERT INTO own(rowid, title, body) VALUES (\(id), 'title', \("red bicycle \(id)"))")
          try db.execute("INSERT INTO text VALUES (\(id), \("green \(id)"))")
          try db.execute("INSERT INTO outer_text(rowid, body) VALUES (\(id), \("green \(id)"))")
          try db.execute("INSERT INTO bare(rowid, body) VALUES (\(id), \("blue \(id)"))")
        }
      }
      try damaged.zero(page: damaged.root(of: "own_data"))
      let report = try Salvage(damaged: damaged.path).recover(into: directory + "/b.sqlite")
      #expect(report.problems.isEmpty, "\(report)")
      let db = try SqliteDatabase(filepath: directory + "/b.sqlite")
      #expect(try db.query("SELECT count(*) FROM own WHERE own MATCH 'bicycle'", as: Int.self) == [400])
      #expect(try db.query("SELECT rowid FROM own WHERE own MATCH '17'", as: Int.self) == [17])
      #expect(try db.query("SELECT count(*) FROM outer_text WHERE outer_text MATCH 'green'", as: Int.self) == [400])
      #expect(try db.query("SELECT count(*) FROM bare WHERE bare MATCH 'blue'", as: Int.self) == [400])
      #expect(try db.query("PRAGMA integrity_check", as: String.self) == ["ok"])
    }
  }

  @Test func rowThatViolatesAConstraintIsSetAside() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { db in
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT UNIQUE, n INTEGER CHECK (n < 100))")
        for id in 1...20 { try db.execute("INSERT INTO t VALUES (\(id), \("name \(id + 10)"), \(id))") }
      }
      // Overwriting the name creates a duplicate.
      let root = try damaged.root(of: "t")
      let bytes = try damaged.bytes(ofPage: root)
      let name = Array("name 15".utf8)
      let place = try #require(bytes.indices.first { bytes[$0...].starts(with: name) })
      try damaged.overwrite(page: root, at: place, with: Array("name 16".utf8))
      let report = try Salvage(damaged: damaged.path).recover(into: directory + "/b.sqlite")
      let table = try #require(report[table: "t"])
      #expect((table.rowsFromPages, table.rowsSetAside) == (19, 1))
      #expect(report.lostAndFound == "lost_and_found")
      let rows = try literals(directory + "/b.sqlite", ["table", "c1", "reason"], from: "lost_and_found")
      #expect(rows == ["'t', 'name 16', 'UNIQUE constraint failed: t.name (t)'"])
    }
  }

  @Test func customFunctionIsTakenFromAHandle() throws {
    try withDirectory { directory in
      func register(_ db: SqliteDatabase) throws {
        try db.register(
          ScalarFunction("is_fine", isDeterministic: true, isAllowedInSchema: true) { (text: String) in text != "bad" })
      }
      let damaged = try DamagedDatabase(directory + "/a.sqlite") { db in
        try register(db)
        try db.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT CHECK (is_fine(a)))")
        for id in 1...20 { try db.execute("INSERT INTO t VALUES (\(id), \("a \(id)"))") }
      }
      let db = try SqliteDatabase.inMemory()
      try register(db)
      let with = try Salvage(damaged: damaged.path, functionsOf: db).recover(into: directory + "/b.sqlite")
      #expect(with.isComplete, "\(with)")
      // Salvage recovers the rows without the function, too.
      let without = try Salvage(damaged: damaged.path).recover(into: directory + "/c.sqlite")
      #expect(
        try literals(
          directory + "/c.sqlite", ["id", "a"], from: without[table: "t"]?.problem != nil ? "t" : "lost_and_found"
        ).count == 20)
    }
  }
}
