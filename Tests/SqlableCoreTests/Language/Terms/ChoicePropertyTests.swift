import Foundation
import SqlableCore
import Testing

@testable import SqlableTestSupport

/// Terms that choose between others, for every pair of values including NULL, compared with plain Swift.
@Suite struct ChoicePropertyTests {
  private func values<Value: SqlValue>(_ db: SqliteDatabase, _ term: TypedExpression<Value>) throws -> [Value] {
    try Pair.select(term).orderBy(Pair.id).run(db)
  }

  private func values(_ db: SqliteDatabase, _ term: SqlExpression) throws -> [DatabaseValue] {
    try Pair.select(term).orderBy(Pair.id).run(db).map { $0.values[0] }
  }

  private func stored(_ values: [Int?]) -> [DatabaseValue] { values.map { $0.map { .integer(Int64($0)) } ?? .null } }

  @Test func aConditionThatIsNullIsNotTrue() throws {
    try withPairs { db throws in
      func chosen(_ pair: Pair) -> Int {
        if let a = pair.a, a > 0 { return 1 }
        if let a = pair.a, let b = pair.b, a < b { return pair.c }
        return -9
      }
      let choice = Case.when(Pair.a > 0, then: 1).when(Pair.a < Pair.b, then: Pair.c)
      #expect(try values(db, choice.else(-9)) == Pair.all.map(chosen))
      #expect(try values(db, choice.else(Pair.id)) == Pair.all.map { chosen($0) == -9 ? $0.id : chosen($0) })
      #expect(try values(db, choice.end()) == Pair.all.map { chosen($0) == -9 ? nil : chosen($0) })
      let optional = Case.when(Pair.c > 0, then: Pair.a).when(Pair.a.isNull, then: Pair.b)
      let ended: [Int?] = try values(db, optional.end())
      #expect(ended == Pair.all.map { $0.c > 0 ? $0.a : $0.a == nil ? $0.b : nil })
      #expect(try values(db, optional.else(nil)) == ended)
      #expect(
        try values(db, optional.else(Pair.b)) == Pair.all.map { $0.c > 0 ? $0.a : $0.b })
      let (a, b, c) = (Pair.a.column, Pair.b.column, Pair.c.column)
      let untyped = Case.when(c > 0, then: a).when(a < b, then: 7).when(a.isNull, then: b)
      func second(_ pair: Pair) -> Int?? {
        if pair.c > 0 { return .some(pair.a) }
        if let a = pair.a, let b = pair.b, a < b { return 7 }
        return pair.a == nil ? .some(pair.b) : nil
      }
      #expect(try values(db, untyped.end()) == stored(Pair.all.map { second($0) ?? nil }))
      #expect(try values(db, untyped.else(5)) == stored(Pair.all.map { second($0) ?? 5 }))
      #expect(try values(db, untyped.else(c)) == stored(Pair.all.map { second($0) ?? $0.c }))
    }
  }

  @Test func coalesceReturnsTheFirstTermThatIsNotNull() throws {
    try withPairs { db throws in
      #expect(try values(db, Pair.a.ifNull(9)) == Pair.all.map { $0.a ?? 9 })
      #expect(try values(db, Pair.a.ifNull(Pair.c)) == Pair.all.map { $0.a ?? $0.c })
      #expect(try values(db, Pair.a.coalesce(Pair.b)) == Pair.all.map { $0.a ?? $0.b })
      #expect(
        try values(db, Pair.a.coalesce(Pair.b, Pair.c.optional, Pair.a)) == Pair.all.map { $0.a ?? $0.b ?? $0.c })
      #expect(try values(db, Pair.s.ifNull("none")) == Pair.all.map { $0.s ?? "none" })
      #expect(try values(db, Pair.s.ifNull(Pair.t)) == Pair.all.map { $0.s ?? $0.t })
      let (a, b, c) = (Pair.a.column, Pair.b.column, Pair.c.column)
      #expect(try values(db, a.ifNull(9)) == stored(Pair.all.map { $0.a ?? 9 }))
      #expect(try values(db, a.ifNull(b)) == stored(Pair.all.map { $0.a ?? $0.b }))
      #expect(try values(db, a.coalesce(b, c, a)) == stored(Pair.all.map { $0.a ?? $0.b ?? $0.c }))
    }
  }

  @Test func nullIfTurnsAnEqualValueIntoNull() throws {
    try withPairs { db throws in
      for value in [-1, 0, 2, 5] {
        #expect(try values(db, Pair.a.nullIf(value)) == Pair.all.map { $0.a == value ? nil : $0.a })
        let sure: [Int?] = try values(db, Pair.c.nullIf(value))
        #expect(sure == Pair.all.map { $0.c == value ? nil : $0.c })
        #expect(try values(db, Pair.a.column.nullIf(value)) == stored(Pair.all.map { $0.a == value ? nil : $0.a }))
      }
      #expect(try values(db, Pair.s.nullIf("")) == Pair.all.map { $0.s == "" ? nil : $0.s })
    }
  }

  @Test func isDistinctTreatsNullAsEqualToNullOnly() throws {
    try withPairs { db throws in
      func check(_ condition: SqlExpression, _ expected: (Pair) -> Bool) throws {
        let found = try values(db, condition.typed(as: Bool.self))
        #expect(found == Pair.all.map(expected), "\(Pair.count().filter(condition).sql)")
      }
      for value in [nil, -1, 0, 2, 5] {
        try check(Pair.a.isDistinct(from: value)) { $0.a != value }
        try check(Pair.a.isNotDistinct(from: value)) { $0.a == value }
        try check(Pair.a.is(value)) { $0.a == value }
        try check(Pair.a.isNot(value)) { $0.a != value }
      }
      try check(Pair.c.isDistinct(from: 0)) { $0.c != 0 }
      try check(Pair.a.isDistinct(from: Pair.b)) { $0.a != $0.b }
      try check(Pair.a.isNotDistinct(from: Pair.b)) { $0.a == $0.b }
      try check(Pair.a.isDistinct(from: Pair.c)) { $0.a != $0.c }
      try check(Pair.a.isNotDistinct(from: Pair.c)) { $0.a == $0.c }
      try check(Pair.c.isDistinct(from: Pair.a)) { $0.a != $0.c }
      try check(Pair.c.isNotDistinct(from: Pair.a)) { $0.a == $0.c }
      try check(Pair.a.column.isDistinct(from: Pair.b.column)) { $0.a != $0.b }
      try check(Pair.a.column.isNotDistinct(from: Pair.b.column)) { $0.a == $0.b }
      try check(Pair.a.column.isDistinct(from: 2)) { $0.a != 2 }
      try check(Pair.a.column.isNotDistinct(from: Null())) { $0.a == nil }
    }
  }

  @Test func leastAndGreatestAreNullIfATermIsNull() throws {
    try withPairs { db throws in
      func all(_ values: [Int?], _ body: ([Int]) -> Int?) -> Int? {
        values.contains(nil) ? nil : body(values.compactMap(\.self))
      }
      #expect(try values(db, Pair.a.least(0)) == Pair.all.map { $0.a.map { min($0, 0) } })
      #expect(try values(db, Pair.a.greatest(0)) == Pair.all.map { $0.a.map { max($0, 0) } })
      #expect(try values(db, Pair.a.least(Pair.b)) == Pair.all.map { all([$0.a, $0.b]) { $0.min() } })
      #expect(
        try values(db, Pair.a.greatest(Pair.b, Pair.c.optional))
          == Pair.all.map { all([$0.a, $0.b, $0.c]) { $0.max() } })
      #expect(try values(db, Pair.c.least(Pair.id)) == Pair.all.map { min($0.c, $0.id) })
      let (a, b, c) = (Pair.a.column, Pair.b.column, Pair.c.column)
      #expect(try values(db, a.least(0)) == stored(Pair.all.map { $0.a.map { min($0, 0) } }))
      #expect(try values(db, a.greatest(1)) == stored(Pair.all.map { $0.a.map { max($0, 1) } }))
      #expect(try values(db, a.least(b, c)) == stored(Pair.all.map { all([$0.a, $0.b, $0.c]) { $0.min() } }))
      #expect(try values(db, a.greatest(b, c)) == stored(Pair.all.map { all([$0.a, $0.b, $0.c]) { $0.max() } }))
    }
  }

  @Test func aCastKeepsNull() throws {
    try withPairs { db throws in
      let texts: [String?] = try values(db, Pair.a.cast(to: String.self))
      #expect(texts == Pair.all.map { $0.a.map { "\($0)" } })
      let reals: [Double?] = try values(db, Pair.a.cast(to: Double.self))
      #expect(reals == Pair.all.map { $0.a.map { Double($0) } })
      // SQLite casts a word to 0, and a text to its bytes.
      let numbers: [Int?] = try values(db, Pair.s.cast(to: Int.self))
      #expect(numbers == Pair.all.map { $0.s.map { _ in 0 } })
      let bytes: [Data] = try values(db, Pair.t.cast(to: Data.self))
      #expect(bytes == Pair.all.map { Data($0.t.utf8) })
      let untyped = try values(db, Pair.a.column.cast(to: String.self))
      #expect(untyped == Pair.all.map { $0.a.map { .text("\($0)") } ?? .null })
      expectInvalidStatement { _ = try Pair.select(Pair.a.column.cast(to: Date.self)).run(db) }
      // The compiler accepts a cast of an optional to a required type. Running the query throws.
      let never: TypedExpression<String> = Pair.a.cast(to: String.self)
      expectInvalidStatement { _ = try Pair.select(never).run(db) }
    }
  }
}
