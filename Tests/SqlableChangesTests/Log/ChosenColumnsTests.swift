import SqlableBackup
import SqlableCodable
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Logs that keep chosen columns.
@Suite struct ChosenColumnsTests {
  /// The model of a part of the table of bicycles.
  private struct Paint: SqlCodable, Equatable {
    let id: Int
    var color: String
    static let tableName = "bicycle"
    static let id = column("id", Int.self, PrimaryKey())
    static let color = column("color", String.self)
    static let tableLayout = [id.column, color.column]
  }

  private struct Naming: SqlCodable, Equatable {
    let id: Int
    var name: String
    var color: String
    static let tableName = "bicycle"
    static let tableLayout = [Bicycle.id.column, Bicycle.name.column, Bicycle.color.column]
  }

  private func withColors(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try ChangeLog(Bicycle.self, keeping: .columns(Bicycle.color)).create(db)
      try body(db)
    }
  }

  private func log(_ db: SqliteDatabase) throws -> [String] { try db.changeTexts() }

  private func entries(_ db: SqliteDatabase) throws -> [String] {
    try db.query(
      "SELECT kept || columns || omitted || key FROM sqlable_change_tables ORDER BY id", as: String.self)
  }

  // MARK: Values

  @Test func theKeyAndTheChosenColumnsAreKept() throws {
    try withColors { db in
      try Bicycle(name: "Rover", color: "red").insert().run(db)
      try Bicycle.updateAll(Bicycle.color.set(to: "blue")).run(db)
      try db.execute("INSERT OR REPLACE INTO bicycle (id, name, color) VALUES (2, 'Rover', 'blue')")
      #expect(
        try log(db) == [
          "bicycle i – → id: 1, color: red", "bicycle u id: 1, color: red → id: 1, color: blue",
          "bicycle d id: 1, color: blue → –", "bicycle i – → id: 2, color: blue",
        ])
      #expect(try entries(db) == [#"columns["id","color"]["name","owner_id"]["id"]"#])
      let columns = try db.query("SELECT name FROM pragma_table_info('sqlable_changes')", as: String.self)
      #expect(columns == ["seq", "table", "kind", "at", "v0", "v1", "o0", "o1"])
    }
  }

  @Test func updatesOfOtherColumnsAreLogged() throws {
    try withColors { db in
      try Bicycle(name: "Rover", color: "red").insert().run(db)
      try Bicycle.updateAll(Bicycle.name.set(to: "Dahon")).run(db)
      #expect(try log(db).last == "bicycle u id: 1, color: red → id: 1, color: red")
    }
  }

  @Test func keysOfAllKindsAreKept() throws {
    try withDatabase { db in
      for (declaration, values, expected) in [
        ("a, b, c", "1, 2, 3", "rowid: 1, b: 2"),
        ("a, b, c, PRIMARY KEY (c, a)", "1, 2, 3", "a: 1, b: 2, c: 3"),
        ("a PRIMARY KEY, b UNIQUE, c", "1, 2, 3", "a: 1, b: 2"),
        ("a INTEGER PRIMARY KEY, B, c", "1, 2, 3", "a: 1, B: 2"),
        ("a, b, c AS (a + b), d AS (a * b) STORED UNIQUE", "1, 2", "rowid: 1, b: 2"),
      ] as [(SQL, SQL, String)] {
        try db.execute("CREATE TABLE t (\(sql: declaration))")
        try ChangeLog(Entry<Wide>.self, keeping: .columns(Wide.b)).create(db)
        try db.execute("INSERT INTO t VALUES (\(sql: values))")
        #expect(try log(db) == ["t i – → \(expected)"])
        try db.execute("DROP TABLE t")
        try ChangeLog(Entry<Wide>.self).drop(db)
      }
      try db.execute("CREATE TABLE t (a, b, c, PRIMARY KEY (c)) WITHOUT ROWID")
      try ChangeLog(Entry<Wide>.self, keeping: .columns(Wide.b)).create(db)
      try db.execute("INSERT INTO t VALUES (1, 2, 3); REPLACE INTO t VALUES (4, 5, 3)")
      #expect(try log(db) == ["t i – → b: 2, c: 3", "t d b: 2, c: 3 → –", "t i – → b: 5, c: 3"])
    }
  }

  @Test func aGeneratedColumnCanBeChosen() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE t (a INTEGER PRIMARY KEY, b AS (2 * c) UNIQUE, c)")
      try ChangeLog(Entry<Wide>.self, keeping: .columns(Wide.b)).create(db)
      try db.execute("INSERT INTO t (c) VALUES (4); UPDATE t SET c = 5; REPLACE INTO t VALUES (2, 5)")
      #expect(
        try log(db) == [
          "t i – → a: 1, b: 8", "t u a: 1, b: 8 → a: 1, b: 10", "t d a: 1, b: 10 → –", "t i – → a: 2, b: 10",
        ])
    }
  }

  // MARK: Chosen columns

  @Test func refusesColumnsThatItCantKeep() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let other = expectSqlError { try ChangeLog(Bicycle.self, keeping: .columns(Person.name)).create(db) }
      #expect(other?.kindIsMisuse == true && other?.column == "name")
      let two = expectSqlError {
        try ChangeLog(Person.self, Bicycle.self, keeping: .columns(Bicycle.name)).create(db)
      }
      #expect(two?.kindIsMisuse == true && two?.table == "person")
      expectMisuse { try ChangeLog(Bicycle.self, keeping: .columns()).create(db) }
      try db.execute("ALTER TABLE bicycle RENAME COLUMN color TO colour")
      let missing = expectSqlError { try ChangeLog(Bicycle.self, keeping: .columns(Bicycle.color)).create(db) }
      #expect(missing?.kind == .schema(.missingColumn("color")))
      #expect(try !db.tableExists("sqlable_changes"))
    }
  }

  @Test func eachModelHasItsChosenColumns() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let values = ChangeLog.Values.columns(Person.id, Bicycle.name, Bicycle.color, Bicycle.name)
      try ChangeLog(Person.self, Bicycle.self, keeping: values).create(db)
      #expect(
        try entries(db) == [
          #"columns["id"]["name"]["id"]"#, #"columns["id","name","color"]["owner_id"]["id"]"#,
        ])
      // Two models of one table.
      try ChangeLog(Bicycle.self, Paint.self, keeping: .columns(Paint.color, Bicycle.name)).create(db)
      #expect(try entries(db).count == 2)
    }
  }

  @Test func namesOfColumnsAreComparedWithoutTheirCase() throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE Bicycle (ID INTEGER PRIMARY KEY, NAME TEXT, Color TEXT)")
      try ChangeLog(Bicycle.self, keeping: .columns(Bicycle.color)).create(db)
      try db.execute("INSERT INTO bicycle VALUES (1, 'Rover', 'red')")
      #expect(try log(db) == ["Bicycle i – → ID: 1, Color: red"])
      let version = try db.query("PRAGMA schema_version", as: Int.self)
      try ChangeLog(Bicycle.self, keeping: .columns(Bicycle.color)).create(db)
      #expect(try db.query("PRAGMA schema_version", as: Int.self) == version)
      #expect(try db.rows(of: Paint.self) == [.insert(Paint(id: 1, color: "red"))])
    }
  }

  @Test func logsAreEqualByTheirChosenColumns() {
    let log = ChangeLog(Bicycle.self, keeping: .columns(Bicycle.name, Bicycle.color))
    #expect(log == ChangeLog(Bicycle.self, keeping: .columns(Bicycle.color, Bicycle.name, Bicycle.name)))
    #expect(log != ChangeLog(Bicycle.self, keeping: .columns(Bicycle.color)))
    #expect(log != ChangeLog(Bicycle.self))
  }

  // MARK: Models

  @Test func aModelOfKeptColumnsReadsTheLog() throws {
    try withColors { db in
      try Bicycle(name: "Rover", color: "red").insert().run(db)
      try Bicycle.updateAll(Bicycle.color.set(to: "blue")).run(db)
      let (red, blue) = (Paint(id: 1, color: "red"), Paint(id: 1, color: "blue"))
      #expect(try db.rows(of: Paint.self) == [.insert(red), .update(old: red, new: blue)])
    }
  }

  @Test func aModelOfOtherColumnsIsRefused() async throws {
    try await withDirectoryAsync { directory in
      let pool = try newPool(in: directory)
      try await pool.transaction { db in
        try db.createTables(Person.self, Bicycle.self)
        try ChangeLog(Bicycle.self, keeping: .columns(Bicycle.color)).create(db)
        try Bicycle(name: "Rover", color: "red").insert().run(db)
      }
      func check(_ read: () async throws -> Void) async {
        let error = await #expect(throws: SqlError.self) { try await read() }
        #expect(error?.kindIsMisuse == true && error?.table == "bicycle" && error?.column == "name")
        #expect(error?.message.contains("does not keep column name, which the model reads; read the log with") == true)
      }
      await check { for try await _ in pool.changes(on: Bicycle.self, since: try await pool.changePosition()) {} }
      await check { try await pool.consume("totals", on: Bicycle.self) { _, _ in } }
      await check { for try await _ in pool.changes(on: Bicycle.self, as: "index") { Issue.record("a batch") } }
      await check {
        for try await _ in pool.changes(on: Bicycle.self, as: "log", startingWith: .log) { Issue.record("a batch") }
      }
      #expect(try await pool.changeConsumers().isEmpty)
      var loop = pool.changes(on: Paint.self, as: "paint").makeAsyncIterator()
      #expect(try await loop.next()?.all().map(\.row) == [.insert(Paint(id: 1, color: "red"))])
      try await pool.close()
    }
  }

  @Test func createWithOtherColumnsKeepsEarlierChanges() throws {
    try withColors { db in
      let start = try db.changePosition()
      try Bicycle(name: "Rover", color: "red").insert().run(db)
      let between = try db.changePosition()
      try ChangeLog(Bicycle.self, keeping: .columns(Bicycle.name, Bicycle.color)).create(db)
      try Bicycle.updateAll(Bicycle.name.set(to: "Dahon")).run(db)
      #expect(
        try log(db) == [
          "bicycle i – → id: 1, color: red",
          "bicycle u id: 1, name: Rover, color: red → id: 1, name: Dahon, color: red",
        ])
      #expect(try db.rows(of: Paint.self, since: start).count == 2)
      let update = LoggedRow.update(
        old: Naming(id: 1, name: "Rover", color: "red"), new: Naming(id: 1, name: "Dahon", color: "red"))
      #expect(try db.rows(of: Naming.self, since: between) == [update])
      let error = expectSqlError { _ = try db.rows(of: Naming.self, since: start) }
      #expect(error?.message.contains("table bicycle did not keep column name of a change") == true)
      // Fewer columns.
      try ChangeLog(Bicycle.self, keeping: .columns(Bicycle.name)).create(db)
      expectMisuse { _ = try db.rows(of: Naming.self, since: between) }
      try ChangeLog(Bicycle.self).create(db)
      try Bicycle.deleteAll().run(db)
      let deleted = try #require(try db.rows(of: Naming.self, since: between).last)
      #expect(deleted == .delete(Naming(id: 1, name: "Dahon", color: "red")))
      #expect(try log(db).last == "bicycle d id: 1, name: Dahon, color: red, owner_id: NULL → –")
    }
  }

  // MARK: Files

  @Test func aRestoredLogKeepsItsColumns() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite")
      try db.createTables(Person.self, Bicycle.self)
      try ChangeLog(Bicycle.self, keeping: .columns(Bicycle.color)).create(db)
      let position = try db.changePosition()
      try db.backup(to: directory + "/b.sqlite")
      let copy = try SqliteDatabase(filepath: directory + "/b.sqlite")
      try Bicycle(name: "Rover", color: "red").insert().run(copy)
      #expect(try copy.rows(of: Paint.self, since: position) == [.insert(Paint(id: 1, color: "red"))])
    }
  }

  private struct Wide: TableDeclaration {
    static let b = Column("b", .nullable(.blob))
    static let columns = [Column("a", .integer, PrimaryKey()), b, Column("c", .nullable(.blob))]
  }
}

extension SqliteDatabase {
  /// Returns all logged changes as texts: `t u id: 1, a: 2 → id: 1, a: 3`.
  func changeTexts() throws -> [String] {
    try LogReader().page(after: nil, in: self).changes.map { change in
      "\(change.table) \("\(change.change)".prefix(1)) \(change.old?.description ?? "–") → "
        + "\(change.new?.description ?? "–")"
    }
  }

  /// Returns the logged changes of a model's table after a position; all changes without a position.
  func rows<Model: Sqlable & Sendable>(
    of model: Model.Type, since position: ChangePosition? = nil
  ) throws -> [LoggedRow<Model>] {
    let start = try position ?? ChangePosition(history: changePosition().history, number: 0, time: 0)
    return try changes(on: model, since: start).changes.map(\.row)
  }
}
