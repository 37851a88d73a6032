// Row values: several terms that are compared as one.

/// Several terms that are compared as one, the first that differs deciding: `("a", "b")`.
///
/// ```swift
/// Car.read().filter(rowValue(Car.price, Car.id) < (20_000, 3))     // … WHERE ("price", "id") < (?, ?)
/// ```
///
/// A comparison is NULL if a term that decides is NULL. ``rowValue(_:)`` makes one.
public struct TermRow<each Value: SqlValue>: Sendable {
  let terms: [SqlExpression]
}

/// Terms that are compared as one: `("a", "b")`.
public func rowValue<each Term: TypedTerm>(_ term: repeat each Term) -> TermRow<repeat (each Term).Value> {
  var terms: [SqlExpression] = []
  func add(_ term: some TypedTerm) { terms.append(term.expression) }
  repeat add(each term)
  return TermRow(terms: terms)
}

extension TermRow {
  /// A row value as a term; a row of one term is that term.
  private static func row(_ terms: [SqlExpression]) -> SqlExpression {
    terms.count == 1 ? terms[0] : SqlExpression(.special(.init(form: .row, terms: terms)))
  }

  private func compared(_ comparison: SqlExpression.BinaryOperator, _ others: [SqlExpression]) -> SqlExpression {
    for (term, other) in zip(terms, others) {
      if let defect = SqlExpression.defect(of: comparison, term, other) { return SqlExpression(invalid: defect) }
    }
    return SqlExpression(.binary(comparison, TermRow.row(terms), TermRow.row(others)))
  }

  /// The values in the forms of the terms beside which they stand.
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

  /// True if the values are among rows: `("a", "b") IN (VALUES (?, ?), (?, ?))`. False for no rows.
  ///
  /// Each value is a parameter, of which SQLite takes 32,766 in a statement.
  public func `in`(_ rows: [(repeat each Value)]) -> SqlExpression {
    let values = rows.map { row in stored(repeat each row) }
    guard !values.isEmpty else { return .any([]) }
    return isIn(SelectQuery(rows: values))
  }

  /// True if the values are among the rows of a query: `("a", "b") IN (SELECT …)`.
  public func `in`(_ query: Select<(repeat each Value)>) -> SqlExpression { isIn(query.query) }

  /// True if the values are not among rows: `NOT ("a", "b") IN (VALUES (?, ?))`. True for no rows.
  public func notIn(_ rows: [(repeat each Value)]) -> SqlExpression { !self.in(rows) }

  /// True if the values are not among the rows of a query: `NOT ("a", "b") IN (SELECT …)`.
  public func notIn(_ query: Select<(repeat each Value)>) -> SqlExpression { !self.in(query) }

  private func isIn(_ query: SelectQuery) -> SqlExpression {
    SqlExpression(.query(.init(kind: .isIn, term: TermRow.row(terms), query: query)))
  }
}
