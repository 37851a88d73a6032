// Calls of functions, and uses of collations, that a program has registered.

extension ScalarFunction {
  /// `"distance"("a", "b")`, of terms that have the types of the parameters.
  public func callAsFunction<each Term: TypedTerm>(_ term: repeat each Term) -> TypedExpression<Output>
  where repeat (each Term).Value == each Argument {
    var terms: [SqlExpression] = []
    repeat terms.append((each term).expression)
    return TypedExpression(expression: function.call(terms))
  }

  /// `"distance"("a", "b")`, of terms that have no type: what does not fit throws where the statement runs.
  public func callAsFunction(_ terms: any SqlTerm...) -> TypedExpression<Output> {
    TypedExpression(expression: function.call(terms.map(\.expression)))
  }
}

extension AggregateFunction {
  /// `"median"("a")`, of terms that have the types of the parameters; of different ones, or of some rows only.
  public func callAsFunction<each Term: TypedTerm>(
    _ term: repeat each Term, distinct: Bool = false, where condition: SqlExpression? = nil
  ) -> TypedExpression<Output> where repeat (each Term).Value == each Argument {
    var terms: [SqlExpression] = []
    repeat terms.append((each term).expression)
    return TypedExpression(expression: function.call(terms, isDistinct: distinct, where: condition))
  }

  /// `"median"("a")`, of terms that have no type: what does not fit throws where the statement runs.
  public func callAsFunction(
    _ terms: any SqlTerm..., distinct: Bool = false, where condition: SqlExpression? = nil
  ) -> TypedExpression<Output> {
    TypedExpression(expression: function.call(terms.map(\.expression), isDistinct: distinct, where: condition))
  }
}

extension UserFunction {
  fileprivate func call(
    _ terms: [SqlExpression], isDistinct: Bool = false, where condition: SqlExpression? = nil
  ) -> SqlExpression {
    guard terms.count == argumentCount else {
      return SqlExpression(
        invalid: SqlError.invalidStatement("function \(name) takes \(argumentCount) arguments, not \(terms.count)"))
    }
    return SqlExpression(
      .call(.init(function: .named(name), arguments: terms, isDistinct: isDistinct, filter: condition)))
  }
}

extension SqlTerm {
  /// `"a" COLLATE "swedish"`: compared and ordered by a collation that is registered on the handle.
  public func collate(_ collation: Collation) -> SqlExpression { collate(.named(collation.name)) }
}

extension TypedTerm {
  /// `"a" COLLATE "swedish"`: compared and ordered by a collation that is registered on the handle.
  public func collate(_ collation: Collation) -> TypedExpression<Value> { collate(.named(collation.name)) }
}
