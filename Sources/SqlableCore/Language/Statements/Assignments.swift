// Assignments to columns.

import FoundationEssentials

extension Assignment {
  /// The assignment of a term to a column.
  fileprivate init(_ column: Column, _ term: SqlExpression) {
    self.init(column: ColumnReference(column), value: term.storable(in: column))
  }
}

extension Column {
  /// Returns an assignment of a value to the column; `nil` stores NULL.
  public func set(to value: (any SqlValue)?) -> Assignment {
    Assignment(column: ColumnReference(self), value: SqlExpression(value ?? Null(), for: self, comparing: false))
  }

  /// Returns an assignment of a term to the column.
  public func set(to term: some SqlTerm) -> Assignment {
    Assignment(self, term.expression)
  }

  /// Returns an assignment of a term to the column.
  // Disfavored: without context, a parameter assigned to an untyped column is untyped.
  @_disfavoredOverload
  public func set(to term: some TypedTerm) -> Assignment {
    Assignment(self, term.expression)
  }

  /// The value that the insert would have stored, for the assignments and condition of an upsert: `excluded."color"`.
  public var excluded: SqlExpression { qualified(by: Upsert.newRow) }

  /// The value before the change that fires a ``Trigger``: `"old"."color"`.
  public var old: SqlExpression { qualified(by: TriggerRow.old.rawValue) }

  /// The value after the change that fires a ``Trigger``: `"new"."color"`.
  public var new: SqlExpression { qualified(by: TriggerRow.new.rawValue) }

  private func qualified(by alias: String) -> SqlExpression {
    SqlExpression(.qualified(alias: alias, ColumnReference(self)))
  }
}

extension TypedColumn {
  /// Returns an assignment of a value to the column.
  public func set(to value: Value) -> Assignment { column.set(to: value) }

  /// Returns an assignment of a term to the column.
  public func set<Term: TypedTerm>(to term: Term) -> Assignment where Term.Value == Value {
    Assignment(column, term.expression)
  }

  /// Returns an assignment of a term to the nullable column.
  public func set<Term: TypedTerm>(to term: Term) -> Assignment where Value == Term.Value? {
    Assignment(column, term.expression)
  }

  /// Returns an assignment of a shifted date to the column: `"a" = ("a" + ?)`. If SQLite has no such date, the update
  /// throws `.constraint(.notNull)`.
  // Only dates: their functions are optional, because SQLite's calendar ends with the year 9999.
  public func set<Term: TypedTerm>(to term: Term) -> Assignment where Value == Date, Term.Value == Date? {
    Assignment(column, term.expression)
  }

  /// The value that the insert would have stored, for the assignments and condition of an upsert: `excluded."color"`.
  public var excluded: TypedExpression<Value> { TypedExpression(expression: column.excluded) }

  /// The value before the change that fires a ``Trigger``: `"old"."color"`.
  public var old: TypedExpression<Value> { TypedExpression(expression: column.old) }

  /// The value after the change that fires a ``Trigger``: `"new"."color"`.
  public var new: TypedExpression<Value> { TypedExpression(expression: column.new) }
}
