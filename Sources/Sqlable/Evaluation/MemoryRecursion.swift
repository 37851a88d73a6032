/// A recursive query that is being evaluated.
final class MemoryRecursion {
  let name: String
  let columns: [MemoryColumn]
  /// The row that its recursive parts see.
  var row: [MemoryValue] = []

  /// How many rows a recursive query may find. SQLite stops when the query that reads them has enough; this does not.
  static let maximum = 1_000_000

  init(_ name: String, _ columns: [MemoryColumn]) {
    self.name = name
    self.columns = columns
  }
}

extension MemoryPlanner {
  /// Makes the definition of a named query ready.
  func defined(_ clauses: SelectQuery.Clauses, _ name: String, outer: MemoryScope?) throws -> MemoryQuery {
    func refersToItself(_ part: SelectQuery.Clauses) -> Bool {
      part.sources.count { $0.kind == .named && $0.definedName?.isSameName(as: name) == true } == 1
    }
    var planner = MemoryPlanner(tables: tables)
    guard let first = clauses.compounds.firstIndex(where: { refersToItself($0.query.clauses) }) else {
      return try planner.query(clauses, outer: outer)
    }
    if clauses.limit?.term ?? clauses.offset?.term != nil { throw MemoryPlanner.refusal("a limit that is a term") }
    let steps = clauses.compounds[first...]
    guard steps.allSatisfy({ refersToItself($0.query.clauses) && [.union, .unionAll].contains($0.operation) }) else {
      throw SqlError.invalidStatement(
        "the recursive parts of query \(name) must be the last ones, by UNION or UNION ALL")
    }
    var start = clauses
    (start.order, start.limit, start.offset) = ([], nil, nil)
    start.compounds = Array(clauses.compounds[..<first])
    let initial = try planner.query(start, outer: outer)
    let recursion = MemoryRecursion(name, initial.columns)
    planner.recursion = recursion
    let parts = steps.map(\.query.clauses)
    let cores = try parts.map { try planner.core($0, order: [], outer: outer) }
    guard cores.allSatisfy(\.scope.aggregates.isEmpty), parts.allSatisfy(\.groups.isEmpty) else {
      throw SqlError.invalidStatement("a recursive part of query \(name) has groups or an aggregate")
    }
    var whole = start
    (whole.compounds, whole.order) = ([], [])
    let all = [try planner.core(whole, order: [], outer: outer)] + cores
    let collations = collations(of: all)
    let (orders, places) = try order(clauses, [whole] + parts, all, collations)
    let isDistinct = steps.last?.operation == .union
    let nextRows = cores.map(\.rows)
    return MemoryQuery(
      columns: initial.columns, isCorrelated: initial.isCorrelated || cores.contains(where: \.isCorrelated)
    ) { frame in
      var queue = MemoryQueue(orders, places, isDistinct ? collations : nil)
      for row in try initial.rows(frame) { queue.add(row) }
      var found: [[MemoryValue]] = []
      let end = clauses.limit?.number.map { $0.addingReportingOverflow(clauses.offset?.number ?? 0) }
      while let row = queue.next() {
        if let end, !end.overflow, found.count >= end.partialValue { break }
        guard found.count < MemoryRecursion.maximum else {
          throw SqlError.invalidStatement("query \(name) found more than \(MemoryRecursion.maximum) rows in memory")
        }
        found.append(row)
        recursion.row = row
        for next in nextRows {
          for row in try next(frame) { queue.add(row.values) }
        }
      }
      return Array(found.dropFirst(clauses.offset?.number ?? 0).prefix(clauses.limit?.number ?? .max))
    }
  }
}

/// The rows that a recursive query has not yet returned.
private struct MemoryQueue {
  private let orders: [MemoryOrder]
  private let places: [Int]
  /// The collations by which a row is found again; nil if each is kept.
  private let collations: [MemoryCollation]?
  private var rows: [[MemoryValue]] = []
  private var start = 0
  private var known: Set<MemoryKey> = []

  init(_ orders: [MemoryOrder], _ places: [Int], _ collations: [MemoryCollation]?) {
    (self.orders, self.places, self.collations) = (orders, places, collations)
  }

  mutating func add(_ row: [MemoryValue]) {
    if let collations, !known.insert(MemoryKey(row, collations)).inserted { return }
    rows.append(row)
  }

  /// The first row, or with an order the least.
  mutating func next() -> [MemoryValue]? {
    guard start < rows.count else { return nil }
    if !orders.isEmpty {
      let least = rows.indices[start...].min { isBefore(rows[$0], rows[$1]) } ?? start
      // The others keep their order.
      let row = rows.remove(at: least)
      return row
    }
    start += 1
    return rows[start - 1]
  }

  private func isBefore(_ left: [MemoryValue], _ right: [MemoryValue]) -> Bool {
    for (order, place) in zip(orders, places) {
      if let isBefore = order.puts(left[place], before: right[place]) { return isBefore }
    }
    return false
  }
}
