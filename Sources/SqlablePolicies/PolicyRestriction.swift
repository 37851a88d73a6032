// A policy's restrictions: conditions on tables, a limit, and an order that does not depend on hidden data.

import SqlableCore
import SqlableDocuments

extension DecodedStatement {
  func restricted(by policy: StatementPolicy) throws -> DecodedStatement {
    try locating(operation.rawValue) { DecodedStatement(operation, try restricted(PolicyCheck(policy)), rows) }
  }

  private func restricted(_ check: PolicyCheck) throws -> StatementTree {
    let policy = check.policy
    switch tree {
    case .select(let query):
      try check.check(query, query.form == .rows ? .used(.result) : .existence)
      var restricted = try query.restricted(by: policy)
      if query.form == .rows {
        restricted.restrictLimit(to: policy.limits.rows)
        restricted.orderFully()
      }
      return .select(restricted)
    case .insert(let query): return .insert(try checked(query, check))
    case .update(var query):
      // Refuse an update from other tables, because it could store their values, and so reveal values that the policy
      // hides.
      guard query.rest.value.sources.isEmpty else { throw DocumentAccess.refusal(at: "from") }
      if let hint = query.rest.value.indexHint { throw hint.refusal }
      let rules = try policy.rules(of: query.table)
      try check.at("set") {
        try check.check(setting: query.rest.value.assignments.map(\.column), of: rules)
        for assignment in query.rest.value.assignments { try check.check(assignment.value, .result) }
      }
      try checkWritten(query.rest.value.columns, of: rules, check)
      try check.check(query.rest.value.returned, of: rules)
      guard query.conflict == nil || query.conflict == .abort else { throw DocumentAccess.refusal(at: "onConflict") }
      // Override ON CONFLICT REPLACE of a constraint, which could replace rows that the policy hides.
      if query.table.ignoresOrReplaces { query.conflict = .abort }
      query.selection = try query.selection.restricted(by: rules, check, query.extent)
      if !query.rest.value.assignments.isEmpty {
        query.rest.value.assignments = try query.rest.value.assignments.map {
          Assignment(column: $0.column, value: try $0.value.restricted(by: policy))
        }
      }
      if let returned = query.rest.value.returned { query.rest.value.returned = try returned.restricted(by: policy) }
      return .update(query)
    case .delete(var query):
      if let hint = query.rest.value.indexHint { throw hint.refusal }
      let rules = try policy.rules(of: query.table)
      try check.check(query.rest.value.returned, of: rules)
      query.selection = try query.selection.restricted(by: rules, check, query.extent)
      if let returned = query.rest.value.returned { query.rest.value.returned = try returned.restricted(by: policy) }
      return .delete(query)
    }
  }

  /// Checks that the policy allows the columns that the document's insert or update writes.
  private func checkWritten(_ columns: [ColumnReference]?, of rules: TablePolicy, _ check: PolicyCheck) throws {
    let isBatch = if case .insert(let query) = tree { query.form == .rows } else { false }
    let key = columns != nil ? "columns" : isBatch ? "rows" : "row"
    try check.at(key) { try check.check(setting: columns ?? written(of: rules), of: rules) }
  }

  /// Returns the columns that the document's rows set. For an update, the key columns are left out: they identify
  /// the row.
  private func written(of rules: TablePolicy) -> [ColumnReference] {
    let names = Set(rows.flatMap { $0.values.keys.compactMap(\.wrappedValue) })
    let isUpdate = if case .update = tree { true } else { false }
    return names.compactMap { name in
      let isKey = rules.table.position(named: name).map(rules.table.key.contains) == true
      return isUpdate && isKey ? nil : .named(name)
    }
  }

  private func checked(_ query: InsertQuery, _ check: PolicyCheck) throws -> InsertQuery {
    var query = query
    let rules = try check.policy.rules(of: query.table)
    let rest = query.rest.value
    // Refuse a save, because a document could store or replace rows that the policy hides.
    guard query.form != .save else { throw DocumentAccess.refusal }
    guard rules.condition == nil else { throw DocumentAccess.refusal(at: "into") }
    guard query.form != .query else { throw DocumentAccess.refusal(at: "query") }
    guard rest.upserts.isEmpty else { throw DocumentAccess.refusal(at: "upsert") }
    guard query.conflict == nil || query.conflict == .abort else { throw DocumentAccess.refusal(at: "onConflict") }
    if query.table.ignoresOrReplaces { query.conflict = .abort }
    // Check every column for which the document's rows give a value, even if the insert does not write the column.
    try checkWritten(nil, of: rules, check)
    if let columns = rest.columns { try checkWritten(columns, of: rules, check) }
    try check.check(rest.returned, of: rules)
    if let returned = rest.returned { query.rest.value.returned = try returned.restricted(by: check.policy) }
    return query
  }
}

extension Returned {
  fileprivate func restricted(by policy: StatementPolicy) throws -> Returned {
    guard case .terms(let terms) = self else { return self }
    return .terms(try terms.map { try $0.restricted(by: policy) })
  }
}

extension RowSelection {
  fileprivate func restricted(
    by rules: TablePolicy, _ check: PolicyCheck, _ extent: ChangeExtent
  ) throws -> RowSelection {
    var selection = self
    try selection.restrict(by: rules, check, extent)
    return selection
  }

  private mutating func restrict(by rules: TablePolicy, _ check: PolicyCheck, _ extent: ChangeExtent) throws {
    if let filter { try check.at("where") { try check.check(condition: filter) } }
    try check.at("orderBy") { for term in rest.value.order { try check.check(term.expression, .order) } }
    if !rest.isDefault {
      try rest.value.restrictNumbers(check)
      rest.value.order = try rest.value.order.map {
        OrderTerm(expression: try $0.expression.restricted(by: check.policy), direction: $0.direction)
      }
      if isLimited { rest.value.order.complete(with: rules.table.key.map { rules.table.columns[$0].expression }) }
    }
    guard let condition = rules.condition else {
      filter = try filter?.restricted(by: check.policy)
      return
    }
    // Refuse an update or delete of all rows, because it can't have the policy's condition.
    guard extent != .all else { throw DocumentAccess.refusal(at: "all") }
    // Unless it changes one row or has a limit, an update or delete without its own condition is refused later. Don't
    // add the policy's condition to such a statement, because the statement would then be valid.
    guard let restrictedFilter = try filter?.restricted(by: check.policy) else {
      if extent == .row || isLimited { filter = condition }
      return
    }
    filter =
      restrictedFilter.mayThrow
      ? restrictedFilter.withoutConstants.guarded(by: condition.withoutConstants) : condition.and(restrictedFilter)
  }
}

extension SelectQuery {
  fileprivate func restrictedPart(by policy: StatementPolicy, isFirstRow: Bool = false) throws -> SelectQuery {
    var query = try restricted(by: policy)
    if isFirstRow || query.isLimited { query.orderFully() }
    return query
  }

  func restricted(by policy: StatementPolicy) throws -> SelectQuery {
    var query = self
    try query.clauses.restrict(by: policy)
    return query.withFences
  }
}

extension SelectQuery.Clauses {
  fileprivate mutating func restrict(by policy: StatementPolicy) throws {
    if policy.allowsQueriesInQueries {
      try mapTerms({ try $0.restricted(by: policy) }, { try $0.restrictedPart(by: policy) })
    }
    try addConditions(of: policy)
  }

  /// Adds the policy's condition on each table to the filter, or, for a left-joined table, to the ON of its join. So
  /// the join still keeps rows without a match.
  private mutating func addConditions(of policy: StatementPolicy) throws {
    // With a right or full join, refuse all conditions: the join would return hidden rows as rows without a match.
    if sources.contains(where: \.join.keepsJoined) {
      for index in sources.indices where try condition(ofSource: index, policy) != nil { throw DocumentAccess.refusal }
      return
    }
    var tableConditions = try sources.indices.map { try condition(ofSource: $0, policy) }
    guard tableConditions.contains(where: { $0 != nil }) else { return }
    if hasThrowingConditions {
      tableConditions = tableConditions.map { $0?.withoutConstants }
      for index in sources.indices { sources[index].condition = sources[index].condition?.withoutConstants }
      filter = filter?.withoutConstants
    }
    // `all` combines the policy's conditions on the tables that are not left-joined. `visible` is true if the policy
    // hides none of the rows that were joined so far.
    var (all, visible): (SqlExpression?, SqlExpression?)
    for index in sources.indices {
      let isOptional = index > 0 && sources[index].join == .left
      let visibleBefore = visible
      if let condition = tableConditions[index] {
        if !isOptional { all.and(condition) }
        visible.and(try isOptional ? condition.or(isMissing(index, policy)) : condition)
      }
      guard index > 0 else { continue }
      var conditions = isOptional ? visibleBefore : visible
      if isOptional, let condition = tableConditions[index] { conditions.and(condition) }
      guard let conditions else { continue }
      if let joined = sources[index].condition {
        if isOptional || joined.mayThrow { sources[index].condition = joined.guarded(by: conditions) }
      } else if isOptional {
        sources[index].condition = conditions
      }
    }
    filter = filter.map { $0.guarded(by: all, checking: visible) } ?? all
    // SQLite might move a condition on groups from HAVING to WHERE.
    if movesThrowingConditions { having = having?.guarded(by: nil, checking: visible) }
  }

  /// True if a condition can throw, and SQLite might evaluate that condition before the policy's conditions.
  private var hasThrowingConditions: Bool {
    filter?.mayThrow == true || movesThrowingConditions || sources.contains { $0.condition?.mayThrow == true }
  }

  /// True if HAVING contains a condition that can throw and has no aggregate. SQLite might move such a condition to
  /// WHERE.
  private var movesThrowingConditions: Bool {
    !groups.isEmpty && having?.conditions.contains { $0.mayThrow && !$0.hasAggregate } == true
  }

  /// Returns a condition that is true if a left join found no row of a table: the key is NULL. For a table without a
  /// key, all used columns are tested.
  private func isMissing(_ index: Int, _ policy: StatementPolicy) throws -> SqlExpression {
    let rules = try policy.rules(of: sources[index].table)
    let key = rules.table.key
    let positions = key.isEmpty ? rules.table.columns.indices.filter(rules.isUsed) : key
    return .all(positions.map { SqlExpression(.isNull(sources[index].term($0))) })
  }

  private func condition(ofSource index: Int, _ policy: StatementPolicy) throws -> SqlExpression? {
    let source = sources[index]
    guard case .table = source.kind else { return nil }
    let rules = try policy.rules(of: source.table)
    return rules.condition(alias: source.alias)
  }
}

extension TablePolicy {
  /// Returns the policy's condition on the table's rows, with columns qualified by `alias`; nil without a condition.
  fileprivate func condition(alias: String?) -> SqlExpression? {
    guard let alias else { return condition }
    return condition?.replacing(table) { SqlExpression(.qualified(alias: alias, ColumnReference(table.columns[$0]))) }
  }

  /// True if a statement can read a column, because a document can use the column or the policy's condition reads it.
  fileprivate func isUsed(_ position: Int) -> Bool {
    var isUsed = knows(position)
    condition?.visit(
      { if case .column(let column) = $0.node, table.position(of: column) == position { isUsed = true } }, { _ in })
    return isUsed
  }
}

extension SqlExpression {
  func restricted(by policy: StatementPolicy) throws -> SqlExpression {
    guard hasQuery else { return self }
    if case .special(let special) = node, case .fullText(let term) = special.form, case .matches(let alias) = term.form
    {
      guard let rules = policy.tables.first(where: { $0.table.hasSameModel(as: term.table) }) else {
        throw DocumentAccess.refusal
      }
      return matching(alias, rules)
    }
    var isScalar = false
    if case .query(let query) = node { isScalar = query.kind == .scalar }
    return try mapped(
      { try $0.restricted(by: policy) }, { try $0.restrictedPart(by: policy, isFirstRow: isScalar) })
  }

  /// Returns the condition `matches` for visible rows, and NULL for other rows. For a missing row after a left join,
  /// `matches` is `NULL IN (SELECT …)`, which would reveal whether any row matches.
  private func matching(_ alias: String?, _ rules: TablePolicy) -> SqlExpression {
    guard let condition = rules.condition(alias: alias) else { return self }
    return .special(.choice, condition.withoutConstants, self)
  }

  private var hasQuery: Bool {
    switch node {
    case .query: return true
    case .special(let special):
      if case .fullText(let term) = special.form, case .matches = term.form { return true }
    default: break
    }
    return node.hasTerm(where: \.hasQuery)
  }
}

extension RowSelection.Clauses {
  /// Checks the limit and the offset. If the limit is a term, the policy's limit caps the value of the term.
  fileprivate mutating func restrictNumbers(_ check: PolicyCheck) throws {
    let limits = check.policy.limits
    try check.check(limit: limit?.number, offset: offset?.number)
    guard offset?.term == nil else { throw DocumentAccess.refusal(at: "offset") }
    guard let term = limit?.term else { return }
    try check.at("limit") { try check.check(term, .result) }
    let restricted = try term.restricted(by: check.policy)
    limit = .term(.call(.scalarMin, [restricted, SqlExpression(limits.rows)]))
  }
}
