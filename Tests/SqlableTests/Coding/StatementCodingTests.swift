import Foundation
import Sqlable
import Testing

/// Statements as data: compared, sent, stored as JSON, and never trusted when they come back.
@Suite struct StatementCodingTests {
  private let bike = Bicycle(id: 3, name: "Nörco \0 \"x\"", color: "red", ownerId: nil)

  private func json<Model, Output>(_ statement: Statement<Model, Output>) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return String(decoding: try encoder.encode(statement), as: UTF8.self)
  }

  private func checkRoundTrip<Model, Output>(_ statement: Statement<Model, Output>) throws {
    let data = try JSONEncoder().encode(statement)
    let decoded = try JSONDecoder().decode(Statement<Model, Output>.self, from: data)
    #expect(decoded == statement && decoded.hashValue == statement.hashValue, "\(statement.sql)")
    #expect(decoded.sql == statement.sql && decoded.bindings == statement.bindings)
    #expect(!statement.sql.hasPrefix("-- "))
    #expect(try json(decoded) == json(statement))
    #expect(Set([statement, decoded]).count == 1)
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
      bike.delete(), Bicycle.delete(filter).limit(2),
      Bicycle.update(Bicycle.name.set(to: "x"), Bicycle.id.set(to: Bicycle.id * 2 + 1)).filter(filter),
    ] { try checkRoundTrip(statement) }
    try checkRoundTrip(Bicycle.insert([bike, Bicycle(name: "b", color: "c", ownerId: 4)]))
    try checkRoundTrip(Seat.count().filter(Seat.price > 0.1 && Seat.row >= .min && Seat.row <= .max))
    try checkRoundTrip(
      Seat.count().filter(Seat.price == .leastNonzeroMagnitude || Seat.price < -Double.greatestFiniteMagnitude))
    try checkRoundTrip(Car.count().filter(Car.soldAt < Date(timeIntervalSince1970: 0.123456789) || Car.soldAt == nil))
  }

  /// What has no form as data says so when it is encoded, and nothing is lost without a word.
  @Test func whatHasNoFormThrows() throws {
    let other = Alias(Bicycle.self, "other")
    let ids = Bicycle.select(Bicycle.id)
    let named = Car.select(Car.price).named("prices")
    let function = ScalarFunction("twice") { (number: Int) -> Int in number * 2 }
    let terms: [SqlExpression] = [
      Bicycle.ownerId.in(Person.select(Person.id)), exists(Bicycle.read()), scalar(ids) == 1, other[Bicycle.id] == 1,
      Case.when(Bicycle.id > 1, then: 1).else(2) == 1, Bicycle.id.cast(to: Double.self) == 1,
      Bicycle.name.coalesce(Bicycle.color) == "x", Bicycle.name.trim() == "x", Bicycle.id.max() == 1, countAll() == 1,
      function(Bicycle.id.typed(as: Int.self)) == 2, Bicycle.name.json("a") == "x", Bicycle.name.jsonValue("a") == "x",
      Bicycle.name.jsonContains("x"),
      rowNumber().over(orderBy: Bicycle.id.asc) == 1, Bicycle.name.collate(.named("own")) == "x",
    ]
    func check<Output>(_ statement: Statement<Bicycle, Output>) {
      expectInvalidStatement("\(statement.sql)") { _ = try JSONEncoder().encode(statement) }
    }
    for term in terms {
      check(Bicycle.read().filter(term))
      check(Bicycle.count().filter(!(Bicycle.id == 1 && term)))
      check(Bicycle.read().orderBy(term).first())
      check(Bicycle.updateAll(Bicycle.name.set(to: term)))
      check(Bicycle.update(Bicycle.name.set(to: "x")).filter(term))
      check(bike.insert().onConflict(Bicycle.id, set: Bicycle.name.set(to: "x"), where: term))
      expectInvalidStatement { _ = try JSONEncoder().encode(term) }
    }
    for term in [Car.soldAt.year() == 2020, Car.soldAt.date() == "x", Car.soldAt.adding(1, .day) == nil] {
      expectInvalidStatement { _ = try JSONEncoder().encode(Car.read().filter(term)) }
    }
    expectInvalidStatement {
      _ = try JSONEncoder().encode(
        bike.insert().onConflict(Bicycle.id, set: Bicycle.name.set(to: Bicycle.name.excluded)))
    }
    expectInvalidStatement { _ = try JSONEncoder().encode(Bicycle.insert(from: Bicycle.read())) }
    expectInvalidStatement { _ = try JSONEncoder().encode(Car.insert(Car.price, from: named.read())) }
    check(bike.insert().returning())
    check(Bicycle.deleteAll().returning().first())
    // What running it would throw.
    expectError(.schema(.missingColumn("price"))) {
      _ = try JSONEncoder().encode(Bicycle.read().filter(Car.price == 1))
    }
    check(Bicycle.read().limit(-1))
    check(Bicycle.read().onConflict(.ignore))
    check(bike.insert().filter(Bicycle.id == 1))
    let unfit = expectSqlError { _ = try JSONEncoder().encode(Bicycle.read().filter(Bicycle.id == "x")) }
    #expect(unfit?.column == "id" && unfit?.table == "bicycle")
    expectSqlError { _ = try JSONEncoder().encode(Car.read().filter(Car.price == .nan)) }
    expectMisuse { _ = try JSONEncoder().encode(Bicycle(name: "x", color: "y").update()) }
    expectMisuse { _ = try JSONEncoder().encode(Bicycle.byId(1, 2)) }
  }

  @Test func theDeepestExpressionsSurviveJSON() throws {
    for wrapping in Wrapping.allCases where !wrapping.isCostly {
      var term = OraclePlain.i.expression
      while true {
        let next = try wrapping.wrap(term, around: OraclePlain.oracleColumns)
        guard !OraclePlain.read().orderBy(next).sql.hasPrefix("-- ") else { break }
        // A flat chain has no end.
        guard OraclePlain.read().orderBy(next).sql.utf8.count < 3000 else { break }
        term = next
      }
      try checkRoundTrip(OraclePlain.read().orderBy(term))
    }
  }

  @Test func decodedAndSentStatementsDoTheSame() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try db.createTable(Bicycle.self)
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
      #expect(results[0].map(\.id) == [50, 48] && results[1] == results[0])
    }
  }

  @Test func statementsOfAnotherTableKindOrColumnAreRefused() throws {
    let read = try JSONEncoder().encode(Bicycle.read().filter(Bicycle.name == "x"))
    func decoding<Value: Decodable>(_ type: Value.Type, _ data: Data) -> SqlError? {
      sqlError { _ = try JSONDecoder().decode(type, from: data) }
    }
    #expect(
      decoding(Statement<Person, [Person]>.self, read)?.message == "the statement is not for table person")
    #expect(
      decoding(Statement<Bicycle, Bicycle?>.self, read)?.message == "the statement is of another kind than its type")
    #expect(decoding(Statement<Bicycle, Int>.self, read)?.message == "the statement is of another kind than its type")
    #expect(decoding(Statement<Bicycle, [Int]>.self, read)?.message == "the statement is of another kind than its type")
    func edited(_ text: String, _ old: String, _ new: String) -> Data {
      #expect(text.contains(old), "\(text)")
      return Data(text.replacingOccurrences(of: old, with: new).utf8)
    }
    let text = String(decoding: read, as: UTF8.self)
    let unknown = decoding(Statement<Bicycle, [Bicycle]>.self, edited(text, #""name""#, #""na\" me""#))
    #expect(unknown?.kind == .schema(.missingColumn("na\" me")))
    let batch = try json(Bicycle.insert([bike, Bicycle(name: "b", color: "zzz")]))
    let strange = batch.replacingOccurrences(
      of: #""color":{"text":"zzz"}"#, with: #""colour":{"text":"z"}"#)
    #expect(decoding(Statement<Bicycle, [Int]>.self, Data(strange.utf8))?.kind == .schema(.missingColumn("colour")))
    let wrong = batch.replacingOccurrences(of: #"{"text":"zzz"}"#, with: #"{"integer":1}"#)
    #expect(decoding(Statement<Bicycle, [Int]>.self, Data(wrong.utf8))?.column == "color")
  }

  /// A DELETE whose filter is misspelt, or lost, has none.
  @Test func aKeyTooManyOrTooFewIsRefused() throws {
    let text = try json(Person.delete(Person.id > 1).orderBy(Person.id).limit(2))
    let upsert = try json(Person(id: 1, name: "x").insert().onConflict(Person.id, update: Person.name))
    for (text, key) in ["filter", "limit", "order", "kind", "rows", "table", "query"].map({ (text, $0) })
      + [(upsert, "upsert"), (upsert, "target"), (upsert, "columns")]
    {
      for other in [#""x":"#, #""\#(key.uppercased())":"#, #""more":1,"\#(key)":"#] {
        let edited = text.replacingOccurrences(of: #""\#(key)":"#, with: other)
        #expect(edited != text)
        let error = sqlError { _ = try JSONDecoder().decode(Statement<Person, Int>.self, from: Data(edited.utf8)) }
        #expect(error?.message.contains("must have exactly the keys") == true, "\(edited)")
      }
    }
    let like = try json(Person.count().filter(Person.name.like("a!%", escape: "!")))
    for edited in [
      like.replacingOccurrences(of: "escape", with: "ecsape"), like.replacingOccurrences(of: "_1", with: "_3"),
    ] {
      #expect(edited != like)
      #expect(throws: (any Error).self) {
        try JSONDecoder().decode(Statement<Person, Int>.self, from: Data(edited.utf8))
      }
    }
  }

  @Test func aKeyTooManyInATermIsRefused() throws {
    func check<Output>(_ type: Statement<Person, Output>.Type, _ text: String, _ keys: [String]) {
      for key in keys {
        let edited = text.replacingOccurrences(of: #""\#(key)":"#, with: #""more":1,"\#(key)":"#)
        #expect(edited != text)
        #expect(throws: (any Error).self, "\(edited)") { try JSONDecoder().decode(type, from: Data(edited.utf8)) }
      }
    }
    let read = Person.read().filter(Person.name.like("a%") && Person.id ∈ [1]).orderBy(Person.id)
    check(
      Statement<Person, [Person]>.self, try json(read),
      ["_0", "_1", "escape", "like", "isIn", "column", "text", "integer", "expression"])
    check(
      Statement<Person, Int>.self, try json(Person.updateAll(Person.name.set(to: "x"))), ["column", "value", "text"])
  }

  @Test func nestingWithoutEndIsRefused() throws {
    for depth in [150, 250, 100_000] {
      let column = #"{"column":{"_0":"id"}}"#
      let nested = String(repeating: #"{"not":{"_0":"#, count: depth) + column + String(repeating: "}}", count: depth)
      let text = try json(Person.count().filter(Person.id.expression)).replacingOccurrences(of: column, with: nested)
      #expect(text.contains(nested))
      #expect(throws: (any Error).self) { try JSONDecoder().decode(Statement<Person, Int>.self, from: Data(text.utf8)) }
    }
  }

  /// Mutations of valid JSON never crash, and what decodes has the model's identifiers only.
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
      "\"person\"",
      "\"and\"", "\"not\"", "\"any\"", "\"OR 1=1\"", "\"\\\"; DROP TABLE person; --\"", "\"count\"", "\"delete\"",
      "\"save\"",
      "\"IS NOT\"", "\"lower\"", "\"_0\"", "true",
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
        #expect(!sql.hasPrefix("-- ") && !sql.contains(";"), "\(text)")
        // In a string of their own, then nothing else is quoted: only the model's names are.
        let names = sql.split(separator: "\"", omittingEmptySubsequences: false).enumerated().filter {
          $0.offset % 2 == 1
        }
        #expect(names.allSatisfy { ["person", "id", "name"].contains($0.element) }, "\(sql)")
        let error = sqlError { _ = try statement.explain(db) }
        #expect(error == nil, "seed \(seed): \(sql) \(error?.message ?? "")")
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

  /// In the API a batch has no chosen columns; in JSON it may have. Its rows are then bound as the first one is.
  @Test func aDecodedBatchWritesTheColumnsThatItNames() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try db.createTable(Bicycle.self)
      let rows = ["a", "b", "c"].map { Bicycle(name: "name \($0)", color: "color \($0)") }
      let text = String(decoding: try JSONEncoder().encode(Bicycle.insert(rows)), as: UTF8.self)
      let chosen = text.replacingOccurrences(of: #""columns":null"#, with: #""columns":["color","name"]"#)
      #expect(chosen != text)
      try JSONDecoder().decode(Statement<Bicycle, [Int]>.self, from: Data(chosen.utf8)).run(db)
      let stored = try Bicycle.read().orderBy(Bicycle.id).run(db)
      #expect(stored.map(\.name) == rows.map(\.name) && stored.map(\.color) == rows.map(\.color))
    }
  }
}
