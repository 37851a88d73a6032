import FoundationEssentials
import SqlableCore

extension TypedTerm where Value: SqlDecimal {
  /// The product of the decimal and an integer term: `"price" * "amount"`. The product has the scale of the decimal.
  ///
  /// ```swift
  /// Item.select(Item.price.times(Item.amount).sum())     // SELECT sum("price" * "amount") FROM "item"
  /// ```
  ///
  /// NULL if the decimal is NULL. For a nullable factor, make the decimal nullable with `optional`.
  public func times<Factor: TypedTerm>(_ factor: Factor) -> TypedExpression<Value>
  where Factor.Value: SqlInteger & FixedWidthInteger {
    TypedExpression(expression: expression.combined(.times, with: factor.expression))
  }
}

extension TypedTerm where Value == Decimal {
  /// The decimal as an integer number of its smallest unit: `CAST("price" AS INTEGER)`. In a column with two decimal
  /// places, 12.34 is 1234. Use this integer in functions that are not exact for decimals.
  ///
  /// ```swift
  /// Item.select(Item.price.units.average())     // SELECT avg(CAST("price" AS INTEGER)) FROM "item"
  /// ```
  ///
  /// A decimal that is stored as text throws `.invalidStatement` when the statement runs.
  public var units: TypedExpression<Int> { TypedExpression(expression: expression.decimalUnits) }
}

extension TypedTerm where Value == Decimal? {
  /// The product of the decimal and a nullable integer term: `"price" * "amount"`. NULL if a factor is NULL.
  public func times<Factor: TypedTerm, Whole: SqlInteger>(_ factor: Factor) -> TypedExpression<Decimal?>
  where Factor.Value == Whole? {
    TypedExpression(expression: expression.combined(.times, with: factor.expression))
  }

  /// The decimal as an integer number of its smallest unit: `CAST("price" AS INTEGER)`. NULL stays NULL.
  public var units: TypedExpression<Int?> { TypedExpression(expression: expression.decimalUnits) }
}

extension SqlTerm {
  /// The decimal as an integer number of its smallest unit: `CAST("price" AS INTEGER)`. Running the statement throws
  /// `.invalidStatement` if the term is not a decimal column.
  public var units: SqlExpression { expression.decimalUnits }
}

extension SqlExpression {
  fileprivate var decimalUnits: SqlExpression {
    guard columnDefinition?.type.scale != nil else {
      return SqlExpression(invalid: SqlError.invalidStatement("only a decimal column with a known scale has `units`"))
    }
    return .special(.cast(.integer), self)
  }
}
