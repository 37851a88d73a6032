import SqlableCore

// Tests/Record has this file and what it uses in one target.
#if canImport(SqlableTestSupport) && !RECORD
@testable import SqlableTestSupport
#endif

/// An evaluator of random queries in plain Swift: SQL's rules over arrays, slow and simple.
struct QueryEvaluation {
  let world: QueryWorld
  let tables: [[[RandomValue]]]

  /// An error for terms that only the comparison with SQL text covers.
  struct Unsupported: Error {}

  /// The current row of each visible source.
  typealias Rows = [Int: [DatabaseValue]]

  func rows(_ query: RandomQuery, _ outer: Rows = [:]) throws -> [[DatabaseValue]] {
    var found = try core(query, outer)
    for (operation, other) in query.compounds {
      let rows = try core(other, outer).map(\.row)
      let known = Set(rows)
      let own = found.map(\.row)
      switch operation {
      case .union: found = distinct(own + rows)
      case .unionAll: found = (own + rows).map { ($0, []) }
      case .intersect: found = distinct(own.filter(known.contains))
      case .except: found = distinct(own.filter { !known.contains($0) })
      }
    }
    if !query.order.isEmpty {
      let keyed = found.map { row, keys in
        let values = query.order.enumerated().map { index, ordering in
          if case .result(let position) = ordering.key { row[position] } else { keys[index] }
        }
        return (row: row, keys: values)
      }
      let ordered = keyed.enumerated().sorted { left, right in
        for (index, ordering) in query.order.enumerated() {
          let (own, other) = (left.element.keys[index], right.element.keys[index])
          if isLess(own, other) { return !ordering.isDescending }
          if isLess(other, own) { return ordering.isDescending }
        }
        return left.offset < right.offset
      }
      found = ordered.map(\.element)
    }
    var rows = found.map(\.row)
    if let limit = query.limit { rows = Array(rows.dropFirst(query.offset ?? 0).prefix(limit)) }
    return rows
  }

  private func distinct(_ rows: [[DatabaseValue]]) -> [(row: [DatabaseValue], keys: [DatabaseValue])] {
    var seen: Set<[DatabaseValue]> = []
    return rows.filter { seen.insert($0).inserted }.map { ($0, []) }
  }

  private func core(_ query: RandomQuery, _ outer: Rows) throws -> [(row: [DatabaseValue], keys: [DatabaseValue])] {
    var combinations = [outer]
    for source in query.sources { combinations = try combinations.flatMap { try joined($0, source) } }
    if let filter = query.filter { combinations = try combinations.filter { try isTrue(filter, [$0]) } }
    var groups = combinations.map { [$0] }
    if !query.groups.isEmpty || query.results.contains(where: \.isAggregate) {
      groups = try grouped(combinations, by: query.groups)
      if query.groups.isEmpty, groups.isEmpty { groups = [[]] }
    }
    if let having = query.having { groups = try groups.filter { try isTrue(having, $0, outer) } }
    let found = try groups.map { group in
      let row = try query.results.map { try value($0, group, outer) }
      let keys = try query.order.map { ordering in
        if case .term(let term) = ordering.key { try value(term, group, outer) } else { DatabaseValue.null }
      }
      return (row: row, keys: keys)
    }
    guard query.isDistinct else { return found }
    var seen: Set<[DatabaseValue]> = []
    return found.filter { seen.insert($0.row).inserted }
  }

  private func grouped(_ rows: [Rows], by terms: [RandomTerm]) throws -> [[Rows]] {
    var places: [[DatabaseValue]: Int] = [:]
    var groups: [[Rows]] = []
    for row in rows {
      let key = try terms.map { try value($0, [row]) }
      if let place = places[key] {
        groups[place].append(row)
      } else {
        places[key] = groups.count
        groups.append([row])
      }
    }
    return groups
  }

  private func joined(_ left: Rows, _ source: RandomQuery.Source) throws -> [Rows] {
    let (rows, width) = try rows(of: source.kind, left)
    var found = rows.map { left.merging([source.id: $0]) { $1 } }
    if let condition = source.condition { found = try found.filter { try isTrue(condition, [$0]) } }
    guard source.join == .left, found.isEmpty else { return found }
    return [left.merging([source.id: Array(repeating: .null, count: width)]) { $1 }]
  }

  private func rows(of kind: RandomQuery.Source.Kind, _ outer: Rows) throws -> ([[DatabaseValue]], width: Int) {
    switch kind {
    case .table(let index): return (tables[index].map { $0.map(world.storage) }, 5)
    case .named(let query), .alias(let query): return (try rows(query, outer), 2)
    case .values(let rows): return (rows.map { $0.map(world.storage) }, 2)
    case .elements(let term):
      guard case .text(let text) = try value(term, [outer]) else { return ([], 2) }
      let elements = text.dropFirst().dropLast().split(separator: ",")
      return (
        elements.enumerated().map { [.integer(Int64($0)), Int64($1).map(DatabaseValue.integer) ?? .null] }, 2
      )
    }
  }

  // MARK: Terms

  private func isTrue(_ term: RandomTerm, _ group: [Rows], _ outer: Rows = [:]) throws -> Bool {
    truth(try value(term, group, outer)) == true
  }

  private func truth(_ value: DatabaseValue) -> Bool? {
    switch value {
    case .integer(let number): number != 0
    case .real(let number): number != 0
    case .null, .text, .blob: nil
    }
  }

  private func condition(_ truth: Bool?) -> DatabaseValue { truth.map { .integer($0 ? 1 : 0) } ?? .null }

  /// Returns the value of a term for a row or a group of rows.
  func value(_ term: RandomTerm, _ group: [Rows], _ outer: Rows = [:]) throws -> DatabaseValue {
    let row = group.first ?? outer
    func value(_ term: RandomTerm) throws -> DatabaseValue { try self.value(term, group, outer) }
    switch term {
    case .column(let id, let position): return row[id]?[position] ?? .null
    case .value(let value): return world.storage(value)
    case .comparison(let comparison, let left, let right):
      return compared(try value(left), comparison, try value(right))
    case .plus(let left, let right): return computed(try value(left), try value(right), &+)
    case .minus(let left, let right): return computed(try value(left), try value(right), &-)
    case .times(let left, let right): return computed(try value(left), try value(right), &*)
    case .concatenation(let left, let right):
      guard case .text(let left) = try value(left), case .text(let right) = try value(right) else { return .null }
      return .text(left + right)
    case .and(let left, let right):
      let (left, right) = (truth(try value(left)), truth(try value(right)))
      return condition(left == false || right == false ? false : left == nil || right == nil ? nil : true)
    case .or(let left, let right):
      let (left, right) = (truth(try value(left)), truth(try value(right)))
      return condition(left == true || right == true ? true : left == nil || right == nil ? nil : false)
    case .not(let term): return condition(truth(try value(term)).map { !$0 })
    case .isNull(let term): return condition(try value(term) == .null)
    case .between(let term, let low, let high):
      return try value(.and(.comparison(.greaterOrEqual, term, low), .comparison(.lessOrEqual, term, high)))
    case .isIn(let term, let values): return isIn(try value(term), values.map(world.storage))
    case .choice(let cases, let otherwise):
      for (condition, result) in cases where truth(try value(condition)) == true { return try value(result) }
      return try otherwise.map(value) ?? .null
    case .coalesce(let first, let second):
      let found = try value(first)
      return found == .null ? try value(second) : found
    case .nullIf(let first, let second):
      let (first, second) = (try value(first), try value(second))
      return compared(first, .equal, second) == .integer(1) ? .null : first
    case .countAll(let filter):
      return .integer(Int64(try rows(group, filter).count))
    case .aggregate(let aggregate, let term, let isDistinct, let filter):
      var values = try rows(group, filter).map { try self.value(term, [$0]) }.filter { $0 != .null }
      if isDistinct { values = Array(Set(values)) }
      return aggregated(aggregate, values)
    case .ranking, .running: throw Unsupported()
    case .query(.exists, let query): return condition(try !rows(query, row).isEmpty)
    case .query(.scalar, let query): return try rows(query, row).first?[0] ?? .null
    case .query(.isIn(let needle), let query): return isIn(try value(needle), try rows(query, row).map { $0[0] })
    }
  }

  private func rows(_ group: [Rows], _ filter: RandomTerm?) throws -> [Rows] {
    guard let filter else { return group }
    return try group.filter { try isTrue(filter, [$0]) }
  }

  private func isIn(_ needle: DatabaseValue, _ values: [DatabaseValue]) -> DatabaseValue {
    if values.isEmpty { return condition(false) }
    if needle == .null { return .null }
    if values.contains(needle) { return condition(true) }
    return condition(values.contains(.null) ? nil : false)
  }

  private func computed(_ left: DatabaseValue, _ right: DatabaseValue, _ operation: (Int64, Int64) -> Int64)
    -> DatabaseValue
  {
    guard case .integer(let left) = left, case .integer(let right) = right else { return .null }
    return .integer(operation(left, right))
  }

  private func compared(
    _ left: DatabaseValue, _ comparison: RandomTerm.Comparison, _ right: DatabaseValue
  ) -> DatabaseValue {
    switch comparison {
    case .same: return condition(left == right)
    case .notSame: return condition(left != right)
    case _ where left == .null || right == .null: return .null
    case .equal: return condition(!isLess(left, right) && !isLess(right, left))
    case .notEqual: return condition(isLess(left, right) || isLess(right, left))
    case .less: return condition(isLess(left, right))
    case .lessOrEqual: return condition(!isLess(right, left))
    case .greater: return condition(isLess(right, left))
    case .greaterOrEqual: return condition(!isLess(left, right))
    }
  }

  private func isLess(_ left: DatabaseValue, _ right: DatabaseValue) -> Bool {
    switch (left, right) {
    case (.null, .null), (_, .null): false
    case (.null, _): true
    case (.integer(let left), .integer(let right)): left < right
    case (.integer(let left), .real(let right)): Double(left) < right
    case (.real(let left), .integer(let right)): left < Double(right)
    case (.real(let left), .real(let right)): left < right
    case (.text(let left), .text(let right)): left.utf8.lexicographicallyPrecedes(right.utf8)
    case (.text, _): false
    default: true
    }
  }

  private func aggregated(_ aggregate: RandomTerm.Aggregate, _ values: [DatabaseValue]) -> DatabaseValue {
    let sum = values.reduce(Int64(0)) { sum, value in
      if case .integer(let number) = value { sum + number } else { sum }
    }
    switch aggregate {
    case .count: return .integer(Int64(values.count))
    case .total: return .real(Double(sum))
    case .sum: return values.isEmpty ? .null : .integer(sum)
    case .avg: return values.isEmpty ? .null : .real(Double(sum) / Double(values.count))
    case .min: return values.min(by: isLess) ?? .null
    case .max: return values.max(by: isLess) ?? .null
    }
  }
}

extension RandomTerm {
  /// True for a term that turns many rows into one.
  var isAggregate: Bool {
    switch self {
    case .countAll, .aggregate: true
    case .plus(let left, _), .minus(let left, _), .times(let left, _), .comparison(_, let left, _),
      .coalesce(let left, _):
      left.isAggregate
    default: false
    }
  }
}
