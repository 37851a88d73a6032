import Foundation
import SqlableSchema
import Testing

@testable import SqlableCore
@testable import SqlableTestSupport

/// Tests that no statement stays open.
extension StatementCacheTests {
  /// A statement that is left on a row pins the WAL, and a checkpoint is busy.
  @Test func noStatementStaysOpenAfterAnyEnd() throws {
    struct Stop: Error {}
    let stopAtThree: @Sendable (ReadRow) throws -> Void = { if try $0.get(HookedPerson.id) == 3 { throw Stop() } }
    try withDatabase(.init(busyTimeout: 0)) { db in
      try people(db)
      let other = try db.createChild()
      let ends: [(String, (SqliteDatabase) throws -> Void)] = [
        ("stop", { db in try Person.read().forEach(db) { _ in .stop } }),
        ("throwing closure", { db in try Person.read().forEach(db) { _ in throw Stop() } }),
        ("throwing init", { db in _ = try HookedPerson.read().run(db) }),
        ("throwing init in a loop", { db in try HookedPerson.read().forEach(db) { _ in } }),
        ("first", { db in _ = try Person.read().first().run(db) }),
        ("exists", { db in _ = try Person.exists().run(db) }),
        ("raw closure", { db in _ = try db.query("SELECT * FROM person") { _ in throw Stop() } }),
        ("raw decoding", { db in _ = try db.query("SELECT name FROM person", as: Int.self) }),
        ("failing insert", { db in try Person(id: 1, name: "x").insert().run(db) }),
        ("failing batch", { db in try Person.insert((1...3).map { Person(id: $0, name: "x") }).run(db) }),
        ("failing update", { db in try Person.updateAll(Person.id.set(to: 1)).run(db) }),
        ("bad limit", { db in _ = try Person.read().limit(-1).run(db) }),
        ("wrong values", { db in _ = try db.query("SELECT '\(1)' FROM person", as: Int.self) }),
        ("returning", { db in _ = try db.query("DELETE FROM person RETURNING id") { _ in throw Stop() } }),
        ("transaction", { db in try db.transaction { db in try Person.read().forEach(db) { _ in throw Stop() } } }),
        (
          "overflow",
          { db in _ = try db.query("SELECT abs(id - id - 9223372036854775807 - 1) FROM person", as: Int.self) }
        ),
        ("execute", { db in try db.execute("SELECT abs(-9223372036854775807 - 1) FROM person") }),
      ]
      for (name, end) in ends {
        try? HookedPerson.$whileRead.withValue(stopAtThree) { try end(db) }
        try Person(id: nil, name: "more").insert().run(other)
        let row = try other.query("PRAGMA wal_checkpoint(TRUNCATE)") { row in
          try (0..<3).map { try row.get(at: $0, as: Int.self) }
        }
        #expect(row == [[0, 0, 0]], "\(name)")
        #expect(try db.openConnection().parameters.mark.count == 0, "\(name)")
      }
    }
  }

  @Test func aRolledBackTransactionEndsALoopOverItsRowsWithoutACrash() throws {
    try withDatabase { db in
      try people(db)
      try db.beginTransaction()
      try Person(id: nil, name: "undone").insert().run(db)
      var seen = 0
      let error = sqlError {
        try Person.read().forEach(db) { _ in
          seen += 1
          if seen == 3 { try db.rollbackTransaction() }
        }
      }
      // SQLite may continue or stop with an error. The remaining rows do not include those of the transaction.
      #expect(error == nil || error?.kind == .interrupted)
      #expect(seen <= 10)
      #expect(try Person.count().run(db) == 10)
      #expect(db.transactionLevel == 0)
    }
  }

  @Test func aSchemaChangeOnAnotherHandleIsFollowed() throws {
    try withDatabase { db in
      try people(db, 1)
      let child = try db.createChild()
      #expect(try Person.read().run(child).map(\.name) == ["name 0"])
      for round in 0..<5 {
        try db.execute(SQL(verbatim: "ALTER TABLE person ADD COLUMN extra_\(round) DEFAULT \(round)"))
        #expect(try Person.read().run(child).map(\.name) == ["name 0"])
        #expect(try child.query("SELECT * FROM person") { try $0.columnNames.count } == [round + 3])
      }
    }
  }

  /// Compiled statements stay correct after another process has changed the schema.
  @Test(.needsSQLiteProgram)
  func aSchemaChangeOfAnotherProcessIsFollowed() throws {
    try withDatabase { db in
      try people(db, 1)
      let byId = try db.prepare(Person.read().filter(Person.id == Parameter("id")).first())
      let rename = Person.update(Person.name.set(to: "new")).filter(Person.id == 1)
      func runAll(_ round: Int) throws {
        #expect(try Person.read().filter(Person.id == 1).run(db).count == 1)
        #expect(try Person.byId(1).run(db) != nil)
        #expect(try byId.run(1) != nil)
        #expect(try Person(id: nil, name: "one").insert().run(db) > 0)
        #expect(try Person.insert([Person(id: nil, name: "two"), Person(id: nil, name: "three")]).run(db).count == 2)
        #expect(try rename.run(db) == 1)
        #expect(try Person.count().run(db) == 4 + round * 3)
        #expect(try db.query("SELECT * FROM person WHERE id = 1") { try $0.columnNames.count } == [round + 2])
      }
      // The lock keeps other tests from releasing the statements: `releaseMemory` skips handles in use.
      try db.locked {
        try runAll(0)
        let other = try SQLiteProcess(db.filepath)
        for round in 1...3 {
          // The new column comes first, so a read by the old position would return another column's value.
          let columns = (1...round).map { "extra_\($0) DEFAULT 'wrong'" }.joined(separator: ", ")
          let said = try other.run(
            """
            BEGIN IMMEDIATE;
            CREATE TABLE fresh (\(columns), name TEXT NOT NULL, id INTEGER PRIMARY KEY AUTOINCREMENT);
            INSERT INTO fresh (id, name) SELECT id, name FROM person;
            DROP TABLE person;
            ALTER TABLE fresh RENAME TO person;
            COMMIT;
            """)
          #expect(said == "")
          let before = try db.statementCacheUse
          try runAll(round)
          // SQLite recompiles the cached statements in place.
          #expect(try db.statementCacheUse.misses == before.misses)
        }
        other.quit()
      }
    }
  }

  @Test func cachedStatementsFollowAttachedAndRecreatedTables() throws {
    try withDatabase { db in
      try people(db, 2)
      #expect(try Person.count().run(db) == 2)
      try db.execute("ATTACH ':memory:' AS other")
      try db.execute("CREATE TABLE other.person (id INTEGER PRIMARY KEY, name TEXT)")
      #expect(try Person.count().run(db) == 2)
      // SQLite resolves a name among the temporary tables first.
      try db.execute("CREATE TEMP TABLE person (id INTEGER PRIMARY KEY, name TEXT)")
      #expect(try Person.count().run(db) == 0)
      try db.execute("DROP TABLE temp.person")
      #expect(try Person.count().run(db) == 2)
      try db.execute("DETACH other")
      #expect(try Person.read().run(db).count == 2)
      try db.execute("DROP TABLE person")
      #expect(sqlError { _ = try Person.read().run(db) }?.kind == .schema(.missingTable("person")))
      try db.createTable(Person.self)
      #expect(try Person.read().run(db).isEmpty)
    }
  }

  /// The last reference may be released on another thread and without the lock.
  @Test func anAbandonedStatementIsFinalizedByItsConnection() throws {
    try withDatabase { db in
      try people(db)
      try db.locked {
        let connection = try db.openConnection()
        let kept = StatementSlot()
        connection.sql.begin()
        connection.sql.append("SELECT 1")
        kept.statement = try connection.compile(connection.sql.buffer)
        connection.keep(kept)
        connection.keep(StatementSlot())
        #expect(kept.statement != nil)
        kept.abandon()
        connection.keep(StatementSlot())
        #expect(kept.statement == nil)
      }
    }
  }
}
