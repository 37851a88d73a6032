// The order that a policy adds. Without this order, the rows within a limit could depend on an index over hidden
// columns.

import SqlableCore
import SqlableDocuments

extension SelectQuery {
  /// Completes the query's order: rows with equal order terms are sorted by columns that the query can read.
  mutating func orderFully() {
    let terms = termsToOrderBy
    guard !terms.isEmpty else { return }
    clauses.order.complete(with: terms)
  }

  /// Terms whose values differ for different rows: the keys of the tables, or all columns of combined or distinct rows.
  private var termsToOrderBy: [SqlExpression] {
    let clauses = clauses
    // Groups need no further order, because SQLite returns them in the order of their GROUP BY terms.
    guard clauses.groups.isEmpty, !clauses.hasAggregates else { return [] }
    guard clauses.compounds.isEmpty else { return clauses.isRecursive ? [] : clauses.combinedTerms }
    return clauses.isDistinct ? clauses.resultTerms : clauses.sources.flatMap(\.keyTerms)
  }
}

extension [OrderTerm] {
  mutating func complete(with terms: [SqlExpression]) {
    for term in terms where !contains(where: { $0.expression == term }) {
      append(OrderTerm(expression: term, direction: .asc))
    }
  }
}

extension SelectQuery.Source {
  /// The key columns of a table, or all columns of a named query.
  fileprivate var keyTerms: [SqlExpression] {
    switch kind {
    case .table: table.key.map(term)
    // Don't sort a recursive query: if only a limit ends the query, sorting would never end.
    case .defined(let query) where query.clauses.isRecursive: []
    case .defined, .named: table.columns.indices.map(term)
    // The rows of `json_each` and similar functions always have the order of the JSON text.
    case .call: []
    }
  }

  func term(_ position: Int) -> SqlExpression {
    let reference = ColumnReference(table.columns[position])
    return SqlExpression(alias.map { .qualified(alias: $0, reference) } ?? .column(reference))
  }
}

extension SelectQuery.Clauses {
  /// True if the query is recursive or reads a recursive query. An ORDER BY would change the order of the recursion.
  fileprivate var isRecursive: Bool {
    compounds.contains { $0.query.clauses.sources.contains { $0.kind == .named } }
      || sources.contains { source in
        if case .defined(let query) = source.kind { query.clauses.isRecursive } else { false }
      }
  }

  /// The columns of combined queries. The names come from the first query that has names for its columns.
  fileprivate var combinedTerms: [SqlExpression] {
    let named = sources.isEmpty ? compounds.first { !$0.query.clauses.sources.isEmpty }?.query.clauses : self
    return named?.resultTerms ?? []
  }

  fileprivate var resultTerms: [SqlExpression] {
    results.flatMap { result -> [SqlExpression] in
      switch result {
      case .term(let term): [term]
      case .model(let index, let replaced):
        sources[index].table.columns.indices.map { position in
          replaced.first { sources[index].table.position(of: $0.column) == position }?.term
            ?? sources[index].term(position)
        }
      case .table: []
      }
    }
  }
}
