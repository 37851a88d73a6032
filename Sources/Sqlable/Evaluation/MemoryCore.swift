/// A SELECT without combined queries, order and limit, or literal rows.
struct MemoryCore {
  let scope: MemoryScope
  let results: [MemoryTerm]
  let orders: [MemoryOrder]
  let isCorrelated: Bool
  let rows: (MemoryFrame?) throws -> [MemoryRow]

  var columns: [MemoryColumn] {
    results.map { MemoryColumn(affinity: $0.affinity, collation: $0.collation, isCollated: $0.isCollated) }
  }
}

extension MemoryPlanner {
  /// Makes a SELECT ready, with the values that order its rows.
  func core(_ clauses: SelectQuery.Clauses, order: [OrderTerm], outer: MemoryScope?) throws -> MemoryCore {
    let scope = MemoryScope(outer: outer)
    guard !clauses.sources.isEmpty else { return try literal(clauses, order, scope) }
    for source in clauses.sources { scope.sources.append(try self.source(source, in: clauses, scope)) }
    var conditions: [MemoryTerm] = []
    for (index, source) in clauses.sources.enumerated() {
      guard let condition = source.condition else { continue }
      scope.lastUsed = -1
      let term = try term(condition, scope)
      if scope.lastUsed <= index {
        scope.sources[index].condition = term
      } else if source.join.keepsEarlier || clauses.sources.contains(where: \.join.keepsOwn) {
        throw SqlError.invalidStatement("the condition of an outer join uses a table that is joined later")
          .at(table: source.table.name)
      } else {
        conditions.append(term)
      }
    }
    if let filter = clauses.filter { conditions.append(try term(filter, scope)) }
    let groups = try ordering.terms(clauses.groups, scope)
    scope.takesAggregates = true
    let results = try clauses.results.flatMap { try self.results($0, scope) }
    let having = try clauses.having.map { try term($0, scope) }
    let keys = try order.map { try key($0.expression, clauses, results, scope) }
    let plan = MemorySelect(
      sources: scope.sources, conditions: conditions, groups: groups, aggregates: scope.aggregates, having: having,
      results: results, keys: keys)
    let collations = results.map { $0.collation ?? .binary }
    return MemoryCore(
      scope: scope, results: results,
      orders: zip(order, keys).map { MemoryOrder(direction: $0.direction, collation: $1.collation ?? .binary) },
      isCorrelated: scope.isCorrelated
    ) { frame in
      let rows = try plan.rows(frame)
      return clauses.isDistinct ? MemoryPlanner.distinct(rows, collations) : rows
    }
  }

  /// A term of the order, or the result that the SQL names for it.
  private func key(
    _ term: SqlExpression, _ clauses: SelectQuery.Clauses, _ results: [MemoryTerm], _ scope: MemoryScope
  ) throws -> MemoryTerm {
    if let position = clauses.position(of: term) { return results[position - 1] }
    return try ordering.term(term, scope)
  }

  var ordering: MemoryPlanner {
    var planner = self
    planner.isOrdering = true
    return planner
  }

  private func literal(
    _ clauses: SelectQuery.Clauses, _ order: [OrderTerm], _ scope: MemoryScope
  ) throws -> MemoryCore {
    let rows = try clauses.rows.map { try terms($0, scope) }
    guard let first = rows.first, order.isEmpty else { throw MemoryPlanner.refusal("an order of literal rows") }
    return MemoryCore(scope: scope, results: first, orders: [], isCorrelated: scope.isCorrelated) { frame in
      let own = MemoryFrame(outer: frame)
      return try rows.map { row in MemoryRow(values: try row.map { try $0.value(own) }) }
    }
  }

  private func results(_ result: SelectQuery.Result, _ scope: MemoryScope) throws -> [MemoryTerm] {
    switch result {
    case .term(let term): return [try self.term(term, scope)]
    case .table(let table, _, _): throw MemoryPlanner.refusal("table \(table.name), which is not joined,")
    case .model(let index, let replaced):
      let source = scope.sources[index]
      let terms = try replaced.map { (source.source.table.position(of: $0.column), try term($0.term, scope)) }
      return source.columns.indices.map { position in
        if let (_, term) = terms.first(where: { $0.0 == position }) { return term }
        var term = MemoryTerm { $0.rows[index][position] }
        term.affinity = source.columns[position].affinity
        term.collation = source.columns[position].collation ?? .binary
        term.place = MemoryPlace(source: index, column: position)
        return term
      }
    }
  }

  // MARK: Tables

  private func source(
    _ source: SelectQuery.Source, in clauses: SelectQuery.Clauses, _ scope: MemoryScope
  ) throws -> MemorySource {
    if source.isSearched { throw MemoryPlanner.refusal("a full-text search") }
    switch source.kind {
    case .table:
      let (columns, rows) = try tables.contents(of: source.table)
      return MemorySource(source: source, columns: columns) { _ in rows }
    case .call(let call):
      guard case .call(let call) = call.node else { throw MemoryPlanner.refusal("a table-valued function") }
      throw MemoryPlanner.refusal("table-valued function \(call.name)")
    case .named:
      guard let recursion, recursion.name.isSameName(as: source.definedName ?? source.name) else {
        throw MemoryPlanner.refusal("query \(source.name), which is not defined here,")
      }
      return MemorySource(source: source, columns: recursion.columns) { _ in [recursion.row] }
    case .defined(let definition):
      let query = try defined(definition.clauses, source.definedName ?? source.name, outer: scope.outer)
      scope.isCorrelated = scope.isCorrelated || query.isCorrelated
      let rows = query.sharedRows
      return MemorySource(source: source, columns: query.columns) { try rows($0) }
    }
  }
}

/// The parts of a SELECT that make its rows.
struct MemorySelect {
  let sources: [MemorySource]
  let conditions: [MemoryTerm]
  let groups: [MemoryTerm]
  let aggregates: [MemoryAggregate]
  let having: MemoryTerm?
  let results: [MemoryTerm]
  let keys: [MemoryTerm]

  func rows(_ outer: MemoryFrame?) throws -> [MemoryRow] {
    let frame = MemoryFrame(rows: sources.map(\.nulls), outer: outer)
    let tables = try sources.map { try $0.rows(outer) }
    if !groups.isEmpty || !aggregates.isEmpty { return try grouped(frame, tables) }
    var rows: [MemoryRow] = []
    try join(frame, tables) { rows.append(try row(frame)) }
    return rows
  }

  private func row(_ frame: MemoryFrame) throws -> MemoryRow {
    MemoryRow(values: try results.map { try $0.value(frame) }, keys: try keys.map { try $0.value(frame) })
  }

  /// Calls `body` with each combination of rows that the conditions allow.
  private func join(_ frame: MemoryFrame, _ tables: [[[MemoryValue]]], _ body: () throws -> Void) throws {
    var matched: [Set<Int>] = Array(repeating: [], count: sources.count)
    try join(0, frame, tables, &matched, body)
    // What is kept without a match here, may match a row of a table that is joined later.
    for (index, source) in sources.enumerated() where source.source.join.keepsOwn {
      for earlier in 0..<index { frame.rows[earlier] = sources[earlier].nulls }
      for (place, row) in tables[index].enumerated() where !matched[index].contains(place) {
        frame.rows[index] = row
        try join(index + 1, frame, tables, &matched, body)
      }
    }
  }

  /// Combines the rows of the tables before `index`, which are in the frame, with those of the others. Adds to
  /// `matched` the places of the rows that match, for each table whose other rows are kept.
  private func join(
    _ index: Int, _ frame: MemoryFrame, _ tables: [[[MemoryValue]]], _ matched: inout [Set<Int>],
    _ body: () throws -> Void
  ) throws {
    guard index < sources.count else {
      for condition in conditions where try condition.value(frame).truth != true { return }
      return try body()
    }
    let source = sources[index]
    var isMatched = false
    for (place, row) in tables[index].enumerated() {
      frame.rows[index] = row
      if let condition = source.condition, try condition.value(frame).truth != true { continue }
      isMatched = true
      if source.source.join.keepsOwn { matched[index].insert(place) }
      try join(index + 1, frame, tables, &matched, body)
    }
    guard source.source.join.keepsEarlier, !isMatched else { return }
    frame.rows[index] = source.nulls
    try join(index + 1, frame, tables, &matched, body)
  }

  /// The rows of groups, in the order of each group's first row.
  private func grouped(_ frame: MemoryFrame, _ tables: [[[MemoryValue]]]) throws -> [MemoryRow] {
    let collations = groups.map { $0.collation ?? .binary }
    var places: [MemoryKey: Int] = [:]
    var found: [MemoryGroup] = []
    try join(frame, tables) {
      let key = MemoryKey(try groups.map { try $0.value(frame) }, collations)
      let place = places[key] ?? found.count
      if place == found.count {
        places[key] = place
        found.append(MemoryGroup(aggregates, frame.rows))
      }
      try found[place].add(frame)
    }
    // Without GROUP BY there is one row even of no rows.
    if groups.isEmpty, found.isEmpty { found.append(MemoryGroup(aggregates, sources.map(\.nulls))) }
    var rows: [MemoryRow] = []
    for group in found {
      frame.rows = group.rows
      frame.aggregates = try group.values()
      if let having, try having.value(frame).truth != true { continue }
      rows.append(try row(frame))
    }
    return rows
  }
}
