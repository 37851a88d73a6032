// Row values: lists of terms that SQL compares as one value.

import SqlableCore

/// A list of terms that SQL compares as one value: `("a", "b")`. The first terms that differ determine the result.
///
/// ```swift
/// Car.read().filter(rowValue(Car.price, Car.id) < (20_000, 3))     // … WHERE ("price", "id") < (?, ?)
/// ```
///
/// To make a row, call ``rowValue(_:)``. A comparison is NULL if SQLite finds a NULL before two terms that differ.
public struct TermRow<each Value: SqlValue>: Sendable {
  let terms: [SqlExpression]
}

/// Makes a row of terms that SQL compares as one value: `("a", "b")`.
public func rowValue<each Term: TypedTerm>(_ term: repeat each Term) -> TermRow<repeat (each Term).Value> {
  var terms: [SqlExpression] = []
  func add(_ term: some TypedTerm) { terms.append(term.expression) }
  repeat add(each term)
  return TermRow(terms: terms)
}

extension TermRow {
  private func compared(_ comparison: SqlExpression.BinaryOperator, _ others: [SqlExpression]) -> SqlExpression {
    for (term, other) in zip(terms, others) {
      if let defect = SqlExpression.defect(of: comparison, term, other) { return SqlExpression(invalid: defect) }
    }
    return SqlExpression(.binary(comparison, .row(terms), .row(others)))
  }

  /// Converts each value to the form in which the column of the compared term stores it.
  private func stored(_ value: repeat each Value) -> [SqlExpression] {
    var stored: [SqlExpression] = []
    func add(_ value: some SqlValue) { stored.append(terms[stored.count].value(value)) }
    repeat add(each value)
    return stored
  }

  /// `("a", "b") = ("c", "d")`
  public static func == (left: TermRow, right: TermRow) -> SqlExpression { left.compared(.equal, right.terms) }

  /// `("a", "b") = (?, ?)`. NULL if a value is nil.
  public static func == (left: TermRow, right: (repeat each Value)) -> SqlExpression {
    left.compared(.equal, left.stored(repeat each right))
  }

  /// `("a", "b") <> ("c", "d")`
  public static func != (left: TermRow, right: TermRow) -> SqlExpression { left.compared(.notEqual, right.terms) }

  /// `("a", "b") <> (?, ?)`
  public static func != (left: TermRow, right: (repeat each Value)) -> SqlExpression {
    left.compared(.notEqual, left.stored(repeat each right))
  }

  /// `("a", "b") < ("c", "d")`
  public static func < (left: TermRow, right: TermRow) -> SqlExpression { left.compared(.less, right.terms) }

  /// `("a", "b") < (?, ?)`
  public static func < (left: TermRow, right: (repeat each Value)) -> SqlExpression {
    left.compared(.less, left.stored(repeat each right))
  }

  /// `("a", "b") <= ("c", "d")`
  public static func <= (left: TermRow, right: TermRow) -> SqlExpression { left.compared(.lessOrEqual, right.terms) }

  /// `("a", "b") <= (?, ?)`
  public static func <= (left: TermRow, right: (repeat each Value)) -> SqlExpression {
    left.compared(.lessOrEqual, left.stored(repeat each right))
  }

  /// `("a", "b") > ("c", "d")`
  public static func > (left: TermRow, right: TermRow) -> SqlExpression { left.compared(.greater, right.terms) }

  /// `("a", "b") > (?, ?)`
  public static func > (left: TermRow, right: (repeat each Value)) -> SqlExpression {
    left.compared(.greater, left.stored(repeat each right))
  }

  /// `("a", "b") >= ("c", "d")`
  public static func >= (left: TermRow, right: TermRow) -> SqlExpression {
    left.compared(.greaterOrEqual, right.terms)
  }

  /// `("a", "b") >= (?, ?)`
  public static func >= (left: TermRow, right: (repeat each Value)) -> SqlExpression {
    left.compared(.greaterOrEqual, left.stored(repeat each right))
  }

  /// True if the row equals one of these rows: `("a", "b") IN (VALUES (?, ?), (?, ?))`. False for an empty list.
  ///
  /// Each value is a parameter. SQLite limits the parameters of a statement, by default to 32,766.
  public func `in`(_ rows: [(repeat each Value)]) -> SqlExpression {
    let values = rows.map { row in stored(repeat each row) }
    guard !values.isEmpty else { return .any([]) }
    return isIn(SelectQuery(rows: values))
  }

  /// True if the row equals a row of a query: `("a", "b") IN (SELECT …)`.
  public func `in`(_ query: Select<(repeat each Value)>) -> SqlExpression { isIn(query.query) }

  /// True if the row equals none of these rows: `NOT ("a", "b") IN (VALUES (?, ?))`. True for an empty list.
  public func notIn(_ rows: [(repeat each Value)]) -> SqlExpression { !self.in(rows) }

  /// True if the row equals no row of a query: `NOT ("a", "b") IN (SELECT …)`.
  public func notIn(_ query: Select<(repeat each Value)>) -> SqlExpression { !self.in(query) }

  private func isIn(_ query: SelectQuery) -> SqlExpression {
    SqlExpression(.query(.init(kind: .isIn, term: .row(terms), query: query)))
  }
}
