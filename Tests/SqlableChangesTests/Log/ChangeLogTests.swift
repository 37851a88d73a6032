import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlableTestSupport

@Suite struct ChangeLogTests {
  private func triggers(_ db: SqliteDatabase) throws -> [String] {
    try db.query("SELECT name FROM sqlite_schema WHERE type = 'trigger' ORDER BY rowid", as: String.self)
  }

  /// Returns the images in the log: the number of the kind, and the values.
  private func images(_ db: SqliteDatabase) throws -> [String] {
    try db.query("SELECT kind, v0, v1, v2, v3 FROM sqlable_changes ORDER BY seq", as: DynamicRow.self)
      .map { $0.description.replacing(#/[a-z0-9]+: /#, with: "") }
  }

  @Test func createMakesTriggersOnce() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let log = ChangeLog(Bicycle.self)
      try log.create(db)
      let names = [
        "beforeInsert", "beforeUpdate", "delete", "insert", "insertReplaced", "update", "updateReplaced",
      ]
      #expect(try triggers(db) == names.map { "sqlable_changes_bicycle_\($0)" })
      let version = try db.query("PRAGMA schema_version", as: Int.self)
      try log.create(db)
      #expect(try db.query("PRAGMA schema_version", as: Int.self) == version)
    }
  }

  @Test func everyChangeIsLoggedWithItsValues() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try ChangeLog(Bicycle.self).create(db)
      try Bicycle(name: "Rover", color: "red").insert().run(db)
      try Bicycle.updateAll(Bicycle.color.set(to: "blue")).run(db)
      try Bicycle.deleteAll().run(db)
      #expect(
        try images(db) == [
          "1, 1, Rover, red, NULL", "3, 1, Rover, blue, NULL", "2, 1, Rover, blue, NULL",
        ])
      let old = try db.query("SELECT o0, o1, o2, o3 FROM sqlable_changes ORDER BY seq", as: DynamicRow.self)
      #expect(
        old.map(\.values) == [
          [.null, .null, .null, .null], [1, "Rover", "red", .null], [.null, .null, .null, .null],
        ])
    }
  }

  @Test func aFullDatabaseLogsExactlyTheStoredChanges() throws {
    try withDatabase(.init(maximumPageCount: 80)) { db in
      try db.createTable(Member.self)
      try ChangeLog(Member.self).create(db)
      var random = SeededGenerator(seed: SeededGenerator.seed)
      var failures = 0
      for _ in 0..<300 {
        let statements = (0..<2).map { _ -> SQL in
          let (id, length) = (Int.random(in: 1...40, using: &random), Int.random(in: 0...1_000, using: &random))
          let name = String(repeating: "x", count: length)
          switch Int.random(in: 0..<4, using: &random) {
          case 0: return "UPDATE member SET name = name || \(name) WHERE id >= \(id)"
          case 1: return "DELETE FROM member WHERE id = \(id)"
          default: return "INSERT OR REPLACE INTO member VALUES (\(id), \(name)), (\(id + 1), \(name))"
          }
        }
        do {
          try db.transaction { db in for statement in statements { try db.execute(statement) } }
        } catch let error as SqlError where error.kind == .full { failures += 1 }
      }
      #expect((1..<300).contains(failures))
      var copy: [DatabaseValue: DatabaseValue] = [:]
      let page = try LogReader().page(after: nil, in: db)
      #expect(page.isLast)
      for change in page.changes {
        if let old = change.old?.values { #expect(copy.updateValue(.null, forKey: old[0]) == old[1]) }
        if change.change == .delete, let old = change.old?.values { copy[old[0]] = nil }
        if let new = change.new?.values { copy[new[0]] = new[1] }
      }
      let rows = try Member.read().run(db).map { (DatabaseValue.integer(Int64($0.id)), DatabaseValue.text($0.name)) }
      #expect(copy == Dictionary(uniqueKeysWithValues: rows))
    }
  }

  @Test func aRowThatReplaceDeletesIsLogged() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try ChangeLog(Bicycle.self).create(db)
      try db.execute("INSERT INTO bicycle (id, name, color) VALUES (1, 'Rover', 'red'), (2, 'Dahon', 'red')")
      try db.execute("UPDATE OR REPLACE bicycle SET name = 'Rover' WHERE id = 2")
      try db.execute("INSERT OR REPLACE INTO bicycle (id, name, color) VALUES (3, 'Rover', 'red')")
      let deletes = try images(db).filter { $0.hasPrefix("2") }
      #expect(deletes == ["2, 1, Rover, red, NULL", "2, 2, Rover, red, NULL"])
      #expect(try db.query("SELECT count(*) FROM sqlable_change_candidates", as: Int.self) == [0])
    }
  }

  @Test func nothingOfARolledBackSavepointIsLogged() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try ChangeLog(Bicycle.self).create(db)
      try db.transaction { db in
        try Bicycle(name: "Rover", color: "red").insert().run(db)
        try db.transaction { db -> TransactionResult in
          try Bicycle(name: "Dahon", color: "red").insert().run(db)
          return .rollback
        }
      }
      #expect(try images(db) == ["1, 1, Rover, red, NULL"])
    }
  }

  @Test func aLogOfKeysKeepsOnlyKeys() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try ChangeLog(Bicycle.self, keeping: .keys).create(db)
      try Bicycle(name: "Rover", color: "red").insert().run(db)
      try db.execute("UPDATE bicycle SET id = 5")
      #expect(
        try db.query("SELECT kind, v0, o0 FROM sqlable_changes", as: Int.self, Int.self, Int?.self).map {
          [$0, $1, $2]
        }
          == [[1, 1, nil], [3, 5, 1]])
      let columns = try db.query("SELECT name FROM pragma_table_info('sqlable_changes')", as: String.self)
      #expect(columns == ["seq", "table", "kind", "at", "v0", "o0"])
    }
  }

  @Test func blobsAndRealsKeepTheirStorageClass() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v)")
      try ChangeLog(Entry<Table>.self).create(db)
      let values: [DatabaseValue] = [.real(1), .integer(1), .text("1"), .blob(.init([0, 255])), .text("a\0b"), .null]
      for value in values { try db.execute("INSERT INTO t (v) VALUES (\(value))") }
      let logged = try db.query("SELECT v1 FROM sqlable_changes ORDER BY seq", as: DynamicRow.self)
      #expect(logged.map { $0.values[0] } == values)
    }
  }

  @Test func aTableWithoutAKeyIsLoggedWithItsRowid() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (v)")
      try ChangeLog(Entry<Keyless>.self).create(db)
      try db.execute("INSERT INTO t (rowid, v) VALUES (7, 'a')")
      let start = ChangePosition(history: try db.changePosition().history, number: 0, time: 0)
      let page = try db.transaction(.deferred) { try LogSource<LoggedChange>().page(after: start, in: $0) }
      let changes = try page.elements
      #expect(changes.map(\.key) == [["rowid"]])
      #expect(changes.map(\.new?.columns) == [["rowid", "v"]])
      #expect(changes.map(\.new?.values) == [[7, "a"]])
    }
  }

  @Test func createAfterANewColumnLogsTheColumn() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY)")
      try ChangeLog(Entry<Table>.self).create(db)
      try db.execute("INSERT INTO t VALUES (1)")
      try db.execute("ALTER TABLE t ADD COLUMN v")
      try ChangeLog(Entry<Table>.self).create(db)
      try db.execute("INSERT INTO t VALUES (2, 'a')")
      #expect(
        try db.query("SELECT \"columns\" FROM sqlable_change_tables ORDER BY id", as: String.self)
          == [#"["id"]"#, #"["id","v"]"#])
      #expect(try db.query("SELECT v1 FROM sqlable_changes ORDER BY seq", as: String?.self) == [nil, "a"])
    }
  }

  @Test func createReplacesTriggersThatAreOlderThanOthers() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v)")
      let log = ChangeLog(Entry<Table>.self)
      try log.create(db)
      try db.execute("CREATE TRIGGER fill AFTER INSERT ON t BEGIN UPDATE t SET v = 'new' WHERE id = new.id; END")
      try log.create(db)
      try db.execute("INSERT INTO t VALUES (1, NULL)")
      #expect(try db.query("SELECT kind FROM sqlable_changes ORDER BY seq", as: Int.self) == [1, 3])
      #expect(try triggers(db).first == "fill")
    }
  }

  @Test func readsRefuseTriggersInAnotherOrder() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v)")
      let log = ChangeLog(Entry<Table>.self)
      try log.create(db)
      // Another program has rebuilt the table.
      let name = "sqlable_changes_t_insert"
      let text = try db.query("SELECT sql FROM sqlite_schema WHERE name = \(name)", as: String.self)[0]
      try db.execute("DROP TRIGGER \(table: name)")
      try db.execute(SQL(verbatim: text))
      let start = try db.changePosition()
      let source = LogSource<LoggedChange>()
      let error = expectSqlError { try db.transaction(.deferred) { _ = try source.page(after: start, in: $0) } }
      #expect(error?.message.contains("another order") == true)
      try log.create(db)
      try db.execute("INSERT INTO t VALUES (1, NULL)")
      try db.execute("INSERT OR REPLACE INTO t VALUES (1, 'a')")
      #expect(try db.query("SELECT kind FROM sqlable_changes ORDER BY seq", as: Int.self) == [1, 2, 1])
    }
  }

  @Test(arguments: ["VIRTUAL UNIQUE", "STORED UNIQUE", "VIRTUAL"])
  func aRowThatAGeneratedColumnReplacesIsLogged(kind: String) throws {
    try withDatabase { db in
      try db.execute(SQL(verbatim: "CREATE TABLE t (id INTEGER PRIMARY KEY, a, b, v AS (a + b) \(kind))"))
      if kind == "VIRTUAL" { try db.execute("CREATE UNIQUE INDEX t_v ON t (abs(v))") }
      try ChangeLog(Entry<Table>.self).create(db)
      try db.execute("INSERT INTO t (id, a, b) VALUES (1, 1, 2), (2, 10, 20)")
      // SQLite computes `new.v` from `a`, and from `b` only if the trigger names it.
      try db.execute("UPDATE OR REPLACE t SET a = 28 WHERE id = 1")
      let last = try db.query(
        "SELECT kind, v0 FROM sqlable_changes ORDER BY seq DESC LIMIT 2", as: Int.self, Int.self)
      #expect(last.map { [$0.0, $0.1] } == [[3, 1], [2, 2]])
    }
  }

  @Test func updatesOfAKeyByAnyNameAreLogged() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v)")
      try ChangeLog(Entry<Table>.self).create(db)
      for name in ["id", "rowid", "_rowid_", "OID"] {
        try db.execute("DELETE FROM t")
        try db.execute("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
        try db.execute("UPDATE OR REPLACE t SET \(column: name) = 1 WHERE id = 2")
        let last = try db.query(
          "SELECT kind, v0, o0 FROM sqlable_changes ORDER BY seq DESC LIMIT 2", as: Int.self, Int.self, Int?.self)
        #expect(last.map { [$0.0, $0.1, $0.2] } == [[3, 1, 2], [2, 1, nil]])
      }
    }
  }

  @Test func columnsCanHaveTheNamesOfTheLogsColumns() throws {
    try withDatabase { db in
      try db.execute(
        """
        CREATE TABLE t (id INTEGER PRIMARY KEY, "row" INTEGER REFERENCES t ON DELETE CASCADE, "table", v0, kind UNIQUE,
        "weird ""name")
        """)
      try ChangeLog(Entry<Table>.self).create(db)
      try db.execute("INSERT INTO t VALUES (1, NULL, 2, 3, 'a', 5), (2, 1, 2, 3, 'b', 5), (3, 2, 2, 3, 'c', 5)")
      try db.execute("INSERT OR REPLACE INTO t VALUES (4, NULL, 2, 3, 'a', 6)")
      let rows = try db.query("SELECT kind, v0, v5 FROM sqlable_changes ORDER BY seq", as: Int.self, Int.self, Int.self)
      #expect(
        rows.map { [$0, $1, $2] }.sorted { ($0[1], $0[0]) < ($1[1], $1[0]) } == [
          [1, 1, 5], [2, 1, 5], [1, 2, 5], [2, 2, 5], [1, 3, 5], [2, 3, 5], [1, 4, 6],
        ])
    }
  }

  @Test func dropRemovesTheTriggersAndTheLastDropTheLog() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try ChangeLog(Bicycle.self, Person.self).create(db)
      try Person(id: nil, name: "Ada").insert().run(db)
      try ChangeLog(Bicycle.self).drop(db)
      #expect(try triggers(db).allSatisfy { $0.hasPrefix("sqlable_changes_person") })
      #expect(try db.query("SELECT count(*) FROM sqlable_changes", as: Int.self) == [1])
      try ChangeLog(Person.self).drop(db)
      #expect(try db.schema().tables.map(\.name) == ["bicycle", "person"])
      #expect(try triggers(db).isEmpty)
    }
  }

  @Test func refusesWhatTriggersCantRecord() throws {
    try withDatabase { db in
      expectError(.schema(.missingTable("t"))) { try ChangeLog(Entry<Table>.self).create(db) }
      try db.execute("CREATE VIEW t AS SELECT 1 AS id")
      expectMisuse { try ChangeLog(Entry<Table>.self).create(db) }
      try db.execute("DROP VIEW t")
      try db.execute("CREATE TABLE t (rowid, oid, _rowid_)")
      expectMisuse { try ChangeLog(Entry<Table>.self).create(db) }
      try db.execute("DROP TABLE t")
      try db.execute("CREATE VIRTUAL TABLE t USING fts5(v)")
      expectMisuse { try ChangeLog(Entry<Table>.self).create(db) }
      #expect(try !db.tableExists("sqlable_changes"))
    }
  }

  @Test func refusesTablesOfOtherDatabases() throws {
    try withDirectory { directory in
      let path = directory + "/attached.sqlite"
      try SqliteDatabase(filepath: path).execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v)")
      let db = try SqliteDatabase(
        filepath: directory + "/main.sqlite", configuration: Configuration(attached: ["other": path]))
      let attached = expectSqlError { try ChangeLog(Entry<Table>.self).create(db) }
      #expect(attached?.message.contains("it is in the attached file other") == true)
      try db.execute("CREATE TEMP TABLE t (id INTEGER PRIMARY KEY, v)")
      let temporary = expectSqlError { try ChangeLog(Entry<Table>.self).create(db) }
      #expect(temporary?.message.contains("it is in the temporary database") == true)
      #expect(try !db.tableExists("sqlable_changes"))
      // The database's own table has precedence.
      try db.execute("CREATE TABLE main.t (id INTEGER PRIMARY KEY, v)")
      try ChangeLog(Entry<Table>.self).create(db)
    }
  }

  @Test func writersThatAttachTheFileAreLogged() throws {
    try withDirectory { directory in
      let path = directory + "/logged.sqlite"
      let logged = try SqliteDatabase(filepath: path)
      try logged.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v)")
      try ChangeLog(Entry<Table>.self).create(logged)
      let db = try SqliteDatabase(
        filepath: directory + "/main.sqlite", configuration: Configuration(attached: ["other": path]))
      // Another table and another log of the same names.
      try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, v)")
      try ChangeLog(Entry<Table>.self).create(db)
      try db.transaction { db in
        try db.execute("INSERT INTO other.t VALUES (1, 'a'), (2, 'b')")
        try db.execute("INSERT INTO t VALUES (3, 'c')")
        try db.execute("REPLACE INTO other.t VALUES (1, 'd')")
      }
      func changes(_ db: SqliteDatabase) throws -> [[Int]] {
        try db.query("SELECT kind, v0 FROM sqlable_changes ORDER BY seq", as: Int.self, Int.self).map { [$0, $1] }
      }
      #expect(try changes(logged) == [[1, 1], [1, 2], [2, 1], [1, 1]])
      #expect(try changes(db) == [[1, 3]])
    }
  }

  @Test func schemasIgnoreTheLog() throws {
    try withDatabase { db in
      let schema = Schema(Person.self, Bicycle.self)
      try schema.create(db)
      try ChangeLog(Person.self, Bicycle.self).create(db)
      try schema.verify(db)
      #expect(try schema.plan(db).steps.isEmpty)
      try schema.create(db)
      #expect(try triggers(db).count == 14)
    }
  }

  @Test func logsAreEqualByTheirTablesAndValues() {
    #expect(ChangeLog(Bicycle.self) == ChangeLog(Bicycle.self))
    #expect(ChangeLog(Bicycle.self) != ChangeLog(Bicycle.self, keeping: .keys))
    #expect(ChangeLog(Bicycle.self) != ChangeLog(Person.self))
    #expect(Set([ChangeLog(Bicycle.self), ChangeLog(Bicycle.self)]).count == 1)
  }

  private struct Table: TableDeclaration {
    static let columns = [Column("id", .integer, PrimaryKey()), Column("v", .nullable(.blob))]
  }

  private struct Keyless: TableDeclaration { static let columns = [Column("v", .nullable(.blob))] }
}
