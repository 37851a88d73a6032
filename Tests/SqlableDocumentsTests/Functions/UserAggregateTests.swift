import Foundation
import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

private let median = AggregateFunction("median", initial: [Double]()) { (values: inout [Double], value: Double) in
  values.append(value)
} finish: { values in
  values.isEmpty ? nil : values.sorted()[values.count / 2]
}

private func withCars(_ body: (SqliteDatabase) throws -> Void) throws {
  try withDatabase { db in
    try db.createTable(Car.self)
    let cars = [("a", 5.0), ("a", 1), ("a", 3), ("b", 8), ("b", 8), ("B", 2)]
    try Car.insert(cars.map { Car(id: nil, name: $0.0, price: $0.1, isElectric: $0.1 > 4, soldAt: nil) }).run(db)
    try body(db)
  }
}

private struct Refusal: Error, Equatable {
  let place: String
}

@Suite struct UserAggregateTests {
  @Test func eachGroupHasASeparateState() throws {
    try withCars { db in
      try db.register(median)
      let medians = Car.select(Car.name, median(Car.price)).groupBy(Car.name).orderBy(Car.name)
      #expect(medians.sql == #"SELECT "name", "median"("price") FROM "car" GROUP BY "name" ORDER BY "name""#)
      let rows = try medians.run(db)
      #expect(rows.map(\.0) == ["B", "a", "b"])
      #expect(rows.map(\.1) == [2, 3, 8])
      #expect(try db.createChild().query("SELECT median(price) FROM car", as: Double?.self) == [5])
      #expect(try Car.select(median(Car.price)).filter(Car.price > 100).run(db) == [nil])
    }
  }

  @Test func anAggregateTakesDistinctAndFilteredValues() throws {
    try withCars { db in
      let joined = AggregateFunction("joined", initial: "") { (text: inout String, value: Double) in
        text += "\(Int(value))"
      } finish: {
        $0
      }
      try db.register(joined)
      let cheap = Car.select(joined(Car.price, where: Car.price < 4))
      #expect(cheap.sql == #"SELECT "joined"("price") FILTER (WHERE "price" < ?) FROM "car""#)
      #expect(try cheap.run(db).map { String($0.sorted()) } == ["123"])
      #expect(try Car.select(joined(Car.price, distinct: true)).run(db).map { String($0.sorted()) } == ["12358"])
      #expect(try Car.select(joined(Car.price.column)).run(db).map(\.count) == [6])
    }
  }

  @Test func anAggregatesErrorIsRethrownAndWindowsAreRefused() throws {
    try withCars { db in
      let fails = AggregateFunction("fails", initial: 0) { (count: inout Int, place: String) in
        count += 1
        if place == "step", count == 3 { throw Refusal(place: place) }
      } finish: { count -> Int in
        throw Refusal(place: "finish")
      }
      try db.register(fails)
      #expect(throws: Refusal(place: "step")) { try db.query("SELECT fails('step') FROM car", as: Int.self) }
      #expect(throws: Refusal(place: "finish")) { try db.query("SELECT fails('other') FROM car", as: Int.self) }
      #expect(throws: Refusal(place: "step")) {
        try db.query("SELECT fails('other'), fails('step'), fails('other') FROM car", as: Int.self)
      }
      let wrong = sqlError { _ = try db.query("SELECT fails(price) FROM car", as: Int.self) }
      #expect(wrong?.message == "argument 1 of function fails takes TEXT, but was given REAL")
      let window = sqlError { _ = try db.query("SELECT fails(name) OVER () FROM car", as: Int.self) }
      #expect(window?.message == "fails() may not be used as a window function")
      #expect(try Car.count().run(db) == 6)
    }
  }

  @Test func theInitialStateCannotWrite() throws {
    try withCars { db in
      @Sendable func makeState() -> Int { (try? db.execute("DELETE FROM car")) == nil ? 1 : -1 }
      let refused = AggregateFunction("refused", initial: makeState()) { (sum: inout Int, _: Double) in
        sum += 1
      } finish: {
        $0
      }
      try db.register(refused)
      #expect(try Car.select(refused(Car.price)).run(db) == [7])
      #expect(try Car.select(refused(Car.price)).filter(Car.price > 100).run(db) == [1])
      #expect(try Car.count().run(db) == 6)
    }
  }

  @Test func theStateOfAFailedStatementIsFreed() throws {
    final class State {
      static let count = Mutex(0)
      init() { State.count.withLock { $0 += 1 } }
      deinit { State.count.withLock { $0 -= 1 } }
    }
    try withCars { db in
      let kept = AggregateFunction("kept", initial: State()) { (state: inout State, price: Double) in
        if price == 8 { throw Refusal(place: "step") }
      } finish: { _ in
        1
      }
      try db.register(kept)
      #expect(throws: Refusal.self) { try db.query("SELECT kept(price) FROM car", as: Int.self) }
      #expect(try db.query("SELECT kept(price) FROM car WHERE price < 8", as: Int.self) == [1])
      #expect(State.count.withLock { $0 } == 0)
    }
  }
}

@Suite struct UserCollationTests {
  /// A collation by length, then by bytes.
  private let byLength = Collation("by length") {
    $0.utf8.count == $1.utf8.count
      ? $0.compare($1) : $0.utf8.count < $1.utf8.count ? .orderedAscending : .orderedDescending
  }

  @Test func aCollationComparesAndOrdersTerms() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person.insert(["ccc", "a", "bb", "aa"].map { Person(id: nil, name: $0) }).run(db)
      let ordered = Person.read().orderBy(Person.name.collate(byLength), .desc)
      #expect(ordered.sql == #"SELECT "id", "name" FROM "person" ORDER BY "name" COLLATE "by length" DESC"#)
      let missing = sqlError { _ = try ordered.run(db) }
      #expect(
        missing?.message.hasPrefix(
          "no such collation sequence: by length; if the program defines this collation, ") == true)
      try db.register(byLength)
      #expect(try ordered.run(db).map(\.name) == ["ccc", "bb", "aa", "a"])
      try db.register(Collation("by length") { $1.compare($0) })
      #expect(try ordered.run(db).map(\.name) == ["a", "aa", "bb", "ccc"])
      try db.register(Collation("all") { _, _ in .orderedSame })
      let same = Person.count().filter(Person.name.collate(.named("all")) == "x")
      #expect(try same.run(db) == 4)
      #expect(try same.run(db.createChild()) == 4)
    }
  }

  @Test func anEncodedStatementNamesTheProgramsCollation() throws {
    let own = Person.count().filter(Person.name.collate(.named("a\"ll")) == "x")
    let decoded = try Statement<Person, Int>(json: own.json())
    #expect(decoded == own)
    #expect(decoded.sql.hasSuffix(#"WHERE "name" COLLATE "a""ll" = ?"#))
    let text = String(decoding: try own.json(), as: UTF8.self).replacing(#"a\"ll"#, with: #"a\u0000"#)
    expectInvalidStatement { _ = try Statement<Person, Int>(json: Data(text.utf8)) }
  }

  @Test func aColumnMayHaveTheProgramsCollation() throws {
    enum Word: TableDeclaration {
      static let folded = Collation("folded") { $0.lowercased().compare($1.lowercased()) }
      static let text = Column("text", .text, PrimaryKey(), folded)
      static let columns = [text]
    }
    try withDatabase { db in
      try db.register(Word.folded)
      try db.createTable(Entry<Word>.self)
      try Entry<Word>.insert([Entry<Word>("Ärger"), Entry<Word>("b\0c")]).run(db)
      expectError(.constraint(.primaryKey)) { try Entry<Word>("ärger").insert().run(db) }
      #expect(try Entry<Word>.count().filter(Word.text == "ÄRGER").run(db) == 1)
      #expect(try Entry<Word>.count().filter(Word.text == "B\0C").run(db) == 1)
      let sql = try db.query("SELECT sql FROM sqlite_schema WHERE type = 'table'", as: String.self)
      #expect(sql[0].contains(#"COLLATE "folded""#))
    }
  }
}
