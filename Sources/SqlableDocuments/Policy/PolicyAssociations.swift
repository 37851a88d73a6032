import SqlableCore
import SqlableQueries

extension DecodedIncluding {
  func restricted(by policy: StatementPolicy) throws -> DecodedIncluding {
    DecodedIncluding(
      read: try read.restricted(by: policy), levels: try levels.restricted(by: policy, at: read.operation.rawValue))
  }
}

extension [AssociationLevel] {
  fileprivate func restricted(by policy: StatementPolicy, at documentPath: String) throws -> [AssociationLevel] {
    try enumerated().map { try $1.restricted(by: policy, at: "\(documentPath).including[\($0)]") }
  }
}

extension AssociationLevel {
  fileprivate func restricted(by policy: StatementPolicy, at documentPath: String) throws -> AssociationLevel {
    var level = self
    do { try level.restrict(by: policy) } catch var error as SqlError {
      error.documentPath = [documentPath, error.documentPath].compactMap { $0 }.joined(separator: ".")
      throw error
    }
    level.childLevels = try childLevels.restricted(by: policy, at: documentPath)
    return level
  }

  private mutating func restrict(by policy: StatementPolicy) throws {
    let check = PolicyCheck(policy)
    var checkedQuery = query
    if case .value(let aggregate) = form {
      try check.require(.aggregates)
      checkedQuery.clauses.results = [.term(aggregate)]
    }
    try check.check(checkedQuery, .used(.result))
    try checkPath(by: check)
    // SQLite would refuse aggregates and windows here in the run.
    let terms = query.clauses.order.map(\.expression) + [query.filter].compactMap(\.self)
    guard !terms.contains(where: \.hasAggregateOrWindow) else { throw DocumentAccess.refusal }
    // The run joins the link table, so the policy's condition on the link table also restricts the rows.
    if let link = path.link { query.clauses.sources.append(SelectQuery.Source(table: link)) }
    query = try query.restricted(by: policy)
    if case .value(let aggregate) = form { form = .value(try aggregate.restricted(by: policy)) }
    if path.link != nil { query.clauses.sources.removeLast() }
    guard form == .rows, !hasOneRow else { return }
    // If several parents match, the choice of the first parent must not depend on hidden data.
    if case .referred = path { query.takeFirst() } else { query.restrictLimit(to: policy.limits.rows) }
    query.orderFully()
  }

  /// True if the association references the key of the rows, so that at most one row matches.
  private var hasOneRow: Bool {
    guard case .referred(_, let key?) = path, !query.table.key.isEmpty else { return false }
    return Set(key.map(query.table.position(of:))) == Set(query.table.key)
  }

  /// Throws if the number of rows reveals columns that may not be compared. Complete rows are readable anyway.
  private func checkPath(by check: PolicyCheck) throws {
    var shown: [(ColumnReference, TableInfo)] = []
    switch path {
    case .linked(let link, let from, let to): shown = (from + to).map { ($0, link) }
    case .referring(let columns, _) where form != .rows: shown = columns.map { ($0, query.table) }
    case .referring, .referred: break
    }
    for (column, table) in shown {
      _ = try check.policy.rules(of: table)
      try check.check(condition: SqlExpression(.column(ColumnReference(table.requiredColumn(column)))))
    }
  }
}

extension SqlExpression {
  fileprivate var hasAggregateOrWindow: Bool {
    if case .call(let call) = node, call.window != nil { return true }
    return hasAggregate || node.hasTerm(where: \.hasAggregateOrWindow)
  }
}
