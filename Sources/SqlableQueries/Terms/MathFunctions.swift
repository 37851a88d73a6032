// Mathematical functions. These functions need SQLite 3.35 or later, built with SQLITE_ENABLE_MATH_FUNCTIONS. Otherwise
// running the statement throws an error that names this requirement. A function returns NULL for NULL and for numbers
// outside its domain.

import SqlableCore

/// The number π: `pi()`.
public func pi() -> TypedExpression<Double> { TypedExpression(expression: .call(.pi, [])) }

extension TypedTerm where Value: SqlNumber {
  /// The square root, NULL for a negative number: `sqrt("a")`.
  public func sqrt() -> TypedExpression<Double?> { TypedExpression(expression: expression.call(.sqrt)) }

  /// e to the power of the number: `exp("a")`.
  public func exp() -> TypedExpression<Double?> { TypedExpression(expression: expression.call(.exp)) }

  /// The natural logarithm, NULL for 0 and less: `ln("a")`.
  public func ln() -> TypedExpression<Double?> { TypedExpression(expression: expression.call(.ln)) }

  /// The logarithm to base 10, NULL for 0 and less: `log10("a")`.
  public func log10() -> TypedExpression<Double?> { TypedExpression(expression: expression.call(.log10)) }

  /// The logarithm to base 2, NULL for 0 and less: `log2("a")`.
  public func log2() -> TypedExpression<Double?> { TypedExpression(expression: expression.call(.log2)) }

  /// The sine of an angle in radians: `sin("a")`.
  public func sin() -> TypedExpression<Double?> { TypedExpression(expression: expression.call(.sin)) }

  /// The cosine of an angle in radians: `cos("a")`.
  public func cos() -> TypedExpression<Double?> { TypedExpression(expression: expression.call(.cos)) }

  /// The tangent of an angle in radians: `tan("a")`.
  public func tan() -> TypedExpression<Double?> { TypedExpression(expression: expression.call(.tan)) }

  /// The arc sine in radians, NULL outside of -1 to 1: `asin("a")`.
  public func asin() -> TypedExpression<Double?> { TypedExpression(expression: expression.call(.asin)) }

  /// The arc cosine in radians, NULL outside of -1 to 1: `acos("a")`.
  public func acos() -> TypedExpression<Double?> { TypedExpression(expression: expression.call(.acos)) }

  /// The arc tangent in radians: `atan("a")`.
  public func atan() -> TypedExpression<Double?> { TypedExpression(expression: expression.call(.atan)) }

  /// The hyperbolic sine: `sinh("a")`.
  public func sinh() -> TypedExpression<Double?> { TypedExpression(expression: expression.call(.sinh)) }

  /// The hyperbolic cosine: `cosh("a")`.
  public func cosh() -> TypedExpression<Double?> { TypedExpression(expression: expression.call(.cosh)) }

  /// The hyperbolic tangent: `tanh("a")`.
  public func tanh() -> TypedExpression<Double?> { TypedExpression(expression: expression.call(.tanh)) }

  /// The inverse hyperbolic sine: `asinh("a")`.
  public func asinh() -> TypedExpression<Double?> { TypedExpression(expression: expression.call(.asinh)) }

  /// The inverse hyperbolic cosine, NULL below 1: `acosh("a")`.
  public func acosh() -> TypedExpression<Double?> { TypedExpression(expression: expression.call(.acosh)) }

  /// The inverse hyperbolic tangent, NULL outside of -1 to 1: `atanh("a")`.
  public func atanh() -> TypedExpression<Double?> { TypedExpression(expression: expression.call(.atanh)) }

  /// An angle in radians as degrees: `degrees("a")`.
  public func degrees() -> TypedExpression<Double?> { TypedExpression(expression: expression.call(.degrees)) }

  /// An angle in degrees as radians: `radians("a")`.
  public func radians() -> TypedExpression<Double?> { TypedExpression(expression: expression.call(.radians)) }

  /// The number rounded up to a whole number: `ceil("a")`.
  public func ceil() -> TypedExpression<Value> { TypedExpression(expression: expression.call(.ceil)) }

  /// The number rounded down to a whole number: `floor("a")`.
  public func floor() -> TypedExpression<Value> { TypedExpression(expression: expression.call(.floor)) }

  /// The number without its fraction: `trunc("a")`.
  public func trunc() -> TypedExpression<Value> { TypedExpression(expression: expression.call(.trunc)) }

  /// The sign of the number, -1, 0 or 1: `sign("a")`.
  public func sign() -> TypedExpression<Int?> { TypedExpression(expression: expression.call(.sign)) }

  /// The number raised to a power: `pow("a", ?)`.
  public func power(_ exponent: Double) -> TypedExpression<Double?> {
    TypedExpression(expression: expression.call(.pow, SqlExpression(exponent)))
  }

  /// The number raised to the power of a term: `pow("a", "b")`.
  public func power<Exponent: TypedTerm>(_ exponent: Exponent) -> TypedExpression<Double?>
  where Exponent.Value: SqlNumber {
    TypedExpression(expression: expression.call(.pow, exponent.expression))
  }

  /// The floating-point remainder of a division: `mod("a", ?)`. NULL for a division by 0. The operator `%` computes the
  /// remainder of whole numbers.
  public func mod(_ divisor: Double) -> TypedExpression<Double?> {
    TypedExpression(expression: expression.call(.mod, SqlExpression(divisor)))
  }

  /// The floating-point remainder of a division by a term: `mod("a", "b")`. NULL for a division by 0.
  public func mod<Divisor: TypedTerm>(_ divisor: Divisor) -> TypedExpression<Double?> where Divisor.Value: SqlNumber {
    TypedExpression(expression: expression.call(.mod, divisor.expression))
  }

  /// The logarithm to a base: `log(?, "a")`. NULL for a number of 0 or less.
  public func log(base: Double) -> TypedExpression<Double?> {
    TypedExpression(expression: SqlExpression(base).call(.log, expression))
  }

  /// The angle, in radians, of the point with the coordinates `x` and this number: `atan2("a", "x")`.
  public func atan2<Other: TypedTerm>(_ x: Other) -> TypedExpression<Double?> where Other.Value: SqlNumber {
    TypedExpression(expression: expression.call(.atan2, x.expression))
  }
}

extension SqlTerm {
  /// The square root, NULL for a negative number: `sqrt("a")`.
  public func sqrt() -> SqlExpression { expression.call(.sqrt) }

  /// e to the power of the number: `exp("a")`.
  public func exp() -> SqlExpression { expression.call(.exp) }

  /// The natural logarithm, NULL for 0 and less: `ln("a")`.
  public func ln() -> SqlExpression { expression.call(.ln) }

  /// The logarithm to base 10, NULL for 0 and less: `log10("a")`.
  public func log10() -> SqlExpression { expression.call(.log10) }

  /// The logarithm to base 2, NULL for 0 and less: `log2("a")`.
  public func log2() -> SqlExpression { expression.call(.log2) }

  /// The sine of an angle in radians: `sin("a")`.
  public func sin() -> SqlExpression { expression.call(.sin) }

  /// The cosine of an angle in radians: `cos("a")`.
  public func cos() -> SqlExpression { expression.call(.cos) }

  /// The tangent of an angle in radians: `tan("a")`.
  public func tan() -> SqlExpression { expression.call(.tan) }

  /// The arc sine in radians, NULL outside of -1 to 1: `asin("a")`.
  public func asin() -> SqlExpression { expression.call(.asin) }

  /// The arc cosine in radians, NULL outside of -1 to 1: `acos("a")`.
  public func acos() -> SqlExpression { expression.call(.acos) }

  /// The arc tangent in radians: `atan("a")`.
  public func atan() -> SqlExpression { expression.call(.atan) }

  /// The hyperbolic sine: `sinh("a")`.
  public func sinh() -> SqlExpression { expression.call(.sinh) }

  /// The hyperbolic cosine: `cosh("a")`.
  public func cosh() -> SqlExpression { expression.call(.cosh) }

  /// The hyperbolic tangent: `tanh("a")`.
  public func tanh() -> SqlExpression { expression.call(.tanh) }

  /// The inverse hyperbolic sine: `asinh("a")`.
  public func asinh() -> SqlExpression { expression.call(.asinh) }

  /// The inverse hyperbolic cosine, NULL below 1: `acosh("a")`.
  public func acosh() -> SqlExpression { expression.call(.acosh) }

  /// The inverse hyperbolic tangent, NULL outside of -1 to 1: `atanh("a")`.
  public func atanh() -> SqlExpression { expression.call(.atanh) }

  /// An angle in radians as degrees: `degrees("a")`.
  public func degrees() -> SqlExpression { expression.call(.degrees) }

  /// An angle in degrees as radians: `radians("a")`.
  public func radians() -> SqlExpression { expression.call(.radians) }

  /// The number rounded up to a whole number: `ceil("a")`.
  public func ceil() -> SqlExpression { expression.call(.ceil) }

  /// The number rounded down to a whole number: `floor("a")`.
  public func floor() -> SqlExpression { expression.call(.floor) }

  /// The number without its fraction: `trunc("a")`.
  public func trunc() -> SqlExpression { expression.call(.trunc) }

  /// The sign of the number, -1, 0 or 1: `sign("a")`.
  public func sign() -> SqlExpression { expression.call(.sign) }

  /// The number raised to a power: `pow("a", ?)`.
  public func power(_ exponent: Double) -> SqlExpression { expression.call(.pow, SqlExpression(exponent)) }

  /// The number raised to the power of a term: `pow("a", "b")`.
  public func power(_ exponent: some SqlTerm) -> SqlExpression { expression.call(.pow, exponent.expression) }

  /// The floating-point remainder of a division: `mod("a", ?)`. NULL for a division by 0. The operator `%` computes the
  /// remainder of whole numbers.
  public func mod(_ divisor: Double) -> SqlExpression { expression.call(.mod, SqlExpression(divisor)) }

  /// The floating-point remainder of a division by a term: `mod("a", "b")`. NULL for a division by 0.
  public func mod(_ divisor: some SqlTerm) -> SqlExpression { expression.call(.mod, divisor.expression) }

  /// The logarithm to a base: `log(?, "a")`. NULL for a number of 0 or less.
  public func log(base: Double) -> SqlExpression { SqlExpression(base).call(.log, expression) }

  /// The angle, in radians, of the point with the coordinates `x` and this number: `atan2("a", "x")`.
  public func atan2(_ x: some SqlTerm) -> SqlExpression { expression.call(.atan2, x.expression) }
}
