import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

private struct Search: Codable, Hashable, Sendable {
  var title: String
  var statement: Statement<Bicycle, [Bicycle]>
}

private struct Report: Codable, Hashable {
  var title: String
  var rows: CodableSelect<String, Double>
}

private struct SavedSearch: Sqlable {
  static let id = column("id", Int?.self, PrimaryKey())
  static let query = column("query", Statement<Bicycle, [Bicycle]>.self)
  static let tableLayout = [id.column, query.column]
  var id: Int?
  var query: Statement<Bicycle, [Bicycle]>

  init(query: Statement<Bicycle, [Bicycle]>) { self.query = query }
  init(row: ReadRow) throws {
    id = try row.get(SavedSearch.id)
    query = try row.get(SavedSearch.query)
  }
  func write(to row: inout RowWriter) throws {
    row.set(SavedSearch.id, id)
    row.set(SavedSearch.query, query)
  }
}

@Suite struct StatementsAsDataGuide {
  @Test func aStatementNeedsNoDatabase() throws {
    let reds = Bicycle.read().filter(Bicycle.color == "red")
    let firstReds = reds.orderBy(Bicycle.id).limit(2)  // reds is unchanged
    #expect(reds != firstReds)
    #expect(reds == Bicycle.read().filter(Bicycle.color == "red"))
    #expect(Set([reds, reds, firstReds]).count == 2)
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle.insert((1...3).map { Bicycle(name: "\($0)", color: "red") }).run(db)
      let child = try db.createChild()
      let all = try reds.run(db)
      let first = try firstReds.run(child)
      #expect(all.count == 3)
      #expect(first.count == 2)
    }
  }

  @Test func statementIsWrittenAsADocument() throws {
    let reds = Bicycle.read().filter(Bicycle.color == "red")
    let data = try reds.json()
    let same = try Statement<Bicycle, [Bicycle]>(json: data)
    #expect(same == reds)
    let document = #"{"read":{"from":"bicycle","where":{"=":[{"column":"color"},"red"]}},"sqlable":1}"#
    #expect(String(decoding: data, as: UTF8.self) == document)
    let blocks = try GuidesTests.blocks(of: "json", in: "Docs/StatementsAsData.md")
    #expect(blocks.first.map { $0.lines.joined().replacing(" ", with: "") } == document)
  }

  @Test func readWithAssociatedRowsIsWrittenAsADocument() throws {
    try withCompany { db in
      let sent = Person.read().orderBy(Person.name).including(Person.bikes.filter(Bicycle.color == "red").limit(3))
      let data = try sent.json()
      let people = try AssociatedQuery(json: data, like: Person.read().including(Person.bikes))
      for (person, bikes) in try people.run(db) { print(person.name, bikes.count) }  // Person, [Bicycle]
      #expect(people == sent)
      let blocks = try GuidesTests.blocks(of: "json", in: "Docs/StatementsAsData.md")
      let documents = blocks.dropFirst().map { $0.lines.joined().replacing(" ", with: "") }
      #expect(documents == [String(decoding: data, as: UTF8.self)])
    }
  }

  @Test func aStatementIsStoredAndReadBack() throws {
    let search = Search(title: "red ones", statement: Bicycle.read().filter(Bicycle.color == "red"))
    let data = try JSONEncoder().encode(search)
    let same = try JSONDecoder().decode(Search.self, from: data)
    #expect(same == search)
    #expect(same.statement.sql == search.statement.sql)
    #expect(same.statement.bindings == [.text("red")])
  }

  @Test func structsTravelWithTheirStatements() throws {
    let insert = Bicycle.insert([Bicycle(name: "Norco", color: "red"), Bicycle(name: "Trek", color: "blue")])
    let same = try Statement<Bicycle, [Int]>(json: insert.json())
    #expect(same == insert)
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let ids = try same.run(db)
      #expect(ids == [1, 2])
    }
  }

  @Test func aQueryIsDecodedAsTheTypeOfItsRows() throws {
    try withDatabase { db in
      try db.createTable(Car.self)
      try Car(name: "Leaf", price: 9_000, isElectric: true).insert().run(db)
      let rules = StatementRules(models: [Car.self])
      let prices = Car.select(Car.name, Car.price).filter(Car.price < 20_000)
      let same = try Select<(String, Double)>(json: prices.json(), rules: rules)
      for (name, price) in try same.run(db) { print(name, price) }
      #expect(same == prices)
      expectInvalidStatement { _ = try Select<(String, Double)>(json: prices.json()) }
      expectInvalidStatement { _ = try Select<(String, Double, Int)>(json: prices.json(), rules: rules) }
      #expect(try Select<DynamicRow>(json: prices.json(), rules: rules) == prices.untyped)
    }
  }

  @Test func queryOfTuplesIsStoredInsideAnotherType() throws {
    try withDatabase { db in
      try db.createTable(Car.self)
      try Car(name: "Leaf", price: 9_000, isElectric: true).insert().run(db)
      let report = Report(title: "Prices", rows: CodableSelect(Car.select(Car.name, Car.price)))
      let data = try JSONEncoder().encode(report)
      let decoder = JSONDecoder()
      decoder.userInfo[.statementRules] = StatementRules(models: [Car.self])
      let same = try decoder.decode(Report.self, from: data)
      let rows = try same.rows.select.run(db)  // [(String, Double)]
      #expect(same == report)
      #expect(rows.map(\.0) == ["Leaf"])
    }
  }

  @Test(.needs(35, "RETURNING")) func changeThatReturnsRowsHasItsOwnType() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle(name: "Norco", color: "red").insert().run(db)
      let sale = ReturningStatement(Bicycle.delete(Bicycle.color == "red").returning())
      let same = try ReturningStatement<Bicycle, [Bicycle]>(json: sale.json())
      let sold = try same.statement.run(db)  // [Bicycle]
      #expect(sold.map(\.name) == ["Norco"])
      let asRead = sqlError { _ = try Statement<Bicycle, [Bicycle]>(json: sale.json()) }
      #expect(asRead?.message == "a change that returns rows can't be decoded as a Statement; use ReturningStatement")
    }
  }

  @Test(.needs(35, "RETURNING")) func aChangeReturnsTermsAfterDecoding() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle(name: "Norco", color: "red").insert().run(db)
      let paint = Bicycle.updateAll(Bicycle.color.set(to: "blue"))
        .returning(Bicycle.id.typed(as: Int.self), Bicycle.name.typed(as: String.self))
      let same = try Returning<Bicycle, (Int, String)>(json: paint.json())
      let painted = try same.run(db)  // [(Int, String)]
      #expect(same == paint)
      #expect(painted.map(\.1) == ["Norco"])
    }
  }

  @Test func statementIsDecodedWithoutItsType() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self, Car.self)
      let works = [try AnyStatement(Bicycle.delete(Bicycle.color == "red")), try AnyStatement(Car.select(Car.name))]
      for work in works {
        switch try AnyStatement(json: work.json(), rules: StatementRules(models: [Bicycle.self, Car.self])).run(db) {
        case .rows(let rows): print(rows)  // [DynamicRow]
        case .number(let number): print(number)  // a count, a number of changed rows, or an id
        case .ids(let ids): print(ids)
        case .exists(let exists): print(exists)
        }
      }
      #expect(try works[0].run(db) == .number(0))
      #expect(try works[1].run(db) == .rows([]))
    }
  }

  @Test func statementIsStoredInAColumn() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self, SavedSearch.self)
      try Bicycle(name: "Norco", color: "red").insert().run(db)
      try SavedSearch(query: Bicycle.read().filter(Bicycle.color == "red")).insert().run(db)
      let saved = try SavedSearch.byId(1).run(db)
      let bikes = try saved?.query.run(db)  // [Bicycle]?
      #expect(bikes?.map(\.name) == ["Norco"])
    }
  }

  @Test func rulesAreGivenWithEachDocument() throws {
    let data = try Bicycle.count().in("archive").filter(Bicycle.ownerId.in(Person.select(Person.id))).json()
    let rules = StatementRules(kinds: [.count], models: [Person.self], tables: ["archive"])
    let count = try Statement<Bicycle, Int>(json: data, rules: rules)
    #expect(count.sql.contains("archive"))
    for less in [
      StatementRules(kinds: [.update], models: rules.models, tables: rules.tables),
      StatementRules(models: rules.models), StatementRules(tables: rules.tables),
    ] {
      expectInvalidStatement { _ = try Statement<Bicycle, Int>(json: data, rules: less) }
    }
  }

  @Test func decodingErrorNamesItsPlaceInTheDocument() throws {
    let text = #"{"read":{"from":"bicycle","where":{"=":[{"column":"colour"},"red"]}},"sqlable":1}"#
    do {
      _ = try Statement<Bicycle, [Bicycle]>(json: Data(text.utf8))
    } catch let error as SqlError {
      print(error.message)  // table bicycle has no column colour
      print(error.documentPath ?? "")  // read.where.=[0].column
    }
    let error = sqlError { _ = try Statement<Bicycle, [Bicycle]>(json: Data(text.utf8)) }
    #expect(error?.message == "table bicycle has no column colour")
    #expect(error?.documentPath == "read.where.=[0].column")
  }

  @Test func rulesAllowFewerKindsAndOtherTables() throws {
    let data = try JSONEncoder().encode(Bicycle.count().in("archive"))
    expectInvalidStatement { _ = try JSONDecoder().decode(Statement<Bicycle, Int>.self, from: data) }
    let decoder = JSONDecoder()
    decoder.userInfo[.statementRules] = StatementRules(kinds: [.count], tables: ["archive"])
    let count = try decoder.decode(Statement<Bicycle, Int>.self, from: data)
    #expect(count == Bicycle.count().in("archive"))
    #expect(count.kind == .count)
    let deletion = try JSONEncoder().encode(Bicycle.deleteAll().in("archive"))
    expectInvalidStatement { _ = try decoder.decode(Statement<Bicycle, Int>.self, from: deletion) }
  }

  @Test func documentsThatDoNotFitTheModelAreRefused() throws {
    let data = try JSONEncoder().encode(Bicycle.read().filter(Bicycle.color == "red"))
    let asPerson = sqlError { _ = try JSONDecoder().decode(Statement<Person, [Person]>.self, from: data) }
    // unknown table; add the table's model to the rules of the decoder
    #expect(asPerson?.documentPath == "read.from")
    let asCount = sqlError { _ = try JSONDecoder().decode(Statement<Bicycle, Int>.self, from: data) }
    #expect(
      asCount?.kind
        == .invalidStatement(
          "the Swift type does not match the document's operation or tables; decode a Select or an AnyStatement"))
    let text = String(decoding: data, as: UTF8.self).replacingOccurrences(of: #""color""#, with: #""colour""#)
    let renamed = sqlError {
      _ = try JSONDecoder().decode(Statement<Bicycle, [Bicycle]>.self, from: Data(text.utf8))
    }
    #expect(renamed?.kind == .schema(.missingColumn("colour")))
    let misspelt = String(decoding: data, as: UTF8.self).replacingOccurrences(of: #""where""#, with: #""wehre""#)
    let noFilter = sqlError {
      _ = try JSONDecoder().decode(Statement<Bicycle, [Bicycle]>.self, from: Data(misspelt.utf8))
    }
    #expect(noFilter?.message == "a query has an unknown key")
    #expect(noFilter?.documentPath == "read.wehre")
    expectInvalidStatement { _ = try JSONDecoder().decode(Statement<Bicycle, [Bicycle]>.self, from: Data("[1]".utf8)) }
    let ofAnother = Bicycle.read().filter(Person.name == "Anna")
    #expect(throws: SqlError.self) { try JSONEncoder().encode(ofAnother) }
  }
}
