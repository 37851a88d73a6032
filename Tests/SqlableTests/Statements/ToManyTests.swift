import Foundation
import Sqlable
import Testing

@Suite struct ToManyTests {
  @Test func rowsComeWithThoseThatReferToThem() throws {
    try withCompany { db in
      let owners = Person.read().orderBy(Person.id).including(
        Bicycle.read().orderBy(Bicycle.name, .desc), by: Bicycle.ownerId)
      let rows: [(Person, [Bicycle])] = try owners.run(db)
      #expect(rows.map(\.0.name) == ["Anna", "Bo", "Cid"])
      #expect(rows.map { $0.1.map(\.name) } == [["Norco", "Giant"], ["Trek"], []])
      let reds = Person.read().filter(Person.id < 3).orderBy(Person.id).limit(1).including(
        Bicycle.read().filter(Bicycle.color == "red").orderBy(Bicycle.id), by: Bicycle.ownerId)
      #expect(try reds.run(db).map { $0.1.map(\.name) } == [["Norco", "Giant"]])
      #expect(reds != owners && reds == reds)
    }
  }

  @Test func twoStatementsAreRunWhateverTheNumberOfRows() throws {
    try withCompany { db in
      try Person.insert((4...3_000).map { Person(id: $0, name: "p") }).run(db)
      try Bicycle.insert((0..<5_000).map { Bicycle(name: "b\($0)", color: "c", ownerId: $0 % 3_000 + 1) }).run(db)
      let owners = Person.read().including(Bicycle.read(), by: Bicycle.ownerId)
      let before = try db.statementCacheUse
      let rows = try owners.run(db)
      let after = try db.statementCacheUse
      #expect(after.hits + after.misses - before.hits - before.misses == 2)
      #expect(rows.count == 3_000 && rows.reduce(0) { $0 + $1.1.count } == 5_003)
      #expect(rows.allSatisfy { person, bikes in bikes.allSatisfy { $0.ownerId == person.id } })
    }
  }

  @Test func severalTablesMayReferToTheRows() throws {
    try withCompany { db in
      let both = Worker.read().orderBy(Worker.id)
        .including(Worker.bossId)
        .including(Bicycle.read().orderBy(Bicycle.id), by: Bicycle.ownerId)
      let rows: [(Worker, [Worker], [Bicycle])] = try both.run(db)
      #expect(rows.map { $0.1.map(\.name).sorted() } == [["Ben", "Cleo"], ["Dan"], [], []])
      #expect(rows.map { $0.2.map(\.name) } == [["Norco", "Giant"], ["Trek"], [], []])
    }
  }

  @Test func keysAreTheSameWhereSQLiteTakesThemForEqual() throws {
    try withDatabase { db in
      try db.createTable(Country.self)
      try db.createTable(City.self)
      // Equal to Swift, different to SQLite: a letter with its accent in one scalar and in two.
      let codes = ["se", "DK", "\u{E9}", "e\u{301}", ""]
      try Country.insert(codes.map(Country.init)).run(db)
      try City.insert([
        City(name: "Lund", code: "SE"), City(name: "Aarhus", code: "dk"), City(name: "one", code: "\u{E9}"),
        City(name: "two", code: "e\u{301}"), City(name: "nowhere", code: nil),
      ]).run(db)
      let rows = try Country.read().orderBy(Country.place).including(City.code).run(db)
      #expect(rows.map { $0.1.map(\.name) } == [["Lund"], ["Aarhus"], ["one"], ["two"], []])
      let byPlace = Country.read().orderBy(Country.place)
        .including(City.read(), by: City.place, of: Country.place)
      #expect(try byPlace.run(db).map { $0.1.map(\.name) } == [[], [], [], [], []])
    }
  }

  @Test func bothStatementsSeeOneSnapshot() throws {
    try withCompany { db in
      let writer = try db.createChild()
      let once = Mutex(false)
      // A function of the parents' filter commits a change before the children are read.
      let change = ScalarFunction("change") { (id: Int) -> Int in
        let isFirst = once.withLock { done in
          defer { done = true }
          return !done
        }
        if isFirst { try writer.execute("DELETE FROM bicycle") }
        return id
      }
      try db.register(change)
      let owners = Person.read().filter(change(Person.id) > 0).orderBy(Person.id)
        .including(Bicycle.read(), by: Bicycle.ownerId)
      #expect(try owners.run(db).map(\.1.count) == [2, 1, 0])
      #expect(try owners.run(db).map(\.1.count) == [0, 0, 0])
    }
  }

  @Test func whatMakesNoSenseSaysWhy() throws {
    try withCompany { db in
      try db.createTable(Seat.self)
      let bikes = Bicycle.read()
      expectInvalidStatement { _ = try Person.read().including(bikes.limit(2), by: Bicycle.ownerId).run(db) }
      expectError(.schema(.missingColumn("name"))) { _ = try Person.read().including(bikes, by: Person.name).run(db) }
      expectMisuse { _ = try Seat.read().including(bikes, by: Bicycle.ownerId).run(db) }
      #expect(try Person.read().filter(Person.id > 99).including(bikes, by: Bicycle.ownerId).run(db).isEmpty)
    }
  }
}

private struct Country: Sqlable {
  static let code = column("code", String.self, PrimaryKey())
  static let place = column("place", Int?.self)
  static let tableLayout = [code.column, place.column]
  let code: String

  init(code: String) { self.code = code }
  init(row: ReadRow) throws { self.init(code: try row.get(Country.code)) }
  func write(to row: inout RowWriter) throws { row.set(Country.code, code) }
}

private struct City: Sqlable {
  static let name = column("name", String.self)
  static let code = column("code", String?.self, Collate.nocase)
  static let place = column("place", Int?.self)
  static let tableLayout = [name.column, code.column, place.column]
  let name: String
  let code: String?

  init(name: String, code: String?) { (self.name, self.code) = (name, code) }
  init(row: ReadRow) throws { self.init(name: try row.get(City.name), code: try row.get(City.code)) }
  func write(to row: inout RowWriter) throws {
    row.set(City.name, name)
    row.set(City.code, code)
  }
}
