import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Kinds, outputs and tables of decoded statements: a document must match its Swift type.
@Suite struct DecodedKindTests {
  private let bike = Bicycle(id: 3, name: "Norco", color: "red")

  /// An encoded statement with its kind and output.
  private struct Document {
    let kind: StatementKind
    let output: String
    let returns: Bool
    let data: Data

    init<Output>(_ statement: Statement<Bicycle, Output>, _ output: String) throws {
      (kind, self.output, returns) = (statement.kind, output, false)
      data = try JSONEncoder().encode(statement)
    }

    init<Output>(returning statement: Statement<Bicycle, Output>) throws {
      (kind, output, returns) = (statement.kind, "rows", true)
      data = try JSONEncoder().encode(ReturningStatement(statement))
    }
  }

  private func documents() throws -> [Document] {
    let upsert = bike.insert().onConflict(Bicycle.name, Bicycle.color, update: Bicycle.ownerId)
    return try [
      Document(Bicycle.read(), "[Model]"), Document(Bicycle.read().first(), "Model?"),
      Document(Bicycle.byId(3), "Model?"), Document(Bicycle.exists(), "Bool"), Document(Bicycle.count(), "Int"),
      Document(bike.insert(), "Int"), Document(upsert, "Int"), Document(bike.insert().replaceOnConflict(), "Int"),
      Document(bike.save(), "Int"), Document(bike.update(), "Int"), Document(bike.delete(), "Int"),
      Document(Bicycle.deleteAll(), "Int"), Document(Bicycle.updateAll(Bicycle.color.set(to: "x")), "Int"),
      Document(Bicycle.insert([bike, bike]), "[Int]"), Document(Bicycle.insert(), "[Int]"),
      Document(returning: bike.insert().returning()), Document(returning: upsert.returning()),
      Document(returning: bike.save().returning()), Document(returning: bike.update().returning()),
      Document(returning: bike.delete().returning()), Document(returning: Bicycle.deleteAll().returning()),
      Document(returning: Bicycle.updateAll(Bicycle.color.set(to: "x")).returning()),
      Document(returning: Bicycle.insert([bike]).returning()),
      Document(returning: bike.insert().returning().first()),
    ]
  }

  private func decodes<Value: Decodable>(
    _ type: Value.Type, _ document: Document, _ rules: StatementRules? = nil
  ) throws -> Bool {
    let decoder = JSONDecoder()
    if let rules { decoder.userInfo[.statementRules] = rules }
    do {
      _ = try decoder.decode(type, from: document.data)
      return true
    } catch let error as SqlError {
      guard case .invalidStatement = error.kind else { throw error }
      return false
    }
  }

  @Test func everyTypeTakesItsOwnKindsOnly() throws {
    for document in try documents() {
      let text = String(decoding: document.data, as: UTF8.self)
      func check<Value: Decodable>(_ type: Value.Type, _ isExpected: Bool) throws {
        let isTaken = try decodes(type, document)
        #expect(isTaken == isExpected, "\(type) of \(text)")
      }
      try check(Statement<Bicycle, [Bicycle]>.self, document.output == "[Model]")
      try check(Statement<Bicycle, Bicycle?>.self, document.output == "Model?")
      try check(Statement<Bicycle, Bool>.self, document.output == "Bool")
      try check(Statement<Bicycle, Int>.self, document.output == "Int")
      try check(Statement<Bicycle, [Int]>.self, document.output == "[Int]")
      try check(Statement<Bicycle, String>.self, false)
      try check(Statement<Bicycle, Int?>.self, false)
      try check(Statement<Bicycle, [Person]>.self, false)
      try check(Statement<Person, [Person]>.self, false)
      try check(Statement<Person, Int>.self, false)
      try check(ReturningStatement<Bicycle, [Bicycle]>.self, document.returns)
      try check(ReturningStatement<Bicycle, Bicycle?>.self, document.returns)
      try check(ReturningStatement<Bicycle, Int>.self, false)
      try check(ReturningStatement<Bicycle, [Int]>.self, false)
      try check(ReturningStatement<Person, [Person]>.self, false)
    }
  }

  @Test func rulesLimitTheKindsThatDecode() throws {
    for document in try documents() where document.output == "Int" || document.returns {
      for kind in StatementKind.allCases {
        let isTaken =
          document.returns
          ? try decodes(ReturningStatement<Bicycle, [Bicycle]>.self, document, StatementRules(kinds: [kind]))
          : try decodes(Statement<Bicycle, Int>.self, document, StatementRules(kinds: [kind]))
        #expect(isTaken == (kind == document.kind))
      }
      let reads = StatementRules(kinds: StatementKind.reads)
      #expect(try decodes(Statement<Bicycle, Int>.self, document, reads) == (document.kind == .count))
    }
    let decoder = JSONDecoder()
    decoder.userInfo[.statementRules] = "count"
    let data = try JSONEncoder().encode(Bicycle.count())
    expectMisuse { _ = try decoder.decode(Statement<Bicycle, Int>.self, from: data) }
  }

  /// The test gives every document's body to every other kind, with and without `returning`.
  @Test func aDocumentRelabelledAsAReadChangesNothing() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle.insert((1...5).map { Bicycle(name: "b\($0)", color: "red") }).run(db)
      let before = try Bicycle.read().run(db)
      let kinds = ["read", "first", "count", "exists", "insert", "save", "update", "delete"]
      for document in try documents() {
        let text = String(decoding: document.data, as: UTF8.self)
        for (kind, returns) in kinds.flatMap({ [($0, true), ($0, false)] }) {
          var edited = text.replacing(
            #/"(read|first|count|exists|insert|save|update|delete)":{/#, with: "\"\(kind)\":{")
          if returns { edited = edited.replacing("\"\(kind)\":{", with: "\"\(kind)\":{\"returning\":true,") }
          #expect(edited.contains("\"\(kind)\":{"))
          let data = Data(edited.utf8)
          let reads = StatementRules(kinds: StatementKind.reads)
          _ = try? Statement<Bicycle, [Bicycle]>(json: data).run(db)
          _ = try? Statement<Bicycle, Bicycle?>(json: data).run(db)
          _ = try? Statement<Bicycle, Bool>(json: data).run(db)
          _ = try? Select<Bicycle>(json: data).run(db)
          _ = try? Statement<Bicycle, Int>(json: data, rules: reads).run(db)
          _ = try? Statement<Bicycle, [Int]>(json: data, rules: reads).run(db)
          _ = try? ReturningStatement<Bicycle, [Bicycle]>(json: data, rules: reads).statement.run(db)
          #expect(try Bicycle.read().run(db) == before, "\(edited)")
        }
      }
    }
  }

  @Test(.needs(35, "RETURNING")) func aChangeThatReturnsRowsDecodesAsReturningStatement() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTables(Person.self, Bicycle.self)
      try bike.insert().run(db)
      let change = Bicycle.delete(Bicycle.color == "red").returning()
      expectInvalidStatement { _ = try JSONEncoder().encode(change) }
      expectInvalidStatement { _ = try JSONEncoder().encode(ReturningStatement(Bicycle.read())) }
      let data = try JSONEncoder().encode(ReturningStatement(change))
      let error = sqlError { _ = try JSONDecoder().decode(Statement<Bicycle, [Bicycle]>.self, from: data) }
      #expect(error?.message == "a change that returns rows can't be decoded as a Statement; use ReturningStatement")
      let same = try JSONDecoder().decode(ReturningStatement<Bicycle, [Bicycle]>.self, from: data)
      #expect(same == ReturningStatement(change))
      #expect(same.statement.sql == change.sql)
      #expect(try same.statement.run(db) == [bike])
      #expect(try Bicycle.count().run(db) == 0)
    }
  }

  // MARK: Tables

  /// Deletes all rows of a table with the layout of a person.
  private func deleteAll(of table: String) throws -> Data {
    let name = String(decoding: try JSONEncoder().encode(table), as: UTF8.self)
    return Data(#"{"delete":{"all":true,"from":{"model":"person","table":\#(name)}},"sqlable":1}"#.utf8)
  }

  @Test func tablesOtherThanTheModelsAreRefused() throws {
    for name in [
      "secret", "SECRET", "sqlite_master", "SQLITE_SCHEMA", "sqlite_temp_master", "sqlite_sequence", "other.person",
      "main.person", "temp.person", "person ", "", "\0", "person\0", "p\u{E9}", #"person"; DROP TABLE person; --"#,
      String(repeating: "x", count: 100_000),
    ] {
      let error = expectInvalidStatement("\(name.prefix(40))") {
        _ = try Statement<Person, Int>(json: deleteAll(of: name))
      }
      #expect(error?.message.utf8.count ?? 1_000 < 200)
      #expect(error?.table == "person")
    }
    // SQLite ignores case in the names of tables.
    let same = try Statement<Person, Int>(json: deleteAll(of: "PERSON"))
    #expect(same.sql == #"DELETE FROM "person""#)
    let own = Person.deleteAll().in("person")
    #expect(try Statement<Person, Int>(json: own.json()) == own)
  }

  @Test func rulesAllowOtherTables() throws {
    let rules = StatementRules(tables: ["archive", "Über"])
    let statement = Person.deleteAll().in("archive")
    let data = try statement.json()
    expectInvalidStatement { _ = try Statement<Person, Int>(json: data) }
    #expect(try Statement<Person, Int>(json: data, rules: rules) == statement)
    // SQLite ignores case in the names of tables.
    #expect(try Statement<Person, Int>(json: deleteAll(of: "ARCHIVE"), rules: rules) == statement)
    for name in ["archive2", "über", "U\u{308}ber", "secret", "sqlite_master"] {
      expectInvalidStatement("\(name)") { _ = try Statement<Person, Int>(json: deleteAll(of: name), rules: rules) }
    }
    let decoder = JSONDecoder()
    decoder.userInfo[.statementRules] = rules
    let many = try JSONEncoder().encode([ReturningStatement(Person.deleteAll().in("archive").returning())])
    let decoded = try decoder.decode([ReturningStatement<Person, [Person]>].self, from: many)
    #expect(decoded.map(\.statement.sql) == [#"DELETE FROM "archive" RETURNING "id", "name""#])
    expectInvalidStatement { _ = try JSONDecoder().decode([ReturningStatement<Person, [Person]>].self, from: many) }
  }

  // MARK: Statements that only a document can express

  @Test func anUpsertOfColumnsAndAssignmentsSetsBoth() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle(id: 3, name: "Norco", color: "red").insert().run(db)
      let insert = Bicycle(id: 3, name: "Kona", color: "blue").insert()
      let text = String(decoding: try insert.onConflict(Bicycle.id, update: Bicycle.name).json(), as: UTF8.self)
      let set = #""set":[{"column":"color","to":"green"}],"#
      let both = text.replacing(#""target":"#, with: set + #""target":"#)
      let statement = try Statement<Bicycle, Int>(json: Data(both.utf8))
      #expect(
        statement.sql.contains(#"DO UPDATE SET "name" = excluded."name", "color" = ?"# + SQLiteLibrary.returningId))
      try statement.run(db)
      #expect(try Bicycle.read().run(db) == [Bicycle(id: 3, name: "Kona", color: "green")])
      // Without a list, the update takes all columns, so `color` is set twice too.
      for columns in [#""columns":["name","color"],"#, ""] {
        let twice = both.replacing(#""columns":["name"],"#, with: columns)
        #expect(twice != both)
        let error = sqlError { _ = try Statement<Bicycle, Int>(json: Data(twice.utf8)) }
        #expect(error?.message == "column color is set twice")
      }
    }
  }

  @Test func aGeneratedColumnIsNotWritten() throws {
    let text = String(decoding: try Seat(row: 1, letter: "A", price: 1).insert().json(), as: UTF8.self)
    let edited = text.replacing(#""letter":"A""#, with: #""letter":"A","label":"x""#)
    #expect(edited != text)
    let error = expectInvalidStatement {
      _ = try JSONDecoder().decode(Statement<Seat, Int>.self, from: Data(edited.utf8))
    }
    #expect(error?.column == "label")
  }

  @Test func aBatchWithoutRowsIsCheckedToo() throws {
    let text = String(decoding: try Bicycle.insert().json(), as: UTF8.self)
    for added in [
      #""columns":["colour"]"#, #""limit":1"#, #""where":{"column":"id"}"#, #""upsert":{"target":["x"],"columns":[]}"#,
    ] {
      let edited = text.replacing(#""into":"#, with: added + #","into":"#)
      #expect(edited != text)
      #expect(sqlError { _ = try Statement<Bicycle, [Int]>(json: Data(edited.utf8)) } != nil, "\(edited)")
    }
  }
}
