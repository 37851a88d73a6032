import Foundation
import Sqlable
import SqlablePolicies
import Testing

@testable import SqlableTestSupport

/// Terms as arguments: Booleans as conditions, and terms as patterns, positions, digits and bounds.
@Suite struct TermArgumentTests {
  /// Returns the ids that the read finds in a database. Expects the same ids in memory, and the same SQL from the
  /// document.
  private func ids(
    _ read: Statement<Sample, [Sample]>, _ rows: [Sample], sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> [Int] {
    let db = try SqliteDatabase.inMemory()
    try db.createTable(Sample.self)
    try Sample.insert(rows).run(db)
    let read = read.orderBy(Sample.id)
    let found = try read.run(db).map(\.id)
    #expect(try read.evaluate(over: rows).map(\.id) == found, sourceLocation: sourceLocation)
    let decoded = try JSONDecoder().decode(Statement<Sample, [Sample]>.self, from: JSONEncoder().encode(read))
    #expect(decoded.sql == read.sql, sourceLocation: sourceLocation)
    #expect(decoded.bindings == read.bindings, sourceLocation: sourceLocation)
    return found
  }

  private func condition(_ read: Statement<Sample, [Sample]>) -> String {
    String(read.sql.split(separator: " WHERE ", maxSplits: 1).last ?? "")
  }

  // MARK: Truth values

  private static let truths = [
    Sample(id: 1, isOpen: true, isPaid: true),
    Sample(id: 2, isOpen: true, isPaid: false),
    Sample(id: 3, isOpen: true, isPaid: nil),
    Sample(id: 4, isOpen: false, isPaid: true),
    Sample(id: 5, isOpen: false, isPaid: nil),
  ]

  @Test func aBooleanColumnIsACondition() throws {
    let (open, paid, one) = (Sample.isOpen, Sample.isPaid, Sample.id == 5)
    for (read, sql, expected) in [
      (Sample.read().filter(open.isTrue), #""is_open""#, [1, 2, 3]),
      (Sample.read().filter(paid.isTrue), #""is_paid""#, [1, 4]),
      (Sample.read().filter(!open), #"NOT "is_open""#, [4, 5]),
      (Sample.read().filter(open.isTrue && paid.isTrue), #""is_open" AND "is_paid""#, [1]),
      (Sample.read().filter(open.isTrue || paid.isTrue), #""is_open" OR "is_paid""#, [1, 2, 3, 4]),
      (Sample.read().filter(open.isTrue || one), #""is_open" OR "id" = ?"#, [1, 2, 3, 5]),
      (Sample.read().filter(one || open.isTrue), #""id" = ? OR "is_open""#, [1, 2, 3, 5]),
      (Sample.read().filter(!one && paid.isTrue), #"NOT "id" = ? AND "is_paid""#, [1, 4]),
      (Sample.read().filter(paid.isTrue && !one), #""is_paid" AND NOT "id" = ?"#, [1, 4]),
      (Sample.read().filter(!(open.isTrue && paid.isTrue)), #"NOT ("is_open" AND "is_paid")"#, [2, 4, 5]),
      (Sample.read().filter(!paid.isTrue), #"NOT "is_paid""#, [2]),
      (Sample.read().filter(Sample.isPaid.column.isTrue), #""is_paid""#, [1, 4]),
      (Sample.read().filter(open.isTrue).filter(paid.isTrue), #""is_open" AND "is_paid""#, [1]),
      (Sample.read().filter(Sample.isPaid.ifNull(true).isTrue), #"coalesce("is_paid", ?)"#, [1, 3, 4, 5]),
    ] {
      #expect(condition(read) == sql)
      #expect(try ids(read, Self.truths) == expected, "\(sql)")
    }
    let query = Sample.select(Sample.id).filter(open.isTrue).orderBy(Sample.id)
    #expect(query.sql == #"SELECT "id" FROM "sample" WHERE "is_open" ORDER BY "id""#)
    #expect(Sample.delete(paid.isTrue).sql == #"DELETE FROM "sample" WHERE "is_paid""#)
    #expect(Sample.count().filter(open.isTrue).sql == #"SELECT count(*) FROM "sample" WHERE "is_open""#)
  }

  @Test func aPolicyTreatsABooleanConditionAsEquality() throws {
    let json = try Sample.select(Sample.id).filter(Sample.isOpen.isTrue).json()
    let other = StatementPolicy(.table(Sample.self).reading(Sample.id).filtering(Sample.isPaid, by: .equality))
    #expect(throws: SqlError.self) { _ = try other.statement(json: json) }
    let policy = StatementPolicy(.table(Sample.self).reading(Sample.id).filtering(Sample.isOpen, by: .equality))
    _ = try policy.statement(json: json)
  }

  // MARK: Texts

  private static let parts = ["", "a", "A", "b", "ab", "Ba", "é", "É", "%", "_", "*", "a\0b", "\0", "b\0", "日本"]

  @Test func aTextIsFoundInAnotherColumnIgnoringTheCaseOfLetters() throws {
    var rows: [Sample] = []
    for text in Self.parts + [nil] {
      for part in Self.parts.flatMap({ [$0, "a" + $0, $0 + "b"] }) {
        rows.append(Sample(id: rows.count + 1, text: text.map { $0 + "Ab" + $0 }, part: part))
        rows.append(Sample(id: rows.count + 1, text: text, part: part))
      }
    }
    func folded(_ text: String) -> [UInt8] { text.utf8.map { (65...90).contains($0) ? $0 + 32 : $0 } }
    func expected(_ matches: ([UInt8], [UInt8]) -> Bool) -> [Int] {
      rows.filter { row in row.text.map { matches(folded($0), folded(row.part)) } ?? false }.map(\.id)
    }
    let (text, part) = (Sample.text, Sample.part)
    let prefixed = expected { $0.starts(with: $1) }
    #expect(try ids(Sample.read().filter(text.hasPrefix(part)), rows) == prefixed)
    #expect(try ids(Sample.read().filter(text.column.hasPrefix(part.column)), rows) == prefixed)
    let suffixed = expected { $0.suffix($1.count).elementsEqual($1) }
    #expect(try ids(Sample.read().filter(text.hasSuffix(part)), rows) == suffixed)
    #expect(try ids(Sample.read().filter(text.column.hasSuffix(part.column)), rows) == suffixed)
    let containing = expected { text, part in
      part.isEmpty || text.indices.contains { text[$0...].starts(with: part) }
    }
    #expect(try ids(Sample.read().filter(text.contains(part)), rows) == containing)
    #expect(try ids(Sample.read().filter(text.column.contains(part.column)), rows) == containing)
    // NOT NULL is NULL, so a row without a text matches neither the condition nor its negation.
    let opposite = try ids(Sample.read().filter(!text.hasSuffix(part)), rows)
    #expect(opposite.count + suffixed.count == rows.filter { $0.text != nil }.count)
    #expect(condition(Sample.read().filter(text.hasPrefix(part))) == #"instr(lower("text"), lower("part")) = ?"#)
    #expect(condition(Sample.read().filter(text.contains(part))) == #"instr(lower("text"), lower("part")) > ?"#)
    #expect(
      condition(Sample.read().filter(text.hasSuffix(part))) == """
        substr(CAST(lower("text") || ? AS BLOB), length(CAST("text" AS BLOB)) - length(CAST("part" AS BLOB)) + ?) \
        = CAST(lower("part") || ? AS BLOB)
        """)
  }

  @Test func patternsPositionsDigitsAndBoundsMayBeTerms() throws {
    let rows = [
      Sample(id: 1, text: "Norco", part: "N%", number: 2, real: 2.345),
      Sample(id: 2, text: "norco", part: "N*", number: 3, real: 1.005),
      Sample(id: 3, text: "100%", part: "100!%", number: 4, real: -0.5),
      Sample(id: 4, text: nil, part: "%", number: 9, real: 7),
    ]
    let (text, part, number) = (Sample.text, Sample.part, Sample.number)
    for (read, sql, expected) in [
      (Sample.read().filter(text.like(part)), #""text" LIKE "part""#, [1]),
      (Sample.read().filter(text.like(part, escape: "!")), #""text" LIKE "part" ESCAPE '!'"#, [1, 3]),
      (Sample.read().filter(text.column.like(part.column)), #""text" LIKE "part""#, [1]),
      (Sample.read().filter(text.glob(part)), #""text" GLOB "part""#, []),
      (Sample.read().filter(text.uppercase().glob(part)), #"upper("text") GLOB "part""#, [2]),
      (
        Sample.read().filter(number.between(Sample.id, and: Sample.id + 1)),
        #""number" BETWEEN "id" AND "id" + ?"#, [1, 2, 3]
      ),
      (Sample.read().filter(number.between(2, and: Sample.id)), #""number" BETWEEN ? AND "id""#, []),
      (Sample.read().filter(number.between(Sample.id, and: 3)), #""number" BETWEEN "id" AND ?"#, [1, 2]),
      (
        Sample.read().filter(number.column.between(Sample.id.column, and: Sample.id.column + 1)),
        #""number" BETWEEN "id" AND "id" + ?"#, [1, 2, 3]
      ),
      (Sample.read().filter(part.substr(number) == "%"), #"substr("part", "number") = ?"#, [1]),
      (Sample.read().filter(part.substr(number, 1) == "!"), #"substr("part", "number", 1) = ?"#, [3]),
      (Sample.read().filter(part.substr(2, number) == "%"), #"substr("part", 2, "number") = ?"#, [1]),
      (
        Sample.read().filter(part.substr(part.instr("*"), number) == "*"),
        #"substr("part", instr("part", ?), "number") = ?"#, [2]
      ),
      (Sample.read().filter(text.substr(text.instr("c")) == "co"), #"substr("text", instr("text", ?)) = ?"#, [1, 2]),
      (Sample.read().filter(Sample.real.round(number) == 2.345), #"round("real", "number") = ?"#, []),
      (Sample.read().filter(Sample.real.round(number - 1) == 2.3), #"round("real", "number" - ?) = ?"#, [1]),
      (
        Sample.read().filter(Sample.real.column.round(number.column - 1) == 2.3),
        #"round("real", "number" - ?) = ?"#, [1]
      ),
    ] {
      #expect(condition(read) == sql)
      #expect(try ids(read, rows) == expected, "\(sql)")
    }
    // The bounds must have the type of the compared term.
    let mixed = Sample.read().filter(number.column.between(Sample.part.column, and: Sample.id.column))
    let db = try SqliteDatabase.inMemory()
    try db.createTable(Sample.self)
    expectInvalidStatement { _ = try mixed.run(db) }
  }

  // MARK: Mathematics

  @Test(.needs(35, "mathematics")) func mathFunctionsMatchTheSystemLibrary() throws {
    let numbers = [-2.5, -1, -0.5, 0, 0.25, 0.5, 1, 2, 10]
    let rows = numbers.enumerated().map { Sample(id: $0 + 1, number: Int($1), real: $1) }
    let db = try SqliteDatabase.inMemory()
    try db.createTable(Sample.self)
    try Sample.insert(rows).run(db)
    let real = Sample.real
    let functions: [(String, TypedExpression<Double?>, SqlExpression, (Double) -> Double)] = [
      ("sqrt", real.sqrt(), real.column.sqrt(), { $0.squareRoot() }),
      ("exp", real.exp(), real.column.exp(), exp),
      ("ln", real.ln(), real.column.ln(), { $0 > 0 ? log($0) : .nan }),
      ("log10", real.log10(), real.column.log10(), { $0 > 0 ? log10($0) : .nan }),
      ("log2", real.log2(), real.column.log2(), { $0 > 0 ? log2($0) : .nan }),
      ("sin", real.sin(), real.column.sin(), sin),
      ("cos", real.cos(), real.column.cos(), cos),
      ("tan", real.tan(), real.column.tan(), tan),
      ("asin", real.asin(), real.column.asin(), asin),
      ("acos", real.acos(), real.column.acos(), acos),
      ("atan", real.atan(), real.column.atan(), atan),
      ("sinh", real.sinh(), real.column.sinh(), sinh),
      ("cosh", real.cosh(), real.column.cosh(), cosh),
      ("tanh", real.tanh(), real.column.tanh(), tanh),
      ("asinh", real.asinh(), real.column.asinh(), asinh),
      ("acosh", real.acosh(), real.column.acosh(), acosh),
      ("atanh", real.atanh(), real.column.atanh(), atanh),
      ("degrees", real.degrees(), real.column.degrees(), { $0 * 180 / .pi }),
      ("radians", real.radians(), real.column.radians(), { $0 * .pi / 180 }),
    ]
    for (name, typed, untyped, function) in functions {
      let query = Sample.select(typed).orderBy(Sample.id)
      #expect(query.sql == #"SELECT \#(name)("real") FROM "sample" ORDER BY "id""#)
      #expect(Sample.select(untyped).orderBy(Sample.id).sql == query.sql)
      let found = try query.run(db)
      for (number, result) in zip(numbers, found) {
        let expected = function(number)
        // SQLite returns infinity as Swift does, and NULL for NaN.
        let isSame = result.map { $0 == expected || abs($0 - expected) <= abs(expected) * 1e-14 } ?? expected.isNaN
        #expect(isSame, "\(name)(\(number)): \(String(describing: result)), not \(expected)")
      }
    }
    let whole = try Sample.select(real.ceil(), real.floor(), real.trunc(), real.sign()).orderBy(Sample.id).run(db)
    #expect(whole.map(\.0) == numbers.map { $0.rounded(.up) })
    #expect(whole.map(\.1) == numbers.map { $0.rounded(.down) })
    #expect(whole.map(\.2) == numbers.map { $0.rounded(.towardZero) })
    #expect(whole.map(\.3) == numbers.map { $0 > 0 ? 1 : $0 < 0 ? -1 : 0 })
    let integers = try Sample.select(Sample.number.floor(), Sample.number.sign()).orderBy(Sample.id).run(db)
    #expect(integers.map(\.0) == numbers.map { Int($0) })
    let two = Sample.select(real.power(2), real.power(real), real.mod(2), real.mod(real), real.log(base: 2), pi())
      .filter(Sample.id == 8)
    #expect(
      two.sql == """
        SELECT pow("real", ?), pow("real", "real"), mod("real", ?), mod("real", "real"), log(?, "real"), pi() \
        FROM "sample" WHERE "id" = ?
        """)
    let row = try #require(try two.run(db).first)
    #expect(row == (4, 4, 0, 0, 1, Double.pi))
    #expect(try Sample.select(real.atan2(Sample.number)).filter(Sample.id == 7).run(db) == [atan2(1, 1)])
    // SQLite would return NULL for a text.
    expectInvalidStatement { _ = try Sample.select(Sample.part.column.sqrt()).run(db) }
    expectInvalidStatement { _ = try Sample.select(Sample.number.column.power(Sample.part.column)).run(db) }
  }

  // MARK: Formats

  @Test func formatMatchesSQLitesPrintf() throws {
    let db = try SqliteDatabase.inMemory()
    try db.createTable(Sample.self)
    try Sample.insert([Sample(id: 1, text: "it's", number: 42, real: 2.345), Sample(id: 2, text: nil)]).run(db)
    let query = Sample.select(format("%s: %.1f, %05d%%", Sample.text, Sample.real, Sample.number)).orderBy(Sample.id)
    #expect(
      query.sql == #"SELECT printf('%s: %.1f, %05d%%', "text", "real", "number") FROM "sample" ORDER BY "id""#)
    #expect(try query.run(db) == ["it's: 2.3, 00042%", ": 0.0, 00000%"])
    #expect(try Sample.select(format("'%q'", Sample.text)).filter(Sample.id == 1).run(db) == ["'it''s'"])
    #expect(try Sample.select(format("plain")).limit(1).run(db) == ["plain"])
    expectInvalidStatement { _ = try Sample.select(format("a\0b")).run(db) }
    let json = try query.json()
    let decoded = try Select<String>(json: json, rules: StatementRules(models: [Sample.self]))
    #expect(decoded.sql == query.sql)
    // A policy must allow format() explicitly: a width can produce a text of SQLite's maximum size.
    let policy = StatementPolicy(.table(Sample.self).reading(Sample.id, Sample.text, Sample.real, Sample.number))
    #expect(throws: SqlError.self) { _ = try policy.statement(json: json) }
  }
}
