import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Losses of the changes of one of several logged tables.
@Suite struct TableLossTests {
  /// Calls `body` with a pool whose tables of members and people are logged, and have a row each.
  private func withLog(_ body: (SqlitePool) async throws -> Void) async throws {
    try await withMembers { pool in
      try await pool.transaction { db in
        try db.createTable(Person.self)
        try ChangeLog(Member.self, Person.self).create(db)
        try Member(id: 1, name: "m").insert().run(db)
        try Person(id: 1, name: "p").insert().run(db)
      }
      try await body(pool)
    }
  }

  private static let recreation = """
    CREATE TABLE new (id INTEGER PRIMARY KEY NOT NULL, name TEXT NOT NULL); INSERT INTO new SELECT * FROM member;
    DROP TABLE member; ALTER TABLE new RENAME TO member
    """

  private func recreateMembers(_ pool: SqlitePool) async throws {
    try await Migrations([Migration("recreate", sql: Self.recreation)]).apply(pool)
  }

  private func kind(_ body: () async throws -> Void) async -> SqlError.Kind? {
    do { try await body() } catch { return (error as? SqlError)?.kind }
    return nil
  }

  private let trimmed = SqlError.Kind.changeLog(.trimmed)

  @Test func consumersOfOtherTablesContinue() async throws {
    try await withLog { pool in
      var members = pool.changes(on: Member.self, as: "members").makeAsyncIterator()
      var people = pool.changes(on: Person.self, as: "people").makeAsyncIterator()
      var all = pool.changes(as: "all").makeAsyncIterator()
      try await members.next()?.acknowledge()
      try await people.next()?.acknowledge()
      try await all.next()?.acknowledge()
      try await recreateMembers(pool)
      try await Person(id: 2, name: "p").insert().run(pool)
      #expect(try await people.next()?.all().map(\.row) == [.insert(Person(id: 2, name: "p"))])
      #expect(await kind { _ = try await members.next() } == trimmed)
      #expect(await kind { _ = try await all.next() } == trimmed)
    }
  }

  @Test func positionsAreInvalidOnlyForTheTable() async throws {
    try await withLog { pool in
      func members(_ position: ChangePosition) async throws -> [LoggedRow<Member>] {
        try await pool.read { db in try db.changes(on: Member.self, since: position).changes.map(\.row) }
      }
      func people(_ position: ChangePosition) async throws -> [LoggedRow<Person>] {
        try await pool.read { db in try db.changes(on: Person.self, since: position).changes.map(\.row) }
      }
      func tables(_ position: ChangePosition) async throws -> [String] {
        try await pool.read { db in try db.changes(since: position).changes.map(\.table) }
      }
      let old = try await pool.changePosition()
      try await recreateMembers(pool)
      let new = try await pool.changePosition()
      try await pool.transaction { db in
        try Member(id: 2, name: "m").insert().run(db)
        try Person(id: 2, name: "p").insert().run(db)
      }
      #expect(try await people(old) == [.insert(Person(id: 2, name: "p"))])
      #expect(try await members(new) == [.insert(Member(id: 2, name: "m"))])
      #expect(try await tables(new) == ["member", "person"])
      #expect(await kind { _ = try await members(old) } == trimmed)
      #expect(await kind { _ = try await tables(old) } == trimmed)
      // The other table loses changes, too.
      try await pool.transaction { db in
        try db.execute("DROP TRIGGER sqlable_changes_person_delete")
        try ChangeLog(Person.self).create(db)
      }
      #expect(try await members(new) == [.insert(Member(id: 2, name: "m"))])
      #expect(await kind { _ = try await people(new) } == trimmed)
    }
  }

  @Test func aNewConsumerOfTheLogStartsAfterTheLoss() async throws {
    try await withLog { pool in
      try await recreateMembers(pool)
      try await Member(id: 2, name: "m").insert().run(pool)
      var members = pool.changes(on: Member.self, as: "members", startingWith: .log).makeAsyncIterator()
      #expect(try await members.next()?.all().map(\.row) == [.insert(Member(id: 2, name: "m"))])
      var people = pool.changes(on: Person.self, as: "people", startingWith: .log).makeAsyncIterator()
      #expect(try await people.next()?.all().map(\.row) == [.insert(Person(id: 1, name: "p"))])
    }
  }

  /// The trim deletes the row that marks the loss, or only earlier rows.
  @Test(arguments: [2, 9]) func aTrimAfterALossKeepsTheLoss(_ count: Int) async throws {
    try await withLog { pool in
      var members = pool.changes(on: Member.self, as: "members").makeAsyncIterator()
      try await members.next()?.acknowledge()
      try await recreateMembers(pool)
      for id in 2...9 { try await Person(id: id, name: "p").insert().run(pool) }
      try await ChangeLog.trim(pool, keeping: .count(count))
      #expect(await kind { _ = try await members.next() } == trimmed)
      try await pool.removeChangeConsumer("members")
      var again = pool.changes(on: Member.self, as: "members").makeAsyncIterator()
      #expect(try await again.next()?.isSnapshot == true)
    }
  }

  @Test func aPlanCanBeAppliedAfterATrim() async throws {
    try await withLog { pool in
      let plan = try await pool.transaction { db in
        try db.execute("ALTER TABLE member RENAME COLUMN name TO title")
        return try Schema(Member.self, Person.self).plan(db, renamed: ["title": "name"])
      }
      try await ChangeLog.trim(pool, keeping: .count(1))
      try await pool.transaction { db in try plan.apply(db) }
      #expect(try await Member.count().run(pool) == 1)
    }
  }
}
