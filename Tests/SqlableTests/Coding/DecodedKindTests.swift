import Foundation
import Sqlable
import Testing

/// A decoded statement is what its Swift type says, of the model's own table, and nothing else.
@Suite struct DecodedKindTests {
  private let bike = Bicycle(id: 3, name: "Norco", color: "red")

  /// A statement as data, by what it does.
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

  @Test func rulesSayWhichKindsAreTaken() throws {
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

  /// The kind of every document is changed to every other, with and without returning.
  @Test func whatCallsItselfAReadChangesNothing() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Person.self)
      try db.createTable(Bicycle.self)
      try Bicycle.insert((1...5).map { Bicycle(name: "b\($0)", color: "red") }).run(db)
      let before = try Bicycle.read().run(db)
      let kinds = [
        "read", "first", "count", "exists", "insert", "insertMany", "insertQuery", "save", "update", "assign",
        "deleteRow", "delete",
      ]
      for document in try documents() {
        let text = String(decoding: document.data, as: UTF8.self)
        for (kind, returns) in kinds.flatMap({ [($0, "true"), ($0, "false")] }) {
          let edited = text.replacing(#/"kind":"\w+"/#, with: #""kind":"\#(kind)""#)
            .replacing(#/"returning":\w+/#, with: #""returning":\#(returns)"#)
          #expect(edited.contains(#""kind":"\#(kind)""#) && edited.contains(#""returning":\#(returns)"#))
          let data = Data(edited.utf8)
          let decoder = JSONDecoder()
          _ = try? decoder.decode(Statement<Bicycle, [Bicycle]>.self, from: data).run(db)
          _ = try? decoder.decode(Statement<Bicycle, Bicycle?>.self, from: data).run(db)
          _ = try? decoder.decode(Statement<Bicycle, Bool>.self, from: data).run(db)
          decoder.userInfo[.statementRules] = StatementRules(kinds: StatementKind.reads)
          _ = try? decoder.decode(Statement<Bicycle, Int>.self, from: data).run(db)
          _ = try? decoder.decode(Statement<Bicycle, [Int]>.self, from: data).run(db)
          _ = try? decoder.decode(ReturningStatement<Bicycle, [Bicycle]>.self, from: data).statement.run(db)
          #expect(try Bicycle.read().run(db) == before, "\(edited)")
        }
      }
    }
  }

  @Test(.needs(35, "RETURNING")) func aChangeThatReturnsRowsHasATypeOfItsOwn() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Person.self)
      try db.createTable(Bicycle.self)
      try bike.insert().run(db)
      let change = Bicycle.delete(Bicycle.color == "red").returning()
      expectInvalidStatement { _ = try JSONEncoder().encode(change) }
      expectInvalidStatement { _ = try JSONEncoder().encode(ReturningStatement(Bicycle.read())) }
      let data = try JSONEncoder().encode(ReturningStatement(change))
      let error = sqlError { _ = try JSONDecoder().decode(Statement<Bicycle, [Bicycle]>.self, from: data) }
      #expect(error?.message == "a change that returns rows must be decoded as a ReturningStatement")
      let same = try JSONDecoder().decode(ReturningStatement<Bicycle, [Bicycle]>.self, from: data)
      #expect(same == ReturningStatement(change) && same.statement.sql == change.sql)
      #expect(try same.statement.run(db) == [bike])
      #expect(try Bicycle.count().run(db) == 0)
    }
  }

  // MARK: Tables

  private func edited(_ statement: Statement<Person, Int>, table: String, in other: String) throws -> Data {
    let text = String(decoding: try JSONEncoder().encode(statement), as: UTF8.self)
    func quoted(_ name: String) -> String {
      (try? JSONEncoder().encode(name)).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
    return Data(
      text.replacing(#/"table":"\w+"/#, with: #""table":\#(quoted(table))"#)
        .replacing(#/"in":(null|"\w+")/#, with: #""in":\#(quoted(other))"#).utf8)
  }

  @Test func onlyTheModelsOwnTableIsTaken() throws {
    let delete = Person.deleteAll()
    for name in [
      "secret", "SECRET", "sqlite_master", "SQLITE_SCHEMA", "sqlite_temp_master", "sqlite_sequence", "other.person",
      "main.person", "temp.person", "person ", "", "\0", "person\0", "p\u{E9}", #"person"; DROP TABLE person; --"#,
      String(repeating: "x", count: 100_000),
    ] {
      for table in [name, "person"] {
        let error = expectInvalidStatement("\(name.prefix(40))") {
          _ = try JSONDecoder().decode(Statement<Person, Int>.self, from: try edited(delete, table: table, in: name))
        }
        #expect(error?.message.utf8.count ?? 1_000 < 200 && error?.table == "person")
      }
    }
    // To SQLite it is the same table.
    let same = try JSONDecoder().decode(
      Statement<Person, Int>.self, from: try edited(delete, table: "PERSON", in: "PERSON"))
    #expect(same.sql == #"DELETE FROM "person""#)
    let own = Person.deleteAll().in("person")
    #expect(try JSONDecoder().decode(Statement<Person, Int>.self, from: JSONEncoder().encode(own)) == own)
  }

  @Test func rulesAllowOtherTables() throws {
    let decoder = JSONDecoder()
    decoder.userInfo[.statementRules] = StatementRules(tables: ["archive", "Über"])
    let statement = Person.deleteAll().in("archive")
    let data = try JSONEncoder().encode(statement)
    expectInvalidStatement { _ = try JSONDecoder().decode(Statement<Person, Int>.self, from: data) }
    #expect(try decoder.decode(Statement<Person, Int>.self, from: data) == statement)
    // In capitals it is the same to SQLite, and one entry of what is kept of tables.
    let capitals = try edited(Person.deleteAll(), table: "ARCHIVE", in: "ARCHIVE")
    #expect(try decoder.decode(Statement<Person, Int>.self, from: capitals) == statement)
    for name in ["archive2", "über", "U\u{308}ber", "secret", "sqlite_master"] {
      let data = try edited(Person.deleteAll(), table: name, in: name)
      expectInvalidStatement("\(name)") { _ = try decoder.decode(Statement<Person, Int>.self, from: data) }
    }
    // Inside other types, and of what is returned.
    let many = try JSONEncoder().encode([ReturningStatement(Person.deleteAll().in("archive").returning())])
    let decoded = try decoder.decode([ReturningStatement<Person, [Person]>].self, from: many)
    #expect(decoded.map(\.statement.sql) == [#"DELETE FROM "archive" RETURNING "id", "name""#])
    expectInvalidStatement { _ = try JSONDecoder().decode([ReturningStatement<Person, [Person]>].self, from: many) }
  }

  // MARK: What a document can say and the API can't

  @Test func anUpsertOfColumnsAndAssignmentsSetsBoth() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Person.self)
      try db.createTable(Bicycle.self)
      try Bicycle(id: 3, name: "Norco", color: "red").insert().run(db)
      let insert = Bicycle(id: 3, name: "Kona", color: "blue").insert()
      let columns = String(
        decoding: try JSONEncoder().encode(insert.onConflict(Bicycle.id, update: Bicycle.name)), as: UTF8.self)
      let assignment = #"[{"column":"color","value":{"value":{"_0":{"text":"green"}}}}]"#
      let object = try #require(try JSONSerialization.jsonObject(with: Data(columns.utf8)) as? [String: Any])
      var query = try #require(object["query"] as? [String: Any])
      var upsert = try #require(query["upsert"] as? [String: Any])
      upsert["assignments"] = try JSONSerialization.jsonObject(with: Data(assignment.utf8))
      query["upsert"] = upsert
      var whole = object
      whole["query"] = query
      let data = try JSONSerialization.data(withJSONObject: whole)
      let statement = try JSONDecoder().decode(Statement<Bicycle, Int>.self, from: data)
      #expect(
        statement.sql.contains(#"DO UPDATE SET "name" = excluded."name", "color" = ?"# + SQLiteLibrary.returningId))
      try statement.run(db)
      #expect(try Bicycle.read().run(db) == [Bicycle(id: 3, name: "Kona", color: "green")])
      // A column both taken over and set, listed and by default.
      for columns in [["name", "color"], nil] as [[String]?] {
        upsert["columns"] = columns ?? NSNull() as Any
        query["upsert"] = upsert
        whole["query"] = query
        let data = try JSONSerialization.data(withJSONObject: whole)
        let error = sqlError { _ = try JSONDecoder().decode(Statement<Bicycle, Int>.self, from: data) }
        #expect(error?.message == "column color is set twice")
      }
    }
  }

  @Test func aGeneratedColumnIsNotWritten() throws {
    let text = String(decoding: try JSONEncoder().encode(Seat(row: 1, letter: "A", price: 1).insert()), as: UTF8.self)
    let edited = text.replacing(#""letter":{"text":"A"}"#, with: #""letter":{"text":"A"},"label":{"text":"x"}"#)
    #expect(edited != text)
    let error = expectInvalidStatement {
      _ = try JSONDecoder().decode(Statement<Seat, Int>.self, from: Data(edited.utf8))
    }
    #expect(error?.column == "label")
  }

  @Test func aBatchWithoutRowsIsCheckedToo() throws {
    let text = String(decoding: try JSONEncoder().encode(Bicycle.insert()), as: UTF8.self)
    for (old, new) in [
      (#""columns":null"#, #""columns":["colour"]"#), (#""limit":null"#, #""limit":1"#),
      (#""filter":null"#, #""filter":{"column":{"_0":"id"}}"#),
      (#""upsert":null"#, #""upsert":{"target":["x"],"columns":[],"assignments":[],"condition":null}"#),
    ] {
      let edited = text.replacing(old, with: new)
      #expect(edited != text)
      #expect(sqlError { _ = try JSONDecoder().decode(Statement<Bicycle, [Int]>.self, from: Data(edited.utf8)) } != nil)
    }
  }
}
