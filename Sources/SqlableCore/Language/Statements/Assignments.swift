import FoundationEssentials

extension Assignment {
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
  // Disfavored, so that `Parameter("name")` without a type makes an untyped parameter.
  @_disfavoredOverload
  public func set(to term: some TypedTerm) -> Assignment {
    Assignment(self, term.expression)
  }

  /// The column's value in the new row of an insert, for an upsert's assignments and condition: `excluded."color"`.
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

  /// Returns an assignment of a date term to the column: `"a" = ("a" + ?)`. A date outside SQLite's calendar is NULL,
  /// so the update throws `.constraint(.notNull)`.
  // Only dates need this overload: date functions return an optional, because SQLite's calendar ends with the year
  // 9999.
  public func set<Term: TypedTerm>(to term: Term) -> Assignment where Value == Date, Term.Value == Date? {
    Assignment(column, term.expression)
  }

  /// The column's value in the new row of an insert, for an upsert's assignments and condition: `excluded."color"`.
  public var excluded: TypedExpression<Value> { TypedExpression(expression: column.excluded) }

  /// The value before the change that fires a ``Trigger``: `"old"."color"`.
  public var old: TypedExpression<Value> { TypedExpression(expression: column.old) }

  /// The value after the change that fires a ``Trigger``: `"new"."color"`.
  public var new: TypedExpression<Value> { TypedExpression(expression: column.new) }
}
