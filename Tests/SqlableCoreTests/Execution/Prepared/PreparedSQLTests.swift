import SqlableCore
import SqlableSchema
import SqlableTracing
import Testing

@testable import SqlableTestSupport

/// Prepared SQL text: changes, and queries with every type of rows.
@Suite struct PreparedSQLTests {
  private let id = Parameter<Int>("id")
  private let name = Parameter<String>("name")
  private let salary = Parameter<Double>("salary")

  private func names(_ db: SqliteDatabase) throws -> [String] {
    try db.query("SELECT name FROM worker ORDER BY id", as: String.self)
  }

  @Test func aPreparedChangeReturnsTheNumberOfChangedRows() throws {
    try withCompany { db in
      let boss = 1
      let add = try db.prepare(
        "INSERT INTO worker (id, name, boss_id, salary) VALUES (\(id), \(name), \(boss), \(salary))")
      let raise = try db.prepare("UPDATE \(Worker.self) SET salary = salary + \(salary) WHERE salary < \(salary)")
      let fire = try db.prepare("DELETE FROM worker WHERE name IN (\(["Eve", "Finn"])) OR id = \(id)")
      let replace = try db.prepare("REPLACE INTO person (id, name) VALUES (\(id), \(name))")
      let copy = try db.prepare(
        """
        WITH cheap AS (SELECT * FROM worker WHERE salary < \(salary))
        INSERT INTO person (name) SELECT name FROM cheap
        """)
      #expect(add.sql == "INSERT INTO worker (id, name, boss_id, salary) VALUES (?, ?, ?, ?)")
      #expect(add.parameterNames == ["id", "name", "salary"])
      #expect(raise.parameterNames == ["salary"])
      // The lock keeps other tests from releasing the statements: `releaseMemory` skips handles in use.
      try db.locked {
        let misses = try db.statementCacheUse.misses
        #expect(try add.run(5, "Eve", 1.0) == 1)
        #expect(try add.run(["name": "Finn", "salary": 2.5, "id": 6]) == 1)
        #expect(try raise.run(4.0) == 2)
        #expect(try raise.run(0.5) == 0)
        #expect(try copy.run(["salary": 5.5]) == 3)
        #expect(try replace.run(1, "Zoe") == 1)
        #expect(try fire.run(4) == 3)
        #expect(try fire.run(nil as Int?) == 0)
        #expect(try db.statementCacheUse.misses == misses)
      }
      #expect(try names(db) == ["Ada", "Ben", "Cleo"])
      #expect(
        try db.query("SELECT name FROM person ORDER BY id", as: String.self)
          == ["Zoe", "Bo", "Cid", "Ben", "Dan", "Eve"])
      let everything = try db.prepare("DELETE FROM worker")
      #expect(try everything.run() == 3)
      #expect(try everything.run() == 0)
      // NULL is stored, also in place of a value.
      let unnamed = try db.prepare("INSERT INTO bicycle (name, color, owner_id) VALUES (\(name), 'red', \(id))")
      #expect(try unnamed.run("Norco 2", nil as Int?) == 1)
      #expect(try db.query("SELECT owner_id FROM bicycle WHERE name = 'Norco 2'", as: Int?.self) == [nil])
    }
  }

  @Test func preparedChangesBelongToTheTransaction() throws {
    try withCompany { db in
      let rename = try db.prepare("UPDATE worker SET name = \(name) WHERE id = \(id)")
      let add = try db.prepare("INSERT INTO worker VALUES (\(id), \(name), NULL, 1)")
      try db.transaction { db in
        #expect(try rename.run("Ann", 1) == 1)
        try db.transaction { _ in
          try rename.run("Bea", 2)
          return .rollback
        }
      }
      #expect(try names(db) == ["Ann", "Ben", "Cleo", "Dan"])
      // A failed run changes nothing, and later runs work.
      expectError(.constraint(.primaryKey)) { try add.run(1, "Eve") }
      expectError(.constraint(.notNull)) { try add.run(5, nil as String?) }
      expectMisuse { try add.run(5) }
      expectMisuse { try add.run(["id": 5, "nam": "Eve"]) }
      #expect(try add.run(5, "Eve") == 1)
      #expect(try names(db) == ["Ann", "Ben", "Cleo", "Dan", "Eve"])
      let reader = try SqliteDatabase(filepath: db.filepath, configuration: Configuration(isReadOnly: true))
      let refused = try reader.prepare("DELETE FROM worker WHERE id = \(id)")
      expectError(.readOnly) { try refused.run(1) }
      try db.close()
      expectError(.closed) { try rename.run("x", 1) }
    }
  }

  @Test(.needsPreupdateHook) func preparedChangesNotifyObservers() throws {
    try withDatabase { db in
      try db.createTable(Observed.Note.self)
      let add = try db.prepare("INSERT OR FAIL INTO note (id, text) VALUES (\(id), \(name)), (\(id) + 1, 'taken')")
      let clear = try db.prepare("DELETE FROM note")
      // A DELETE without a filter that has a value all the same.
      let clearAll = try db.prepare("WITH one AS (SELECT \(id)) DELETE FROM note")
      for delete in [{ try clear.run() }, { try clearAll.run(1) }] as [() throws -> Int] {
        let log = EventLog()
        let token = log.listen(to: db, on: Observed.Note.self)
        #expect(try add.run(1, "a") == 2)
        #expect(log.take() == ["insert note 1", "insert note 2"])
        try db.transaction { _ in
          let deleted = try delete()
          #expect(deleted == 2)
          #expect(log.take() == [])
          return .rollback
        }
        #expect(log.take() == [])
        // OR FAIL keeps the rows before the failure.
        expectError(.constraint(.unique)) { try add.run(5, "b") }
        try db.transaction { _ in expectError(.constraint(.unique)) { try add.run(7, "c") } }
        #expect(log.take() == ["insert note 5", "insert note 7"])
        #expect(try db.query("SELECT id FROM note ORDER BY id", as: Int.self) == [1, 2, 5, 7])
        db.removeObserver(token)
        #expect(try delete() == 4)
        #expect(try add.run(1, "a") == 2)
        // The statement was last compiled without observers.
        let later = log.listen(to: db, on: Observed.Note.self)
        #expect(try delete() == 2)
        #expect(log.take() == ["delete note 1", "delete note 2"])
        db.removeObserver(later)
      }
    }
  }

  @Test func preparedChangesAreTraced() throws {
    try withTraced { db, log in
      let line = #line + 1
      let add = try db.prepare("INSERT INTO person (name) VALUES (\(name))")
      _ = log.take()
      try add.run("Anna")
      let event = try #require(log.take().first { $0.kind == .write })
      #expect(event.table == "person")
      #expect(event.rowsChanged == 1)
      #expect(event.callSite?.hasSuffix(":\(line)") == true)
    }
  }

  @Test func preparedSQLReturnsModelsAndDynamicRows() throws {
    try withCompany { db in
      let team = try db.prepare(
        "SELECT 7 AS more, salary, name, boss_id, id FROM worker WHERE boss_id = \(id) ORDER BY worker.id",
        as: Worker.self)
      #expect(try team.run(1) == Array(Worker.all[1...2]))
      #expect(try team.first(["id": 2]) == Worker.all[3])
      #expect(try team.run(9) == [])
      let rows = try db.prepare("SELECT name, boss_id FROM worker WHERE id <= \(id) ORDER BY id", as: DynamicRow.self)
      #expect(try rows.run(2).map(\.description) == ["name: Ada, boss_id: NULL", "name: Ben, boss_id: 1"])
      #expect(try rows.first(1)?.get("name") == "Ada")
      var seen: [String] = []
      let rename = try db.prepare("UPDATE worker SET name = \(name) WHERE id = \(id)")
      try team.forEach(["id": 1]) { worker in
        seen.append(worker.name)
        // The query and a change run inside the loop.
        seen += try team.run(worker.id).map(\.name)
        try rename.run("x", 4)
        return .continue
      }
      #expect(seen == ["Ben", "Dan", "Cleo"])
      #expect(try team.run(2).map(\.name) == ["x"])
      let partial = try db.prepare("SELECT id FROM worker", as: Worker.self)
      expectError(.schema(.missingColumn("salary"))) { try partial.run() }
      let twice = try db.prepare("SELECT *, 8 AS id FROM worker", as: Worker.self)
      expectMisuse { try twice.run() }
    }
  }

  /// A schema change moves the columns of a compiled `SELECT *`.
  @Test func preparedRowsFollowTheSchema() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO person VALUES (1, 'Anna')")
      let models = try db.prepare("SELECT * FROM person WHERE id = \(id)", as: Person.self)
      let rows = try db.prepare("SELECT * FROM person WHERE id = \(id)", as: DynamicRow.self)
      #expect(try models.run(1) == [Person(id: 1, name: "Anna")])
      #expect(try rows.run(1).map(\.description) == ["id: 1, name: Anna"])
      let other = try SqliteDatabase(filepath: db.filepath)
      try other.execute(
        """
        DROP TABLE person; CREATE TABLE person (name TEXT, age INTEGER, id INTEGER PRIMARY KEY);
        INSERT INTO person VALUES ('Bo', 30, 1)
        """)
      #expect(try models.run(1) == [Person(id: 1, name: "Bo")])
      #expect(try rows.run(1).map(\.description) == ["name: Bo, age: 30, id: 1"])
    }
  }

  @Test func queriesWithoutTypeAndChangesWithTypeAreRefused() throws {
    try withCompany { db in
      let query = expectMisuse { _ = try db.prepare("SELECT id FROM worker") }
      #expect(
        query?.message
          == "the SQL text is a query; prepare it with the type of its rows: prepare(_:as:)")
      let typed = expectMisuse { _ = try db.prepare("DELETE FROM worker", as: Worker.self) }
      #expect(typed?.message == "the SQL text is a change, which has no rows; use prepare(_:) without a type")
      expectError(.schema(.missingTable("nosuch"))) { _ = try db.prepare("DELETE FROM nosuch WHERE id = \(id)") }
    }
  }

  private static let others = [
    "CREATE TABLE other (id INTEGER)", "DROP TABLE worker", "BEGIN", "VACUUM", "PRAGMA user_version = 5",
  ]

  @Test(arguments: others) func otherSQLIsRefusedWhenItIsPrepared(text: String) throws {
    try withCompany { db in
      let error = expectMisuse { _ = try db.prepare(SQL(verbatim: text)) }
      #expect(
        error?.message
          == "only queries, INSERT, REPLACE, UPDATE and DELETE can be prepared from SQL text; use execute(_:)")
      expectMisuse { _ = try db.prepare(SQL(verbatim: text), as: DynamicRow.self) }
      let workers = try Worker.read().orderBy(Worker.id).run(db)
      #expect(workers == Worker.all)
    }
  }

  private static let invalid: [SQL] = [
    "DELETE FROM worker RETURNING id", "DELETE FROM worker; DELETE FROM person", "DELETE FROM worker WHERE id = ?",
    "DELETE FROM worker WHERE name = '\(1)'", "",
  ]

  @Test(.needs(35, "RETURNING"), arguments: invalid) func invalidSQLIsRefusedWhenItIsPrepared(sql: SQL) throws {
    try withCompany { db in
      expectInvalidStatement("\(sql.text)") { _ = try db.prepare(sql) }
      expectInvalidStatement("\(sql.text)") { _ = try db.prepare(sql, as: Int.self) }
      let workers = try Worker.read().orderBy(Worker.id).run(db)
      #expect(workers == Worker.all)
    }
  }
}
