import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct EmptyConditionTests {
  private let none: [SqlExpression] = []

  @Test func filterByNoConditionsLeavesNoWhere() throws {
    #expect(Person.read().filter(.all(none)).sql == #"SELECT "id", "name" FROM "person""#)
    #expect(Person.read().filter(Person.id == 1).filter(.all(none)).sql == Person.read().filter(Person.id == 1).sql)
    #expect(
      Car.select(Car.name).filter(.all(none)).groupBy(Car.name).having(.all(none)).sql
        == #"SELECT "name" FROM "car" GROUP BY "name""#)
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person(id: nil, name: "Ann").insert().run(db)
      #expect(try Person.read().filter(.all(none)).run(db).map(\.name) == ["Ann"])
      #expect(try Person.read().filter(.any(none)).run(db).isEmpty)
    }
  }

  @Test func changeByNoConditionsIsRefused() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person(id: nil, name: "Ann").insert().run(db)
      expectMisuse { try Person.delete(.all(none)).run(db) }
      expectMisuse { try Person.update(Person.name.set(to: "Bob")).filter(.all(none)).run(db) }
      #expect(try Person.read().run(db).map(\.name) == ["Ann"])
    }
  }
}
