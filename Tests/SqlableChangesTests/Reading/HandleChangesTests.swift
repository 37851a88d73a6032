import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlableTestSupport

/// Reads of the log on a handle.
@Suite struct HandleChangesTests {
  private func withLog(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTables(Member.self, Person.self)
      try ChangeLog(Member.self, Person.self).create(db)
      try body(db)
    }
  }

  @Test func returnsTheChangesOfAllTables() throws {
    try withLog { db in
      let start = try db.changePosition()
      try Member(id: 1, name: "m").insert().run(db)
      try Person(id: 1, name: "p").insert().run(db)
      let (changes, position) = try db.changes(since: start)
      #expect(changes.map(\.table) == ["member", "person"])
      #expect(try position == db.changePosition())
      #expect(try db.changes(since: position).changes.isEmpty)
    }
  }

  @Test func theSchemaCanChangeBetweenCalls() throws {
    try withLog { db in
      let start = try db.changePosition()
      try db.execute("INSERT INTO member VALUES (1, 'm')")
      try AlterStatement.renameColumn("name", to: "title", inTable: "member").run(db)
      let (changes, position) = try db.changes(since: start)
      #expect(changes.map(\.new?.columns) == [["id", "title"]])
      try AlterStatement.renameColumn("title", to: "name", inTable: "member").run(db)
      try db.execute("INSERT INTO member VALUES (2, 'n')")
      #expect(
        try db.changes(on: Member.self, since: position).changes.map(\.row) == [.insert(Member(id: 2, name: "n"))])
    }
  }

  /// The log's columns and the aliases of its query have names such as v0 and c0.
  @Test func columnsOfAModelCanHaveTheNamesOfTheLog() throws {
    try withLog { db in
      let start = try db.changePosition()
      try db.createTable(Swapped.self)
      try ChangeLog(Swapped.self).create(db)
      try Swapped(v1: 1, v0: 7).insert().run(db)
      #expect(try db.changes(on: Swapped.self, since: start).changes.map(\.row) == [.insert(Swapped(v1: 1, v0: 7))])
    }
  }

  @Test func changesBeforeAnUndecodableChangeAreReturned() throws {
    try withLog { db in
      let start = try db.changePosition()
      try db.execute("INSERT INTO member VALUES (1, 'm'), (2, x'00'), (3, 'm')")
      let (changes, position) = try db.changes(on: Member.self, since: start)
      #expect(changes.map(\.row) == [.insert(Member(id: 1, name: "m"))])
      let error = expectSqlError { _ = try db.changes(on: Member.self, since: position) }
      if case .decoding? = error?.kind {} else { Issue.record("\(String(describing: error))") }
      #expect(try db.changes(since: position).changes.count == 2)
    }
  }

  @Test func refusesPositionsOfOtherDatabases() throws {
    try withLog { db in
      let other = try #require(ChangePosition("0-0-0"))
      #expect(expectSqlError { _ = try db.changes(since: other) }?.kind == .changeLog(.otherHistory))
      expectMisuse { _ = try db.changes(on: Bicycle.self, since: db.changePosition()) }
    }
    try withDatabase { db in
      let other = try #require(ChangePosition("0-0-0"))
      let error = expectSqlError { _ = try db.changes(since: other) }
      #expect(error?.message.contains("ChangeLog(…).create(db)") == true)
    }
  }
}

private struct Swapped: Sqlable, Equatable {
  static let v1 = column("v1", Int.self, PrimaryKey())
  static let v0 = column("v0", Int.self)
  static let tableLayout = [v1.column, v0.column]
  var v1: Int
  var v0: Int

  init(v1: Int, v0: Int) { (self.v1, self.v0) = (v1, v0) }

  init(row: ReadRow) throws {
    v1 = try row.get(Swapped.v1)
    v0 = try row.get(Swapped.v0)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Swapped.v1, v1)
    row.set(Swapped.v0, v0)
  }
}
