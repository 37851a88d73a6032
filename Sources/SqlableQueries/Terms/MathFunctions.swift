// Mathematical functions. These functions need SQLite 3.35 or later, built with SQLITE_ENABLE_MATH_FUNCTIONS. Otherwise
// running the statement throws an error that names this requirement. A function returns NULL for NULL and for numbers
// outside its domain.

import SqlableCore

/// The number π: `pi()`.
public func pi() -> TypedExpression<Double> { TypedExpression(expression: .call(.pi, [])) }

extension NumberTerm {
  /// The square root, NULL for a negative number: `sqrt("a")`.
  public func sqrt() -> OfDouble { OfDouble(expression: expression.call(.sqrt)) }

  /// e to the power of the number: `exp("a")`.
  public func exp() -> OfDouble { OfDouble(expression: expression.call(.exp)) }

  /// The natural logarithm; NULL for 0 and for negative numbers: `ln("a")`.
  public func ln() -> OfDouble { OfDouble(expression: expression.call(.ln)) }

  /// The logarithm to base 10, NULL for 0 and less: `log10("a")`.
  public func log10() -> OfDouble { OfDouble(expression: expression.call(.log10)) }

  /// The logarithm to base 2, NULL for 0 and less: `log2("a")`.
  public func log2() -> OfDouble { OfDouble(expression: expression.call(.log2)) }

  /// The sine of an angle in radians: `sin("a")`.
  public func sin() -> OfDouble { OfDouble(expression: expression.call(.sin)) }

  /// The cosine of an angle in radians: `cos("a")`.
  public func cos() -> OfDouble { OfDouble(expression: expression.call(.cos)) }

  /// The tangent of an angle in radians: `tan("a")`.
  public func tan() -> OfDouble { OfDouble(expression: expression.call(.tan)) }

  /// The arc sine in radians, NULL outside of -1 to 1: `asin("a")`.
  public func asin() -> OfDouble { OfDouble(expression: expression.call(.asin)) }

  /// The arc cosine in radians, NULL outside of -1 to 1: `acos("a")`.
  public func acos() -> OfDouble { OfDouble(expression: expression.call(.acos)) }

  /// The arc tangent in radians: `atan("a")`.
  public func atan() -> OfDouble { OfDouble(expression: expression.call(.atan)) }

  /// The hyperbolic sine: `sinh("a")`.
  public func sinh() -> OfDouble { OfDouble(expression: expression.call(.sinh)) }

  /// The hyperbolic cosine: `cosh("a")`.
  public func cosh() -> OfDouble { OfDouble(expression: expression.call(.cosh)) }

  /// The hyperbolic tangent: `tanh("a")`.
  public func tanh() -> OfDouble { OfDouble(expression: expression.call(.tanh)) }

  /// The inverse hyperbolic sine: `asinh("a")`.
  public func asinh() -> OfDouble { OfDouble(expression: expression.call(.asinh)) }

  /// The inverse hyperbolic cosine, NULL below 1: `acosh("a")`.
  public func acosh() -> OfDouble { OfDouble(expression: expression.call(.acosh)) }

  /// The inverse hyperbolic tangent, NULL outside of -1 to 1: `atanh("a")`.
  public func atanh() -> OfDouble { OfDouble(expression: expression.call(.atanh)) }

  /// An angle in radians as degrees: `degrees("a")`.
  public func degrees() -> OfDouble { OfDouble(expression: expression.call(.degrees)) }

  /// An angle in degrees as radians: `radians("a")`.
  public func radians() -> OfDouble { OfDouble(expression: expression.call(.radians)) }

  /// The sign of the number, -1, 0 or 1: `sign("a")`.
  public func sign() -> OfInt { OfInt(expression: expression.call(.sign)) }

  /// The number raised to a power: `pow("a", ?)`.
  public func power(_ exponent: Double) -> OfDouble {
    OfDouble(expression: expression.call(.pow, SqlExpression(exponent)))
  }

  /// The number raised to the power of a term: `pow("a", "b")`.
  public func power(_ exponent: some NumberTerm) -> OfDouble {
    OfDouble(expression: expression.call(.pow, exponent.expression))
  }

  /// The floating-point remainder of a division: `mod("a", ?)`. NULL for a division by 0. The operator `%` computes the
  /// remainder of whole numbers.
  public func mod(_ divisor: Double) -> OfDouble {
    OfDouble(expression: expression.call(.mod, SqlExpression(divisor)))
  }

  /// The floating-point remainder of a division by a term: `mod("a", "b")`. NULL for a division by 0.
  public func mod(_ divisor: some NumberTerm) -> OfDouble {
    OfDouble(expression: expression.call(.mod, divisor.expression))
  }

  /// The logarithm to a base: `log(?, "a")`. NULL for a number of 0 or less.
  public func log(base: Double) -> OfDouble {
    OfDouble(expression: SqlExpression(base).call(.log, expression))
  }

  /// The angle, in radians, of the point with the coordinates `x` and this number: `atan2("a", "x")`.
  public func atan2(_ x: some NumberTerm) -> OfDouble {
    OfDouble(expression: expression.call(.atan2, x.expression))
  }

  /// The number rounded up to a whole number: `ceil("a")`.
  public func ceil() -> Same { Same(expression: expression.call(.ceil)) }

  /// The number rounded down to a whole number: `floor("a")`.
  public func floor() -> Same { Same(expression: expression.call(.floor)) }

  /// The number without its fraction: `trunc("a")`.
  public func trunc() -> Same { Same(expression: expression.call(.trunc)) }
}
