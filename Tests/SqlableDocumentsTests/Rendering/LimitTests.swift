import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Long chains, long lists and deep trees of terms.
@Suite struct LimitTests {
  @Test func fiveThousandTermsWork() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person.insert((1...10).map { Person(id: $0 * 1000, name: "\($0)") }).run(db)
      let terms = (1...5000).map { Person.id == $0 }
      let built = [SqlExpression.any(terms), terms.dropFirst().reduce(terms[0]) { $0 || $1 }]
      for filter in built {
        #expect(Person.read().filter(filter).bindings.count == 5000)
        #expect(try Person.read().filter(filter).run(db).map(\.id) == [1000, 2000, 3000, 4000, 5000])
        #expect(try Person.delete(!filter).limit(0).run(db) == 0)
      }
      #expect(built[0] == built[1])
      let others = (1...5000).map { Person.id != $0 }
      for filter in [SqlExpression.all(others), others.dropFirst().reduce(others[0]) { $0 && $1 }] {
        #expect(try Person.read().filter(filter).run(db).map(\.id) == [6000, 7000, 8000, 9000, 10000])
      }
      #expect(try others[..<300].reduce(Person.count()) { $0.filter($1) }.run(db) == 10)
    }
  }

  @Test func aListOfAHundredThousandValuesWorks() throws {
    try withDatabase { db in
      try db.createTable(Sample.self)
      let uuids = (0..<200).map { _ in UUID() }
      try Sample.insert(
        (0..<200).map { (row: Int) in
          Sample(id: row * 1000, text: "text \(row * 1000)", real: Double(row) * 1000 + 0.5, uuid: uuids[row])
        }
      ).run(db)
      let count = 100_000
      let integers = Sample.read().filter(Sample.id.column.in(0..<count)).orderBy(Sample.id)
      #expect(integers.sql.hasSuffix(#"WHERE "id" IN (SELECT value FROM sqlable_values(?)) ORDER BY "id""#))
      let expected = (0..<100).map { $0 * 1000 }
      #expect(try integers.run(db).map(\.id) == expected)
      #expect(try integers.explain(db).description.contains("SEARCH"))
      #expect(try Sample.count().filter(Sample.text.column.in((0..<count).map { "text \($0)" })).run(db) == 100)
      #expect(try Sample.count().filter(Sample.real.column.in((0..<count).map { Double($0) + 0.5 })).run(db) == 100)
      let others = (0..<count - 50).map { _ in UUID() }
      #expect(try Sample.count().filter(Sample.uuid.in(others + uuids[..<50])).run(db) == 50)
      #expect(try Sample.count().filter(Sample.uuid.notIn(others + uuids[..<50])).run(db) == 150)
      #expect(try Sample.delete(Sample.id.column.in(0..<count)).limit(30).run(db) == 30)
      // With NULL in the list, NOT IN is NULL for a value that is not found.
      #expect(try Sample.count().filter(Sample.id.column.notIn((0..<count).map(Int?.some) + [nil])).run(db) == 0)
      #expect(try Sample.count().filter(Sample.id.column.notIn(0..<count)).run(db) == 100)
    }
  }

  @Test func listsOfSimilarLengthsShareASQLText() {
    let texts = Set((0...40).map { Person.count().filter(Person.id.in(0..<$0)).sql })
    #expect(texts.count == 8)
  }

  @Test func chainsOfAMillionDoNotOverflowTheStack() throws {
    let steps: [@Sendable (SqlExpression) -> SqlExpression] = [
      { !$0 }, { -$0 }, { $0 + 1 }, { Person.id - $0 }, { $0.lowercase() }, { $0 && Person.id > 1 || Person.id < 0 },
      { Person.id > 1 || Person.id < 0 && $0 }, { $0.in([1, 2]) }, { $0.isNull }, { $0.like("x") },
      { $0.collate(.nocase) },
    ]
    let refused = try onThread(stackSize: smallStack) {
      steps.map { step in
        var term = Person.id.expression
        for _ in 0..<times(1_000_000) / steps.count { term = step(term) }
        let statement = Person.count().filter(term)
        return statement.sql.hasPrefix("-- an expression") && statement == statement
          && (try? JSONEncoder().encode(statement)) == nil
      }
    }
    #expect(refused == Array(repeating: true, count: steps.count))
  }

  @Test func theDeepestTreeWorksOnASmallStack() throws {
    let works = try onThread(stackSize: smallStack) {
      try withDatabase { db in
        try db.createTable(Person.self)
        let term = (0..<98).reduce(Person.id.expression) { term, _ in term + 1 }
        let statement = Person.count().filter(term > 1)
        let decoded = try JSONDecoder().decode(Statement<Person, Int>.self, from: JSONEncoder().encode(statement))
        return try decoded == statement && decoded.hashValue == statement.hashValue && decoded.run(db) == 0
      }
    }
    #expect(works)
    // Calls are another kind of term.
    let alike = try onThread(stackSize: smallStack) {
      func calls(_ depth: Int) -> Statement<Person, Int> {
        Person.count().filter((0..<depth).reduce(Person.name.expression) { term, _ in term.lowercase() } == "x")
      }
      let (deep, same) = (calls(98), calls(98))
      guard deep == same, deep.hashValue == same.hashValue, deep != calls(97) else { return false }
      // SQLite's parser allows fewer nested calls.
      let statement = calls(10)
      let decoded = try JSONDecoder().decode(Statement<Person, Int>.self, from: JSONEncoder().encode(statement))
      return decoded == statement && decoded.hashValue == statement.hashValue
    }
    #expect(alike)
    // Every form either runs or is refused because SQLite's parser can't nest so deeply.
    let forms: [@Sendable (SqlExpression) -> SqlExpression] = [
      { !$0 }, { -$0 }, { Person.id - $0 }, { $0.lowercase() }, { $0 && Person.id > 1 || Person.id < 0 },
      { $0.in([1, 2]) }, { $0.isNull }, { $0.like("x") }, { $0.collate(.nocase) }, { $0.between(1, and: 2) },
      { $0.ifNull(1) }, { $0.cast(to: Int.self) },
    ]
    let written = try onThread(stackSize: smallStack) {
      try withDatabase { db in
        try db.createTable(Person.self)
        for form in forms {
          let term = (0..<45).reduce(Person.id.expression) { term, _ in form(term) }
          let statement = Person.count().filter(term > 1)
          if statement.sql.hasPrefix("--") { continue }
          _ = try statement.run(db)
        }
        return true
      }
    }
    #expect(written)
    let deeper = (0..<100).reduce(Person.id.expression) { term, _ in term + 1 }
    #expect(Person.count().filter(deeper).sql == "-- an expression is more than 100 terms deep")
  }
}
