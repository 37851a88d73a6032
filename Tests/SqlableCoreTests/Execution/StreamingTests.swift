import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct StreamingTests {
  /// A model that counts its live instances.
  private struct Counted: Sqlable {
    final class Life: Sendable {
      init() {
        Counted.lives.withLock { lives in
          lives.now += 1
          lives.most = max(lives.most, lives.now)
        }
      }

      deinit { Counted.lives.withLock { $0.now -= 1 } }
    }

    static let lives = Mutex<(now: Int, most: Int)>((0, 0))
    static let id = column("id", Int.self, PrimaryKey())
    static let tableLayout = [id.column]
    let number: Int
    let life = Life()

    init(id: Int) { number = id }
    init(row: ReadRow) throws { number = try row.get(Counted.id) }
    func write(to row: inout RowWriter) throws { row.set(Counted.id, number) }
  }

  private struct Broken: Error {}

  private func withPeople(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try body(db)
    }
  }

  @Test func aSequenceIsInsertedLazily() throws {
    try withPeople { db in
      var made = 0
      let rows = sequence(state: ()) { _ -> Person? in
        made += 1
        return made > 1000 ? nil : Person(id: nil, name: "name \(made)")
      }
      let count = try Person.insert().run(db, streaming: rows)
      #expect(count == 1000)
      #expect(try Person.count().run(db) == 1000)
      #expect(try Person.byId(1000).run(db)?.name == "name 1000")
      let none: [Person] = []
      #expect(try Person.insert().run(db, streaming: none) == 0)
      #expect(try Person.insert([Person(id: 5000, name: "own")]).run(db, streaming: [Person(id: 5001, name: "x")]) == 2)
      #expect(try Person.read().filter(Person.id >= 5000).orderBy(Person.id).run(db).map(\.name) == ["own", "x"])
    }
  }

  @Test func streamingKeepsAtMostTwoRowsInMemory() throws {
    try withDatabase { db in
      try db.createTable(Counted.self)
      let rows = (1...20_000).lazy.map { Counted(id: $0) }
      #expect(try Counted.insert().run(db, streaming: rows) == 20_000)
      #expect(try Counted.count().run(db) == 20_000)
      let lives = Counted.lives.withLock { $0 }
      #expect(lives.most <= 2)
      #expect(lives.now == 0)
    }
  }

  @Test func anErrorDuringStreamingStoresNothing() throws {
    try withPeople { db in
      var number = 0
      #expect(throws: Broken.self) {
        try Person.insert().run(db) {
          number += 1
          if number == 500 { throw Broken() }
          return Person(id: number, name: "name")
        }
      }
      #expect(try Person.count().run(db) == 0)
      #expect(db.transactionLevel == 0)
      let error = sqlError {
        try Person.insert().run(db, streaming: [1, 2, 3, 1].lazy.map { Person(id: $0, name: "name") })
      }
      #expect(error?.kind == .constraint(.primaryKey))
      #expect(try Person.count().run(db) == 0)
      try db.transaction { db in
        try Person(id: 1, name: "kept").insert().run(db)
        let rows = [Person(id: 2, name: "x"), Person(id: 1, name: "y")]
        let error = sqlError { try Person.insert().run(db, streaming: rows) }
        #expect(error?.kind == .constraint(.primaryKey))
      }
      #expect(try Person.read().run(db).map(\.name) == ["kept"])
    }
  }

  @Test func skippedRowsAreNotCounted() throws {
    try withPeople { db in
      try Person(id: 2, name: "there").insert().run(db)
      let rows = (1...3).lazy.map { Person(id: $0, name: "new") }
      #expect(try Person.insert().ignoreOnConflict().run(db, streaming: rows) == 2)
      #expect(try Person.read().orderBy(Person.id).run(db).map(\.name) == ["new", "there", "new"])
    }
  }

  @Test func aStreamedSequenceMayReadFromItsTargetHandle() throws {
    try withPeople { db in
      try Person.insert((1...3).map { (id: Int) in Person(id: id, name: "name \(id)") }).run(db)
      var next = 1
      let count = try Person.insert().run(db) {
        guard let person = try Person.byId(next).run(db), next <= 3 else { return nil }
        next += 1
        return Person(id: nil, name: person.name + " again, and longer than any buffer of fifteen bytes")
      }
      #expect(count == 3)
      #expect(try Person.byId(6).run(db)?.name.hasPrefix("name 3 again") == true)
    }
  }
}
