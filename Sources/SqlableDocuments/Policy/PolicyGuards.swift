// Conditions that throw for some rows: none of those that a policy hides may show by an error.

import SqlableCore

extension SqlExpression {
  /// The condition together with one that must hold first. SQLite evaluates conditions in any order, and some terms
  /// throw for some values: a row that the first condition hides must not show by an error.
  func guarded(by condition: SqlExpression) -> SqlExpression { guarded(by: condition, checking: condition) }

  /// The condition together with `condition`, evaluated only for rows for which `visible` is true.
  ///
  /// The search of `search(_:)` stays outside of the CASE, because FTS5 knows it only as a condition of the query. Its
  /// words decide whether it throws, not the rows.
  func guarded(by condition: SqlExpression?, checking visible: SqlExpression?) -> SqlExpression {
    guard mayThrow, let visible else { return condition?.and(self) ?? self }
    let (searches, otherConditions) = (conditions.filter(\.isSearch), conditions.filter { !$0.isSearch })
    var parts = (condition.map { [$0] } ?? []) + searches
    if !otherConditions.isEmpty {
      let remainder = searches.isEmpty ? self : .all(otherConditions)
      parts.append(
        remainder.mayThrow ? .special(.choice, visible, remainder, SqlExpression(DatabaseValue.integer(0))) : remainder)
    }
    return parts.dropFirst().reduce(parts[0]) { $0.and($1) }
  }

  /// The conditions of which it is an AND, at any depth.
  var conditions: [SqlExpression] {
    if case .all(let terms) = node { terms.flatMap(\.conditions) } else { [self] }
  }

  private var isSearch: Bool {
    guard case .special(let special) = node, case .fullText(let term) = special.form else { return false }
    return term.form == .search || term.form == .weighting
  }

  /// The same condition in a form from which SQLite takes no constants.
  ///
  /// Of `a = 1` in an AND, SQLite replaces `a` in all other conditions of the query, those in a CASE included. Then
  /// `CASE WHEN a = 1 THEN b` says `CASE WHEN 1 = 1 THEN b`, and may be evaluated before `a = 1`. A subquery is not a
  /// constant, and an OR is not looked into; both use the same indexes.
  var withoutConstants: SqlExpression {
    switch node {
    case .all(let terms): return SqlExpression(.all(TermChain(terms.map(\.withoutConstants))))
    case .binary(let operation, let left, let right)
    where (operation == .equal || operation == .isSame) && (left.isColumn || right.isColumn):
      // A parameter is bound in the form of the column that it stands beside; in a subquery it stands beside none.
      if left.hasForm || right.hasForm { return SqlExpression(.any(TermChain([self, self]))) }
      if right.mayBeConstant { return SqlExpression(.binary(operation, left, right.inQuery)) }
      return left.mayBeConstant ? SqlExpression(.binary(operation, left.inQuery, right)) : self
    // Of one value it is the same as `=` to SQLite.
    case .isIn(let term, let values) where values.count == 1:
      return SqlExpression(.binary(.equal, term, SqlExpression(values[0]).inQuery))
    case .special(let special):
      // Its text may be a condition of any form.
      if case .fragment = special.form { return SqlExpression(.any(TermChain([self, self]))) }
      return self
    default: return self
    }
  }

  /// True if it may have the same value for all rows.
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

  /// True if it is a parameter, which takes the form of a column, or a column of decimals.
  private var hasForm: Bool {
    if case .parameter = node { return true }
    return columnDefinition?.type.scale != nil
  }

  private var inQuery: SqlExpression {
    // The result of a query has no collation.
    if case .collate(let term, let collation) = node { return SqlExpression(.collate(term.inQuery, collation)) }
    return SqlExpression(.query(QueryTerm(kind: .scalar, term: nil, query: SelectQuery(rows: [[self]]))))
  }

  /// True if evaluating it can throw for some values: malformed JSON, an overflow, a text that becomes too large, an
  /// argument that is too long, a function of the program's own.
  var mayThrow: Bool {
    if case .query = node { return true }
    return throwsItself || node.hasTerm(where: \.mayThrow)
  }

  /// True if evaluating it can throw for some values of its terms.
  var throwsItself: Bool {
    switch node {
    case .call(let call):
      call.function != .countRows && call.facts?.has(.neverThrows) != true
    case .binary(let operation, _, _):
      switch operation {
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
  /// The query with named queries that SQLite computes before the conditions outside of them, if any of those can
  /// throw. Otherwise SQLite evaluates them beside the conditions of the policy within.
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
  /// The term with the same for the queries in it.
  fileprivate var fenced: SqlExpression { mapped({ $0.fenced }, { $0.fenced }) }
}
