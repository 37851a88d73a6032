// Conditions that can throw for some rows. An error must not reveal rows that the policy hides.

import SqlableCore
import SqlableDocuments

extension SqlExpression {
  /// Returns `condition AND self` in a form that evaluates `self` only for rows for which `condition` is true. In a
  /// plain AND, SQLite could evaluate the conditions in any order, and the error of a term that throws for some values
  /// could reveal a row that `condition` hides.
  func guarded(by condition: SqlExpression) -> SqlExpression { guarded(by: condition, checking: condition) }

  /// Returns `condition AND self` in a form that evaluates `self` only for rows for which `visible` is true.
  ///
  /// The form is a CASE expression. A search by `search(_:)` stays outside the CASE, because FTS5 supports a search
  /// only as a condition of the query. An error of the search depends only on its words, not on the rows.
  func guarded(by condition: SqlExpression?, checking visible: SqlExpression?) -> SqlExpression {
    guard mayThrow, let visible else { return condition?.and(self) ?? self }
    let conditions = conditions
    let searches = conditions.filter(\.isSearch)
    var parts = (condition.map { [$0] } ?? []) + searches
    if searches.count < conditions.count {
      let remainder = searches.isEmpty ? self : .all(conditions.filter { !$0.isSearch })
      let isGuarded = searches.isEmpty || remainder.mayThrow
      parts.append(
        isGuarded ? .special(.choice, visible, remainder, SqlExpression(DatabaseValue.integer(0))) : remainder)
    }
    return parts.dropFirst().reduce(parts[0]) { $0.and($1) }
  }

  /// The conditions that this condition combines with AND, at any depth.
  var conditions: [SqlExpression] {
    if case .all(let terms) = node { terms.flatMap(\.conditions) } else { [self] }
  }

  private var isSearch: Bool {
    guard case .special(let special) = node, case .fullText(let term) = special.form else { return false }
    return term.form == .search || term.form == .weighting
  }

  /// Returns an equivalent condition that SQLite does not use for constant propagation.
  ///
  /// If an AND contains `a = 1`, SQLite replaces `a` by 1 in all other conditions of the query, including conditions in
  /// a CASE. Then `CASE WHEN a = 1 THEN b` becomes `CASE WHEN 1 = 1 THEN b`. SQLite might evaluate this CASE before `a
  /// = 1`. SQLite does not treat a subquery as a constant, and does not propagate constants from an OR. With a subquery
  /// or an OR, the condition uses the same indexes as before.
  var withoutConstants: SqlExpression {
    switch node {
    case .all(let terms): return SqlExpression(.all(TermChain(terms.map(\.withoutConstants))))
    case .binary(let term)
    where (term.operation == .equal || term.operation == .isSame) && (term.left.isColumn || term.right.isColumn):
      let (operation, left, right) = (term.operation, term.left, term.right)
      // Don't move a parameter into a subquery. A parameter is encoded in the format of the column that it is compared
      // with, and a subquery has no such column.
      if left.hasForm || right.hasForm { return SqlExpression(.any(TermChain([self, self]))) }
      if right.mayBeConstant { return SqlExpression(.binary(operation, left, right.inQuery)) }
      return left.mayBeConstant ? SqlExpression(.binary(operation, left.inQuery, right)) : self
    // SQLite treats IN with one value as `=`.
    case .isIn(let term, let values) where values.count == 1:
      return SqlExpression(.binary(.equal, term, SqlExpression(values[0]).inQuery))
    case .special(let special):
      // SQL text can contain any condition, even `a = 1`.
      if case .fragment = special.form { return SqlExpression(.any(TermChain([self, self]))) }
      return self
    default: return self
    }
  }

  /// True if the term might have the same value for all rows.
  private var mayBeConstant: Bool {
    switch node {
    case .column, .qualified, .query: return false
    case .call(let call): if call.facts?.has(.varies) == true { return false }
    case .special(let special):
      switch special.form {
      case .fragment: return true
      case .row, .fullText: return false
      default: break
      }
    default: break
    }
    return !node.terms.contains { !$0.mayBeConstant }
  }

  private var isColumn: Bool {
    switch node {
    case .column, .qualified: true
    default: false
    }
  }

  /// True for a parameter, which is encoded in the format of the compared column, and for a column of decimals.
  private var hasForm: Bool {
    if case .parameter = node { return true }
    return columnDefinition?.type.scale != nil
  }

  private var inQuery: SqlExpression {
    // COLLATE must stay outside of the subquery, because the result of a subquery has no collation.
    if case .collate(let term, let collation) = node { return SqlExpression(.collate(term.inQuery, collation)) }
    return SqlExpression(.query(QueryTerm(kind: .scalar, term: nil, query: SelectQuery(rows: [[self]]))))
  }

  /// True if the term can throw for some values: malformed JSON, overflow, long texts, or the program's functions.
  var mayThrow: Bool {
    if case .query = node { return true }
    return throwsItself || node.hasTerm(where: \.mayThrow)
  }

  var throwsItself: Bool {
    switch node {
    case .call(let call):
      call.function != .countRows && call.facts?.has(.neverThrows) != true
    case .binary(let term):
      switch term.operation {
      case .json, .jsonValue, .concatenated, .matchesGlob, .matchesRegexp: true
      default: false
      }
    case .like: true
    case .special(let special):
      switch special.form {
      case .choice, .cast, .inverted, .row, .datePart, .day, .shifted, .shiftedBy, .startOf, .unixSeconds: false
      case .dateFormat, .fullText, .fragment: true
      }
    default: false
    }
  }
}

// MARK: - Named queries

extension SelectQuery {
  /// The query, with materialized named queries if any condition can throw. SQLite then computes each named query
  /// before the conditions outside it. Otherwise SQLite might evaluate these conditions together with the policy's
  /// conditions inside the named query.
  var withFences: SelectQuery {
    var (hasNamed, isThrowing) = (false, false)
    visit({ if $0.throwsItself { isThrowing = true } }, { if $0.isDefined { hasNamed = true } })
    return hasNamed && isThrowing ? fenced : self
  }

  fileprivate var fenced: SelectQuery {
    var query = self
    for index in query.clauses.sources.indices where query.clauses.sources[index].isDefined {
      query.clauses.sources[index].materialization = .materialized
    }
    query.clauses.mapTerms({ $0.fenced }, { $0.fenced })
    return query
  }
}

extension SqlExpression {
  /// The term with materialized named queries in its subqueries.
  fileprivate var fenced: SqlExpression { mapped({ $0.fenced }, { $0.fenced }) }
}
