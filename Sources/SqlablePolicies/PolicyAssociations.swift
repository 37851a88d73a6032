import SqlableCore
import SqlableDocuments
import SqlableQueries

extension DecodedIncluding {
  func restricted(by policy: StatementPolicy) throws -> DecodedIncluding {
    let levels = try levels.restricted(by: policy, at: read.operation.rawValue, under: read.tree.table)
    return DecodedIncluding(read: try read.restricted(by: policy), levels: levels)
  }
}

extension [AssociationLevel] {
  fileprivate func restricted(
    by policy: StatementPolicy, at documentPath: String, under table: TableInfo
  ) throws -> [AssociationLevel] {
    try enumerated().map { try $1.restricted(by: policy, at: "\(documentPath).including[\($0)]", under: table) }
  }
}

extension AssociationLevel {
  fileprivate func restricted(
    by policy: StatementPolicy, at documentPath: String, under table: TableInfo
  ) throws -> AssociationLevel {
    var level = self
    try locating(documentPath) { try level.restrict(by: policy, under: table) }
    level.childLevels = try childLevels.restricted(by: policy, at: documentPath, under: query.table)
    return level
  }

  private mutating func restrict(by policy: StatementPolicy, under table: TableInfo) throws {
    let check = PolicyCheck(policy)
    var checkedQuery = query
    if case .value(let aggregate) = form {
      try check.require(.aggregates)
      checkedQuery.clauses.results = [.term(aggregate)]
    }
    try check.check(checkedQuery, .used(.result))
    try checkPath(by: check, under: table)
    // Refuse aggregates and windows, which SQLite would refuse in these clauses when the query runs.
    let terms = query.clauses.order.map(\.expression) + [query.filter].compactMap(\.self)
    guard !terms.contains(where: \.hasAggregateOrWindow) else { throw DocumentAccess.refusal }
    // Add the tables of the path, so that the policy's conditions on these tables also restrict the rows.
    query.clauses.sources += path.links.map(\.source)
    query = try query.restricted(by: policy)
    if case .value(let aggregate) = form { form = .value(try aggregate.restricted(by: policy)) }
    query.clauses.sources.removeLast(path.links.count)
    guard form == .rows, !hasOneRow else { return }
    // If several parents match, the choice of the first parent must not depend on hidden data.
    if path.isToOne { query.takeFirst() } else { query.restrictLimit(to: policy.limits.rows) }
    query.orderFully()
  }

  /// True if the association references the key of the rows, so that at most one row matches.
  private var hasOneRow: Bool {
    guard path.links.isEmpty, case .referred(_, let key?) = path.step, !query.table.key.isEmpty else { return false }
    return Set(key.map(query.table.position(of:))) == Set(query.table.key)
  }

  /// Throws if the policy does not allow conditions on a foreign key or a referenced key of the path: the number of
  /// rows would reveal whether the keys match. The keys in returned rows are not checked, because the client can read
  /// them.
  private func checkPath(by check: PolicyCheck, under table: TableInfo) throws {
    var shown: [(columns: [Column], table: TableInfo)] = []
    let isCounted = if case .referring = path.step { form != .rows } else { false }
    for (index, step) in try resolvedSteps(under: table).enumerated() {
      if index > 0 { shown.append((step.earlierColumns, step.earlier.table)) }
      if index < path.links.count || isCounted { shown.append((step.nextColumns, step.next.table)) }
    }
    for (columns, table) in shown {
      _ = try check.policy.rules(of: table)
      for column in columns { try check.check(condition: SqlExpression(.column(ColumnReference(column)))) }
    }
  }
}

extension SqlExpression {
  fileprivate var hasAggregateOrWindow: Bool {
    if case .call(let call) = node, call.window != nil { return true }
    return hasAggregate || node.hasTerm(where: \.hasAggregateOrWindow)
  }
}
