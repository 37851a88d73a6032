// Functions of decimals in columns of the type `.decimal(scale:)`.

import FoundationEssentials
import SqlableCore

extension TypedTerm where Value: SqlDecimal {
  /// The product by a term of integers: `"price" * "amount"`. It has the scale of this term.
  ///
  /// ```swift
  /// Item.select(Item.price.times(Item.amount).sum())     // SELECT sum("price" * "amount") FROM "item"
  /// ```
  ///
  /// NULL if the decimal is NULL. For a nullable factor, make this term nullable with `optional`.
  public func times<Factor: TypedTerm>(_ factor: Factor) -> TypedExpression<Value>
  where Factor.Value: SqlInteger & FixedWidthInteger {
    TypedExpression(expression: expression.combined(.times, with: factor.expression))
  }
}

extension TypedTerm where Value == Decimal {
  /// The number of smallest units, for what is not exact on decimals: `CAST("price" AS INTEGER)`. 12.34 in a column of
  /// two digits are 1234.
  ///
  /// ```swift
  /// Item.select(Item.price.units.average())     // SELECT avg(CAST("price" AS INTEGER)) FROM "item"
  /// ```
  ///
  /// A decimal in a column of text throws `.invalidStatement` when the statement runs.
  public var units: TypedExpression<Int> { TypedExpression(expression: expression.decimalUnits) }
}

extension TypedTerm where Value == Decimal? {
  /// The product by a term of nullable integers: `"price" * "amount"`. NULL if either is NULL.
  public func times<Factor: TypedTerm, Whole: SqlInteger>(_ factor: Factor) -> TypedExpression<Decimal?>
  where Factor.Value == Whole? {
    TypedExpression(expression: expression.combined(.times, with: factor.expression))
  }

  /// The number of smallest units: `CAST("price" AS INTEGER)`. NULL stays NULL.
  public var units: TypedExpression<Int?> { TypedExpression(expression: expression.decimalUnits) }
}

extension SqlTerm {
  /// The number of smallest units of a decimal: `CAST("price" AS INTEGER)`. Any other term throws `.invalidStatement`.
  public var units: SqlExpression { expression.decimalUnits }
}

extension SqlExpression {
  fileprivate var decimalUnits: SqlExpression {
    guard columnDefinition?.type.scale != nil else {
      return SqlExpression(invalid: SqlError.invalidStatement("only a decimal with a known scale can be read in units"))
    }
    return .special(.cast(.integer), self)
  }
}
