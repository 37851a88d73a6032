import Foundation
import Sqlable
import Testing

private struct Search: Codable, Hashable, Sendable {
  var title: String
  var statement: Statement<Bicycle, [Bicycle]>
}

@Suite struct StatementsAsDataGuide {
  @Test func aStatementNeedsNoDatabase() throws {
    let reds = Bicycle.read().filter(Bicycle.color == "red")
    let firstReds = reds.orderBy(Bicycle.id).limit(2)  // reds is unchanged
    #expect(reds != firstReds)
    #expect(reds == Bicycle.read().filter(Bicycle.color == "red"))
    #expect(Set([reds, reds, firstReds]).count == 2)
    try withDatabase { db in
      try db.createTable(Person.self)
      try db.createTable(Bicycle.self)
      try Bicycle.insert((1...3).map { Bicycle(name: "\($0)", color: "red") }).run(db)
      let child = try db.createChild()
      let all = try reds.run(db)
      let first = try firstReds.run(child)
      #expect(all.count == 3 && first.count == 2)
    }
  }

  @Test func aStatementIsStoredAndReadBack() throws {
    let search = Search(title: "red ones", statement: Bicycle.read().filter(Bicycle.color == "red"))
    let data = try JSONEncoder().encode(search)
    let same = try JSONDecoder().decode(Search.self, from: data)
    #expect(same == search)
    #expect(same.statement.sql == search.statement.sql && same.statement.bindings == [.text("red")])
  }

  @Test func structsTravelWithTheirStatements() throws {
    let insert = Bicycle.insert([Bicycle(name: "Norco", color: "red"), Bicycle(name: "Trek", color: "blue")])
    let data = try JSONEncoder().encode(insert)
    let same = try JSONDecoder().decode(Statement<Bicycle, [Int]>.self, from: data)
    #expect(same == insert)
    try withDatabase { db in
      try db.createTable(Person.self)
      try db.createTable(Bicycle.self)
      let ids = try same.run(db)
      #expect(ids == [1, 2])
    }
  }

  @Test(.needs(35, "RETURNING")) func aChangeThatReturnsRowsHasATypeOfItsOwn() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try db.createTable(Bicycle.self)
      try Bicycle(name: "Norco", color: "red").insert().run(db)
      let sale = ReturningStatement(Bicycle.delete(Bicycle.color == "red").returning())
      let data = try JSONEncoder().encode(sale)
      let same = try JSONDecoder().decode(ReturningStatement<Bicycle, [Bicycle]>.self, from: data)
      let sold = try same.statement.run(db)  // [Bicycle]
      #expect(sold.map(\.name) == ["Norco"])
      let asRead = sqlError { _ = try JSONDecoder().decode(Statement<Bicycle, [Bicycle]>.self, from: data) }
      #expect(asRead?.message == "a change that returns rows must be decoded as a ReturningStatement")
    }
  }

  @Test func rulesAllowFewerKindsAndOtherTables() throws {
    let data = try JSONEncoder().encode(Bicycle.count().in("archive"))
    expectInvalidStatement { _ = try JSONDecoder().decode(Statement<Bicycle, Int>.self, from: data) }
    let decoder = JSONDecoder()
    decoder.userInfo[.statementRules] = StatementRules(kinds: [.count], tables: ["archive"])
    let count = try decoder.decode(Statement<Bicycle, Int>.self, from: data)
    #expect(count == Bicycle.count().in("archive") && count.kind == .count)
    let deletion = try JSONEncoder().encode(Bicycle.deleteAll().in("archive"))
    expectInvalidStatement { _ = try decoder.decode(Statement<Bicycle, Int>.self, from: deletion) }
  }

  @Test func whatDoesNotFitTheModelIsRefused() throws {
    let data = try JSONEncoder().encode(Bicycle.read().filter(Bicycle.color == "red"))
    let asPerson = sqlError { _ = try JSONDecoder().decode(Statement<Person, [Person]>.self, from: data) }
    // the table is not one of a model that the decoder knows
    #expect(asPerson?.documentPath == "read.from")
    let asCount = sqlError { _ = try JSONDecoder().decode(Statement<Bicycle, Int>.self, from: data) }
    #expect(asCount?.kind == .invalidStatement("the statement is of another kind than its type"))
    let text = String(decoding: data, as: UTF8.self).replacingOccurrences(of: #""color""#, with: #""colour""#)
    let renamed = sqlError {
      _ = try JSONDecoder().decode(Statement<Bicycle, [Bicycle]>.self, from: Data(text.utf8))
    }
    #expect(renamed?.kind == .schema(.missingColumn("colour")))
    let misspelt = String(decoding: data, as: UTF8.self).replacingOccurrences(of: #""where""#, with: #""wehre""#)
    let noFilter = sqlError {
      _ = try JSONDecoder().decode(Statement<Bicycle, [Bicycle]>.self, from: Data(misspelt.utf8))
    }
    #expect(noFilter?.message == "a query has an unknown key" && noFilter?.documentPath == "read")
    expectInvalidStatement { _ = try JSONDecoder().decode(Statement<Bicycle, [Bicycle]>.self, from: Data("[1]".utf8)) }
    let ofAnother = Bicycle.read().filter(Person.name == "Anna")
    #expect(throws: SqlError.self) { try JSONEncoder().encode(ofAnother) }
  }

  @Test func theForm() throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let data = try encoder.encode(Bicycle.count().filter(Bicycle.color == "red"))
    #expect(
      String(decoding: data, as: UTF8.self) == """
        {"count":{"from":"bicycle","where":{"=":[{"column":"color"},"red"]}},"sqlable":1}
        """)
  }
}
