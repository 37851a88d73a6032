/// A query that is ready to be evaluated.
struct MemoryQuery {
  /// The columns of the result.
  var columns: [MemoryColumn]
  /// Whether it uses columns of an enclosing query.
  let isCorrelated: Bool
  /// The rows, given those of the enclosing query.
  let rows: (MemoryFrame?) throws -> [[MemoryValue]]

  /// The rows, computed once if no enclosing query affects them.
  var sharedRows: (MemoryFrame?) throws -> [[MemoryValue]] {
    if isCorrelated { return rows }
    var known: [[MemoryValue]]?
    return { frame in
      if let known { return known }
      let found = try rows(frame)
      known = found
      return found
    }
  }
}

/// A row of a result, with the values that order it.
struct MemoryRow {
  var values: [MemoryValue]
  var keys: [MemoryValue] = []
}

/// A value that orders rows.
struct MemoryOrder {
  let direction: OrderTerm.Direction
  let collation: MemoryCollation

  /// Whether a value comes before another one; nil if they are equal.
  func puts(_ left: MemoryValue, before right: MemoryValue) -> Bool? {
    if left.isNull || right.isNull {
      if left.isNull, right.isNull { return nil }
      return left.isNull == (direction == .asc || direction == .descNullsFirst)
    }
    let order = MemoryValue.compare(left, right, collation)
    return order == 0 ? nil : (order < 0) == direction.isUpwards
  }

  /// The rows in order. Those that compare as equal keep theirs.
  static func sorted(_ rows: [MemoryRow], by orders: [MemoryOrder]) -> [MemoryRow] {
    if orders.isEmpty { return rows }
    return rows.enumerated().sorted { left, right in
      for (index, order) in orders.enumerated() {
        if let isBefore = order.puts(left.element.keys[index], before: right.element.keys[index]) { return isBefore }
      }
      return left.offset < right.offset
    }.map(\.element)
  }
}

extension MemoryPlanner {
  /// Makes a query ready: its named queries, its parts, and its order and limit.
  func query(_ clauses: SelectQuery.Clauses, outer: MemoryScope?) throws -> MemoryQuery {
    if clauses.limit?.term ?? clauses.offset?.term != nil { throw MemoryPlanner.refusal("a limit that is a term") }
    guard !clauses.compounds.isEmpty else { return try single(clauses, outer: outer) }
    var first = clauses
    (first.order, first.limit, first.offset, first.compounds) = ([], nil, nil, [])
    let operations = clauses.compounds.map(\.operation)
    var parts = [first] + clauses.compounds.map(\.query.clauses)
    // SQLite drops the DISTINCT of a part whose rows it makes distinct anyway, here or after a UNION ALL with others:
    // so the last of equal rows stays.
    for index in parts.indices
    where !parts[index].isNested && operations[max(index - 1, 0)...].contains(where: { $0 != .unionAll }) {
      parts[index].isDistinct = false
    }
    let cores = try parts.map { try $0.isNested ? nested($0, outer: outer) : core($0, order: [], outer: outer) }
    let collations = collations(of: cores)
    let (orders, places) = try order(clauses, parts, cores, collations)
    // Not the cores: the scope of an enclosing query can hold this one.
    let rowsOfParts = cores.map(\.rows)
    return MemoryQuery(
      columns: cores[0].columns, isCorrelated: cores.contains(where: \.isCorrelated)
    ) { frame in
      var rows = try rowsOfParts[0](frame)
      for (operation, part) in zip(operations, rowsOfParts.dropFirst()) {
        rows = MemoryPlanner.combined(rows, operation, try part(frame), collations)
      }
      for index in rows.indices { rows[index].keys = places.map { rows[index].values[$0] } }
      return MemoryPlanner.limited(MemoryOrder.sorted(rows, by: orders), clauses).map(\.values)
    }
  }

  /// A part that is itself combined, ordered or limited. As in SQLite, it is not one of a recursion.
  private func nested(_ clauses: SelectQuery.Clauses, outer: MemoryScope?) throws -> MemoryCore {
    let query = try MemoryPlanner(tables: tables).query(clauses, outer: outer)
    let results = query.columns.map { column in
      var term = MemoryTerm { _ in .null }
      (term.affinity, term.collation, term.isCollated) = (column.affinity, column.collation, column.isCollated)
      return term
    }
    return MemoryCore(
      scope: MemoryScope(outer: outer), results: results, orders: [], isCorrelated: query.isCorrelated
    ) { frame in
      try query.rows(frame).map { MemoryRow(values: $0) }
    }
  }

  private func single(_ clauses: SelectQuery.Clauses, outer: MemoryScope?) throws -> MemoryQuery {
    let core = try core(clauses, order: clauses.order, outer: outer)
    let (rows, orders) = (core.rows, core.orders)
    return MemoryQuery(columns: core.columns, isCorrelated: core.isCorrelated) { frame in
      MemoryPlanner.limited(MemoryOrder.sorted(try rows(frame), by: orders), clauses).map(\.values)
    }
  }

  static func limited(_ rows: [MemoryRow], _ clauses: SelectQuery.Clauses) -> some Sequence<MemoryRow> {
    rows.dropFirst(clauses.offset?.number ?? 0).prefix(clauses.limit?.number ?? .max)
  }

  // MARK: Combined queries

  /// The collations by which rows of combined queries are equal: of each column, the first that a part has.
  func collations(of cores: [MemoryCore]) -> [MemoryCollation] {
    cores[0].columns.indices.map { column in
      cores.lazy.compactMap { $0.columns[column].collation }.first ?? .binary
    }
  }

  private static func combined(
    _ left: [MemoryRow], _ operation: SelectQuery.Compound.Operator, _ right: [MemoryRow],
    _ collations: [MemoryCollation]
  ) -> [MemoryRow] {
    switch operation {
    case .unionAll: return left + right
    case .union: return distinct(left + right, collations, keepsLast: true)
    case .intersect, .except:
      let known = Set(right.map { MemoryKey($0.values, collations) })
      let kept = left.filter { known.contains(MemoryKey($0.values, collations)) == (operation == .intersect) }
      return distinct(kept, collations, keepsLast: true)
    }
  }

  /// The rows without those that equal an earlier one. Of equal rows, SQLite stores the last one when it combines
  /// queries, and the first one for DISTINCT.
  static func distinct(
    _ rows: [MemoryRow], _ collations: [MemoryCollation], keepsLast: Bool = false
  ) -> [MemoryRow] {
    var places: [MemoryKey: Int] = [:]
    var found: [MemoryRow] = []
    for row in rows {
      let key = MemoryKey(row.values, collations)
      if let place = places[key] {
        if keepsLast { found[place] = row }
      } else {
        places[key] = found.count
        found.append(row)
      }
    }
    return found
  }

  /// The order of combined queries, by the places of columns in the result.
  func order(
    _ clauses: SelectQuery.Clauses, _ parts: [SelectQuery.Clauses], _ cores: [MemoryCore],
    _ collations: [MemoryCollation]
  ) throws -> ([MemoryOrder], places: [Int]) {
    var (orders, places): ([MemoryOrder], [Int]) = ([], [])
    for term in clauses.order {
      var (expression, collation): (SqlExpression, MemoryCollation?) = (term.expression, nil)
      var place = clauses.position(of: expression).map { $0 - 1 }
      if place == nil, case .collate(let inner, let named) = expression.node {
        (expression, collation) = (inner, try MemoryCollation(named))
        place = clauses.position(of: expression).map { $0 - 1 }
      }
      guard let place = place ?? find(expression, in: parts, cores) else {
        throw SqlError.invalidStatement("combined queries can only be ordered by columns of their result")
      }
      orders.append(MemoryOrder(direction: term.direction, collation: collation ?? collations[place]))
      places.append(place)
    }
    return (orders, places)
  }

  /// The place in the result of a term that one of the parts selects.
  private func find(_ term: SqlExpression, in parts: [SelectQuery.Clauses], _ cores: [MemoryCore]) -> Int? {
    for (part, core) in zip(parts, cores) where !part.sources.isEmpty {
      guard let own = try? self.term(term, core.scope).place else { continue }
      if let place = core.results.firstIndex(where: { $0.place == own }) { return place }
    }
    for part in parts {
      if let place = part.results.firstIndex(of: .term(term)) { return place }
    }
    return nil
  }
}
