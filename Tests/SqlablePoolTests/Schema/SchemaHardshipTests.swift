import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTestSupport

private enum Wide: TableDeclaration {
  static let columns = [Column("id", .integer, PrimaryKey()), Column("text", .text)]
}

private enum Narrow: TableDeclaration {
  static let columns = [Column("id", .integer, PrimaryKey()), Column("text", .text, Collate.nocase)]
}

private enum Paint: TableDeclaration {
  static let columns = [Column("id", .integer, PrimaryKey()), Column("paint", .nullable(.text))]
}

/// Plans under adverse conditions: a full disk, a lock, a manually edited schema, unusual requests.
@Suite struct SchemaHardshipTests {
  private static func fill(_ db: SqliteDatabase, rows: Int) throws {
    try db.createTable(Entry<Wide>.self)
    try db.execute(
      """
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
      INSERT INTO t SELECT i, 'a text of some length ' || i FROM n
      """)
  }

  @Test(.enabled(if: Administrator.canMount)) func aDiskThatFillsDuringARebuildLeavesTheTableAsItWas() throws {
    try withSmallDisk(size: "4m") { disk in
      for mode in [Configuration.JournalMode.wal, .delete] {
        let path = disk + "/\(mode).sqlite"
        let db = try SqliteDatabase(filepath: path, configuration: .init(journalMode: mode))
        try SchemaHardshipTests.fill(db, rows: 30_000)
        try db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        let plan = try Schema(Entry<Narrow>.self).plan(db)
        let free = try FileManager.default.attributesOfFileSystem(forPath: disk)[.systemFreeSize] as? Int ?? 0
        try Data(count: free - 300_000).write(to: URL(fileURLWithPath: disk + "/rest"))
        let error = sqlError { try plan.apply(db) }
        #expect(
          error?.kind == .full,
          "\(String(describing: error))")
        #expect(
          error?.transaction == .rolledBack,
          "\(String(describing: error))")
        try Schema(Entry<Wide>.self).verify(db)
        #expect(try db.query("SELECT count(*) || ' ' || sum(id) FROM t", as: String.self) == ["30000 450015000"])
        try FileManager.default.removeItem(atPath: disk + "/rest")
        #expect(try db.query("PRAGMA integrity_check", as: String.self) == ["ok"])
        try db.close()
        for file in files(in: disk) { unlink("\(disk)/\(file)") }
      }
    }
  }

  @Test func planIsRefusedWhileItsThreadHoldsTheLockElsewhere() throws {
    try withDirectory { directory in
      let path = directory + "/locked.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: .init(busyTimeout: 0.05))
      try SchemaHardshipTests.fill(db, rows: 10)
      let plan = try Schema(Entry<Narrow>.self).plan(db)
      let other = try SqliteDatabase(filepath: path)
      try other.transaction { other in
        try other.execute("INSERT INTO t VALUES (99, 'x')")
        expectMisuse { try plan.apply(db) }
        expectMisuse { try Migrations([Migration("a", sql: "CREATE TABLE a (b)")]).apply(db) }
      }
      try plan.apply(db)
      #expect(try db.query("SELECT count(*) FROM t", as: Int.self) == [11])
    }
  }

  @Test func unchangedColumnKeepsABareWordDefault() throws {
    try withDatabase { db in
      try db.execute(
        """
        CREATE TABLE t (id INTEGER PRIMARY KEY, "text" TEXT NOT NULL, a TEXT DEFAULT black, b INT DEFAULT -5,
          c INT DEFAULT true, d TEXT DEFAULT 'it''s', e TEXT DEFAULT current_date, f INT DEFAULT (1 + 2));
        INSERT INTO t (id, "text") VALUES (1, 'x')
        """)
      try Schema(Entry<Narrow>.self).plan(db).apply(db)
      try db.execute("INSERT INTO t (id, \"text\") VALUES (2, 'y')")
      let rows = try db.query(
        "SELECT a || b || c || d || (e = current_date) || f FROM t ORDER BY id", as: String.self)
      #expect(rows == ["black-51it's13", "black-51it's13"])
      try Schema(Entry<Narrow>.self).verify(db)
    }
  }

  @Test func rowsWithTheSmallestAndLargestIdAreCounted() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
      try db.execute("INSERT INTO t VALUES (\(Int.min)), (\(Int.max))")
      let error = sqlError { _ = try Schema(Entry<Narrow>.self).plan(db) }
      #expect(error?.message.contains(#"filling: ["t.text": …]"#) == true, "\(String(describing: error))")
      let plan = try Schema(Entry<Narrow>.self).plan(db, filling: ["text": "x"])
      #expect(plan.steps.map(\.rows) == [2])
      try plan.apply(db)
      #expect(try db.query("SELECT count(*) FROM t WHERE text = 'x'", as: Int.self) == [2])
    }
  }

  @Test func renameOfAMissingColumnIsAQuestion() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, colour TEXT)")
      try db.execute("INSERT INTO t VALUES (1, 'red')")
      let schema = Schema(Entry<Paint>.self)
      let plan = try schema.plan(db, renamed: ["color": "paint"])
      #expect(plan.questions.map(\.description) == ["was t.colour renamed to paint?"])
      #expect(sqlError { try plan.apply(db) } != nil)
      for wrong in [["colour": "pant"], ["other.colour": "paint"]] {
        let error = sqlError { _ = try schema.plan(db, renamed: wrong) }
        #expect(error?.message.contains("can't be renamed: no model of the schema has a column") == true)
      }
      // `notRenamed` serves programs whose users skip a release.
      #expect(try schema.plan(db, renamed: ["color": "paint"], notRenamed: ["colour"]).questions.isEmpty)
      try schema.plan(db, renamed: ["t.colour": "paint"]).apply(db)
      #expect(try db.query("SELECT paint FROM t", as: String.self) == ["red"])
      // An upgraded database and a new file raise no question.
      #expect(try schema.plan(db, renamed: ["colour": "paint"]).isEmpty)
    }
  }

  @Test(.needsSQLiteProgram) func aSchemaThatWasEditedByHandIsReported() throws {
    try withDirectory { directory in
      let path = directory + "/edited.sqlite"
      let db = try SqliteDatabase(filepath: path)
      try SchemaHardshipTests.fill(db, rows: 10)
      try db.close()
      let edit = "UPDATE sqlite_schema SET sql = 'CREATE TABLE t (id INTEGER PRIMARY KEY, \"text\" TEXT, gone TEXT)'"
      let shell = try ChildProcess(
        "sqlite3", ["-cmd", ".dbconfig defensive off", path, "PRAGMA writable_schema = ON; \(edit)"], errors: .dropped)
      #expect(shell.end())
      let edited = try SqliteDatabase(filepath: path)
      #expect(
        try Schema(Entry<Wide>.self).differences(edited).map(\.description) == [
          "t.text: the NOT NULL is not set, and should be set", "t.gone: the column is not expected",
        ])
      try Schema(Entry<Wide>.self).plan(edited, dropping: .columns).apply(edited, allowing: .dataLoss)
      #expect(try edited.query("SELECT count(*) FROM t WHERE length(text) > 20", as: Int.self) == [10])
      #expect(try edited.query("PRAGMA integrity_check", as: String.self) == ["ok"])
    }
  }

  @Test func possiblyRenamedColumnIsAQuestion() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, color TEXT); INSERT INTO t VALUES (1, 'red')")
      let schema = Schema(Entry<Paint>.self)
      let plan = try schema.plan(db, dropping: .columns)
      #expect(plan.questions.map(\.description) == ["was t.color renamed to paint?"])
      #expect(!plan.isEmpty)
      #expect(
        sqlError { try plan.apply(db, allowing: .dataLoss) }?.message
          == "the plan needs renamed: or notRenamed: to answer the question: was t.color renamed to paint?")
      let renamed = try schema.plan(db, renamed: ["color": "paint"], dropping: .columns)
      #expect(renamed.questions.isEmpty)
      #expect(!renamed.losesData)
      let dropped = try schema.plan(db, notRenamed: ["t.color"], dropping: .columns)
      #expect(dropped.questions.isEmpty)
      #expect(dropped.losesData)
      try renamed.apply(db)
      #expect(try db.query("SELECT paint FROM t", as: String.self) == ["red"])
    }
  }

  @Test func progressIsReportedEveryHundredThousandRows() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try SchemaHardshipTests.fill(db, rows: 250_000)
      var rows: [Int] = []
      try Schema(Entry<Narrow>.self).plan(db).apply(db) { rows.append($0.rows) }
      #expect(rows == [0, 100_000, 200_000, 250_000])
    }
  }

  @Test func aPoolIsPlannedVerifiedAndChanged() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite")
      try await pool.transaction { db in try SchemaHardshipTests.fill(db, rows: 100) }
      var counts = Entry<Wide>.count().updates(in: pool).makeAsyncIterator()
      #expect(try await counts.next() == 100)
      try await Task.detached {
        let plan = try Schema(Entry<Narrow>.self).plan(pool)
        #expect(plan.rebuilds)
        try plan.apply(pool)
      }.value
      try await Schema(Entry<Narrow>.self).verify(pool)
      #expect(try await Schema(Entry<Wide>.self).differences(pool).map(\.kind) == [.collation])
      // The live result continues.
      try await Entry<Narrow>(101, "x").insert().run(pool)
      while let count = try await counts.next(), count != 101 {}
      try await pool.close()
    }
  }

  @Test func schemaAddsAnotherTableWithTheModelsLayout() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      let schema = Schema(Entry<Wide>.self).adding(Entry<Wide>.self, named: "archive")
      #expect(try schema.differences(db).map(\.table) == ["t", "archive"])
      try schema.plan(db).apply(db)
      try schema.verify(db)
      #expect(try db.schema().tables.map(\.name) == ["archive", "t"])
    }
  }
}
