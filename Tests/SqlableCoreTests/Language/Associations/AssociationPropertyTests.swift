import Foundation
import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Associations of random rows, compared with an evaluation in plain Swift.
@Suite struct AssociationPropertyTests {
  private func createTables(_ db: SqliteDatabase) throws {
    try db.createTables(Person.self, Bicycle.self, Repair.self, Course.self, Enrolment.self)
  }

  @Test(arguments: 1...times(30)) func randomRowsComeWithTheirAssociatedRows(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed))
    let people = (1...6).map { (id: Int) in Person(id: id, name: "p\(id)") }
    let bikes = (1...Int.random(in: 1...20, using: &random)).map { (id: Int) in
      Bicycle(
        id: id, name: "b\(id)", color: ["red", "blue"].randomElement(using: &random) ?? "red",
        ownerId: Bool.random(using: &random) ? Int.random(in: 1...6, using: &random) : nil)
    }
    let repairs = (0..<Int.random(in: 0...30, using: &random)).map { id in
      Repair(
        id: id, bicycleId: Int.random(in: 1...bikes.count, using: &random), cost: Int.random(in: 0...3, using: &random))
    }
    let links = Set(
      (0..<12).map { _ in [Int.random(in: 1...6, using: &random), Int.random(in: 1...4, using: &random)] })
    let limit = Bool.random(using: &random) ? Int.random(in: 0...3, using: &random) : nil
    let offset = Int.random(in: 0...2, using: &random)
    let cost = Int.random(in: 0...3, using: &random)
    func limited<Row>(_ rows: [Row]) -> [Row] { limit.map { Array(rows.dropFirst(offset).prefix($0)) } ?? rows }

    try withDatabase { db in
      try createTables(db)
      try Person.insert(people).run(db)
      try Bicycle.insert(bikes).run(db)
      try Repair.insert(repairs).run(db)
      try Course.insert((1...4).map { Course(id: $0, title: "t\($0)") }).run(db)
      try Enrolment.insert(links.map { Enrolment(personId: $0[0], courseId: $0[1]) }).run(db)

      var dear = Bicycle.repairs.filter(Repair.cost >= cost).orderBy(Repair.cost, .desc).orderBy(Repair.id)
      var owned = Person.bikes.orderBy(Bicycle.color).orderBy(Bicycle.id, .desc)
      var taught = Person.courses.orderBy(Course.id, .desc)
      if let limit {
        dear = dear.limit(limit, offset: offset)
        owned = owned.limit(limit, offset: offset)
        taught = taught.limit(limit, offset: offset)
      }
      let rows = try Person.read().orderBy(Person.id)
        .including(owned.including(dear, Bicycle.owner)).including(taught).including(Person.bikes.count()).run(db)
      #expect(rows.map(\.0) == people)
      for (person, found, courses, count) in rows {
        let own = bikes.filter { $0.ownerId == person.id }
        let ordered = own.sorted { ($0.color, -($0.id ?? 0)) < ($1.color, -($1.id ?? 0)) }
        #expect(found.map(\.0) == limited(ordered))
        #expect(found.allSatisfy { $0.2 == person })
        for (bike, fixed, _) in found {
          let dear = repairs.filter { $0.bicycleId == bike.id && $0.cost >= cost }.sorted {
            (-$0.cost, $0.id) < (-$1.cost, $1.id)
          }
          #expect(fixed == limited(dear))
        }
        #expect(courses.map(\.id) == limited(links.filter { $0[0] == person.id }.map { $0[1] }.sorted(by: >)))
        #expect(count == own.count)
      }
      let fixed = Person.bikes.filter(exists(Bicycle.repairs.filter(Repair.cost >= cost)))
      let expected = people.filter { person in
        bikes.contains { bike in
          bike.ownerId == person.id && repairs.contains { $0.bicycleId == bike.id && $0.cost >= cost }
        }
      }
      #expect(try Person.read().whereAny(fixed).orderBy(Person.id).run(db) == expected)
      let others = try Person.read().whereNone(fixed).orderBy(Person.id).run(db)
      let rest = people.filter { !expected.contains($0) }
      #expect(others == rest)
    }
  }
}
