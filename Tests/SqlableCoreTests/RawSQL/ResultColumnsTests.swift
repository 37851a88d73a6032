import Foundation
import SqlableCodable
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// A transport that runs requests on a handle and counts the calls.
private actor Counting: SqlTransport {
  let db: SqliteDatabase
  private(set) var calls = 0

  init(_ db: SqliteDatabase) { self.db = db }

  func answers(to requests: [SqlRequest]) throws -> [SqlAnswer] {
    calls += 1
    return try db.answers(to: requests)
  }
}

/// Columns of a result, checked against the types that the rows are read as.
@Suite struct ResultColumnsTests {
  private func people(_ db: SqliteDatabase) throws {
    try db.createTable(Person.self)
    try Person.insert(["Ann", "Bob"].map { Person(id: nil, name: $0) }).run(db)
  }

  // MARK: Models in tuples

  @Test func modelsInTuplesReadTheirColumnsByName() async throws {
    let db = try SqliteDatabase.inMemory()
    // The table has another order than the model.
    try db.execute(
      "CREATE TABLE boat (launched_at TEXT, isSailing, owner_id INTEGER, id INTEGER PRIMARY KEY, name TEXT)")
    let boat = Boat(id: 3, name: "Fram", ownerID: 2, isSailing: true, launchedAt: Date(timeIntervalSince1970: 0))
    try boat.insert().run(db)
    let rows = try db.query("SELECT 7, boat.*, 8 FROM boat", as: Int.self, Boat.self, Int.self)
    #expect(rows.map(\.0) == [7])
    #expect(rows.map(\.1) == [boat])
    #expect(rows.map(\.2) == [8])
    let pairs = try db.query("SELECT a.*, b.* FROM boat a LEFT JOIN boat b ON b.id > 3", as: Boat.self, Boat?.self)
    #expect(pairs.map(\.0) == [boat])
    #expect(pairs.map(\.1) == [nil])
    let prepared = try db.prepare(
      "SELECT boat.*, 8 FROM boat WHERE id = \(Parameter<Int>("id"))", as: Boat.self, Int.self)
    #expect(try prepared.run(3).map(\.0) == [boat])
    let remote = try await Counting(db).query("SELECT 7, boat.* FROM boat", as: Int.self, Boat.self)
    #expect(remote.map(\.1) == [boat])
    let others = try db.query(
      "SELECT 7, id AS a, name AS b, owner_id AS c, isSailing AS d, launched_at AS e FROM boat", as: Int.self, Boat.self
    )
    #expect(others.map(\.1) == [boat])
    let mixed = expectMisuse {
      _ = try db.query(
        "SELECT 7, id, owner_id, name AS x, isSailing, launched_at FROM boat", as: Int.self, Boat.self)
    }
    #expect(
      mixed?.message == """
        the result has column owner_id in the position of boat.name; select the columns in the order of the \
        model's layout, or give every column its name in the model
        """)
  }

  // MARK: Dynamic rows

  @Test func aDynamicRowMustComeLast() async throws {
    let db = try SqliteDatabase.inMemory()
    try people(db)
    let says = "a DynamicRow reads all remaining columns, and must come last"
    #expect(expectMisuse { _ = try db.query("SELECT 5", as: DynamicRow.self, Double?.self) }?.message == says)
    #expect(expectMisuse { _ = try db.query("SELECT 5, 6", as: DynamicRow.self, DynamicRow.self) }?.message == says)
    #expect(expectMisuse { _ = try db.query("SELECT 5", as: DynamicRow?.self, Person.self) }?.message == says)
    #expect(expectMisuse { _ = try db.query("SELECT 5", as: Int.self, DynamicRow.self, Int.self) }?.message == says)
    #expect(expectMisuse { _ = try SQL("SELECT 5").rows(as: DynamicRow.self, Int?.self).run(db) }?.message == says)
    #expect(expectMisuse { _ = try db.prepare("SELECT 5", as: DynamicRow.self, Int?.self) }?.message == says)
    let transport = Counting(db)
    await #expect(throws: SqlError.self) {
      try await transport.query("DELETE FROM person RETURNING *", as: DynamicRow.self, Int?.self)
    }
    // The check must precede the request.
    #expect(await transport.calls == 0)
    #expect(try onHandle(db) == 2)
  }

  private func onHandle(_ db: SqliteDatabase) throws -> Int { try Person.count().run(db) }

  @Test func aDynamicRowTakesTheRemainingColumns() async throws {
    let db = try SqliteDatabase.inMemory()
    try people(db)
    let text: SQL = "SELECT id, name, 42 AS more, NULL FROM person ORDER BY id"
    func expectRest(_ rows: [(Person, DynamicRow)], sourceLocation: SourceLocation = #_sourceLocation) {
      #expect(rows.map(\.0.name) == ["Ann", "Bob"], sourceLocation: sourceLocation)
      for (_, rest) in rows {
        #expect(rest.columns == ["more", "NULL"], sourceLocation: sourceLocation)
        #expect(rest.values == [.integer(42), .null], sourceLocation: sourceLocation)
      }
    }
    try expectRest(db.query(text, as: Person.self, DynamicRow.self))
    try expectRest(text.rows(as: Person.self, DynamicRow.self).run(db))
    let prepared = try db.prepare(text, as: Person.self, DynamicRow.self)
    for _ in 0..<2 { try expectRest(prepared.run()) }
    try expectRest([#require(try prepared.first())] + db.query(text, as: Person.self, DynamicRow.self).dropFirst())
    try await expectRest(Counting(db).query(text, as: Person.self, DynamicRow.self))
    let values = try db.query("SELECT 1, 2, 3", as: Int.self, DynamicRow.self)
    #expect(values.map(\.1.values) == [[.integer(2), .integer(3)]])
    #expect(try db.query("SELECT 1", as: Int.self, DynamicRow.self).map(\.1.values) == [[]])
    expectMisuse { _ = try db.query("SELECT 1", as: Int.self, Int.self, DynamicRow.self) }
  }

  // MARK: Numbers of columns

  @Test func columnsAreCheckedEvenWithoutRows() async throws {
    let db = try SqliteDatabase.inMemory()
    try people(db)
    let none: SQL = "SELECT id, name FROM person WHERE 0"
    #expect(expectMisuse { _ = try db.query(none, as: Int.self) }?.message == "the result has 2 columns, but 1 is read")
    expectMisuse { _ = try db.query(none, as: Int.self, String.self, Int.self) }
    expectMisuse { _ = try none.rows(as: Int.self).run(db) }
    #expect(try db.query(none, as: Int.self, String.self).isEmpty)
    await #expect(throws: SqlError.self) { try await Counting(db).query(none, as: Int.self) }
    let received = try await Counting(db).query(none, as: Int.self, String.self)
    #expect(received.isEmpty)
    let empty = try db.answer(to: SqlRequest(sql: none.text, values: [], isReadOnly: true))
    #expect(empty.columns == ["id", "name"])
    #expect(empty.rows == [])
  }

  @Test func aChangeThatReturnsOtherColumnsChangesNothing() throws {
    try withDatabase { db in
      try people(db)
      func expectNothing(_ text: SQL, sourceLocation: SourceLocation = #_sourceLocation) throws {
        expectMisuse(sourceLocation: sourceLocation) { _ = try db.query(text, as: Int.self, String.self) }
        expectMisuse(sourceLocation: sourceLocation) { _ = try db.query(text, as: Int.self) }
        try db.transaction { db in
          expectMisuse(sourceLocation: sourceLocation) { _ = try db.query(text, as: Int.self, String.self) }
        }
        #expect(
          try db.query("SELECT name FROM person", as: String.self) == ["Ann", "Bob"], sourceLocation: sourceLocation)
      }
      try expectNothing("UPDATE person SET name = 'x'")
      try expectNothing("DELETE FROM person")
      expectMisuse { _ = try db.query("UPDATE person SET name = 'x'", as: Person.self) }
      if SQLiteLibrary.isAtLeast(35) { try expectNothing("UPDATE person SET name = 'x' RETURNING id, name, 1") }
      // A DynamicRow may have any number of columns, including none.
      #expect(try db.query("UPDATE person SET name = 'y'", as: DynamicRow.self).isEmpty)
    }
  }

  @Test func aPreparedTextIsCheckedAgainAfterASchemaChange() throws {
    try withDatabase { db in
      try people(db)
      let rows = try db.prepare("SELECT * FROM person ORDER BY id", as: Int.self, String.self)
      let rest = try db.prepare("SELECT * FROM person ORDER BY id", as: Int.self, DynamicRow.self)
      #expect(try rows.run().map(\.1) == ["Ann", "Bob"])
      let other = try SqliteDatabase(filepath: db.filepath)
      try other.execute("ALTER TABLE person ADD COLUMN age INTEGER DEFAULT 9")
      let says = "the result has 3 columns, but 2 are read"
      #expect(expectMisuse { _ = try rows.run() }?.message == says)
      #expect(expectMisuse { _ = try rows.first() }?.message == says)
      #expect(expectMisuse { try rows.forEach([:]) { _ in .continue } }?.message == says)
      #expect(try rest.run().map(\.1.values) == [[.text("Ann"), .integer(9)], [.text("Bob"), .integer(9)]])
      #expect(try rest.first()?.1.columns == ["name", "age"])
      try other.execute("DELETE FROM person")
      #expect(expectMisuse { _ = try rows.run() }?.message == says)
    }
  }
}
