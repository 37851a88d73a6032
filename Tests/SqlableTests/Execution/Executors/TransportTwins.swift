import Foundation
import Sqlable
import Testing

// Tests/Cluster has this file and what it uses in one target.
#if canImport(SqlableTestSupport)
@testable import SqlableTestSupport
#endif

/// A database behind a transport, and a handle on a database of the same content. All work must return the same results
/// on both.
struct TransportTwins<Transport: SqlTransport> {
  let there: Transport
  let here: SqliteDatabase
  /// A text that is hard to encode.
  let text: String

  static var models: [any Sqlable.Type] { [Person.self, Bicycle.self, Car.self, Seat.self] }

  private func same<Work: Runnable>(
    _ work: Work, _ place: SourceLocation = #_sourceLocation
  ) async throws where Work.Output: Sendable & Equatable {
    let (remote, local) = (try await work.run(there), try work.run(here))
    #expect(remote == local, "\(work.sql)", sourceLocation: place)
  }

  func compareStatements() async throws {
    for name in ["Ann", "Bob", "Eve"] { try await same(Person(id: nil, name: name).insert()) }
    let bikes = (1...40).map { index in
      Bicycle(
        name: "bike \(index)", color: ["red", "blue", text][index % 3], ownerId: index % 4 == 0 ? nil : index % 4)
    }
    try await same(Bicycle.insert(bikes))
    try await same(Bicycle.insert([]))
    try await same(Bicycle.read().orderBy(Bicycle.id))
    try await same(Bicycle.read().filter(Bicycle.id > 100))
    try await same(Bicycle.byId(3))
    try await same(Bicycle.byId(300))
    try await same(
      Bicycle.read().filter(Bicycle.id.in(Array(1...35) + [900])).orderBy(Bicycle.id, .desc))
    try await same(Bicycle.read().orderBy(Bicycle.id.in([Int]()).asc, Bicycle.id.desc))
    try await same(Bicycle.count().filter(Bicycle.ownerId.isNull))
    try await same(Bicycle.exists().filter(Bicycle.color == text))
    try await same(Bicycle.exists().filter(Bicycle.color == "none"))
    try await same(Bicycle.update(Bicycle.color.set(to: "green")).filter(Bicycle.id < 4))
    try await same(Bicycle(id: 2, name: "two", color: "white", ownerId: nil).update())
    try await same(Bicycle(id: 200, name: "none", color: "white", ownerId: nil).update())
    try await same(Bicycle(id: 2, name: "saved", color: "white", ownerId: 1).save())
    try await same(Bicycle(id: 77, name: "new", color: "white", ownerId: 1).save())
    let again = Bicycle(name: "new", color: "white", ownerId: 2)
    try await same(again.insert().ignoreOnConflict())
    if SQLiteLibrary.isAtLeast(35) {
      try await same(again.insert().onConflict(Bicycle.name, Bicycle.color, update: Bicycle.ownerId))
      try await same(Bicycle(name: "x", color: "y").insert().returning())
      try await same(Bicycle.delete(Bicycle.id == 5).returning().first())
      try await same(Bicycle.delete(Bicycle.id > 30).returning(Bicycle.name, Bicycle.ownerId))
    }
    try await same(Bicycle.delete(Bicycle.id == 6))
    try await same(Seat(row: 3, letter: "C").insert())
    try await same(Seat.insert([Seat(row: 4, letter: "A", price: .infinity)]))
    try await same(Seat.read())
    try await same(Bicycle.insert(from: Bicycle.read().filter(Bicycle.id < 0)))
  }

  func compareQueries() async throws {
    let cars = [
      Car(id: nil, name: "Zoé", price: 1.5, isElectric: true, soldAt: Date(timeIntervalSince1970: 1_700_000_000.25)),
      Car(id: nil, name: "", price: -0.0, isElectric: false, soldAt: nil),
    ]
    try await same(Car.insert(cars))
    try await same(Car.read().orderBy(Car.id))
    let pairs = Car.select(Car.name, Car.soldAt).orderBy(Car.id)
    let (remote, local) = (try await pairs.run(there), try pairs.run(here))
    #expect(remote.map(\.0) == ["Zoé", ""])
    #expect(remote.map(\.1) == local.map(\.1))
    let (first, count) = (try await pairs.first(there), try await pairs.count(there))
    #expect(first?.0 == "Zoé")
    #expect(count == 2)
    let joined = try await Car.leftJoin(Person.self, on: Car.id == Person.id).orderBy(Car.id.asc).run(there)
    #expect(joined.map(\.0.price) == [1.5, 0])
    #expect(joined.allSatisfy { $0.1 == nil })
    let name = "O'Hara"
    try await there.execute("INSERT INTO person (name) VALUES (\(name))")
    let people = try await there.query("SELECT name, id FROM person", as: Person.self)
    let names = try await there.query("SELECT name FROM person", as: String.self)
    let both = try await there.query("SELECT id, name FROM person", as: Int.self, String.self)
    let any = try await there.query("SELECT NULL, 1", as: DynamicRow.self)
    #expect(people == [Person(id: 1, name: name)])
    #expect(names == [name])
    #expect(both.map(\.1) == [name])
    #expect(any.map(\.values) == [[.null, .integer(1)]])
    let (plan, own) = (try await Car.byId(1).explain(there), try Car.byId(1).explain(here))
    #expect(plan == own)
    #expect(plan.steps.count == 1)
  }

  func compareResults() async throws {
    try await same(Bicycle.insert((1...4).map { Bicycle(name: "\($0)", color: $0 > 2 ? "red" : "blue") }))
    try await same(Bicycle.read().grouped(by: \.color))
    try await same(Bicycle.read().asDictionary(by: \.id))
    try await same(Bicycle.select(Bicycle.name.typed(as: String.self)).asSet())
    try await same(Bicycle.read().filter(Bicycle.name == "3").only())
    try await same(Bicycle.select(Bicycle.ownerId.typed(as: Int?.self)).first())
    try await same(
      Bicycle.select(Bicycle.color, Bicycle.id.max()).groupBy(Bicycle.color)
        .decoded(as: Newest.self, columns: "color", "newest"))
    try await same(SQL("SELECT color, max(id) AS newest FROM bicycle GROUP BY color").rows(as: Newest.self))
    for work in [Bicycle.read().only(), Bicycle.read().filter(Bicycle.id > 9).only()] {
      let far = await error(of: work)
      let near = Result { try work.run(here) }.mapError { $0 as? SqlError ?? .init(.other, message: "") }.error
      #expect(far?.kind == near?.kind)
      #expect(far?.message == near?.message)
      #expect(far != nil)
    }
    let refused = await error(of: Bicycle.delete(Bicycle.color == "red").returning().only())
    #expect(
      refused?.message.hasPrefix("a remote database can't roll back the change if collecting its rows throws") == true)
    #expect(try await Bicycle.count().run(there) == 4)
  }

  private func error<Work: Runnable>(of work: Work) async -> SqlError? where Work.Output: Sendable {
    do {
      _ = try await work.run(there)
      return nil
    } catch { return error as? SqlError }
  }

  func compareChildren() async throws {
    try await same(Person.insert(["Ann", "Bob"].map { Person(id: nil, name: $0) }))
    try await same(Bicycle.insert((1...3).map { Bicycle(name: "\($0)", color: "red", ownerId: 1) }))
    let owners = Person.read().orderBy(Person.id).including(Bicycle.read().orderBy(Bicycle.id), by: Bicycle.ownerId)
    let (remote, local) = (try await owners.run(there), try owners.run(here))
    #expect(remote.map(\.0) == local.map(\.0))
    #expect(remote.map(\.1) == local.map(\.1))
    #expect(remote.map { $0.1.count } == [3, 0])
    let nested = Person.read().orderBy(Person.id)
      .including(
        Person.bikes.orderBy(Bicycle.id, .desc).limit(2).including(Bicycle.owner.including(Person.bikes.count()))
      )
      .including(Person.bikes.count())
    let (far, near) = (try await nested.run(there), try nested.run(here))
    #expect(far.map { $0.1.map(\.0.name) } == [["3", "2"], []])
    #expect(near.map { $0.1.map(\.0.name) } == [["3", "2"], []])
    #expect(far.map { $0.1.map { $0.1?.1 } } == [[3, 3], []])
    #expect(far.map(\.2) == [3, 0])
    #expect(near.map(\.2) == [3, 0])
  }
}

extension Result {
  fileprivate var error: Failure? { if case .failure(let error) = self { error } else { nil } }
}

private struct Newest: Decodable, Equatable {
  let color: String
  let newest: Int
}
