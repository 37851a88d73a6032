import SqlableCore
import SqlableDocuments
import SqlableQueries

extension SqliteDatabase {
  /// Throws if a statement's plan visits all rows of a table with more than `count` rows.
  func checkPlans(of work: some Runnable, visitingAtMost count: Int) throws {
    guard let work = work as? any StatementTrees else { return }
    for statement in try work.statements() { try checkPlan(of: statement, visitingAtMost: count) }
  }

  private func checkPlan(of statement: TreeStatement, visitingAtMost count: Int) throws {
    // Skip an invalid statement: running the statement throws the error.
    guard let written = try? statement.explained() else { return }
    let tree = statement.tree
    // A plan can depend on values, for a LIKE or a partial index. SQLite chooses such a plan only if the plan is
    // cheaper than the plan without values. So if the plan without values visits few rows, so does the plan with
    // values.
    let visits = try running { connection in
      try connection.plans.visits(of: written.sql, in: connection.schemaState()) {
        let unbound = StatementWithValues(sql: written.sql, parameters: ParameterBuffer())
        return tree.visits(in: try connection.plan(of: unbound))
      }
    }
    guard try !visits.isEmpty && has(moreRowsThan: count, in: visits, tree) else { return }
    guard try !has(moreRowsThan: count, in: tree.visits(in: plan(of: written)), tree) else {
      throw SqlError.invalidStatement("the statement would scan more rows than the policy allows")
    }
  }
}

extension StatementTree {
  /// Returns the names that the statement uses for the tables that the plan scans completely. Returns no names if the
  /// query stops early and its plan does not sort.
  fileprivate func visits(in plan: QueryPlan) -> [String] {
    if case .select(let query) = self, query.stopsEarly, !plan.sorts { return [] }
    return plan.visits
  }

  /// All tables that the statement uses, with their names in the statement; includes the tables of subqueries.
  fileprivate var tables: [(name: String, table: TableInfo)] {
    var tables: [(name: String, table: TableInfo)] = []
    func add(_ name: String, _ table: TableInfo) {
      guard !tables.contains(where: { $0.table === table && $0.name.isSameName(as: name) }) else { return }
      tables.append((name, table))
    }
    func add(_ source: SelectQuery.Source) { if source.kind == .table { add(source.name, source.table) } }
    func add(_ term: SqlExpression) { term.visit({ _ in }, add) }
    func add(_ selection: RowSelection) {
      selection.filter.map(add)
      let rest = selection.rest.value
      for term in rest.order { add(term.expression) }
      for count in [rest.limit, rest.offset] { count?.term.map(add) }
    }
    switch self {
    case .select(let query): query.visit({ _ in }, add)
    case .insert(let query):
      query.rest.value.source?.visit({ _ in }, add)
      for upsert in query.rest.value.upserts {
        for assignment in upsert.assignments { add(assignment.value) }
        upsert.index.map(add)
        upsert.condition.map(add)
      }
    case .update(let query):
      for source in query.tables {
        add(source)
        source.condition.map(add)
        if case .defined(let definition) = source.kind { definition.visit({ _ in }, add) }
      }
      add(query.selection)
      for assignment in query.rest.value.assignments { add(assignment.value) }
    case .delete(let query):
      add(query.table.name, query.table)
      add(query.selection)
    }
    if case .terms(let terms) = returned { terms.forEach(add) }
    return tables
  }
}

extension QueryPlan {
  fileprivate var visits: [String] {
    scans
      + steps.compactMap { step in
        guard step.detail.begins(with: "SCAN ") else { return nil }
        return step.detail.suffix(after: "SCAN ")?.prefix(before: " USING ")
      }
  }

  fileprivate var sorts: Bool { steps.contains { $0.detail.begins(with: "USE TEMP B-TREE") } }
}

extension SelectQuery {
  /// True if the query's clauses let SQLite stop after reading as many rows as the limit. The caller must check that
  /// the plan does not sort.
  fileprivate var stopsEarly: Bool {
    guard form == .rows, limit != nil else { return false }
    let clauses = clauses
    return clauses.sources.count == 1 && clauses.sources[0].kind == .table && clauses.filter == nil
      && clauses.having == nil && clauses.groups.isEmpty && !clauses.isDistinct && clauses.compounds.isEmpty
      && clauses.results.allSatisfy(\.hasOnlyColumns)
  }
}

extension SelectQuery.Result {
  /// True if the result has only columns. An aggregate or a window would need all rows.
  fileprivate var hasOnlyColumns: Bool {
    switch self {
    case .term(let term):
      switch term.node {
      case .column, .qualified: true
      default: false
      }
    case .model(_, let replaced): replaced.isEmpty
    case .table: false
    }
  }
}

extension SqliteDatabase {
  fileprivate func has(moreRowsThan count: Int, in names: [String], _ tree: StatementTree) throws -> Bool {
    // Check all tables with the name: separate queries in one statement can use the same name for different tables.
    try tree.tables.contains { name, table in
      try names.contains(where: name.isSameName) && has(moreRowsThan: count, table)
    }
  }

  fileprivate func has(moreRowsThan count: Int, _ table: TableInfo) throws -> Bool {
    let name = String(decoding: table.quotedName, as: UTF8.self)
    let connection = try openConnection()
    if table.keyIsRowid {
      // A table has at most as many rows as the span from its first key to its last key. Reading these two keys is
      // fast, and most tables have few gaps between keys.
      let key = String(decoding: table.columns[table.key[0]].name.quotedBytes(), as: UTF8.self)
      let span = "(SELECT max(\(key)) FROM \(name)) - (SELECT min(\(key)) FROM \(name))"
      guard try connection.pragma("SELECT coalesce(\(span) >= \(count), 0)") == "1" else { return false }
    }
    let some = "SELECT 1 FROM \(name) LIMIT \(count) + 1"
    return try connection.pragma("SELECT count(*) > \(count) FROM (\(some))") == "1"
  }
}
