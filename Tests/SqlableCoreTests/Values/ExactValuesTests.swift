import Foundation
import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Exactness of values: a value comes back bit for bit, or an error is thrown.
@Suite struct ExactValuesTests {
  private static func doubles(_ count: Int, seed: UInt64 = 0, magnitude: ClosedRange<Int> = -1074...1023) -> [Double] {
    var random = SeededGenerator(seed: SeededGenerator.seed &+ seed)
    return (0..<count).map { _ in
      let exponent = Double.Exponent(Int.random(in: magnitude, using: &random))
      let significand = 1 + Double(random.next() >> 12) * 0x1p-52
      return Double(sign: random.chance(50) ? .minus : .plus, exponent: exponent, significand: significand)
    }
  }

  private enum Reals: TableDeclaration {
    static let edges: [Double] = [
      .leastNonzeroMagnitude, .leastNormalMagnitude, .greatestFiniteMagnitude, .ulpOfOne, 0.1, 0.3, 1e22, 1e23,
      -.leastNonzeroMagnitude, -.greatestFiniteMagnitude, .infinity, -.infinity, .pi, 1 / 3, 0x1p53 + 2, 0,
      .leastNormalMagnitude.nextDown, .leastNormalMagnitude / 7, 6.5e-290,
    ]
    static let values = edges + doubles(1_200) + doubles(700, seed: 1, magnitude: -40...60)
    static let columns =
      [Column("id", .integer, PrimaryKey())]
      + values.enumerated().map { Column("c\($0.offset)", .real, Default($0.element)) }
  }

  @Test func aDefaultIsStoredExactly() throws {
    try withDatabase { db throws in
      try db.createTable(Entry<Reals>.self)
      try db.execute("INSERT INTO t (id) VALUES (1)")
      let row = try #require(try Entry<Reals>.byId(1).run(db))
      for (value, stored) in zip(Reals.values, row.values.dropFirst()) {
        guard case .real(let real) = stored else { continue }
        #expect(real.bitPattern == value.bitPattern, "\(value)")
      }
      #expect(row.values.dropFirst().allSatisfy { $0?.storageClass == .real })
    }
  }

  private enum Added: TableDeclaration {
    static let values = doubles(500, seed: 2, magnitude: -900...900) + [0.1, -19.99, 1e300, .infinity]
    static let columns =
      [Column("id", .integer, PrimaryKey())]
      + values.enumerated().map { Column("c\($0.offset)", .real, Default($0.element)) }
  }

  @Test func aDefaultOfAnAddedColumnIsStoredExactly() throws {
    try withDatabase { db throws in
      try db.execute("CREATE TABLE t (id INTEGER PRIMARY KEY); INSERT INTO t VALUES (1)")
      try db.createTable(Entry<Added>.self)
      let row = try #require(try Entry<Added>.byId(1).run(db))
      #expect(row.values.dropFirst().compactMap { $0 } == Added.values.map(DatabaseValue.real))
    }
  }

  @Test func simpleDefaultsHaveAShortSpelling() throws {
    enum Simple: TableDeclaration {
      static let columns = [
        Column("a", .real, Default(0.1)), Column("b", .real, Default(-19.99)), Column("c", .real, Default(100)),
        Column("d", .real, Default(1e16)),
      ]
    }
    try withDatabase { db throws in
      try db.createTable(Entry<Simple>.self)
      #expect(
        try db.definition(of: "t") == #"""
          CREATE TABLE "t" ("a" REAL NOT NULL DEFAULT 0.1, "b" REAL NOT NULL DEFAULT (-19.99), \#
          "c" REAL NOT NULL DEFAULT 100, "d" REAL NOT NULL DEFAULT 1e+16)
          """#)
    }
  }

  // MARK: Values that would change

  @Test func aRealInAColumnOfMillisecondsIsRefused() throws {
    for sql in ["1357020000123.5", "1357020000.5"] {
      let error = try errorReading(sql, as: Date.self, in: UnixMilliseconds.self)
      #expect(
        error?.kind == .decoding(.init(expected: "INTEGER (date as unixMilliseconds)", found: "REAL")), "\(sql)")
    }
    // A column of seconds may hold a fraction.
    let seconds = try errorReading("1357020000.5", as: Date.self, in: UnixSeconds.self)
    #expect(seconds == nil)
  }

  @Test func aURLThatFoundationWouldChangeIsRefused() throws {
    for text in ["a b", "http://é/x", "http://example.com/ü", "http://e\u{301}.example/", "a\"b", "x?q=[1] 2"] {
      let error = try errorReading("'\(text)'", as: URL.self, in: TextForm.self)
      let isSame = URL(string: text)?.absoluteString.utf8.elementsEqual(text.utf8) == true
      #expect((error?.isDecoding ?? false) == !isSame, "\(text)")
    }
    let blank = try errorReading("'a b'", as: URL.self, in: TextForm.self)
    #expect(blank?.mismatch?.found == "TEXT that is not a normalized URL")
  }

  private struct Pet: Codable, Equatable, SqlJSON, Sendable {
    var name: String
    var age: Int?
    var more: [String: Int]?
  }

  @Test func duplicateKeysInJSONAreRefused() throws {
    func error(_ text: String, _ type: (some SqlValue).Type) throws -> SqlError? {
      try errorReading("'\(text)'", as: type, in: TextForm.self)
    }
    for text in [
      #"{"a":1,"a":2}"#, #"{"a":1,"b":[{"x":1},{"x":2}],"a" : 1}"#, #"{"a":1,"\u0061":2}"#, "{\"é\":1,\"e\u{301}\":2}",
      #"{"":1,"":2}"#, #"{"a\"":1,"a\"":2}"#,
    ] {
      let found = try error(text.replacingOccurrences(of: #"[{"x":1},{"x":2}]"#, with: "3"), [String: Int].self)
      #expect(found?.mismatch?.found == "TEXT with a duplicate key in an object", "\(text)")
    }
    let nested = try error(#"{"more":{"a":1,"a":2},"name":"Rex"}"#, Pet.self)
    #expect(nested?.isDecoding == true)
    let unknown = try error(#"[{"name":"Rex"},{"name":"Rex","other":{"b":1,"c":2,"b":3}}]"#, [Pet].self)
    #expect(unknown?.isDecoding == true)
    let many = "{" + (0...40).map { "\"k\($0 % 40)\":\($0)" }.joined(separator: ",") + "}"
    #expect(try error(many, [String: Int].self)?.isDecoding == true)
    let fine = [
      #"{"a":1,"A":2,"b":3,"\"":4,"\\":5,":":6,"a ":7}"#,
      "{" + (0..<40).map { "\"k\($0)\":\($0)" }.joined(separator: ",") + "}",
    ]
    for text in fine { #expect(try error(text, [String: Int].self) == nil, "\(text)") }
    #expect(try error(#"[{"name":"a"},{"name":"a"}]"#, [Pet].self) == nil)
    #expect(try error(#"["a","a","{","\"a\":"]"#, [String].self) == nil)
    #expect(try error(#"{"name":"a\":1,\"name","more":{"name":1,"age":2}}"#, Pet.self) == nil)
  }

  // MARK: All types

  private static func texts(_ count: Int) -> [String] {
    var random = SeededGenerator(seed: SeededGenerator.seed &+ 7)
    let scalars: [Unicode.Scalar] = [
      "\0", "\u{1}", "\"", "\\", "/", "'", "\u{7F}", "\u{80}", "\u{301}", "\u{FE0F}", "\u{200D}", "\u{2028}",
      "\u{FEFF}", "\u{FFFE}", "\u{FFFF}", "\u{10FFFF}", "a", "é", "\u{1F6B2}", "\n", "\r", "\t", " ", "%",
    ]
    let texts = (0..<count).map { _ in
      let length = Int.random(in: 0...12, using: &random)
      return String(String.UnicodeScalarView((0..<length).map { _ in random.pick(scalars) }))
    }
    return [""] + texts
  }

  /// Expects that each value survives its storage class, a row and a bound parameter.
  private func expectExact<Value: SqlValue & Equatable>(
    _ values: [Value], in type: ColumnType = Value.columnType, _ isSame: (Value, Value) -> Bool = { $0 == $1 }
  ) throws {
    for value in values {
      let again = try Value(databaseValue: value.databaseValue)
      #expect(isSame(again, value), "\(value)")
    }
    try withDatabase { db throws in
      typealias Row = Stored<Value, OwnForm<Value>>
      try db.createTable(Row.self)
      try Row.insert(values.map { Row($0) }).run(db)
      for (value, row) in zip(values, try Row.read().orderBy(Row.id).run(db)) {
        #expect(isSame(row.value, value), "\(value)")
      }
      for value in values.prefix(200) {
        let bound = try db.query("SELECT \(value)", as: Value.self)
        #expect(bound.map { isSame($0, value) } == [true], "\(value)")
      }
    }
  }

  private func expectExactJSON<Value: SqlValue & Codable & Equatable>(
    _ values: [Value], _ isSame: (Value, Value) -> Bool = { $0 == $1 }
  ) throws {
    for value in values {
      let again = try [Value](databaseValue: [value].databaseValue)
      #expect(again.map { isSame($0, value) } == [true], "\(value)")
      let object = try [String: Value](databaseValue: ["k": value].databaseValue)
      #expect(object["k"].map { isSame($0, value) } == true, "\(value)")
    }
  }

  @Test func everyValueComesBackExactly() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed &+ 3)
    let bytes = (0..<300).map { _ in
      Data((0..<Int.random(in: 0...20, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
    }
    let integers: [Int64] =
      [.min, .max, 0, -1]
      + (0..<500).map { _ in
        let bits = Int64(bitPattern: random.next())
        return bits >> Int64(random.next() % 64)
      }
    let doubles = Self.doubles(1_000) + Reals.edges
    let floats = doubles.map { Float($0) }.filter(\.isFinite) + [.leastNonzeroMagnitude, .greatestFiniteMagnitude]
    let texts = Self.texts(400)
    let decimals = integers.flatMap { integer in
      [0, -5, 20, -20].map { Decimal(sign: .plus, exponent: $0, significand: Decimal(integer)) }
    }
    let uuids = (0..<100).map { _ in UUID() }
    try expectExact(integers)
    try expectExact(integers.map { Int32(truncatingIfNeeded: $0) })
    try expectExact(integers.map { UInt8(truncatingIfNeeded: $0) })
    try expectExact(integers.map { UInt64(truncatingIfNeeded: $0) >> 1 })
    try expectExact([true, false])
    // A table can't store −0.
    try expectExact(doubles) { $0.bitPattern == $1.bitPattern || ($0 == 0 && $1 == 0) }
    try expectExact(floats) { $0.bitPattern == $1.bitPattern || ($0 == 0 && $1 == 0) }
    try expectExact(texts) { $0.utf8.elementsEqual($1.utf8) }
    try expectExact(bytes)
    try expectExact(decimals)
    try expectExact(uuids)
    let urls = texts.compactMap { URL(string: "https://example.com/\($0)?q=\($0)#\($0)") }
    try expectExact(urls) { $0.absoluteString.utf8.elementsEqual($1.absoluteString.utf8) }
    let dates = doubles.filter { abs($0) < 1e11 }.map { Date(timeIntervalSince1970: $0) }
    try expectExact(dates) { $0.timeIntervalSince1970 == $1.timeIntervalSince1970 }
    try expectExactJSON(integers)
    try expectExactJSON(integers.map { UInt64(truncatingIfNeeded: $0) })
    try expectExactJSON(doubles.filter(\.isFinite)) { $0.bitPattern == $1.bitPattern }
    try expectExactJSON(floats) { $0.bitPattern == $1.bitPattern }
    try expectExactJSON(texts) { $0.utf8.elementsEqual($1.utf8) }
    try expectExactJSON(bytes)
    try expectExactJSON(uuids)
    try expectExactJSON(dates)
    try expectExactJSON(decimals)
  }

  /// The texts are rows of a full-text table, and constants in the SQL of a function.
  @Test func textsComeBackFromFullTextAndFromLiterals() throws {
    try withDatabase { db throws in
      try db.createTables(Memo.self, Stay.self)
      for (index, text) in Self.texts(200).enumerated() {
        try Memo(index + 1, text, text).insert().run(db)
        let memo = try Memo.byId(index + 1).run(db)
        #expect(memo?.title.utf8.elementsEqual(text.utf8) == true, "\(text)")
        guard !text.isEmpty, !text.utf8.contains(0), !text.utf8.contains(UInt8(ascii: "%")) else { continue }
        try Stay(id: index, at: Stay.moment).insert().run(db)
        let literal = try Stay.select(Stay.seconds.strftime(text)).filter(Stay.id == index).run(db)
        #expect(literal.first??.utf8.elementsEqual(text.utf8) == true, "\(text)")
      }
    }
  }
}
