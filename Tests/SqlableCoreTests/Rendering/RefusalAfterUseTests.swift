import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Refusal of invalid modifiers after the statement without them has run.
struct RefusalAfterUseTests {
  @Test func aLimitOrOrderIsRefusedAfterThePlainStatementRan() throws {
    let db = try SqliteDatabase.inMemory()
    try db.createTable(Person.self)
    func person(_ id: Int) -> Person { Person(id: id, name: "Anna") }
    try person(1).insert().run(db)
    try person(2).insert().run(db)
    try person(1).update().run(db)
    try person(2).delete().run(db)
    let refused: [(String, () throws -> Void)] = [
      ("a delete of a struct can't have an offset", { try person(1).delete().offset(1).run(db) }),
      ("an update of a struct can't have an order", { try person(1).update().orderBy(Person.name).run(db) }),
      ("an insert can't have a limit", { try person(3).insert().limit(0).run(db) }),
    ]
    for (message, run) in refused {
      let error = expectInvalidStatement { try run() }
      #expect(error?.message == message)
      #expect(error?.code == 0)
    }
    #expect(try Person.read().run(db).map(\.id) == [1])
  }
}
