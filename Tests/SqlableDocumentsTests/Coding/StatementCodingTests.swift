import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableDocumentsTestSupport
@testable import SqlableTestSupport

/// Statements as data: comparison, JSON and other coders, and refusal of tampered documents.
@Suite struct StatementCodingTests {
  private let bike = Bicycle(id: 3, name: "Nörco \0 \"x\"", color: "red", ownerId: nil)

  private func json<Model, Output>(_ statement: Statement<Model, Output>) throws -> String {
    String(decoding: try statement.json(), as: UTF8.self)
  }

  private func checkRoundTrip<Model, Output>(_ statement: Statement<Model, Output>) throws {
    let rules = StatementRules(models: documentModels)
    let decoded = try Statement<Model, Output>(json: statement.json(), rules: rules)
    #expect(decoded == statement, "\(statement.sql)")
    #expect(decoded.hashValue == statement.hashValue, "\(statement.sql)")
    #expect(decoded.sql == statement.sql)
    #expect(decoded.bindings == statement.bindings)
    #expect(!statement.sql.hasPrefix("-- ") || statement.sql == "-- there are no rows to insert")
    #expect(try json(decoded) == json(statement))
    #expect(Set([statement, decoded]).count == 1)
    let decoder = JSONDecoder()
    decoder.userInfo[.statementRules] = rules
    let same = try decoder.decode(Statement<Model, Output>.self, from: JSONEncoder().encode(statement))
    #expect(same == statement, "\(statement.sql)")
    #expect(same.sql == statement.sql, "\(statement.sql)")
    let list = PropertyListDecoder()
    list.userInfo[.statementRules] = rules
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    let again = try list.decode(Statement<Model, Output>.self, from: encoder.encode(statement))
    #expect(again == statement, "\(statement.sql)")
    #expect(again.bindings == statement.bindings, "\(statement.sql)")
  }

  @Test func everyFormSurvivesJSON() throws {
    let filter = Bicycle.id > 1 && (Bicycle.name.like("a!%", escape: "!") || !(Bicycle.color ∈ ["x", "y"]))
    try checkRoundTrip(Bicycle.read().filter(filter).orderBy(Bicycle.name.collate(.nocase), .desc).limit(3, offset: 1))
    try checkRoundTrip(Bicycle.read().orderBy(-Bicycle.id).first())
    try checkRoundTrip(Bicycle.byId(7))
    try checkRoundTrip(Seat.byId(7, "A"))
    try checkRoundTrip(Bicycle.count().filter(Bicycle.ownerId.isNull).limit(1))
    try checkRoundTrip(Bicycle.exists().filter(Bicycle.ownerId.in([1, nil, 3] as [Int?])))
    try checkRoundTrip(Bicycle.count().filter(Bicycle.id.in(Array(1...500))))
    for statement in [
      bike.insert(), bike.insert(Bicycle.name), bike.insert().ignoreOnConflict(), bike.insert().replaceOnConflict(),
      bike.insert().onConflict(Bicycle.name, Bicycle.color, update: Bicycle.ownerId),
      bike.insert().onConflict(Bicycle.name, Bicycle.color), bike.update(), bike.update(Bicycle.ownerId), bike.save(),
      bike.delete(), Bicycle.delete(filter).limit(2), Bicycle.deleteAll(),
      Bicycle.updateAll(Bicycle.ownerId.set(to: nil)),
      Bicycle.update(Bicycle.name.set(to: "x"), Bicycle.id.set(to: Bicycle.id * 2 + 1)).filter(filter),
      bike.insert().onConflict(
        Bicycle.id, set: Bicycle.name.set(to: Bicycle.name.excluded), Bicycle.ownerId.set(to: Bicycle.ownerId + 1),
        where: Bicycle.ownerId < Bicycle.ownerId.excluded),
      Bicycle.insert(from: Bicycle.read().filter(filter)),
      Bicycle.insert(Bicycle.name, Bicycle.color, from: Person.select(Person.name, Person.name.lowercase())),
    ] { try checkRoundTrip(statement) }
    try checkRoundTrip(Bicycle.insert([bike, Bicycle(name: "b", color: "c", ownerId: 4)]))
    try checkRoundTrip(Bicycle.insert())
    try checkRoundTrip(Seat.count().filter(Seat.price > 0.1 && Seat.row >= .min && Seat.row <= .max))
    try checkRoundTrip(
      Seat.count().filter(Seat.price == .leastNonzeroMagnitude || Seat.price < -Double.greatestFiniteMagnitude))
    try checkRoundTrip(Seat.count().filter(Seat.price < .infinity && Seat.price > -.infinity && Seat.price == -0.0))
    try checkRoundTrip(Car.count().filter(Car.soldAt < Date(timeIntervalSince1970: 0.123456789) || Car.soldAt == nil))
  }

  @Test func everyTermSurvivesJSON() throws {
    let other = Alias(Bicycle.self, "other")
    let ids = Bicycle.select(Bicycle.id)
    let function = ScalarFunction("twice") { (number: Int) -> Int in number * 2 }
    let terms: [SqlExpression] = [
      Bicycle.ownerId.in(Person.select(Person.id)), exists(Bicycle.read()), scalar(ids) == 1,
      exists(other.read().filter(other[Bicycle.ownerId] == Bicycle.id && other[Bicycle.id] != Bicycle.ownerId)),
      Case.when(Bicycle.id > 1, then: 1).else(2) == 1, Bicycle.id.cast(to: Double.self) == 1,
      Case.when(Bicycle.id > 1, then: Bicycle.name).when(Bicycle.id > 2, then: Bicycle.color).end() == "x",
      Bicycle.name.coalesce(Bicycle.color) == "x", Bicycle.name.trim() == "x", Bicycle.name.trim("x'y") == "x",
      function(Bicycle.id.typed(as: Int.self)) == 2, Bicycle.name.json("a") == "x",
      Bicycle.name.jsonValue("a b", -1, "c", 2) == "x", Bicycle.name.jsonExtract("ä.[1]'") == 1,
      Bicycle.name.jsonType() == "x", Bicycle.name.jsonArrayLength("a") == 1,
      Bicycle.name.jsonContains("x"), Bicycle.name.jsonContains("x", at: "a"),
      Bicycle.name.collate(.named("own")) == "x", Bicycle.name.substr(2, 3) == "b", Bicycle.name.substr(-2) == "b",
      Bicycle.id.inverted() == 1, Bicycle.id % 2 == 1 || Bicycle.id.shiftedLeft(2) > 3, Bicycle.name.glob("a*"),
      Bicycle.ownerId == nil,
      Bicycle.name.contains("\0"), Bicycle.name == "\u{0}\u{1F600}e\u{301}", Bicycle.id == Parameter("id"),
      Bicycle.name.hex() == "AA", Bicycle.name.typeof() == "text", Bicycle.name.instr("x") > 0,
    ]
    for term in terms {
      try checkRoundTrip(Bicycle.read().filter(term))
      try checkRoundTrip(Bicycle.count().filter(!(Bicycle.id == 1 && term)))
      try checkRoundTrip(Bicycle.read().orderBy(term).first())
      try checkRoundTrip(Bicycle.update(Bicycle.name.set(to: "x")).filter(term))
      try checkRoundTrip(Bicycle.delete(term).orderBy(term, .desc).limit(1))
    }
    for term in [
      Car.soldAt.year() == 2020, Car.soldAt.weekday() == 0, Car.soldAt.date() == "x",
      Car.soldAt.adding(1, .day) == nil, Car.soldAt.adding(-3, .month) > Date(), Car.soldAt.strftime("%Y-%m") == "x",
    ] { try checkRoundTrip(Car.read().filter(term)) }
  }

  @Test func invalidStatementsAreNotEncoded() throws {
    func check<Output>(_ statement: Statement<Bicycle, Output>) {
      expectInvalidStatement("\(statement.sql)") { _ = try JSONEncoder().encode(statement) }
      expectInvalidStatement("\(statement.sql)") { _ = try statement.json() }
    }
    check(bike.insert().returning())
    check(Bicycle.deleteAll().returning().first())
    expectError(.schema(.missingColumn("price"))) {
      _ = try JSONEncoder().encode(Bicycle.read().filter(Car.price == 1))
    }
    check(Bicycle.read().limit(-1))
    check(Bicycle.read().onConflict(.ignore))
    check(bike.insert().filter(Bicycle.id == 1))
    let unfit = expectSqlError { _ = try Bicycle.read().filter(Bicycle.id == "x").json() }
    #expect(unfit?.column == "id")
    #expect(unfit?.table == "bicycle")
    expectSqlError { _ = try Car.read().filter(Car.price == .nan).json() }
    expectMisuse { _ = try Bicycle(name: "x", color: "y").update().json() }
    expectMisuse { _ = try Bicycle.byId(1, 2).json() }
    expectMisuse { _ = try Bicycle.delete().json() }
  }

  @Test func theDeepestExpressionsSurviveJSON() throws {
    for wrapping in Wrapping.allCases where !wrapping.isCostly {
      var term = OraclePlain.i.expression
      while true {
        let next = try wrapping.wrap(term, around: OraclePlain.oracleColumns)
        guard !OraclePlain.read().orderBy(next).sql.hasPrefix("-- ") else { break }
        // A flat chain has no limit of depth.
        let read = OraclePlain.read().orderBy(next)
        guard read.sql.utf8.count < 3000 else { break }
        // A document allows fewer levels of terms that use much stack.
        guard (try? Statement<OraclePlain, [OraclePlain]>(json: read.json())) != nil else { break }
        term = next
      }
      try checkRoundTrip(OraclePlain.read().orderBy(term))
    }
  }

  @Test func decodedStatementsRunAsTheirOriginals() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let batch = Bicycle.insert((1...50).map { Bicycle(name: "bike \($0)", color: $0 % 2 == 0 ? "red" : "blue") })
      let same = try JSONDecoder().decode(Statement<Bicycle, [Int]>.self, from: JSONEncoder().encode(batch))
      #expect(try same.run(db) == Array(1...50))
      let update = Bicycle(id: 2, name: "new", color: "red").update(Bicycle.name, Bicycle.ownerId)
      #expect(
        try JSONDecoder().decode(Statement<Bicycle, Int>.self, from: JSONEncoder().encode(update)).run(db) == 1)
      #expect(try Bicycle.byId(2).run(db) == Bicycle(id: 2, name: "new", color: "red"))
      let read = Bicycle.read().filter(Bicycle.color == "red").orderBy(Bicycle.id, .desc).limit(2)
      let decoded = try JSONDecoder().decode(Statement<Bicycle, [Bicycle]>.self, from: JSONEncoder().encode(read))
      let results = try [read, decoded].map { statement in
        let child = try db.createChild()
        return try onThread { try statement.run(child) }
      }
      #expect(results[0].map(\.id) == [50, 48])
      #expect(results[1] == results[0])
    }
  }

  /// A statement with clauses is found in the cache by its SQL, which takes longer.
  @Test func decodedChangesOfStructsHaveNoClauses() throws {
    for statement in [bike.update(), bike.delete()] {
      let rules = StatementRules(models: documentModels)
      switch try Statement<Bicycle, Int>(json: statement.json(), rules: rules).tree {
      case .update(let query): #expect(query.rest.isDefault)
      case .delete(let query): #expect(query.rest.isDefault)
      case let other: Issue.record("\(other)")
      }
    }
  }

  @Test func statementsOfAnotherTableKindOrColumnAreRefused() throws {
    let read = try json(Bicycle.read().filter(Bicycle.name == "x"))
    func refusal<Model, Output>(_ type: Statement<Model, Output>.Type, _ text: String) -> SqlError? {
      sqlError { _ = try Statement<Model, Output>(json: Data(text.utf8)) }
    }
    let unknown = refusal(Statement<Person, [Person]>.self, read)
    #expect(unknown?.message == "unknown table; add the table's model to the rules of the decoder")
    #expect(unknown?.documentPath == "read.from")
    let kind = "the Swift type does not match the document's operation or tables; decode a Select or an AnyStatement"
    #expect(refusal(Statement<Bicycle, Bicycle?>.self, read)?.message == kind)
    #expect(refusal(Statement<Bicycle, Int>.self, read)?.message == kind)
    #expect(refusal(Statement<Bicycle, [Int]>.self, read)?.message == kind)
    let counts = StatementRules(kinds: [.count], models: [Bicycle.self])
    #expect(
      sqlError { _ = try Statement<Bicycle, [Bicycle]>(json: Data(read.utf8), rules: counts) }?.documentPath == "read")
    #expect(sqlError { _ = try AnyStatement(json: Data(read.utf8), rules: counts) }?.documentPath == "read")
    #expect(sqlError { _ = try Select<Bicycle>(json: Data(read.utf8), rules: counts) }?.documentPath == "read")
    let column = refusal(Statement<Bicycle, [Bicycle]>.self, read.replacing(#""name""#, with: #""na\" me""#))
    #expect(column?.kind == .schema(.missingColumn("na\" me")))
    #expect(column?.documentPath == "read.where.=[0].column")
    let batch = try json(Bicycle.insert([bike, Bicycle(name: "b", color: "zzz")]))
    let strange = refusal(
      Statement<Bicycle, [Int]>.self, batch.replacing(#""color":"zzz""#, with: #""colour":"zzz""#))
    #expect(strange?.kind == .schema(.missingColumn("colour")))
    #expect(strange?.documentPath == "insert.rows[1]")
    let wrong = refusal(Statement<Bicycle, [Int]>.self, batch.replacing(#""zzz""#, with: "1"))
    #expect(wrong?.column == "color")
    #expect(wrong?.documentPath == "insert.rows[1].color")
  }

  /// If the key of its filter is misspelt or missing, a DELETE must not delete all rows.
  @Test func unknownAndMissingKeysAreRefused() throws {
    let delete = try json(Person.delete(Person.id > 1).orderBy(Person.id).limit(2))
    let upsert = try json(Person(id: 1, name: "x").insert().onConflict(Person.id, update: Person.name))
    let like = try json(Person.count().filter(Person.name.like("a!%", escape: "!")))
    let keys = [
      (delete, "delete"), (delete, "from"), (delete, "where"), (delete, "orderBy"), (delete, "limit"), (delete, ">"),
      (delete, "column"), (delete, "asc"), (delete, "sqlable"), (upsert, "upsert"), (upsert, "target"),
      (upsert, "columns"), (upsert, "row"), (upsert, "into"), (like, "like"), (like, "escape"),
    ]
    for (text, key) in keys {
      for other in [#""x":"#, #""\#(key.uppercased())_":"#, #""more":1,"\#(key)":"#] {
        let edited = text.replacing(#""\#(key)":"#, with: other)
        #expect(edited != text)
        let error = sqlError { _ = try Statement<Person, Int>(json: Data(edited.utf8)) }
        #expect(error != nil, "\(edited)")
      }
    }
    // Without a filter and a limit, this statement would delete all rows.
    let all = #"{"delete":{"from":"person"},"sqlable":1}"#
    expectMisuse { _ = try Statement<Person, Int>(json: Data(all.utf8)) }
  }

  @Test func excessiveNestingIsRefused() throws {
    for depth in [150, 250, 100_000, 3_000_000] {
      let column = #"{"column":"id"}"#
      let nested = String(repeating: #"{"not":"#, count: depth) + column + String(repeating: "}", count: depth)
      let text = try json(Person.count().filter(Person.id.expression)).replacing(column, with: nested)
      #expect(text.contains(nested))
      expectInvalidStatement { _ = try Statement<Person, Int>(json: Data(text.utf8)) }
      guard depth < 1_000_000 else { continue }
      #expect(throws: (any Error).self) { try JSONDecoder().decode(Statement<Person, Int>.self, from: Data(text.utf8)) }
    }
  }

  /// Mutations of valid JSON never crash, and a statement that decodes has the model's identifiers only.
  @Test func tamperedJSONIsRefusedOrHarmless() throws {
    let seed = SeededGenerator.seed
    var random = SeededGenerator(seed: seed)
    let filter =
      Person.id > 1 && (Person.name.like("a%", escape: "!") || !(Person.name ∈ ["x", "y"]) || Person.id + 1 == 2)
    let statements = [
      try json(Person.count().filter(filter).orderBy(Person.name.lowercase().collate(.nocase)).limit(5, offset: 1)),
      try json(Person(id: 1, name: "x").insert().onConflict(Person.id, update: Person.name)),
      try json(Person(id: 1, name: "x").update(Person.name)),
      try json(Person.update(Person.name.set(to: Person.name.concatenated("x"))).filter(Person.id.between(1, and: 3))),
      try json(Person.delete(Person.id.isNull)),
    ]
    let pieces = [
      "0", "-1", "9223372036854775807", "1e999", "null", "\"\"", "\"x\"", "{}", "[]", "\"id\"", "\"name\"",
      "\"person\"", "\"and\"", "\"not\"", "\"any\"", "\"OR 1=1\"", "\"\\\"; DROP TABLE person; --\"", "\"count\"",
      "\"delete\"", "\"save\"", "\"IS NOT\"", "\"lower\"", "{\"column\":\"name\"}", "true",
    ]
    var decoded = 0
    try withDatabase { db in
      try db.createTable(Person.self)
      for _ in 0..<times(4000) {
        var text = random.pick(statements)
        for _ in 0..<random.pick([1, 1, 2, 4]) { text = mutated(text, pieces, &random) }
        guard let statement = try? JSONDecoder().decode(Statement<Person, Int>.self, from: Data(text.utf8)) else {
          continue
        }
        decoded += 1
        let sql = statement.sql
        #expect(!sql.hasPrefix("-- "), "\(text)")
        #expect(!sql.contains(";"), "\(text)")
        // Every second part is quoted; only the model's names may be quoted.
        let names = sql.split(separator: "\"", omittingEmptySubsequences: false).enumerated().filter {
          $0.offset % 2 == 1
        }
        #expect(names.allSatisfy { ["person", "id", "name"].contains($0.element) }, "\(sql)")
        let error = sqlError { _ = try statement.explain(db) }
        // The database alone knows the unique columns.
        let isKnown = error?.message.contains("has no unique index for ON CONFLICT") == true
        #expect(error == nil || isKnown, "seed \(seed): \(sql) \(error?.message ?? "")")
      }
    }
    #expect(decoded > times(60), "\(decoded) decoded")
  }

  private func mutated(_ text: String, _ pieces: [String], _ random: inout SeededGenerator) -> String {
    var tokens: [Substring] = []
    var rest = text[...]
    while let first = rest.first {
      let end: Substring.Index
      if first == "\"" {
        end = rest.dropFirst().firstIndex(of: "\"").map(rest.index(after:)) ?? rest.endIndex
      } else {
        end = rest.dropFirst().firstIndex { "\"{}[]:,".contains($0) || "\"{}[]:,".contains(first) } ?? rest.endIndex
      }
      tokens.append(rest[..<end])
      rest = rest[end...]
    }
    let place = Int.random(in: 0..<tokens.count, using: &random)
    switch Int.random(in: 0..<5, using: &random) {
    case 0: tokens.remove(at: place)
    case 1: tokens[place] = Substring(random.pick(pieces))
    case 2: tokens.swapAt(place, Int.random(in: 0..<tokens.count, using: &random))
    case 3: tokens.insert(tokens[place], at: Int.random(in: 0..<tokens.count, using: &random))
    default: tokens[place] = tokens[Int.random(in: 0..<tokens.count, using: &random)]
    }
    return tokens.joined()
  }

  /// Only JSON can choose the columns of a batch. Every row then binds the same columns as the first row.
  @Test func aDecodedBatchWritesTheColumnsThatItNames() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let rows = ["a", "b", "c"].map { Bicycle(name: "name \($0)", color: "color \($0)") }
      let text = try json(Bicycle.insert(rows))
      let chosen = text.replacing(#""into":"#, with: #""columns":["color","name"],"into":"#)
      #expect(chosen != text)
      try Statement<Bicycle, [Int]>(json: Data(chosen.utf8)).run(db)
      let stored = try Bicycle.read().orderBy(Bicycle.id).run(db)
      #expect(stored.map(\.name) == rows.map(\.name))
      #expect(stored.map(\.color) == rows.map(\.color))
    }
  }
}
