import SqlableCore
import Testing

@testable import SqlableTestSupport

/// Comparisons of optional with required terms, and of typed with untyped terms. A comparison with NULL is NULL, which
/// no filter accepts.
@Suite struct NullComparisonTests {
  /// Expects a condition to have the expected value for every row, as a value and as a filter.
  private func check(
    _ db: SqliteDatabase, _ condition: SqlExpression, _ sql: String, sourceLocation: SourceLocation = #_sourceLocation,
    _ expected: (Pair) -> Bool?
  ) throws {
    let values = try Pair.select(condition.typed(as: Bool?.self)).orderBy(Pair.id).run(db)
    let truths = Pair.all.map(expected)
    #expect(values == truths, "\(sql)", sourceLocation: sourceLocation)
    for (filter, wanted) in [(condition, true), (!condition, false)] {
      let ids = try Pair.select(Pair.id).filter(filter).orderBy(Pair.id).run(db)
      let passed = zip(Pair.all, truths).filter { $0.1 == wanted }.map(\.0.id)
      #expect(ids == passed, "\(sql)", sourceLocation: sourceLocation)
    }
    #expect(Pair.count().filter(condition).sql.hasSuffix(" WHERE " + sql), sourceLocation: sourceLocation)
  }

  private func compared<Value>(_ left: Value?, _ right: Value?, _ body: (Value, Value) -> Bool) -> Bool? {
    guard let left, let right else { return nil }
    return body(left, right)
  }

  @Test func anOptionalTermIsComparedWithARequiredOne() throws {
    try withPairs { db throws in
      try check(db, Pair.a == Pair.c, #""a" = "c""#) { compared($0.a, $0.c, ==) }
      try check(db, Pair.a != Pair.c, #""a" <> "c""#) { compared($0.a, $0.c, !=) }
      try check(db, Pair.a < Pair.c, #""a" < "c""#) { compared($0.a, $0.c, <) }
      try check(db, Pair.a <= Pair.c, #""a" <= "c""#) { compared($0.a, $0.c, <=) }
      try check(db, Pair.a > Pair.c, #""a" > "c""#) { compared($0.a, $0.c, >) }
      try check(db, Pair.a >= Pair.c, #""a" >= "c""#) { compared($0.a, $0.c, >=) }
      try check(db, Pair.s == Pair.t, #""s" = "t""#) { compared($0.s, $0.t, ==) }
      try check(db, Pair.s != Pair.t, #""s" <> "t""#) { compared($0.s, $0.t, !=) }
      try check(db, Pair.s < Pair.t, #""s" < "t""#) { compared($0.s, $0.t, <) }
      try check(db, Pair.s >= Pair.t, #""s" >= "t""#) { compared($0.s, $0.t, >=) }
    }
  }

  @Test func aRequiredTermIsComparedWithAnOptionalOne() throws {
    try withPairs { db throws in
      try check(db, Pair.c == Pair.a, #""c" = "a""#) { compared($0.c, $0.a, ==) }
      try check(db, Pair.c != Pair.a, #""c" <> "a""#) { compared($0.c, $0.a, !=) }
      try check(db, Pair.c < Pair.a, #""c" < "a""#) { compared($0.c, $0.a, <) }
      try check(db, Pair.c <= Pair.a, #""c" <= "a""#) { compared($0.c, $0.a, <=) }
      try check(db, Pair.c > Pair.a, #""c" > "a""#) { compared($0.c, $0.a, >) }
      try check(db, Pair.c >= Pair.a, #""c" >= "a""#) { compared($0.c, $0.a, >=) }
      try check(db, Pair.t == Pair.s, #""t" = "s""#) { compared($0.t, $0.s, ==) }
      try check(db, Pair.t != Pair.s, #""t" <> "s""#) { compared($0.t, $0.s, !=) }
      try check(db, Pair.t <= Pair.s, #""t" <= "s""#) { compared($0.t, $0.s, <=) }
      try check(db, Pair.t > Pair.s, #""t" > "s""#) { compared($0.t, $0.s, >) }
    }
  }

  @Test func twoOptionalTermsAreCompared() throws {
    try withPairs { db throws in
      try check(db, Pair.a == Pair.b, #""a" = "b""#) { compared($0.a, $0.b, ==) }
      try check(db, Pair.a != Pair.b, #""a" <> "b""#) { compared($0.a, $0.b, !=) }
      try check(db, Pair.a < Pair.b, #""a" < "b""#) { compared($0.a, $0.b, <) }
      try check(db, Pair.a <= Pair.b, #""a" <= "b""#) { compared($0.a, $0.b, <=) }
      try check(db, Pair.a > Pair.b, #""a" > "b""#) { compared($0.a, $0.b, >) }
      try check(db, Pair.a >= Pair.b, #""a" >= "b""#) { compared($0.a, $0.b, >=) }
    }
  }

  @Test func anUntypedTermIsComparedWithATypedOne() throws {
    try withPairs { db throws in
      let (a, sum) = (Pair.a.column, Pair.a.column + 1)
      try check(db, a == Pair.b, #""a" = "b""#) { compared($0.a, $0.b, ==) }
      try check(db, a != Pair.b, #""a" <> "b""#) { compared($0.a, $0.b, !=) }
      try check(db, a < Pair.b, #""a" < "b""#) { compared($0.a, $0.b, <) }
      try check(db, a <= Pair.b, #""a" <= "b""#) { compared($0.a, $0.b, <=) }
      try check(db, a > Pair.b, #""a" > "b""#) { compared($0.a, $0.b, >) }
      try check(db, a >= Pair.b, #""a" >= "b""#) { compared($0.a, $0.b, >=) }
      try check(db, a == Pair.c, #""a" = "c""#) { compared($0.a, $0.c, ==) }
      try check(db, sum > Pair.c + 1, #""a" + ? > "c" + ?"#) { compared($0.a, $0.c, >) }
    }
  }

  @Test func aTypedTermIsComparedWithAnUntypedOne() throws {
    try withPairs { db throws in
      let (a, sum) = (Pair.a.column, Pair.a.column + 1)
      try check(db, Pair.b == a, #""b" = "a""#) { compared($0.b, $0.a, ==) }
      try check(db, Pair.b != a, #""b" <> "a""#) { compared($0.b, $0.a, !=) }
      try check(db, Pair.b < a, #""b" < "a""#) { compared($0.b, $0.a, <) }
      try check(db, Pair.b <= a, #""b" <= "a""#) { compared($0.b, $0.a, <=) }
      try check(db, Pair.b > a, #""b" > "a""#) { compared($0.b, $0.a, >) }
      try check(db, Pair.b >= a, #""b" >= "a""#) { compared($0.b, $0.a, >=) }
      try check(db, Pair.c != a, #""c" <> "a""#) { compared($0.c, $0.a, !=) }
      try check(db, Pair.c + 1 <= sum, #""c" + ? <= "a" + ?"#) { compared($0.c, $0.a, <=) }
    }
  }

  @Test func termsOfDifferentTypesAreRefusedBeforeSQLiteSeesThem() throws {
    try withPairs { db throws in
      func check(_ condition: SqlExpression, sourceLocation: SourceLocation = #_sourceLocation) {
        let error = expectInvalidStatement(sourceLocation: sourceLocation) {
          _ = try Pair.count().filter(condition).run(db)
        }
        #expect(
          error?.message
            == "the compared terms have different types and are never equal; convert a term with cast(to:)",
          sourceLocation: sourceLocation)
        let sql = Pair.count().filter(condition).sql
        #expect(error?.code == 0, sourceLocation: sourceLocation)
        #expect(sql == "-- \(error?.message ?? "")", sourceLocation: sourceLocation)
      }
      let (s, c) = (Pair.s.column, Pair.c)
      check(s == c)
      check(s != c)
      check(s < c)
      check(s <= c)
      check(s > c)
      check(s >= c)
      check(c == s)
      check(c != s)
      check(c < s)
      check(c <= s)
      check(c > s)
      check(c >= s)
      check(Pair.a == s)
      check(Pair.a + 1 < s)
    }
  }

  @Test func arithmeticWithAnOptionalTermMayBeNull() throws {
    try withPairs { db throws in
      func values(_ term: TypedExpression<Int?>) throws -> [Int?] {
        try Pair.select(term).orderBy(Pair.id).run(db)
      }
      let difference = Pair.c.optional - Pair.a
      #expect(Pair.select(difference).sql == #"SELECT "c" - "a" FROM "pair""#)
      #expect(try values(difference) == Pair.all.map { pair in pair.a.map { pair.c - $0 } })
      #expect(try values(Pair.a + Pair.c.optional) == Pair.all.map { pair in pair.a.map { $0 + pair.c } })
      #expect(
        try values(Pair.a * Pair.b) == Pair.all.map { pair in pair.a.flatMap { a in pair.b.map { a * $0 } } })
      // Division by zero is NULL too.
      #expect(
        try values(Pair.a / Pair.b)
          == Pair.all.map { pair in pair.a.flatMap { a in pair.b.flatMap { $0 == 0 ? nil : a / $0 } } })
      #expect(
        try values(Pair.c.optional % Pair.b) == Pair.all.map { pair in pair.b.flatMap { $0 == 0 ? nil : pair.c % $0 } })
      #expect(try values(-Pair.a) == Pair.all.map { pair in pair.a.map { -$0 } })
    }
  }

  @Test func divisionByZeroIsNullAndByALiteralZeroRefused() throws {
    try withPairs { db throws in
      let quotients: [Int?] = try Pair.select(Pair.c / (Pair.c - Pair.c)).run(db)
      #expect(quotients == Pair.all.map { _ in nil })
      let remainders: [Int?] = try Pair.select(Pair.c % (Pair.c - Pair.c)).run(db)
      #expect(remainders == quotients)
      let halves: [Int] = try Pair.select(Pair.c / 2).orderBy(Pair.id).run(db)
      #expect(halves == Pair.all.map { pair in pair.c / 2 })
      expectInvalidStatement { _ = try Pair.select(Pair.c / 0).run(db) }
      expectInvalidStatement { _ = try Pair.select(Pair.c % 0).run(db) }
    }
  }

  @Test func valuesMayBeTheLeftOperand() throws {
    try withPairs { db throws in
      let terms = Pair.select(10 - Pair.c, 2 * Pair.c + 1, 100 / Pair.c).orderBy(Pair.id)
      #expect(terms.sql == #"SELECT ? - "c", ? * "c" + ?, ? / "c" FROM "pair" ORDER BY "id""#)
      let rows = try terms.run(db)
      #expect(rows.map(\.0) == Pair.all.map { 10 - $0.c })
      #expect(rows.map(\.1) == Pair.all.map { 2 * $0.c + 1 })
      #expect(rows.map(\.2) == Pair.all.map { $0.c == 0 ? nil : 100 / $0.c })
      let filter = Pair.count().filter(2 < Pair.c && 4 >= Pair.c && 5 != Pair.c)
      #expect(filter.sql == #"SELECT count(*) FROM "pair" WHERE "c" > ? AND "c" <= ? AND "c" <> ?"#)
      #expect(try filter.run(db) == Pair.all.count { 2 < $0.c && 4 >= $0.c && 5 != $0.c })
    }
  }
}
