import SqlableSchema
import Testing

@testable import SqlableCore
@testable import SqlableTestSupport

@Suite struct ManyObserversTests {
  private final class Held: Sendable {}

  @Test func removedObserversAreReleasedAndTheOthersKeepTheirOrder() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let calls = Mutex<[Int]>([])
      weak var held: Held?
      var tokens: [ObserverToken] = []
      func observe(_ number: Int) {
        let object = Held()
        if number == 7 { held = object }
        tokens.append(
          db.observe(on: Person.self) { (_: Int) in
            withExtendedLifetime(object) { calls.withLock { $0.append(number) } }
          })
      }
      for number in 0..<10_000 { observe(number) }
      #expect(held != nil)
      db.removeObserver(tokens[7])
      #expect(held == nil)
      for number in 0..<10_000 where number % 1_000 != 1 { db.removeObserver(tokens[number]) }
      try Person(id: nil, name: "Ann").insert().run(db)
      #expect(calls.withLock { $0 } == (0..<10).map { $0 * 1_000 + 1 })
      // A token that is removed twice, or that belongs to another handle, removes no observer.
      db.removeObserver(tokens[7])
      try withDatabase { other in db.removeObserver(other.observe(on: Person.self) { (_: Int) in }) }
      for number in 0..<10 { db.removeObserver(tokens[number * 1_000 + 1]) }
      try Person(id: nil, name: "Ben").insert().run(db)
      #expect(calls.withLock { $0.count } == 10)
      #expect(db.registry.recipients(for: []) == nil)
    }
  }

  @Test func anObserverThatRemovesOthersDuringTheDeliveryStopsTheirCalls() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let calls = Mutex<[Int]>([])
      let tokens = Mutex<[ObserverToken]>([])
      for number in 0..<100 {
        let token = db.observe(on: Person.self) { (_: Int) in
          calls.withLock { $0.append(number) }
          if number == 3 { for later in 4..<99 { db.removeObserver(tokens.withLock { $0[later] }) } }
        }
        tokens.withLock { $0.append(token) }
      }
      try Person(id: nil, name: "Ann").insert().run(db)
      #expect(calls.withLock { $0 } == [0, 1, 2, 3, 99])
    }
  }
}
