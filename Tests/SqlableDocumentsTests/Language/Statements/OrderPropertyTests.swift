import Foundation
import SqlableCore
import SqlableDocuments
import Testing

@testable import SqlableTestSupport

/// Random orders, limits and offsets of reads and changes, compared with a sort in plain Swift.
@Suite struct OrderPropertyTests {
  @Test func randomOrdersLimitsAndOffsetsMatchASwiftSort() throws {
    let seed = SeededGenerator.seed
    var generator = OracleGenerator(seed: seed)
    var checked = 0
    for _ in 0..<times(4) {
      let rows = (1...24).map { generator.row(id: $0) }
      try withDatabase { db in
        try OraclePlain.fill(rows, in: db)
        for _ in 0..<200 {
          let choice = OracleChoice(using: &generator)
          guard let expected = try? choice.ids(in: rows) else { continue }
          checked += 1
          let read = choice.applied(to: OraclePlain.read())
          let note: Comment = "seed \(seed): \(read.sql) \(read.bindings)"
          #expect(try read.run(db).map(\.oracleId) == expected, note)
          #expect(try read.first().run(db)?.oracleId == expected.first, note)
          let decoded = try JSONDecoder().decode(
            Statement<OraclePlain, [OraclePlain]>.self, from: JSONEncoder().encode(read))
          #expect(decoded.sql == read.sql, note)
          #expect(try choice.applied(to: OraclePlain.count()).run(db) == expected.count, note)
          #expect(try choice.applied(to: OraclePlain.exists()).run(db) == !expected.isEmpty, note)
          var visited: [Int] = []
          try read.forEach(db) { visited.append($0.oracleId) }
          #expect(visited == expected, note)
        }
      }
    }
    #expect(checked > times(500))
  }

  @Test func deletesAndUpdatesOfARowidTableTouchTheSameRows() throws {
    try checkChanges(OraclePlain.self)
  }

  @Test func deletesAndUpdatesOfATableWithoutRowidTouchTheSameRows() throws {
    try checkChanges(OracleKeyed.self)
  }

  @Test func deletesAndUpdatesOfATableWithARowidColumnTouchTheSameRows() throws {
    try checkChanges(OracleHidden.self)
  }

  private func checkChanges<Model: OracleModel>(_ model: Model.Type) throws {
    let seed = SeededGenerator.seed
    var generator = OracleGenerator(seed: seed &+ 1)
    let mark = Model.oracleColumns[1]
    try withDatabase { db in
      let rows = (1...16).map { generator.row(id: $0) }
      try Model.fill(rows, in: db)
      var checked = 0
      for index in 0..<120 {
        let choice = OracleChoice(using: &generator)
        // A change without a selection is refused.
        guard choice.selects, let expected = try? choice.ids(in: rows) else { continue }
        checked += 1
        let delete = choice.applied(to: Model.delete())
        let update = choice.applied(to: Model.update(mark.set(to: 987_654)))
        let note: Comment = "seed \(seed), \(index): \(delete.sql) \(delete.bindings)"
        try db.transaction { db in
          #expect(try update.run(db) == expected.count, note)
          let changed = try Model.read().filter(mark == 987_654).run(db).map(\.oracleId)
          #expect(changed.sorted() == expected.sorted(), note)
          return TransactionResult.rollback
        }
        try db.transaction { db in
          #expect(try delete.run(db) == expected.count, note)
          let rest = try Model.read().run(db).map(\.oracleId)
          #expect(rest.sorted() == Array(Set(1...16).subtracting(expected)).sorted(), note)
          return TransactionResult.rollback
        }
      }
      #expect(checked > 70)
      #expect(try Model.count().run(db) == rows.count)
    }
  }
}

/// A random filter, order, limit and offset; any of them may be missing.
private struct OracleChoice {
  var filter: OracleTerm?
  var order: [Key] = []
  var limit: Int?
  var offset: Int?

  /// False for a choice of all rows, which a change refuses. A filter by a condition that is always true is omitted.
  var selects: Bool {
    if case .constant(true)? = filter { return limit != nil || offset != nil }
    return filter != nil || limit != nil || offset != nil
  }

  struct Key {
    let term: OracleTerm
    let isDescending: Bool
    /// The explicit position of NULL, or nil for the default.
    let nullsComeFirst: Bool?
  }

  init(using generator: inout OracleGenerator) {
    if generator.random.chance(60) { filter = generator.condition(2) }
    for _ in 0..<generator.random.pick([0, 1, 2, 3]) {
      order.append(
        Key(
          term: generator.any(2), isDescending: generator.random.chance(50),
          nullsComeFirst: generator.random.pick([nil, nil, true, false])))
    }
    if generator.random.chance(70) { limit = generator.random.pick([0, 1, 2, 5, 8, 24, 30]) }
    if generator.random.chance(50) { offset = generator.random.pick([0, 1, 3, 7, 23, 24, 99]) }
    // The id orders rows that are equal in all other terms. SQLite may return them in any order.
    order.append(Key(term: .column(0), isDescending: generator.random.chance(50), nullsComeFirst: nil))
  }

  private struct Refused: Error {}

  func ids(in rows: [[OracleValue]]) throws -> [Int] {
    guard filter?.isRefused != true, !order.contains(where: \.term.isRefused) else { throw Refused() }
    let columns = OracleGenerator.columns
    var keyed = try rows.filter { try filter?.value($0, columns).truth ?? (filter == nil) }.map { row in
      (row: row, key: try order.map { try $0.term.value(row, columns) })
    }
    keyed.sort { left, right in
      for (index, term) in order.enumerated() {
        let (left, right) = (left.key[index], right.key[index])
        let isNull = (left.isNull, right.isNull)
        if let nullsComeFirst = term.nullsComeFirst, isNull.0 != isNull.1 { return isNull.0 == nullsComeFirst }
        let result = OracleValue.order(left, right, term.term.collation(columns))
        if result != 0 { return (result < 0) != term.isDescending }
      }
      return false
    }
    let ids = keyed.compactMap { keyed in
      if case .integer(let id) = keyed.row[0] { Int(id) } else { nil }
    }
    return Array(ids.dropFirst(offset ?? 0).prefix(limit ?? .max))
  }

  func applied<Model: OracleModel, Output>(to statement: Statement<Model, Output>) -> Statement<Model, Output> {
    var statement = statement
    for key in order {
      let term = key.term.expression(Model.oracleColumns)
      let ordering = key.isDescending ? term.desc : term.asc
      switch key.nullsComeFirst {
      case nil: statement = statement.orderBy(term, key.isDescending ? .desc : .asc)
      case true?: statement = statement.orderBy(ordering.nullsFirst)
      case false?: statement = statement.orderBy(ordering.nullsLast)
      }
    }
    if let filter { statement = statement.filter(filter.expression(Model.oracleColumns)) }
    if let limit { statement = statement.limit(limit) }
    if let offset { statement = statement.offset(offset) }
    return statement
  }
}
