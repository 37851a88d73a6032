import Foundation
import Sqlable
import Testing

/// Statements on a database that this process has no connection to: they give what they give on a handle.
@Suite(.enabled(if: TestProgram.isAvailable, "the tests are no program of their own"))
struct TransportTests {
  /// Calls `body` with a way to a database in another process, and with a handle on another database of the same
  /// content.
  private func withTwins(_ body: (PipeTransport, SqliteDatabase) async throws -> Void) async throws {
    try await withDirectoryAsync { directory in
      let paths = ["here", "there"].map { "\(directory)/\($0).sqlite" }
      for path in paths {
        let db = try SqliteDatabase(filepath: path)
        try db.createTable(Person.self)
        try db.createTable(Bicycle.self)
        try db.createTable(Car.self)
        try db.createTable(Seat.self)
        try db.close()
      }
      let transport = try PipeTransport(paths[1])
      let here = try SqliteDatabase(filepath: paths[0])
      try await body(transport, here)
      #expect(await transport.end())
      try here.close()
    }
  }

  private func same<Work: Runnable>(
    _ work: Work, _ there: PipeTransport, _ here: SqliteDatabase, _ place: SourceLocation = #_sourceLocation
  ) async throws where Work.Output: Sendable & Equatable {
    let (remote, local) = (try await work.run(there), try work.run(here))
    #expect(remote == local, "\(work.sql)", sourceLocation: place)
  }

  /// Its requests have fewer values than `?`; a transport that numbers the values would bind one to another `?`.
  @Test func aStatementWithAParameterIsNotSent() async throws {
    try await withTwins { there, _ in
      let named = Bicycle.read().filter(Bicycle.color == Parameter("color") && Bicycle.name == "x")
      #expect(try named.requests().map(\.values) == [[.text("x")]])
      do {
        _ = try await named.run(there)
        Issue.record("it was sent")
      } catch let error as SqlError {
        #expect(error.message == "the statement has a parameter, color, and must be prepared to be run")
      }
    }
  }

  @Test func everyKindOfStatementGivesWhatItGivesOnAHandle() async throws {
    try await withTwins { there, here in
      for name in ["Ann", "Bob", "Eve"] { try await same(Person(id: nil, name: name).insert(), there, here) }
      let bikes = (1...40).map { index in
        Bicycle(
          name: "bike \(index)", color: ["red", "blue", "é\0ñ"][index % 3], ownerId: index % 4 == 0 ? nil : index % 4)
      }
      try await same(Bicycle.insert(bikes), there, here)
      try await same(Bicycle.insert([]), there, here)
      try await same(Bicycle.read().orderBy(Bicycle.id), there, here)
      try await same(Bicycle.read().filter(Bicycle.id > 100), there, here)
      try await same(Bicycle.byId(3), there, here)
      try await same(Bicycle.byId(300), there, here)
      try await same(
        Bicycle.read().filter(Bicycle.id.in(Array(1...35) + [900])).orderBy(Bicycle.id, .desc), there, here)
      try await same(Bicycle.read().orderBy(Bicycle.id.in([Int]()).asc, Bicycle.id.desc), there, here)
      try await same(Bicycle.count().filter(Bicycle.ownerId.isNull), there, here)
      try await same(Bicycle.exists().filter(Bicycle.color == "é\0ñ"), there, here)
      try await same(Bicycle.exists().filter(Bicycle.color == "none"), there, here)
      try await same(Bicycle.update(Bicycle.color.set(to: "green")).filter(Bicycle.id < 4), there, here)
      try await same(Bicycle(id: 2, name: "two", color: "white", ownerId: nil).update(), there, here)
      try await same(Bicycle(id: 200, name: "none", color: "white", ownerId: nil).update(), there, here)
      try await same(Bicycle(id: 2, name: "saved", color: "white", ownerId: 1).save(), there, here)
      try await same(Bicycle(id: 77, name: "new", color: "white", ownerId: 1).save(), there, here)
      let again = Bicycle(name: "new", color: "white", ownerId: 2)
      try await same(again.insert().ignoreOnConflict(), there, here)
      if SQLiteLibrary.isAtLeast(35) {
        try await same(again.insert().onConflict(Bicycle.name, Bicycle.color, update: Bicycle.ownerId), there, here)
        try await same(Bicycle(name: "x", color: "y").insert().returning(), there, here)
        try await same(Bicycle.delete(Bicycle.id == 5).returning().first(), there, here)
        try await same(Bicycle.delete(Bicycle.id > 30).returning(Bicycle.name, Bicycle.ownerId), there, here)
      }
      try await same(Bicycle.delete(Bicycle.id == 6), there, here)
      try await same(Seat(row: 3, letter: "C").insert(), there, here)
      try await same(Seat.insert([Seat(row: 4, letter: "A", price: .infinity)]), there, here)
      try await same(Seat.read(), there, here)
      try await same(Bicycle.insert(from: Bicycle.read().filter(Bicycle.id < 0)), there, here)
    }
  }

  @Test func queriesAndRawSQLGiveWhatTheyGiveOnAHandle() async throws {
    try await withTwins { there, here in
      let cars = [
        Car(id: nil, name: "Zoé", price: 1.5, isElectric: true, soldAt: Date(timeIntervalSince1970: 1_700_000_000.25)),
        Car(id: nil, name: "", price: -0.0, isElectric: false, soldAt: nil),
      ]
      try await same(Car.insert(cars), there, here)
      try await same(Car.read().orderBy(Car.id), there, here)
      let pairs = Car.select(Car.name, Car.soldAt).orderBy(Car.id)
      let (remote, local) = (try await pairs.run(there), try pairs.run(here))
      #expect(remote.map(\.0) == ["Zoé", ""] && remote.map(\.1) == local.map(\.1))
      let (first, count) = (try await pairs.first(there), try await pairs.count(there))
      #expect(first?.0 == "Zoé" && count == 2)
      let joined = try await Car.leftJoin(Person.self, on: Car.id == Person.id).orderBy(Car.id.asc).run(there)
      #expect(joined.map(\.0.price) == [1.5, 0] && joined.allSatisfy { $0.1 == nil })
      let name = "O'Hara"
      try await there.execute("INSERT INTO person (name) VALUES (\(name))")
      let people = try await there.query("SELECT name, id FROM person", as: Person.self)
      let names = try await there.query("SELECT name FROM person", as: String.self)
      let both = try await there.query("SELECT id, name FROM person", as: Int.self, String.self)
      let any = try await there.query("SELECT NULL, 1", as: DynamicRow.self)
      #expect(people == [Person(id: 1, name: name)] && names == [name] && both.map(\.1) == [name])
      #expect(any.map(\.values) == [[.null, .integer(1)]])
      let (plan, own) = (try await Car.byId(1).explain(there), try Car.byId(1).explain(here))
      #expect(plan == own && plan.steps.count == 1)
    }
  }

  @Test func parentsComeWithTheirChildren() async throws {
    try await withTwins { there, here in
      try await same(Person.insert(["Ann", "Bob"].map { Person(id: nil, name: $0) }), there, here)
      try await same(Bicycle.insert((1...3).map { Bicycle(name: "\($0)", color: "red", ownerId: 1) }), there, here)
      let owners = Person.read().orderBy(Person.id).including(Bicycle.read().orderBy(Bicycle.id), by: Bicycle.ownerId)
      let (remote, local) = (try await owners.run(there), try owners.run(here))
      #expect(remote.map(\.0) == local.map(\.0) && remote.map(\.1) == local.map(\.1))
      #expect(remote.map { $0.1.count } == [3, 0])
    }
  }

  @Test func aBatchThatFailsLeavesNothingBehind() async throws {
    try await withTwins { there, here in
      let bikes = ["a", "b", "a"].map { Bicycle(name: $0, color: "red") }
      let error = await #expect(throws: SqlError.self) { try await Bicycle.insert(bikes).run(there) }
      #expect(error?.message.contains("UNIQUE") == true)
      let calls = await there.calls
      let count = try await Bicycle.count().run(there)
      #expect(count == 0 && calls == 1)
    }
  }

  @Test func whatDoesNotFitNamesTheSQLThatWasSent() async throws {
    try await withTwins { there, here in
      try await there.execute("INSERT INTO car (name, price, is_electric) VALUES ('x', 1, 7)")
      let error = await #expect(throws: SqlError.self) { try await Car.read().run(there) }
      #expect(error?.sql == Car.read().sql && error?.column == "is_electric")
      guard case .decoding = error?.kind else {
        Issue.record("\(String(describing: error))")
        return
      }
    }
  }
}
