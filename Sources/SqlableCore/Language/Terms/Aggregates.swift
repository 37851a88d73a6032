// Aggregates, which return one value for all rows of a group. Aggregates of a term ignore NULL, so a group with only
// NULLs has the same result as no rows.

/// The number of rows in each group, or of all rows: `count(*)`.
public func countAll(where condition: (any SqlCondition)? = nil) -> TypedExpression<Int> {
  TypedExpression(
    expression: SqlExpression(.call(.init(function: .countRows, arguments: [], filter: condition?.expression))))
}

extension SqlExpression {
  package func aggregate(
    _ function: Call.BuiltIn, _ others: [SqlExpression] = [], isDistinct: Bool = false,
    orderBy orderings: [Ordering] = [], where condition: (any SqlCondition)?
  ) -> SqlExpression {
    if let defect = function.defect(in: [self]) { return SqlExpression(invalid: defect) }
    return SqlExpression(
      .call(
        .init(
          function: .builtIn(function), arguments: [self] + others, isDistinct: isDistinct,
          order: orderings.map(\.term), filter: condition?.expression)))
  }
}

extension TypedTerm {
  /// The number of values that are not NULL, `count("a")`, or the number of distinct values, `count(DISTINCT "a")`.
  ///
  /// ```swift
  /// Bicycle.ownerId.count(distinct: true, where: Bicycle.color == "red")
  /// // count(DISTINCT "owner_id") FILTER (WHERE "color" = ?)
  /// ```
  public func count(distinct: Bool = false, where condition: (any SqlCondition)? = nil) -> TypedExpression<Int> {
    TypedExpression(expression: expression.aggregate(.count, isDistinct: distinct, where: condition))
  }

  /// The least value: `min("a")`. NULL if there are no rows.
  // Disfavored, so that a nullable term gets the overload that returns a single optional.
  @_disfavoredOverload
  public func min(where condition: (any SqlCondition)? = nil) -> TypedExpression<Value?> {
    TypedExpression(expression: expression.aggregate(.min, where: condition))
  }

  /// The least value: `min("a")`. NULL if there are no rows.
  public func min<Wrapped>(where condition: (any SqlCondition)? = nil) -> TypedExpression<Wrapped?>
  where Value == Wrapped? {
    TypedExpression(expression: expression.aggregate(.min, where: condition))
  }

  /// The greatest value: `max("a")`. NULL if there are no rows.
  // Disfavored, so that a nullable term gets the overload that returns a single optional.
  @_disfavoredOverload
  public func max(where condition: (any SqlCondition)? = nil) -> TypedExpression<Value?> {
    TypedExpression(expression: expression.aggregate(.max, where: condition))
  }

  /// The greatest value: `max("a")`. NULL if there are no rows.
  public func max<Wrapped>(where condition: (any SqlCondition)? = nil) -> TypedExpression<Wrapped?>
  where Value == Wrapped? {
    TypedExpression(expression: expression.aggregate(.max, where: condition))
  }

  /// All values as one text: `group_concat("a", ?)`. NULL if there are no rows.
  ///
  /// ```swift
  /// Car.name.groupConcat(", ", orderBy: Car.price.desc)     // group_concat("name", ? ORDER BY "price" DESC)
  /// ```
  ///
  /// Without `orderBy` the order of the values is undefined. Before SQLite 3.44 running the statement with `orderBy`
  /// throws `.misuse`. A window function can't have `orderBy`: running the statement throws `.invalidStatement`.
  public func groupConcat(
    _ separator: String = ",", orderBy orderings: any OrderingTerm..., where condition: (any SqlCondition)? = nil
  ) -> TypedExpression<String?> {
    TypedExpression(
      expression: expression.aggregate(
        .groupConcat, [SqlExpression(separator)], orderBy: orderings.map(\.ordering), where: condition))
  }

  /// All values, or with `distinct: true` all distinct values, as one text: `group_concat(DISTINCT "a")`. With
  /// DISTINCT, SQLite allows no separator other than a comma. NULL if there are no rows. `orderBy` needs SQLite 3.44.
  public func groupConcat(
    distinct: Bool, orderBy orderings: any OrderingTerm..., where condition: (any SqlCondition)? = nil
  ) -> TypedExpression<String?> {
    TypedExpression(
      expression: expression.aggregate(
        .groupConcat, isDistinct: distinct, orderBy: orderings.map(\.ordering), where: condition))
  }
}

extension TypedTerm where Value: SqlNumber {
  /// The sum: `sum("a")`. NULL if there are no rows. The sum of integers of any width is an `Int`; the sum of `Float`s
  /// is a `Double`.
  ///
  /// Running the statement throws if the sum overflows 64 bits.
  public func sum(distinct: Bool = false, where condition: (any SqlCondition)? = nil) -> TypedExpression<Value.Sum?> {
    TypedExpression(expression: expression.aggregate(.sum, isDistinct: distinct, where: condition))
  }

  /// The sum as a `Double`: `total("a")`. 0 if there are no rows.
  public func total(distinct: Bool = false, where condition: (any SqlCondition)? = nil) -> TypedExpression<Double> {
    TypedExpression(expression: expression.aggregate(.total, isDistinct: distinct, where: condition))
  }

  /// The average: `avg("a")`. NULL if there are no rows.
  public func average(distinct: Bool = false, where condition: (any SqlCondition)? = nil) -> TypedExpression<Double?> {
    TypedExpression(expression: expression.aggregate(.avg, isDistinct: distinct, where: condition))
  }
}

extension SqlTerm {
  /// The number of values that are not NULL, `count("a")`, or the number of distinct values, `count(DISTINCT "a")`.
  public func count(distinct: Bool = false, where condition: (any SqlCondition)? = nil) -> SqlExpression {
    expression.aggregate(.count, isDistinct: distinct, where: condition)
  }

  /// The sum: `sum("a")`. NULL if there are no rows. Running the statement throws if the sum overflows 64 bits.
  public func sum(distinct: Bool = false, where condition: (any SqlCondition)? = nil) -> SqlExpression {
    expression.aggregate(.sum, isDistinct: distinct, where: condition)
  }

  /// The sum as a `Double`: `total("a")`. 0 if there are no rows.
  public func total(distinct: Bool = false, where condition: (any SqlCondition)? = nil) -> SqlExpression {
    expression.aggregate(.total, isDistinct: distinct, where: condition)
  }

  /// The average: `avg("a")`. NULL if there are no rows.
  public func average(distinct: Bool = false, where condition: (any SqlCondition)? = nil) -> SqlExpression {
    expression.aggregate(.avg, isDistinct: distinct, where: condition)
  }

  /// The least value: `min("a")`. NULL if there are no rows.
  public func min(where condition: (any SqlCondition)? = nil) -> SqlExpression {
    expression.aggregate(.min, where: condition)
  }

  /// The greatest value: `max("a")`. NULL if there are no rows.
  public func max(where condition: (any SqlCondition)? = nil) -> SqlExpression {
    expression.aggregate(.max, where: condition)
  }

  /// All values as one text: `group_concat("a", ?)`. NULL if there are no rows. Without `orderBy` the order of the
  /// values is undefined. `orderBy` needs SQLite 3.44.
  public func groupConcat(
    _ separator: String = ",", orderBy orderings: any OrderingTerm..., where condition: (any SqlCondition)? = nil
  ) -> SqlExpression {
    expression.aggregate(.groupConcat, [SqlExpression(separator)], orderBy: orderings.map(\.ordering), where: condition)
  }

  /// All values, or with `distinct: true` all distinct values, as one text: `group_concat(DISTINCT "a")`. With
  /// DISTINCT, SQLite allows no separator other than a comma. NULL if there are no rows. `orderBy` needs SQLite 3.44.
  public func groupConcat(
    distinct: Bool, orderBy orderings: any OrderingTerm..., where condition: (any SqlCondition)? = nil
  ) -> SqlExpression {
    expression.aggregate(.groupConcat, isDistinct: distinct, orderBy: orderings.map(\.ordering), where: condition)
  }
}
