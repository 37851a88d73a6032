// Aggregates: one value for all rows of a group. What each is for no rows stands with it; NULL is passed over.

/// The number of rows of each group, or of all: `count(*)`.
public func countAll(where condition: SqlExpression? = nil) -> TypedExpression<Int> {
  TypedExpression(expression: SqlExpression(.call(.init(function: .countRows, arguments: [], filter: condition))))
}

extension SqlExpression {
  func aggregate(_ function: Call.BuiltIn, isDistinct: Bool = false, where condition: SqlExpression?) -> SqlExpression {
    if [.sum, .total, .avg].contains(function), let defect = defect(in: function.rawValue) {
      return SqlExpression(invalid: defect)
    }
    return SqlExpression(
      .call(.init(function: .builtIn(function), arguments: [self], isDistinct: isDistinct, filter: condition)))
  }

  func groupConcat(_ separator: String, where condition: SqlExpression?) -> SqlExpression {
    SqlExpression(
      .call(
        .init(
          function: .builtIn(.groupConcat), arguments: [self, SqlExpression(separator)],
          filter: condition)))
  }
}

extension TypedTerm {
  /// How many rows have a value here, or how many different ones: `count("a")`, `count(DISTINCT "a")`.
  ///
  /// ```swift
  /// Bicycle.ownerId.count(distinct: true, where: Bicycle.color == "red")
  /// // count(DISTINCT "owner_id") FILTER (WHERE "color" = ?)
  /// ```
  public func count(distinct: Bool = false, where condition: SqlExpression? = nil) -> TypedExpression<Int> {
    TypedExpression(expression: expression.aggregate(.count, isDistinct: distinct, where: condition))
  }

  /// `min("a")`; NULL for no rows.
  // Disfavored: of a term that may be NULL there is a form with one optional.
  @_disfavoredOverload
  public func min(where condition: SqlExpression? = nil) -> TypedExpression<Value?> {
    TypedExpression(expression: expression.aggregate(.min, where: condition))
  }

  /// `min("a")`; NULL for no rows.
  public func min<Wrapped>(where condition: SqlExpression? = nil) -> TypedExpression<Wrapped?>
  where Value == Wrapped? {
    TypedExpression(expression: expression.aggregate(.min, where: condition))
  }

  /// `max("a")`; NULL for no rows.
  // Disfavored: of a term that may be NULL there is a form with one optional.
  @_disfavoredOverload
  public func max(where condition: SqlExpression? = nil) -> TypedExpression<Value?> {
    TypedExpression(expression: expression.aggregate(.max, where: condition))
  }

  /// `max("a")`; NULL for no rows.
  public func max<Wrapped>(where condition: SqlExpression? = nil) -> TypedExpression<Wrapped?>
  where Value == Wrapped? {
    TypedExpression(expression: expression.aggregate(.max, where: condition))
  }

  /// `group_concat("a", ?)`: all values as one text, in no certain order; NULL for no rows.
  public func groupConcat(
    _ separator: String = ",", where condition: SqlExpression? = nil
  ) -> TypedExpression<String?> {
    TypedExpression(expression: expression.groupConcat(separator, where: condition))
  }

  /// `group_concat(DISTINCT "a")`: all different values as one text with commas, the only separator that SQLite has for it.
  public func groupConcat(distinct: Bool, where condition: SqlExpression? = nil) -> TypedExpression<String?> {
    TypedExpression(expression: expression.aggregate(.groupConcat, isDistinct: distinct, where: condition))
  }
}

extension TypedTerm where Value: SqlNumber {
  /// `sum("a")`; NULL for no rows. Throws when integers overflow.
  // Disfavored: of a term that may be NULL there is a form with one optional.
  @_disfavoredOverload
  public func sum(distinct: Bool = false, where condition: SqlExpression? = nil) -> TypedExpression<Value?> {
    TypedExpression(expression: expression.aggregate(.sum, isDistinct: distinct, where: condition))
  }

  /// `sum("a")`; NULL for no rows. Throws when integers overflow.
  public func sum<Wrapped>(
    distinct: Bool = false, where condition: SqlExpression? = nil
  ) -> TypedExpression<Wrapped?> where Value == Wrapped? {
    TypedExpression(expression: expression.aggregate(.sum, isDistinct: distinct, where: condition))
  }

  /// `total("a")`: the sum as a `Double`; 0 for no rows.
  public func total(where condition: SqlExpression? = nil) -> TypedExpression<Double> {
    TypedExpression(expression: expression.aggregate(.total, where: condition))
  }

  /// `avg("a")`; NULL for no rows.
  public func average(distinct: Bool = false, where condition: SqlExpression? = nil) -> TypedExpression<Double?> {
    TypedExpression(expression: expression.aggregate(.avg, isDistinct: distinct, where: condition))
  }
}

extension SqlTerm {
  /// How many rows have a value here, or how many different ones: `count("a")`, `count(DISTINCT "a")`.
  public func count(distinct: Bool = false, where condition: SqlExpression? = nil) -> SqlExpression {
    expression.aggregate(.count, isDistinct: distinct, where: condition)
  }

  /// `sum("a")`; NULL for no rows. Throws when integers overflow.
  public func sum(distinct: Bool = false, where condition: SqlExpression? = nil) -> SqlExpression {
    expression.aggregate(.sum, isDistinct: distinct, where: condition)
  }

  /// `total("a")`: the sum as a `Double`; 0 for no rows.
  public func total(where condition: SqlExpression? = nil) -> SqlExpression {
    expression.aggregate(.total, where: condition)
  }

  /// `avg("a")`; NULL for no rows.
  public func average(distinct: Bool = false, where condition: SqlExpression? = nil) -> SqlExpression {
    expression.aggregate(.avg, isDistinct: distinct, where: condition)
  }

  /// `min("a")`; NULL for no rows.
  public func min(where condition: SqlExpression? = nil) -> SqlExpression {
    expression.aggregate(.min, where: condition)
  }

  /// `max("a")`; NULL for no rows.
  public func max(where condition: SqlExpression? = nil) -> SqlExpression {
    expression.aggregate(.max, where: condition)
  }

  /// `group_concat("a", ?)`: all values as one text, in no certain order; NULL for no rows.
  public func groupConcat(_ separator: String = ",", where condition: SqlExpression? = nil) -> SqlExpression {
    expression.groupConcat(separator, where: condition)
  }

  /// `group_concat(DISTINCT "a")`: all different values as one text with commas, the only separator that SQLite has for it.
  public func groupConcat(distinct: Bool, where condition: SqlExpression? = nil) -> SqlExpression {
    expression.aggregate(.groupConcat, isDistinct: distinct, where: condition)
  }
}
