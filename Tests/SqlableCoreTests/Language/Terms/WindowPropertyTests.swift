import SqlableCore
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Random window functions over random tables, compared with plain Swift.
@Suite struct WindowPropertyTests {
  @Test func randomWindowsMatchPlainSwift() throws {
    let seed = SeededGenerator.seed
    var random = SeededGenerator(seed: seed)
    var checked: [String: Int] = [:]
    for size in [0, 1, 2, 5, 12, 30] {
      for _ in 0..<times(10) {
        let rows = (0..<size).map { (id: Int) in Reading(id: id, random: &random) }
        try withDatabase { db in
          try db.createTable(Reading.self)
          try Reading.insert(rows.shuffled(using: &random)).run(db)
          for _ in 0..<60 {
            let window = WindowCase(random: &random)
            let expected = WindowEvaluation(window: window, rows: rows).values()
            let select = Reading.select(Reading.id.expression, window.term(isTyped: random.chance(50)))
            let found = try select.run(db).map(\.values)
            let isSame = found.count == rows.count && found.allSatisfy { $0[1] == expected[$0[0].id] }
            #expect(isSame, "seed \(seed): \(select.sql) \(select.bindings)\n\(rows)\n\(found)\n\(expected)")
            for name in window.names { checked[name, default: 0] += rows.isEmpty ? 0 : 1 }
          }
        }
      }
    }
    // The random cases covered every function, and every bound of every frame unit.
    #expect(checked.count == 18 + 3 * 8, "\(checked)")
    #expect(checked.values.allSatisfy { $0 >= times(10) }, "\(checked)")
  }
}

extension DatabaseValue {
  fileprivate var id: Int {
    if case .integer(let id) = self { Int(id) } else { -1 }
  }
}

extension WindowCase {
  /// The features that the case covers.
  fileprivate var names: [String] {
    func name(_ value: some Any) -> String { String("\(value)".prefix { $0 != "(" }) }
    guard let frame else { return [name(function)] }
    return [name(function), "\(frame.unit) from \(name(frame.start))", "\(frame.unit) to \(name(frame.end))"]
  }

  /// Returns the function over its window, with typed or untyped columns.
  func term(isTyped: Bool) -> SqlExpression {
    let filter = least.map { Reading.amount > $0 }
    let (amount, untyped) = (Reading.amount, Reading.amount.column)
    switch function {
    case .rowNumber: return rowNumber().over(sqlWindow).expression
    case .rank: return rank().over(sqlWindow).expression
    case .denseRank: return denseRank().over(sqlWindow).expression
    case .percentRank: return percentRank().over(sqlWindow).expression
    case .cumulativeDistribution: return cumulativeDistribution().over(sqlWindow).expression
    case .ntile(let count): return ntile(count).over(sqlWindow).expression
    case .lag(let count):
      return isTyped ? amount.lag(count).over(sqlWindow).expression : untyped.lag(count).over(sqlWindow)
    case .lead(let count):
      return isTyped ? amount.lead(count).over(sqlWindow).expression : untyped.lead(count).over(sqlWindow)
    case .firstValue: return amount.firstValue().over(sqlWindow).expression
    case .lastValue: return amount.lastValue().over(sqlWindow).expression
    case .countAll: return countAll(where: filter).over(sqlWindow).expression
    case .count:
      return isTyped
        ? amount.count(where: filter).over(sqlWindow).expression : untyped.count(where: filter).over(sqlWindow)
    case .sum:
      return isTyped
        ? amount.sum(where: filter).over(sqlWindow).expression : untyped.sum(where: filter).over(sqlWindow)
    case .total:
      return isTyped
        ? amount.total(where: filter).over(sqlWindow).expression : untyped.total(where: filter).over(sqlWindow)
    case .average:
      return isTyped
        ? amount.average(where: filter).over(sqlWindow).expression : untyped.average(where: filter).over(sqlWindow)
    case .min:
      return isTyped
        ? amount.min(where: filter).over(sqlWindow).expression : untyped.min(where: filter).over(sqlWindow)
    case .max:
      return isTyped
        ? amount.max(where: filter).over(sqlWindow).expression : untyped.max(where: filter).over(sqlWindow)
    case .concatenated:
      let other = Reading.other
      return isTyped
        ? other.groupConcat("-", where: filter).over(sqlWindow).expression
        : other.column.groupConcat("-", where: filter).over(sqlWindow)
    }
  }

  private var sqlWindow: Window {
    let terms = partition.map(\.expression)
    switch terms.count {
    case 0: return window()
    case 1: return window(terms[0])
    default: return window(terms[0], terms[1])
    }
  }

  private func window<each Partition: AnyTerm>(_ partition: repeat each Partition) -> Window {
    let orders = order.map { order in
      let ordering = order.isDescending ? order.term.expression.desc : order.term.expression.asc
      return order.saysNullFirst.map { $0 ? ordering.nullsFirst : ordering.nullsLast } ?? ordering
    }
    let frame = frame?.frame
    switch orders.count {
    case 0: return Window(partitionBy: repeat each partition, frame: frame)
    case 1: return Window(partitionBy: repeat each partition, orderBy: orders[0], frame: frame)
    case 2: return Window(partitionBy: repeat each partition, orderBy: orders[0], orders[1], frame: frame)
    default:
      return Window(partitionBy: repeat each partition, orderBy: orders[0], orders[1], orders[2], frame: frame)
    }
  }
}

extension WindowCase.Term {
  fileprivate var expression: SqlExpression {
    switch self {
    case .id: Reading.id.expression
    case .part: Reading.part.expression
    case .key: Reading.key.expression
    case .other: Reading.other.expression
    }
  }
}
