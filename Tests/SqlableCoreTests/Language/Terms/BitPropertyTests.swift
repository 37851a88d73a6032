import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Bit operations, compared with Swift's, including NULL.
@Suite struct BitPropertyTests {
  private static let numbers: [Int] = [0, 1, -1, 2, 5, 0xFF, 1 << 31, 1 << 32, .max, .max - 1, .min, .min + 1]
  private static let places = [0, 1, 2, 31, 32, 62, 63, 64, 65, 1000, -1, -2, -63, -64, -65, .max, .min]

  @Test func randomBitOperationsMatchSwift() throws {
    let seed = SeededGenerator.seed
    var random = SeededGenerator(seed: seed)
    func number() -> Int {
      random.chance(50) ? random.pick(Self.numbers) : Int.random(in: .min ... .max, using: &random)
    }
    let pairs = (0..<times(60)).map { (id: Int) in
      Pair(id: id, a: random.chance(20) ? nil : number(), b: random.chance(20) ? nil : number(), c: number())
    }
    try withPairs(pairs) { db throws in
      func values(_ term: TypedExpression<Int?>) throws -> [Int?] { try Pair.select(term).orderBy(Pair.id).run(db) }
      func untyped(_ term: SqlExpression) throws -> [Int?] {
        try Pair.select(term).orderBy(Pair.id).run(db).map { try $0.get(at: 0, as: Int?.self) }
      }
      let note: Comment = "seed \(seed)"
      let both = pairs.map { pair in pair.a.flatMap { a in pair.b.map { (a, $0) } } }
      #expect(try values(Pair.a.bitAnd(Pair.b)) == both.map { $0.map { $0.0 & $0.1 } }, note)
      #expect(try values(Pair.a.bitOr(Pair.b)) == both.map { $0.map { $0.0 | $0.1 } }, note)
      #expect(try untyped(Pair.a.column.bitAnd(Pair.b.column)) == both.map { $0.map { $0.0 & $0.1 } }, note)
      #expect(try untyped(Pair.a.column.bitOr(Pair.b.column)) == both.map { $0.map { $0.0 | $0.1 } }, note)
      #expect(try values(Pair.a.inverted()) == pairs.map { $0.a.map { ~$0 } }, note)
      #expect(try untyped(Pair.c.column.inverted()) == pairs.map { ~$0.c }, note)
      for value in Self.numbers {
        #expect(try values(Pair.a.bitAnd(value)) == pairs.map { $0.a.map { $0 & value } }, "\(value), seed \(seed)")
        #expect(try values(Pair.a.bitOr(value)) == pairs.map { $0.a.map { $0 | value } }, "\(value), seed \(seed)")
        #expect(try untyped(Pair.c.column.bitAnd(value)) == pairs.map { $0.c & value }, "\(value), seed \(seed)")
        #expect(try untyped(Pair.c.column.bitOr(value)) == pairs.map { $0.c | value }, "\(value), seed \(seed)")
      }
      for places in Self.places {
        let note: Comment = "\(places) places, seed \(seed)"
        #expect(try values(Pair.a.shiftedLeft(places)) == pairs.map { $0.a.map { $0 << places } }, note)
        #expect(try values(Pair.a.shiftedRight(places)) == pairs.map { $0.a.map { $0 >> places } }, note)
        #expect(try untyped(Pair.c.column.shiftedLeft(places)) == pairs.map { $0.c << places }, note)
        #expect(try untyped(Pair.c.column.shiftedRight(places)) == pairs.map { $0.c >> places }, note)
      }
      #expect(try values(Pair.a.bitAnd(nil)) == pairs.map { _ in nil }, note)
    }
  }

  @Test func aResultOutsideASmallTypesRangeThrows() throws {
    try withDatabase { db throws in
      try db.createTable(Crate.self)
      try Crate(count: 0x81, volume: 1).insert().run(db)
      #expect(try Crate.select(Crate.count.bitAnd(0x80)).run(db) == [0x80])
      #expect(try Crate.select(Crate.count.shiftedRight(7)).run(db) == [1])
      #expect(try Crate.select(Crate.count.inverted().bitAnd(0xFF)).run(db) == [0x7E])
      for term in [Crate.count.shiftedLeft(1), Crate.count.inverted()] {
        let error = sqlError { _ = try Crate.select(term).run(db) }
        guard case .decoding = error?.kind else {
          Issue.record("\(String(describing: error))")
          continue
        }
      }
      let tooWide = sqlError { _ = try Crate.select(Crate.volume.bitOr(UInt64.max)).run(db) }
      guard case .encoding = tooWide?.kind else {
        Issue.record("\(String(describing: tooWide))")
        return
      }
    }
  }

  @Test func bitOperationsRefuseTexts() throws {
    try withPairs { db throws in
      let text = Pair.t.column
      let terms = [
        text.bitAnd(1),
        text.bitOr(1),
        text.shiftedLeft(1),
        text.shiftedRight(1),
        Pair.c.column.bitAnd("x"),
      ]
      for (term, operation) in zip(terms, ["&", "|", "<<", ">>", "&"]) {
        let error = expectInvalidStatement { _ = try Pair.select(term).run(db) }
        #expect(error?.message == "\(operation) takes numbers, but was given TEXT")
      }
    }
  }
}
