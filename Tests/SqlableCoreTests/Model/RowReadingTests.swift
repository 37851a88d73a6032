import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// A model that keeps the row that it is read from, which is misuse.
private struct Keeper: Sqlable {
  let row: KeptRow
  static let id = Column("id", .integer, PrimaryKey())
  static let name = Column("name", .text)
  static let tableName = "person"
  static let tableLayout = [id, name]
  init(row: ReadRow) throws {
    self.row = KeptRow(row)
    for column in Keeper.tableLayout { row.skip(column) }
  }
}

/// A box that carries a row out of the call in which the row is valid.
private final class KeptRow: @unchecked Sendable {
  let row: ReadRow
  init(_ row: ReadRow) { self.row = row }
}

@Suite struct RowReadingTests {
  private func expectStale(_ row: ReadRow, sourceLocation: SourceLocation = #_sourceLocation) {
    let reads: [() throws -> Void] = [
      { _ = try row.get(Keeper.name) as String }, { _ = try row.get(Keeper.id) as Int },
      { _ = try row.get(at: 0) as Int }, { _ = try row.get("name") as String }, { _ = try row.columnNames },
      { _ = try row.get(Bicycle.color) as String },
    ]
    for read in reads { expectMisuse(sourceLocation: sourceLocation, read) }
  }

  @Test func aKeptRowThrowsInsteadOfReadingAnother() throws {
    var kept: [ReadRow] = []
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person.insert((1...20).map { Person(id: nil, name: "person \($0)") }).run(db)
      kept += try Keeper.read().run(db).map(\.row.row)
      try Keeper.read().forEach(db) { keeper in
        for row in kept { expectStale(row) }
        let current: Int = try keeper.row.row.get(Keeper.id)
        // Another run of the same statement must not affect this row.
        let others = try Keeper.read().run(db)
        expectStale(others[0].row.row)
        #expect(try keeper.row.row.get(Keeper.id) == current)
        kept.append(keeper.row.row)
      }
      try db.query("SELECT id, name FROM person") { kept.append($0) }
      #expect(kept.count == 60)
      for row in kept { expectStale(row) }
      try db.releaseMemory()
      for row in kept { expectStale(row) }
      try db.close()
    }
    for row in kept { expectStale(row) }
    // A new database reuses the memory of the kept rows' statements.
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person(id: nil, name: "x").insert().run(db)
      try Keeper.read().forEach(db) { _ in for row in kept { expectStale(row) } }
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
