import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// A box that carries rows out of the calls in which they are valid, which is misuse.
private final class KeptRows: @unchecked Sendable {
  var rows: [ReadRow] = []
}

@Suite struct RowReadingTests {
  /// Reads people and keeps their rows.
  private func keeping<Result>(_ kept: KeptRows, _ read: () throws -> Result) throws -> Result {
    try HookedPerson.$whileRead.withValue({ kept.rows.append($0) }, operation: read)
  }

  private func expectStale(_ row: ReadRow, sourceLocation: SourceLocation = #_sourceLocation) {
    let reads: [() throws -> Void] = [
      { _ = try row.get(HookedPerson.name) as String }, { _ = try row.get(HookedPerson.id) as Int },
      { _ = try row.get(at: 0) as Int }, { _ = try row.get("name") as String }, { _ = try row.columnNames },
      { _ = try row.get(Bicycle.color) as String },
    ]
    for read in reads { expectMisuse(sourceLocation: sourceLocation, read) }
  }

  @Test func aKeptRowThrowsInsteadOfReadingAnother() throws {
    let kept = KeptRows()
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person.insert((1...20).map { Person(id: nil, name: "person \($0)") }).run(db)
      _ = try keeping(kept) { try HookedPerson.read().run(db) }
      try keeping(kept) {
        try HookedPerson.read().forEach(db) { person in
          for row in kept.rows.dropLast() { expectStale(row) }
          // Another run of the same statement must not affect this row.
          let others = KeptRows()
          _ = try keeping(others) { try HookedPerson.read().run(db) }
          expectStale(others.rows[0])
          #expect(try kept.rows.last?.get(HookedPerson.id) == person.id)
        }
      }
      try db.query("SELECT id, name FROM person") { kept.rows.append($0) }
      #expect(kept.rows.count == 60)
      for row in kept.rows { expectStale(row) }
      try db.releaseMemory()
      for row in kept.rows { expectStale(row) }
      try db.close()
    }
    for row in kept.rows { expectStale(row) }
    // A new database reuses the memory of the kept rows' statements.
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person(id: nil, name: "x").insert().run(db)
      try Person.read().forEach(db) { _ in for row in kept.rows { expectStale(row) } }
    }
  }

  @Test func rowsOfRawQueriesAreReadByPositionAndName() throws {
    try withDatabase { db in
      let rows = try db.query("SELECT 1 AS a, 'x' AS \"b c\", NULL") { row in
        #expect(try row.columnNames == ["a", "b c", "NULL"])
        #expect(try row.get("b c") == "x")
        #expect(try row.get(at: 2, as: Int?.self) == nil)
        for position in [-1, 3, .min, .max] { expectMisuse { _ = try row.get(at: position) as Int } }
        expectError(.schema(.missingColumn("nosuch"))) { _ = try row.get("nosuch") as Int }
        expectMisuse { _ = try row.get(Person.id) as Int }
        return try row.get("a", as: Int.self)
      }
      #expect(rows == [1])
    }
  }

  @Test func rawQueriesMayListTheColumnsOfAModelInAnyOrder() throws {
    try withDatabase { db in
      let people = try db.query("SELECT 'x' AS name, 5 AS extra, 3 AS id", as: Person.self)
      #expect(people == [Person(id: 3, name: "x")])
      let error = expectError(.schema(.missingColumn("name"))) { _ = try db.query("SELECT 1 AS id", as: Person.self) }
      #expect(error?.column == "name")
      let wrong = sqlError { _ = try db.query("SELECT 9 AS id, 5 AS name", as: Person.self) }
      #expect(wrong?.mismatch == .init(expected: "TEXT", found: "INTEGER"))
      #expect(wrong?.column == "name")
      #expect(wrong?.rowId == 9)
    }
  }
}
