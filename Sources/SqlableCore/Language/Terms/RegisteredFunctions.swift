// Calls of registered functions and uses of registered collations.

extension ScalarFunction {
  /// Calls the function with terms of its parameter types: `"distance"("a", "b")`.
  public func callAsFunction<each Term: TypedTerm>(_ term: repeat each Term) -> TypedExpression<Output>
  where repeat (each Term).Value == each Argument {
    var terms: [SqlExpression] = []
    repeat terms.append((each term).expression)
    return call(terms)
  }

  /// Calls the function with non-optional terms. All parameters of the function must be optional: `"initials"("name")`.
  @_disfavoredOverload
  public func callAsFunction<each Term: TypedTerm>(_ term: repeat each Term) -> TypedExpression<Output>
  where repeat each Argument: SqlOptional, repeat (each Term).Value == (each Argument).Wrapped {
    var terms: [SqlExpression] = []
    repeat terms.append((each term).expression)
    return call(terms)
  }

  /// Calls the function with untyped terms: `"distance"("a", "b")`. A value that does not fit throws when the statement
  /// runs.
  public func callAsFunction(_ terms: any SqlTerm...) -> TypedExpression<Output> {
    call(terms.map(\.expression))
  }

  private func call(_ terms: [SqlExpression]) -> TypedExpression<Output> {
    TypedExpression(
      expression: function.call(terms, as: repeat (each Argument).self, dates: Output.columnType.dateFormat))
  }
}

extension AggregateFunction {
  /// Calls the aggregate with terms of its parameter types: `"median"("a")`. `distinct` ignores duplicate values, and
  /// `condition` selects the rows. `orderings` is the order in which SQLite passes the rows to the aggregate, and needs
  /// SQLite 3.44.
  public func callAsFunction<each Term: TypedTerm>(
    _ term: repeat each Term, distinct: Bool = false, orderBy orderings: any OrderingTerm...,
    where condition: (any SqlCondition)? = nil
  ) -> TypedExpression<Output> where repeat (each Term).Value == each Argument {
    var terms: [SqlExpression] = []
    repeat terms.append((each term).expression)
    return call(terms, distinct, orderings, condition)
  }

  /// Calls an aggregate whose parameters are all optional, with non-optional terms: `"median"("a")`.
  @_disfavoredOverload
  public func callAsFunction<each Term: TypedTerm>(
    _ term: repeat each Term, distinct: Bool = false, orderBy orderings: any OrderingTerm...,
    where condition: (any SqlCondition)? = nil
  ) -> TypedExpression<Output>
  where repeat each Argument: SqlOptional, repeat (each Term).Value == (each Argument).Wrapped {
    var terms: [SqlExpression] = []
    repeat terms.append((each term).expression)
    return call(terms, distinct, orderings, condition)
  }

  /// Calls the aggregate with untyped terms: `"median"("a")`. A value that does not fit throws when the statement runs.
  public func callAsFunction(
    _ terms: any SqlTerm..., distinct: Bool = false, orderBy orderings: any OrderingTerm...,
    where condition: (any SqlCondition)? = nil
  ) -> TypedExpression<Output> {
    call(terms.map(\.expression), distinct, orderings, condition)
  }

  private func call(
    _ terms: [SqlExpression], _ isDistinct: Bool, _ orderings: [any OrderingTerm], _ condition: (any SqlCondition)?
  ) -> TypedExpression<Output> {
    TypedExpression(
      expression: function.call(
        terms, as: repeat (each Argument).self, dates: Output.columnType.dateFormat, isDistinct: isDistinct,
        orderBy: orderings.map(\.ordering), where: condition))
  }
}

extension UserFunction {
  fileprivate func call<each Argument: SqlValue>(
    _ terms: [SqlExpression], as type: repeat (each Argument).Type, dates: ColumnType.DateFormat?,
    isDistinct: Bool = false, orderBy orderings: [Ordering] = [], where condition: (any SqlCondition)? = nil
  ) -> SqlExpression {
    guard terms.count == argumentCount else {
      return SqlExpression(
        invalid: SqlError.invalidStatement("function \(name) takes \(argumentCount) arguments, not \(terms.count)"))
    }
    var index = 0
    for type in repeat each type {
      if let defect = defect(of: terms[index], as: type) { return SqlExpression(invalid: defect) }
      index += 1
    }
    var call = SqlExpression.Call(
      function: .named(name), arguments: terms, isDistinct: isDistinct, order: orderings.map(\.term),
      filter: condition?.expression)
    call.result.format = dates
    return SqlExpression(.call(call))
  }

  /// Returns the error for a date column in milliseconds. SQLite passes the stored number, and the function would read
  /// the number as seconds.
  private func defect<Argument: SqlValue>(
    of term: SqlExpression, as type: Argument.Type
  ) -> SqlExpression.InvalidTerm? {
    guard case .date(.unixMilliseconds) = term.columnDefinition?.type.base, case .date = type.columnType.base else {
      return nil
    }
    return SqlExpression.mismatch(
      "function \(name) takes dates in seconds, but the column stores milliseconds; use seconds(since:)", of: term)
  }
}

extension SqlTerm {
  /// Returns the term with a registered collation for comparing and ordering text: `"a" COLLATE "swedish"`.
  public func collate(_ collation: Collation) -> SqlExpression { collate(.named(collation.name)) }
}

extension TypedTerm {
  /// Returns the term with a registered collation for comparing and ordering text: `"a" COLLATE "swedish"`.
  public func collate(_ collation: Collation) -> TypedExpression<Value> { collate(.named(collation.name)) }
}
