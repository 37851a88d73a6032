// What a policy adds to a statement: the conditions of its tables, a limit, and an order that does not depend on what
// it hides.

extension DecodedStatement {
  /// The statement as the policy allows it. Throws if it does not.
  func restricted(by policy: StatementPolicy) throws -> DecodedStatement {
    let check = PolicyCheck(policy)
    switch tree {
    case .select(let query):
      do { try check.check(query, query.form == .rows ? .used(.result) : .existence) } catch var error as SqlError {
        error.documentPath = [operation.rawValue, error.documentPath].compactMap { $0 }.joined(separator: ".")
        throw error
      }
      var restricted = try query.restricted(by: policy)
      if query.form == .rows {
        restricted.restrictLimit(to: policy.limits.rows)
        restricted.orderFully()
      }
      return DecodedStatement(operation, .select(restricted), rows)
    case .insert(let query): return DecodedStatement(operation, .insert(try checked(query, check)), rows)
    case .update(var query):
      // Rows of other tables could show, by what is stored, what a document may not see.
      guard query.rest.value.sources.isEmpty, query.rest.value.indexHint == nil else { throw DocumentAccess.refusal }
      let rules = try check.policy.rules(of: query.table)
      try check.check(setting: query.rest.value.assignments.map(\.column), of: rules)
      try check.check(setting: written(query.rest.value.columns, of: rules), of: rules)
      for assignment in query.rest.value.assignments { try check.check(assignment.value, .result) }
      try check.check(query.rest.value.returned, of: rules)
      guard query.conflict == nil || query.conflict == .abort else { throw DocumentAccess.refusal }
      // A constraint could replace rows that are not the document's to see.
      if query.table.ignoresOrReplaces { query.conflict = .abort }
      try query.selection.restrict(by: rules, check, query.extent)
      query.rest.value.assignments = try query.rest.value.assignments.map {
        Assignment(column: $0.column, value: try $0.value.restricted(by: policy))
      }
      if let returned = query.rest.value.returned { query.rest.value.returned = try returned.restricted(by: policy) }
      return DecodedStatement(operation, .update(query), rows)
    case .delete(var query):
      guard query.rest.value.indexHint == nil else { throw DocumentAccess.refusal }
      let rules = try check.policy.rules(of: query.table)
      try check.check(query.rest.value.returned, of: rules)
      try query.selection.restrict(by: rules, check, query.extent)
      if let returned = query.rest.value.returned { query.rest.value.returned = try returned.restricted(by: policy) }
      return DecodedStatement(operation, .delete(query), rows)
    }
  }

  private init(_ operation: DocumentOperation, _ tree: StatementTree, _ rows: [StoredRow]) {
    (self.operation, self.tree, self.rows) = (operation, tree, rows)
  }

  /// The columns that the rows of an insert or update give values, besides the key by which an update finds its row.
  private func written(_ columns: [ColumnReference]?, of rules: TableRules) -> [ColumnReference] {
    if let columns { return columns }
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
    // A document could store rows, or replace some, that are not its own to see.
    guard rules.condition == nil, query.form != .query, query.form != .save, rest.upserts.isEmpty,
      query.conflict == nil || query.conflict == .abort
    else { throw DocumentAccess.refusal }
    if query.table.ignoresOrReplaces { query.conflict = .abort }
    // Also the values of columns that it does not write: a document has no other use for them.
    try check.check(setting: written(nil, of: rules) + (rest.columns ?? []), of: rules)
    try check.check(rest.returned, of: rules)
    if let returned = rest.returned { query.rest.value.returned = try returned.restricted(by: check.policy) }
    return query
  }
}

extension Returned {
  /// The same with the conditions of a policy in its subqueries, which may read other tables and rows.
  fileprivate func restricted(by policy: StatementPolicy) throws -> Returned {
    guard case .terms(let terms) = self else { return self }
    return .terms(try terms.map { try $0.restricted(by: policy) })
  }
}

extension RowSelection {
  fileprivate mutating func restrict(by rules: TableRules, _ check: PolicyCheck, _ extent: ChangeExtent) throws {
    if let filter { try check.check(condition: filter) }
    for term in rest.value.order { try check.check(term.expression, .order) }
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
    // A change of all rows can't have a condition.
    guard extent != .all else { throw DocumentAccess.refusal }
    // A change without a condition of its own must stay one that is refused.
    guard let own = try filter?.restricted(by: check.policy) else {
      if extent == .row || isLimited { filter = condition }
      return
    }
    filter = own.guarded(by: condition)
  }
}

extension SelectQuery {
  /// The same for a query in another one, of which only the first row may count.
  fileprivate func restrictedPart(by policy: StatementPolicy, isFirstRow: Bool = false) throws -> SelectQuery {
    var query = try restricted(by: policy)
    if isFirstRow || query.isLimited { query.orderFully() }
    return query
  }

  /// The query with the conditions of its tables, also of those in its subqueries.
  func restricted(by policy: StatementPolicy) throws -> SelectQuery {
    var query = self
    try query.clauses.restrict(by: policy)
    return query
  }
}

extension SelectQuery.Clauses {
  fileprivate mutating func restrict(by policy: StatementPolicy) throws {
    if policy.allowsQueriesInQueries {
      try mapTerms({ try $0.restricted(by: policy) }, { try $0.restrictedPart(by: policy) })
    }
    try addConditions(of: policy)
  }

  /// Adds the conditions of the tables: to the filter, or for a left join, which keeps the other rows, to its own.
  private mutating func addConditions(of policy: StatementPolicy) throws {
    // A right or full join would keep rows that a condition of its own hides, as rows without a match.
    if sources.contains(where: \.join.keepsOwn) {
      for index in sources.indices where try condition(ofSource: index, policy) != nil { throw DocumentAccess.refusal }
      return
    }
    var all: SqlExpression?
    for index in sources.indices where index == 0 || sources[index].join != .left {
      if let condition = try condition(ofSource: index, policy) { all.and(condition) }
    }
    for index in sources.indices.dropFirst() {
      var conditions = all
      if sources[index].join == .left, let own = try condition(ofSource: index, policy) { conditions.and(own) }
      guard let conditions else { continue }
      if let joined = sources[index].condition {
        let isGuarded = sources[index].join == .left || joined.mayThrow
        if isGuarded { sources[index].condition = joined.guarded(by: conditions) }
      } else if sources[index].join == .left {
        sources[index].condition = conditions
      }
    }
    if let all { filter = filter?.guarded(by: all) ?? all }
  }

  /// The condition of a policy on the rows of a table, for the name that it has here.
  private func condition(ofSource index: Int, _ policy: StatementPolicy) throws -> SqlExpression? {
    let source = sources[index]
    guard case .table = source.kind else { return nil }
    let rules = try policy.rules(of: source.table)
    guard let alias = source.alias else { return rules.condition }
    return rules.condition?.replacing(rules.table) {
      SqlExpression(.qualified(alias: alias, ColumnReference(rules.table.columns[$0])))
    }
  }
}

extension SqlExpression {
  /// The term with the conditions of a policy in its subqueries.
  func restricted(by policy: StatementPolicy) throws -> SqlExpression {
    guard policy.features.contains(.subqueries), hasQuery else { return self }
    var isScalar = false
    if case .query(let query) = node { isScalar = query.kind == .scalar }
    return try mapped(
      { try $0.restricted(by: policy) }, { try $0.restrictedPart(by: policy, isFirstRow: isScalar) })
  }

  /// The condition together with one that must hold first. SQLite evaluates conditions in any order, and some terms
  /// throw for some values: a row that the first condition hides must not show by an error.
  ///
  /// The search of `search(_:)` stays outside of the CASE, because FTS5 knows it only as a condition of the query. Its
  /// words decide whether it throws, not the rows.
  fileprivate func guarded(by condition: SqlExpression) -> SqlExpression {
    guard mayThrow else { return condition.and(self) }
    let (searches, others) = (conditions.filter(\.isSearch), conditions.filter { !$0.isSearch })
    let first = searches.reduce(condition) { $0.and($1) }
    if others.isEmpty { return first }
    let rest = searches.isEmpty ? self : .all(others)
    return first.and(
      rest.mayThrow ? .special(.choice, condition, rest, SqlExpression(DatabaseValue.integer(0))) : rest)
  }

  /// The conditions of which it is an AND, at any depth.
  private var conditions: [SqlExpression] {
    if case .all(let terms) = node { terms.flatMap(\.conditions) } else { [self] }
  }

  private var isSearch: Bool {
    guard case .special(let special) = node, case .fullText(let term) = special.form else { return false }
    return term.form == .search || term.form == .weighting
  }

  /// Whether evaluating it can throw for some values: malformed JSON, an overflow, a text that
  /// becomes too large, a function of the program's own.
  fileprivate var mayThrow: Bool {
    switch node {
    case .call(let call):
      switch call.function {
      case .named: return true
      case .builtIn(let function):
        // A text that grows may become too large.
        let grows = function == .hex || function == .replace || function == .printf
        if grows || function == .abs || function == .sum || function.isOfJSON { return true }
      case .countRows: break
      }
    case .binary(.json, _, _), .binary(.jsonValue, _, _), .binary(.concatenated, _, _), .query: return true
    case .like, .binary(.matchesGlob, _, _), .binary(.matchesRegexp, _, _): return true
    case .special(let special):
      switch special.form {
      case .fullText, .fragment: return true
      default: break
      }
    default: break
    }
    return node.hasTerm(where: \.mayThrow)
  }

  private var hasQuery: Bool {
    if case .query = node { return true }
    return node.hasTerm(where: \.hasQuery)
  }
}

extension RowSelection.Rest {
  /// Checks the limit and the offset. A limit that is a term becomes at most that of the policy.
  fileprivate mutating func restrictNumbers(_ check: PolicyCheck) throws {
    let limits = check.policy.limits
    guard limit?.number ?? 0 <= limits.rows, offset?.number ?? 0 <= limits.offset else {
      throw SqlError.invalidStatement("the limit or offset is larger than the policy allows")
    }
    // How large it will be is not known.
    guard offset?.term == nil else { throw DocumentAccess.refusal }
    guard let term = limit?.term else { return }
    try check.check(term, .result)
    let restricted = try term.restricted(by: check.policy)
    limit = .term(.call(.scalarMin, [restricted, SqlExpression(limits.rows)]))
  }
}
