// What columns are set to.

extension Assignment {
  /// A term that is stored in a column.
  fileprivate init(_ column: Column, _ term: SqlExpression) {
    self.init(column: ColumnReference(column), value: term.storable(in: column))
  }
}

extension Column {
  /// Sets the column to a value; `nil` stores NULL.
  public func set(to value: (any SqlValue)?) -> Assignment {
    Assignment(column: ColumnReference(self), value: SqlExpression(value ?? Null(), for: self, comparing: false))
  }

  public func set(to term: some SqlTerm) -> Assignment {
    Assignment(self, term.expression)
  }

  // Disfavored: a parameter without a type is untyped beside an untyped column.
  @_disfavoredOverload
  public func set(to term: some TypedTerm) -> Assignment {
    Assignment(self, term.expression)
  }

  /// `excluded."color"`: the value that was to be inserted, for what an upsert sets and asks.
  public var excluded: SqlExpression { SqlExpression(.qualified(alias: Upsert.newRow, ColumnReference(self))) }
}

extension TypedColumn {
  public func set(to value: Value) -> Assignment { column.set(to: value) }

  public func set<Term: TypedTerm>(to term: Term) -> Assignment where Term.Value == Value {
    Assignment(column, term.expression)
  }

  public func set<Term: TypedTerm>(to term: Term) -> Assignment where Value == Term.Value? {
    Assignment(column, term.expression)
  }

  /// `excluded."color"`: the value that was to be inserted, for what an upsert sets and asks.
  public var excluded: TypedExpression<Value> { TypedExpression(expression: column.excluded) }
}
