import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Results in which columns share a name.
@Suite struct DuplicateNamesTests {
  @Test func aModelIsNotReadFromColumnsThatShareAName() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try db.execute("INSERT INTO person (id, name) VALUES (1, 'Ann')")
      try db.execute("INSERT INTO bicycle (id, name, color, owner_id) VALUES (7, 'Trek', 'red', 1)")
      let join: SQL = "SELECT * FROM person JOIN bicycle ON owner_id = person.id"
      let error = expectMisuse { _ = try db.query(join, as: Bicycle.self) }
      #expect(error?.message == "several columns of the result are named id; give them different names")
      expectMisuse { _ = try join.rows(as: Bicycle.self).run(db) }
      let bikes = try db.query("SELECT bicycle.* FROM person JOIN bicycle ON owner_id = person.id", as: Bicycle.self)
      #expect(bikes.map(\.id) == [7])
    }
  }

  @Test func readingAnAmbiguousColumnNameIsMisuse() throws {
    try withDatabase { db in
      let row = try #require(try db.query("SELECT 1 AS a, 2 AS b, 3 AS a", as: DynamicRow.self).first)
      expectMisuse { _ = try row.get("a", as: Int.self) }
      #expect(try row.get("b", as: Int.self) == 2)
      #expect(try row.get(at: 2, as: Int.self) == 3)
      expectMisuse { _ = try db.query("SELECT 1 AS a, 3 AS a") { row in try row.get("a", as: Int.self) } }
    }
  }
}
