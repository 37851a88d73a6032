import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import Testing

@testable import SqlableTestSupport

/// Nested expressions: the library runs or refuses each one, so that SQLite never reports "parser stack overflow" or
/// "Expression tree is too large".
@Suite struct NestingTests {
  @Test func randomShapesWorkOrAreRefusedBeforeSQLiteSeesThem() throws {
    let seed = SeededGenerator.seed
    var random = SeededGenerator(seed: seed)
    try withDatabase { db in
      try OraclePlain.fill([], in: db)
      try OracleKeyed.fill([], in: db)
      var (worked, refused) = (0, 0)
      for _ in 0..<times(200) {
        let wrappings = (0..<random.pick([1, 1, 2, 3, 6])).map { _ in random.pick(Wrapping.allCases) }
        let depth = Int.random(in: 1...random.pick([10, 50, 100, 200, 400]), using: &random)
        var costly = 4
        let path = (0..<depth).map { _ in random.pick(wrappings) }.filter { wrapping in
          costly -= wrapping.isCostly ? 1 : 0
          return !wrapping.isCostly || costly > 0
        }
        func deep<Model: OracleModel>(_ model: Model.Type) throws -> SqlExpression {
          let columns = Model.oracleColumns
          return try path.reduce(columns[1].expression) { try $1.wrap($0, around: columns) }
        }
        for outcome in try outcomes(deep(OraclePlain.self), deep(OracleKeyed.self), db, &random) {
          switch outcome {
          case nil: worked += 1
          case .some(let error):
            refused += 1
            guard case .invalidStatement = error.kind else {
              Issue.record("seed \(seed): \(error.message) for \(depth) of \(Set(wrappings))")
              continue
            }
          }
        }
      }
      #expect(worked > times(100), "\(worked) worked, \(refused) were refused")
      #expect(refused > times(30), "\(worked) worked, \(refused) were refused")
    }
  }

  /// Returns the outcomes of the expression in three random places of statements.
  private func outcomes(
    _ plain: SqlExpression, _ keyed: SqlExpression, _ db: SqliteDatabase, _ random: inout SeededGenerator
  ) throws -> [SqlError?] {
    func outcome<Model, Output>(_ statement: Statement<Model, Output>) -> () -> SqlError? {
      { sqlError { _ = try statement.explain(db) } }
    }
    let value = OraclePlain.i.set(to: plain)
    let places = [
      { sqlError { _ = try OraclePlain.read().filter(plain).run(db) } },
      outcome(OraclePlain.read().orderBy(plain).orderBy(plain, .desc)),
      outcome(OraclePlain.count().filter(plain).limit(3)),
      outcome(OraclePlain.exists().filter(plain)),
      outcome(OraclePlain.update(value).filter(plain).orderBy(plain).limit(3)),
      outcome(OraclePlain(oracleId: 1).delete().filter(plain)),
      outcome(OracleKeyed(oracleId: 1).delete().filter(keyed)),
      outcome(OracleKeyed.delete().filter(keyed).orderBy(keyed).limit(3, offset: 1)),
    ]
    return places.shuffled(using: &random).prefix(3).map { $0() }
  }

  @Test(arguments: Wrapping.allCases)
  func everyWrappingNestsAtLeastThreeTimes(_ wrapping: Wrapping) throws {
    try withDatabase { db in
      try OraclePlain.fill([], in: db)
      let columns = OraclePlain.oracleColumns
      let times = wrapping.isCostly ? 3 : 10
      let filter = try (0..<times).reduce(columns[1].expression) { term, _ in try wrapping.wrap(term, around: columns) }
      #expect(try OraclePlain.read().filter(filter).run(db).isEmpty)
    }
  }
}

extension NestingTests {
  @Test func comparingDeepTermsTakesLinearTime() throws {
    // If each level compared or hashed its term twice, 60 levels would never finish.
    func calls(_ depth: Int) -> SqlExpression {
      (0..<depth).reduce(Worker.name.expression) { term, index in
        term.coalesce(TypedExpression("\(index)").expression)
      }
    }
    func queries(_ depth: Int) -> SqlExpression {
      (0..<depth).reduce(Worker.id == 1) { condition, _ in exists(Worker.read().filter(condition)) }
    }
    func lists(_ depth: Int) -> SqlExpression {
      (0..<depth).reduce(Worker.id.expression) { term, _ in term.in(Worker.select(Worker.id.expression)) }
    }
    for deep in [calls, queries, lists] {
      #expect(deep(60) == deep(60))
      #expect(deep(60).hashValue == deep(60).hashValue)
      #expect(deep(60) != deep(59))
    }
    #expect(Worker.read().filter(queries(60)).hashValue == Worker.read().filter(queries(60)).hashValue)
  }
}

/// Ways to nest a term in another term.
enum Wrapping: CaseIterable {
  case not, negative, lower, collate, isNull, isNotNull, like, short, long, between, andFirst, andLast, orFirst, orLast
  case sumLeft, sumRight, productLeft, productRight, concatenatedLeft, concatenatedRight
  case equalLeft, equalRight, lessLeft, lessRight, betweenLow, betweenHigh, pattern, allWide, anyWide

  var isCostly: Bool { [.allWide, .anyWide, .betweenLow, .betweenHigh, .pattern].contains(self) }

  func wrap(_ term: SqlExpression, around columns: [Column]) throws -> SqlExpression {
    let column = columns[1].expression
    switch self {
    case .not: return !term
    case .negative: return -term
    case .lower: return term.lowercase()
    case .collate: return term.collate(.nocase)
    case .isNull: return term.isNull
    case .isNotNull: return term.isNotNull
    case .like: return term.like("%x%", escape: "!")
    case .short: return term.in([1, 2, 3])
    case .long: return term.notIn(Array(1...50))
    case .between: return term.between(1, and: 5)
    case .andFirst: return term && column > 1
    case .andLast: return column > 1 && term
    case .orFirst: return term || column > 1 || column < 0
    case .orLast: return column > 1 || column < 0 || term
    case .sumLeft: return term + 1
    case .sumRight: return column - term
    case .productLeft: return term * column
    case .productRight: return column / term
    case .concatenatedLeft: return term.concatenated("x")
    case .concatenatedRight: return column.concatenated(term)
    case .equalLeft: return term == column
    case .equalRight: return column != term
    case .lessLeft: return term < 7
    case .lessRight: return column >= term
    case .betweenLow: return try Wrapping.decoded(#"{"between":[\#(Wrapping.i),%,\#(Wrapping.i)]}"#, term)
    case .betweenHigh: return try Wrapping.decoded(#"{"between":[\#(Wrapping.i),\#(Wrapping.i),%]}"#, term)
    case .pattern: return try Wrapping.decoded(#"{"like":[\#(Wrapping.i),%],"escape":"!"}"#, term)
    case .allWide: return .all([term] + (0..<120).map { column > $0 })
    case .anyWide: return .any((0..<60).map { column > $0 } + [term] + (0..<200).map { column > $0 })
    }
  }

  private static let i = #"{"column":"i"}"#

  /// Wraps a term in a form that only a decoded statement can have. Returns a term that is too deep for JSON unchanged.
  private static func decoded(_ json: String, _ term: SqlExpression) throws -> SqlExpression {
    guard let inner = try? JSONEncoder().encode(term) else { return term }
    let text = json.replacingOccurrences(of: "%", with: String(decoding: inner, as: UTF8.self))
    return (try? JSONDecoder().decode(SqlExpression.self, from: Data(text.utf8))) ?? term
  }
}
