import CBaseline
import CSQLite3
import Foundation
import Sqlable

extension Suite {
  /// What comes before a statement is warm.
  var statements: [Workload] {
    let opens = fixture.scaled(200)
    let cold = fixture.scaled(500)
    return [
      workload("S7", "open a database, first query, close", operations: opens) { self.opens(opens) },
      workload("S8", "statements never seen before, from value to first row", operations: cold) {
        coldStatements(cold)
      },
    ]
  }

  private func opens(_ count: Int) -> [Workload.Contender] {
    let path = fixture.path
    let ids = fixture.keys(count)
    let ids64 = ids.map { Int64($0) }
    return [
      .init(Name.c) { baseline_open(path, Fixture.pragmas, ids64, Int32(count)) },
      .init(Name.swift) {
        try ids.reduce(0) { sum, id in
          sum &+ (try RawSwift.pointSelects(RawSwift(path: path), [id]))
        }
      },
      .init(Name.untyped) {
        try ids.reduce(0) { sum, id in
          let db = try SqliteDatabase(filepath: path)
          let digest = try Untyped.byId(id).run(db)?.digest ?? 0
          try db.close()
          return sum &+ digest
        }
      },
      .init(Name.typed) {
        try ids.reduce(0) { sum, id in
          let db = try SqliteDatabase(filepath: path)
          let digest = try Typed.byId(id).run(db)?.digest ?? 0
          try db.close()
          return sum &+ digest
        }
      },
    ]
  }

  /// Filters of four terms, all of which every row fulfils: 15 terms make 50,625 different statements.
  private func coldStatements(_ count: Int) -> [Workload.Contender] {
    let (raw, db) = (fixture.raw, fixture.db)
    // Every round has statements of its own; one that was seen 50,000 statements ago is in no cache.
    func cold(
      _ name: String, prepare: @escaping (ArraySlice<ColdFilter>) -> Void = { _ in },
      _ run: @escaping (ArraySlice<ColdFilter>) throws -> UInt64
    ) -> Workload.Contender {
      let all = ColdFilter.all
      let next = Box(all[0..<count])
      return .init(
        name, setUp: { prepare(next.value) },
        tearDown: {
          let start = (next.value.startIndex + count) % (all.count - count)
          next.value = all[start..<start + count]
        }, run: { try run(next.value) })
    }
    let texts = Box(RawTexts([]))
    let terms = Box<[Int32]>([])
    return [
      cold(
        Name.c,
        prepare: { filters in
          texts.value = RawTexts(filters.map(\.sql))
          terms.value = filters.flatMap { $0.terms.map { Int32($0) } }
        },
        { filters in baseline_cold(raw.db, texts.value.texts.baseAddress, terms.value, Int32(filters.count)) }),
      cold(Name.swift) { filters in
        try filters.reduce(0) { sum, filter in
          let statement = try raw.prepare(filter.sql)
          defer { sqlite3_finalize(statement) }
          for (index, term) in filter.terms.enumerated() {
            switch ColdFilter.value(of: term) {
            case .integer(let value): sqlite3_bind_int64(statement, Int32(index + 1), Int64(value))
            case .real(let value): sqlite3_bind_double(statement, Int32(index + 1), value)
            }
          }
          sqlite3_bind_int64(statement, 5, 1)
          return sum &+ RawSwift.rows(statement).digest()
        }
      },
      cold(Name.untyped) { filters in
        try filters.reduce(0) { sum, filter in
          let terms = filter.terms.map { ColdFilter.untyped($0) }
          let statement = Untyped.read().filter(terms[0] && terms[1] && terms[2] && terms[3]).first()
          return sum &+ (try statement.run(db)?.digest ?? 0)
        }
      },
      cold(Name.typed) { filters in
        try filters.reduce(0) { sum, filter in
          let terms = filter.terms.map { ColdFilter.typed($0) }
          let statement = Typed.read().filter(terms[0] && terms[1] && terms[2] && terms[3]).first()
          return sum &+ (try statement.run(db)?.digest ?? 0)
        }
      },
    ]
  }
}

/// A filter of four terms. A term compares one of three columns in one of five ways with a value that every row is
/// over, or under.
struct ColdFilter {
  let terms: [Int]
  let sql: String

  enum Value {
    case integer(Int)
    case real(Double)
  }

  static let operators = [">", ">=", "!=", "<", "<="]

  static let all: [ColdFilter] = (0..<15 * 15 * 15 * 15).map { number in
    ColdFilter(terms: [number % 15, number / 15 % 15, number / 225 % 15, number / 3375])
  }

  /// The value of a term: -1, or a number that is never reached.
  static func value(of term: Int) -> Value {
    let isUpper = term % 5 >= 3
    return term < 5 ? .integer(isUpper ? 1_000_000_000_000 : -1) : .real(isUpper ? 1e12 : -1)
  }

  init(terms: [Int]) {
    self.terms = terms
    let conditions = terms.map { "\(["id", "price", "at"][$0 / 5]) \(ColdFilter.operators[$0 % 5]) ?" }
    sql = "SELECT \(RawSwift.mixedColumns) FROM mixed WHERE \(conditions.joined(separator: " AND ")) LIMIT ?"
  }

  static func untyped(_ term: Int) -> SqlExpression {
    let column = [Untyped.id, Untyped.price, Untyped.at][term / 5]
    let value: any SqlValue =
      switch value(of: term) {
      case .integer(let value): value
      case .real(let value): term < 10 ? value : Date(timeIntervalSince1970: value)
      }
    return switch term % 5 {
    case 0: column > value
    case 1: column >= value
    case 2: column != value
    case 3: column < value
    default: column <= value
    }
  }

  static func typed(_ term: Int) -> SqlExpression {
    switch value(of: term) {
    case .integer(let value): compare(Typed.id, value, term % 5)
    case .real(let value):
      term < 10
        ? compare(Typed.price, value, term % 5) : compare(Typed.at, Date(timeIntervalSince1970: value), term % 5)
    }
  }

  private static func compare<Value: SqlValue>(
    _ column: TypedColumn<Typed, Value>, _ value: Value, _ operation: Int
  ) -> SqlExpression {
    switch operation {
    case 0: column > value
    case 1: column >= value
    case 2: column != value
    case 3: column < value
    default: column <= value
    }
  }
}
