import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Iteration over rows, query plans, and typed expressions.
@Suite struct IterationTests {
  private func withPeople(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person.insert((1...5).map { (id: Int) in Person(id: id, name: "p\(id)") }).run(db)
      try body(db)
    }
  }

  @Test func forEachEndsAfterStop() throws {
    try withPeople { db throws in
      var seen: [Int?] = []
      try Person.read().orderBy(Person.id, .desc).forEach(db) { person in
        seen.append(person.id)
        return person.id == 3 ? .stop : .continue
      }
      #expect(seen == [5, 4, 3])
      // No statement stays open, so another handle can write.
      try Person.updateAll(Person.name.set(to: "x")).run(db.createChild())
      #expect(try Person.count().filter(Person.name == "x").run(db) == 5)
    }
  }

  @Test func statementsRunInsideForEach() throws {
    try withPeople { db throws in
      let read = Person.read().filter(Person.id.in([1, 2, 3] + Array(100...200))).orderBy(Person.id)
      var pairs: [[Int]] = []
      try read.forEach(db) { outer in
        try read.forEach(db) { inner in pairs.append([outer.id ?? 0, inner.id ?? 0]) }
        let changed = try Person.update(Person.name.set(to: "\(pairs.count)")).filter(Person.id == outer.id).run(db)
        #expect(changed == 1)
        try Person(id: nil, name: String(repeating: "long", count: 50_000)).insert().run(db)
      }
      #expect(pairs == [[1, 1], [1, 2], [1, 3], [2, 1], [2, 2], [2, 3], [3, 1], [3, 2], [3, 3]])
      #expect(try read.run(db).map(\.name) == ["3", "6", "9"])
      #expect(try Person.count().run(db) == 8)
    }
  }

  @Test func forEachRethrowsTheErrorOfItsClosure() throws {
    struct Enough: Error, Equatable { let id: Int? }
    try withPeople { db throws in
      #expect(throws: Enough(id: 2)) {
        try Person.read().orderBy(Person.id).forEach(db) { person in
          if person.id == 2 { throw Enough(id: person.id) }
        }
      }
      #expect(try db.transaction { db in try Person.deleteAll().run(db) } == 5)
    }
  }

  @Test func explainDistinguishesScanAndSearch() throws {
    try withPeople { db throws in
      try db.createTable(Bicycle.self)
      #expect(try Person.read().explain(db).steps.first?.detail == "SCAN person")
      #expect(try Person.byId(1).explain(db).description == "SEARCH person USING INTEGER PRIMARY KEY (rowid=?)")
      let byColor = try Bicycle.read().filter(Bicycle.color == "red").explain(db)
      #expect(byColor.steps.map(\.detail) == ["SEARCH bicycle USING INDEX bicycle_color (color=?)"])
      #expect(byColor.sql.hasSuffix(#"WHERE "color" = ?"#))
      #expect(try Person.delete(Person.name == "x").explain(db).steps.first?.detail == "SCAN person")
      #expect(try Person.count().run(db) == 5)
      #expect(sqlError { _ = try Car.read().explain(db) }?.kind == .schema(.missingTable("car")))
    }
  }

  @Test func typedExpressionsFilterAndChangeRows() throws {
    try withDatabase { db in
      try db.createTable(Car.self)
      let day = Date(timeIntervalSince1970: 86_400)
      try Car.insert([
        Car(id: 1, name: "Zoe", price: 100, isElectric: true, soldAt: day),
        Car(id: 2, name: "Clio", price: 50, isElectric: false, soldAt: nil),
      ]).run(db)
      func ids(_ filter: SqlExpression) throws -> [Int?] {
        try Car.read().filter(filter).orderBy(Car.id).run(db).map(\.id)
      }
      #expect(try ids(Car.price * 2 - 50 > Car.price) == [1])
      #expect(try ids(-Car.price + 200 >= 150) == [2])
      #expect(try ids(Car.price / 2 == 25 || Car.price % 3 == 1) == [1, 2])
      #expect(try ids(Car.isElectric == true && Car.soldAt != nil) == [1])
      #expect(try ids(Car.soldAt == day || Car.soldAt.isNull) == [1, 2])
      #expect(try ids(!Car.soldAt) == [2])
      #expect(try ids(Car.soldAt.is(nil)) == [2])
      #expect(try ids(Car.soldAt.isNot(day)) == [2])
      #expect(try ids(Car.soldAt.between(day, and: day.addingTimeInterval(1))) == [1])
      #expect(try ids(Car.name.lowercase().concatenated("!") == "zoe!") == [1])
      #expect(try ids(Car.name.uppercase().like("C%")) == [2])
      #expect(try ids(Car.name.length() < 4 && Car.price.abs() ∈ [100.0]) == [1])
      #expect(try ids(contains(Car.name, ["Clio"]) || Car.price.notIn([50.0])) == [1, 2])
      #expect(try ids(Car.name.collate(.nocase) == "ZOE") == [1])
      #expect(try Car.read().orderBy(Car.price * -1).run(db).map(\.id) == [1, 2])
      #expect(try Car.updateAll(Car.price.set(to: Car.price + 1)).run(db) == 2)
      #expect(try ids(Car.price == 101) == [1])
    }
  }

  /// Sixteen terms of mixed columns. The build warns if an expression takes longer than 200 ms to type-check.
  @Test func longFiltersOfMixedColumnsKeepAllTerms() throws {
    let day = Date(timeIntervalSince1970: 0)
    let typed =
      Car.price > 10 && Car.price < 100 && Car.name == "a" && Car.name != "b" && Car.isElectric == true
      && Car.soldAt != nil && Car.soldAt > day && (Car.price * 2 > 30 || Car.id == 4) && Car.id != nil
      && Car.name.like("%x%") && Car.name.lowercase() == "x" && Car.price ∈ [1, 2] && !(Car.id > 5)
      && Car.price + Car.price >= 3 && Car.name <= "z" && !Car.soldAt
    let untyped =
      Bicycle.id > 10 && Bicycle.id < 100 && Bicycle.name == "a" && Bicycle.name != "b" && Bicycle.color == "red"
      && Bicycle.ownerId != nil as Int? && Bicycle.ownerId > 3 && (Bicycle.id * 2 > 30 || Bicycle.id == 4)
      && Bicycle.color.like("%x%") && Bicycle.name.lowercase() == "x" && Bicycle.id ∈ [1, 2] && !(Bicycle.id > 5)
      && Bicycle.id + Bicycle.ownerId >= 3 && Bicycle.name <= Bicycle.color && !Bicycle.ownerId && Bicycle.name >= "a"
    #expect(Car.count().filter(typed).sql.components(separatedBy: " AND ").count == 16)
    #expect(Bicycle.count().filter(untyped).sql.components(separatedBy: " AND ").count == 16)
  }
}
