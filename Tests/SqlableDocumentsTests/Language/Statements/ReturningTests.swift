import Foundation
import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite(.needs(35, "RETURNING")) struct ReturningTests {
  private struct Unreadable: Error {}

  @Test func changesReturnTheChangedRows() throws {
    try withBicycles { db in
      // The returned row has the column's default.
      let stored = try Bicycle(name: "Kona", color: "").insert(Bicycle.name).returning().run(db)
      #expect(stored == [Bicycle(id: 4, name: "Kona", color: "black")])
      let one = try Bicycle(name: "Scott", color: "red").insert().returning().first().run(db)
      #expect(one?.id == 5)
      let many = try Bicycle.insert([Bicycle(name: "A", color: "a"), Bicycle(name: "B", color: "b")]).returning().run(
        db)
      #expect(many.map(\.id) == [6, 7])
      let painted = try Bicycle.update(Bicycle.color.set(to: "black")).filter(Bicycle.color == "red").returning().run(
        db)
      #expect(Set(painted.map(\.name)) == ["Norco", "Giant", "Scott"])
      #expect(painted.allSatisfy { $0.color == "black" })
      let gone = try Bicycle.delete(Bicycle.id > 5).returning().run(db)
      #expect(Set(gone.map(\.name)) == ["A", "B"])
      let own = try #require(one)
      #expect(try own.delete().returning().run(db).map(\.name) == ["Scott"])
      #expect(try own.delete().returning().run(db).isEmpty)
      #expect(try Bicycle.count().run(db) == 4)
    }
  }

  @Test func conflictsReturnTheStoredRow() throws {
    try withBicycles { db in
      let known = Bicycle(name: "Norco", color: "red")
      #expect(try known.insert().ignoreOnConflict().returning().run(db).isEmpty)
      let updated = try known.insert().onConflict(Bicycle.name, Bicycle.color, update: Bicycle.name).returning().run(db)
      #expect(updated.map(\.id) == [1])
      let saved = try Bicycle(id: 2, name: "Trek", color: "green").save().returning().first().run(db)
      #expect(saved == Bicycle(id: 2, name: "Trek", color: "green"))
    }
  }

  @Test func aRowThatCantBeReadLeavesNothingChanged() throws {
    try withBicycles { db in
      let seen = Mutex<[Int]>([])
      db.observe(.insert, on: HookedPerson.self) { id in seen.withLock { $0.append(id) } }
      let (good, bad) = (HookedPerson(id: 1, name: "good"), HookedPerson(id: 2, name: "bad"))
      let refuseBad: @Sendable (ReadRow) throws -> Void = { row in
        if try row.get(HookedPerson.name) == "bad" { throw Unreadable() }
      }
      #expect(throws: Unreadable.self) {
        try HookedPerson.$whileRead.withValue(refuseBad) {
          try HookedPerson.insert([good, bad]).returning().run(db)
        }
      }
      let left = try Person.count().run(db)
      #expect(left == 0)
      #expect(db.transactionLevel == 0)
      #expect(seen.withLock { $0 } == [])
      #expect(try good.insert().returning().run(db).count == 1)
      #expect(seen.withLock { $0.count } == 1)
      #expect(throws: Unreadable.self) {
        try HookedPerson.$whileRead.withValue(refuseBad) {
          try HookedPerson.updateAll(HookedPerson.name.set(to: "bad")).returning().run(db)
        }
      }
      #expect(try Person.read().run(db).map(\.name) == ["good"])
    }
  }

  @Test func unsupportedUsesOfReturningAreRefused() throws {
    try withBicycles { db in
      let count = sqlError { _ = try Bicycle.count().returning().run(db) }
      #expect(count?.message == "a count can't have RETURNING, because the statement already returns rows or a number")
      let loop = sqlError { try Bicycle.deleteAll().returning().forEach(db) { _ in } }
      #expect(loop?.message == "a loop can't run a change with RETURNING; use run")
      let prepared = sqlError { _ = try db.prepare(Bicycle.deleteAll().returning()) }
      #expect(
        prepared?.message == "a change with RETURNING can't be prepared; use run, which caches the compiled statement")
      let left = try Bicycle.count().run(db)
      #expect(left == 3)
    }
  }

  @Test func aReturningStatementHasADocumentForm() throws {
    try withBicycles { db in
      let statement = Bicycle.delete(Bicycle.color == "red").returning()
      let data = try JSONEncoder().encode(ReturningStatement(statement))
      let decoded = try JSONDecoder().decode(ReturningStatement<Bicycle, [Bicycle]>.self, from: data).statement
      #expect(decoded == statement)
      #expect(Bicycle.delete(Bicycle.color == "red") != Bicycle.deleteAll())
      let other = sqlError { _ = try JSONDecoder().decode(Statement<Bicycle, Int>.self, from: data) }
      #expect(other?.message == "a change that returns rows can't be decoded as a Statement; use ReturningStatement")
      #expect(try decoded.run(db).count == 2)
    }
  }
}
