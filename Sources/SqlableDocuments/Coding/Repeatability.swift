// A check that a statement has the same effect in every run.

import SqlableCore

extension AnyStatement {
  /// Throws if the statement can have different effects in two runs on the same rows. A statement that is logged for
  /// replay on a backup must pass this check.
  ///
  /// ```swift
  /// try AnyStatement(Bicycle.delete(Bicycle.color == "red").limit(3)).checkIsRepeatable()
  /// // throws: the limit on table bicycle is not repeatable; order the rows by a key
  /// ```
  ///
  /// Throws `.invalidStatement` with the cause for:
  /// - `random()`, terms of SQL text, and registered functions whose names are not in `functions` (ignoring case);
  /// - a limit, a subquery that is used as a value, and an insert of a query's rows, unless an order determines the
  ///   rows. The order must include the keys of all tables, or all selected columns;
  /// - `group_concat` and similar functions without their own order by the keys of the tables;
  /// - windows that count rows, if rows can be equal in the window's order;
  /// - columns of grouped rows that are neither grouped nor aggregated;
  /// - updates with values from joined tables;
  /// - updates of several rows that ignore or replace conflicting rows.
  ///
  /// Triggers, defaults and generated columns of the schema are not checked.
  public func checkIsRepeatable(functions: Set<String> = []) throws {
    try RepeatabilityCheck(functions: functions).check(decoded.tree)
  }
}

private struct RepeatabilityCheck {
  /// The names of registered functions that return the same result in every call.
  let functions: Set<String>

  private enum Use {
    /// The order of the rows does not matter.
    case rows
    case inserted
    case firstRow
  }

  private func failure(_ message: String, _ table: TableInfo? = nil) -> SqlError {
    .invalidStatement(message).at(table: table?.name)
  }

  func check(_ tree: StatementTree) throws {
    switch tree {
    case .select(let query): try check(query, .rows)
    case .insert(let query):
      let rest = query.rest.value
      if let source = rest.source { try check(source, .inserted) }
      for upsert in rest.upserts {
        for assignment in upsert.assignments { try check(assignment.value) }
        try check(upsert.index)
        try check(upsert.condition)
      }
    case .update(let query):
      for assignment in query.rest.value.assignments { try check(assignment.value) }
      let keepsAll = query.conflict.map { $0 == .abort } ?? !query.table.ignoresOrReplaces
      guard query.isRowLevel || keepsAll else {
        throw failure(
          "the update is not repeatable: the conflict policy might keep any one of several conflicting rows; use abort",
          query.table)
      }
      guard query.rest.value.sources.isEmpty else {
        throw failure(
          "an update from other tables is not repeatable: several rows might match; set values with ordered subqueries",
          query.table)
      }
      try check(query.selection, of: query.table)
    case .delete(let query): try check(query.selection, of: query.table)
    }
    if case .terms(let terms) = tree.returned { for term in terms { try check(term) } }
  }

  private func check(_ selection: RowSelection, of table: TableInfo) throws {
    try check(selection.filter)
    guard selection.isLimited else { return }
    let order = selection.rest.value.order.map(\.expression)
    for term in order { try check(term) }
    try check(selection.rest.value.limit?.term)
    try check(selection.rest.value.offset?.term)
    let rows = UngroupedRows(sources: [SelectQuery.Source(table: table)], filter: selection.filter)
    guard rows.areOrdered(by: order) else {
      throw failure("the limit on table \(table.name) is not repeatable; order the rows by a key", table)
    }
  }

  // MARK: Queries

  private func check(_ query: SelectQuery, _ use: Use) throws {
    let clauses = query.clauses
    for source in clauses.sources { try check(source) }
    for row in clauses.rows { for term in row { try check(term, clauses) } }
    for result in clauses.results { try check(result, clauses) }
    try check(clauses.filter)
    for term in clauses.groups { try check(term) }
    try check(clauses.having)
    for compound in clauses.compounds { try check(compound.query, .rows) }
    for term in clauses.order { try check(term.expression, clauses) }
    try check(clauses.limit?.term)
    try check(clauses.offset?.term)
    try checkGroups(clauses)
    let isLimited = query.form == .rows && (clauses.limit != nil || clauses.offset != nil)
    guard use != .rows || isLimited, !clauses.isOrdered else { return }
    let advice = "order the query by the keys of its tables, or by all selected terms"
    switch use {
    case .rows: throw failure("the limit of the query is not repeatable; \(advice)", query.table)
    case .inserted:
      throw failure("the order of the inserted rows is not repeatable; \(advice)", query.table)
    case .firstRow:
      throw failure("the value of a subquery is not repeatable; \(advice)", query.table)
    }
  }

  private func check(_ source: SelectQuery.Source) throws {
    switch source.kind {
    case .table, .named: break
    case .defined(let query): try check(query, .rows)
    case .call(let call): try check(call)
    }
    try check(source.condition)
  }

  private func check(_ result: SelectQuery.Result, _ clauses: SelectQuery.Clauses) throws {
    switch result {
    case .term(let term): try check(term, clauses)
    case .model(_, let replaced): for replacement in replaced { try check(replacement.term, clauses) }
    case .table: break
    }
  }

  /// Throws if a grouped query reads a column for which SQLite would use the value of an arbitrary row of the group.
  private func checkGroups(_ clauses: SelectQuery.Clauses) throws {
    guard clauses.isGrouped else { return }
    @inline(never)
    func isDetermined(_ term: SqlExpression) -> Bool {
      if clauses.groups.contains(term) { return true }
      switch term.node {
      case .column, .qualified: return clauses.sources.sourceColumn(of: term) == nil
      case .call(let call) where call.isAggregate: return true
      default: return term.node.terms.allSatisfy(isDetermined)
      }
    }
    let terms = clauses.results.flatMap { result -> [SqlExpression] in
      switch result {
      case .term(let term): [term]
      case .model(let index, let replaced): clauses.terms(ofSource: index, replaced)
      case .table: []
      }
    }
    let all = terms + [clauses.having].compactMap(\.self) + clauses.order.map(\.expression)
    guard all.allSatisfy(isDetermined) else {
      throw failure(
        "a column of grouped rows is not repeatable; group by the column, or use an aggregate",
        clauses.sources.first?.table)
    }
  }

  // MARK: Terms

  private func check(_ term: SqlExpression?) throws { if let term { try check(term, nil) } }

  /// Checks a term of a query. `clauses` describes the rows that windows and ordered aggregates in the term process.
  private func check(_ term: SqlExpression, _ clauses: SelectQuery.Clauses?) throws {
    switch term.node {
    case .call(let call): try check(call, clauses)
    case .query(let query): try check(query.query, query.kind == .scalar ? .firstRow : .rows)
    case .special(let special):
      guard case .fragment = special.form else { break }
      throw failure("SQL text can't be checked for repeatability")
    default: break
    }
    for part in term.node.terms { try check(part, clauses) }
  }

  private func check(_ call: SqlExpression.Call, _ clauses: SelectQuery.Clauses?) throws {
    switch call.function {
    case .countRows: break
    case .named(let name):
      guard functions.contains(where: name.isSameName) else {
        throw failure(
          "function \(name) can't be checked for repeatability; add its name to `functions` if equal arguments always "
            + "give equal values"
        )
      }
    case .builtIn(let function) where function.facts.has(.varies):
      throw failure("\(function.name)() is not repeatable: its value changes with each call")
    case .builtIn(let function):
      guard call.dependsOnOrder else { return }
      if let window = call.window, let clauses {
        let rows = UngroupedRows(sources: clauses.sources, filter: clauses.filter)
        guard !clauses.isGrouped, rows.areOrdered(by: window.partition + window.order.map(\.expression)) else {
          throw failure(
            "the window of \(function.name)() is not repeatable: its order has ties; order by the keys of the tables")
        }
      } else if !call.order.isEmpty, let clauses {
        let rows = UngroupedRows(sources: clauses.sources, filter: clauses.filter)
        guard rows.areOrdered(by: clauses.groups + call.order.map(\.expression)) else {
          throw failure(
            "the order of \(function.name)() is not repeatable: it has ties; order by the keys of the tables")
        }
      } else {
        throw failure(
          "\(function.name)() is not repeatable: the result depends on the row order; give the function an order")
      }
    }
  }
}

// MARK: - Orders

/// The rows that a query or a change finds, before grouping.
private struct UngroupedRows {
  let sources: [SelectQuery.Source]
  let filter: SqlExpression?

  /// True if these terms determine the order of the rows: each key column of every table is one of the terms, or is
  /// restricted to one value by the filter.
  func areOrdered(by terms: [SqlExpression]) -> Bool {
    sources.indices.allSatisfy { index in
      guard case .table = sources[index].kind, !sources[index].table.key.isEmpty else { return false }
      return sources[index].table.key.allSatisfy { position in
        let sourceColumn = SourceColumn(source: index, position: position)
        return terms.contains { sources.sourceColumn(of: $0) == sourceColumn }
          || conditions.contains { fixes(sourceColumn, $0) }
      }
    }
  }

  private var conditions: [SqlExpression] {
    guard let filter else { return [] }
    if case .all(let terms) = filter.node { return Array(terms) }
    return [filter]
  }

  private func fixes(_ sourceColumn: SourceColumn, _ condition: SqlExpression) -> Bool {
    guard case .binary(let term) = condition.node, term.operation == .equal || term.operation == .isSame else {
      return false
    }
    return [(term.left, term.right), (term.right, term.left)].contains { column, value in
      guard sources.sourceColumn(of: column) == sourceColumn else { return false }
      switch value.node {
      case .value, .parameter: return true
      case .column, .qualified: return sources.sourceColumn(of: value) == nil
      default: return false
      }
    }
  }
}

private struct SourceColumn: Equatable {
  let source: Int
  let position: Int
}

extension [SelectQuery.Source] {
  /// Returns the position of the term's column in these tables. Nil if the term is not a column of these tables.
  fileprivate func sourceColumn(of term: SqlExpression) -> SourceColumn? {
    let (alias, reference): (String?, ColumnReference)
    switch term.node {
    case .column(let column): (alias, reference) = (nil, column)
    case .qualified(let name, let column): (alias, reference) = (name, column)
    default: return nil
    }
    let index =
      firstIndex { $0.alias.isExactly(alias) && $0.table.position(of: reference) != nil }
      ?? firstIndex { alias == nil && $0.table.position(of: reference) != nil }
    guard let index, let position = self[index].table.position(of: reference) else { return nil }
    return SourceColumn(source: index, position: position)
  }
}

extension SelectQuery.Clauses {
  fileprivate var isGrouped: Bool {
    !groups.isEmpty
      || results.contains { result in
        switch result {
        case .term(let term): term.hasAggregate
        case .model(_, let replaced): replaced.contains { $0.term.hasAggregate }
        case .table: false
        }
      }
  }

  /// True if the order of the result is determined, except among equal rows.
  fileprivate var isOrdered: Bool {
    let terms = order.map(\.expression)
    if compounds.isEmpty {
      // Literal rows have an order, and an aggregate without groups returns one row.
      if sources.isEmpty || (isGrouped && groups.isEmpty) { return true }
      if isGrouped { return groups.allSatisfy(terms.contains) }
      if !isDistinct, UngroupedRows(sources: sources, filter: filter).areOrdered(by: terms) { return true }
    }
    let columns = results.indices.flatMap { index -> [SqlExpression] in
      switch results[index] {
      case .term(let term): [term]
      case .model(let source, let replaced): self.terms(ofSource: source, replaced)
      case .table: []
      }
    }
    return !columns.isEmpty
      && columns.allSatisfy { column in !column.isCollated && terms.contains { isSame($0, column) } }
  }

  fileprivate func terms(ofSource index: Int, _ replaced: [SelectQuery.Replacement]) -> [SqlExpression] {
    let source = sources[index]
    return source.table.columns.indices.map { position in
      if let term = replaced.first(where: { source.table.position(of: $0.column) == position })?.term { return term }
      let reference = ColumnReference(source.table.columns[position])
      return SqlExpression(source.alias.map { .qualified(alias: $0, reference) } ?? .column(reference))
    }
  }

  private func isSame(_ left: SqlExpression, _ right: SqlExpression) -> Bool {
    guard let sourceColumn = sources.sourceColumn(of: left) else { return left == right }
    return sourceColumn == sources.sourceColumn(of: right)
  }
}

extension SqlExpression {
  /// True if the collation can treat different values as equal.
  fileprivate var isCollated: Bool {
    if case .collate(_, let collation) = node { return collation != .binary }
    return columnDefinition?.options.collation.map { $0 != .binary } ?? false
  }
}

extension SqlExpression.Call {
  /// True if the result depends on the order in which SQLite passes rows to the function, where the call's ORDER BY
  /// leaves this order open.
  fileprivate var dependsOnOrder: Bool {
    guard let facts else { return false }
    return facts.has(.takesOrder) || (facts.kind == .window && !facts.has(.equalForPeers))
      || window?.frame?.unit == .rows
  }
}
