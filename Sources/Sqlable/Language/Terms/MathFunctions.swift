// Mathematics. SQLite has these functions from 3.35 on, if it was built with SQLITE_ENABLE_MATH_FUNCTIONS; otherwise
// running the statement throws an error that says so. All are NULL for NULL, and where the function is not defined.

/// The number π: `pi()`.
public func pi() -> TypedExpression<Double> { TypedExpression(expression: .call(.pi, [])) }

extension SqlExpression {
  fileprivate func mathematical(_ function: Call.BuiltIn, _ others: SqlExpression...) -> SqlExpression {
    for term in [self] + others {
      if let defect = term.defect(in: function.name) { return SqlExpression(invalid: defect) }
    }
    return .call(function, [self] + others)
  }
}

extension TypedTerm where Value: SqlNumber {
  /// The square root, NULL for a negative number: `sqrt("a")`.
  public func sqrt() -> TypedExpression<Double?> { TypedExpression(expression: expression.mathematical(.sqrt)) }

  /// e to the power of the number: `exp("a")`.
  public func exp() -> TypedExpression<Double?> { TypedExpression(expression: expression.mathematical(.exp)) }

  /// The natural logarithm, NULL for 0 and less: `ln("a")`.
  public func ln() -> TypedExpression<Double?> { TypedExpression(expression: expression.mathematical(.ln)) }

  /// The logarithm to base 10, NULL for 0 and less: `log10("a")`.
  public func log10() -> TypedExpression<Double?> { TypedExpression(expression: expression.mathematical(.log10)) }

  /// The logarithm to base 2, NULL for 0 and less: `log2("a")`.
  public func log2() -> TypedExpression<Double?> { TypedExpression(expression: expression.mathematical(.log2)) }

  /// The sine of an angle in radians: `sin("a")`.
  public func sin() -> TypedExpression<Double?> { TypedExpression(expression: expression.mathematical(.sin)) }

  /// The cosine of an angle in radians: `cos("a")`.
  public func cos() -> TypedExpression<Double?> { TypedExpression(expression: expression.mathematical(.cos)) }

  /// The tangent of an angle in radians: `tan("a")`.
  public func tan() -> TypedExpression<Double?> { TypedExpression(expression: expression.mathematical(.tan)) }

  /// The arc sine in radians, NULL outside of -1 to 1: `asin("a")`.
  public func asin() -> TypedExpression<Double?> { TypedExpression(expression: expression.mathematical(.asin)) }

  /// The arc cosine in radians, NULL outside of -1 to 1: `acos("a")`.
  public func acos() -> TypedExpression<Double?> { TypedExpression(expression: expression.mathematical(.acos)) }

  /// The arc tangent in radians: `atan("a")`.
  public func atan() -> TypedExpression<Double?> { TypedExpression(expression: expression.mathematical(.atan)) }

  /// The hyperbolic sine: `sinh("a")`.
  public func sinh() -> TypedExpression<Double?> { TypedExpression(expression: expression.mathematical(.sinh)) }

  /// The hyperbolic cosine: `cosh("a")`.
  public func cosh() -> TypedExpression<Double?> { TypedExpression(expression: expression.mathematical(.cosh)) }

  /// The hyperbolic tangent: `tanh("a")`.
  public func tanh() -> TypedExpression<Double?> { TypedExpression(expression: expression.mathematical(.tanh)) }

  /// The inverse hyperbolic sine: `asinh("a")`.
  public func asinh() -> TypedExpression<Double?> { TypedExpression(expression: expression.mathematical(.asinh)) }

  /// The inverse hyperbolic cosine, NULL below 1: `acosh("a")`.
  public func acosh() -> TypedExpression<Double?> { TypedExpression(expression: expression.mathematical(.acosh)) }

  /// The inverse hyperbolic tangent, NULL outside of -1 to 1: `atanh("a")`.
  public func atanh() -> TypedExpression<Double?> { TypedExpression(expression: expression.mathematical(.atanh)) }

  /// An angle in radians as degrees: `degrees("a")`.
  public func degrees() -> TypedExpression<Double?> { TypedExpression(expression: expression.mathematical(.degrees)) }

  /// An angle in degrees as radians: `radians("a")`.
  public func radians() -> TypedExpression<Double?> { TypedExpression(expression: expression.mathematical(.radians)) }

  /// The least whole number that is not less: `ceil("a")`.
  public func ceil() -> TypedExpression<Value> { TypedExpression(expression: expression.mathematical(.ceil)) }

  /// The greatest whole number that is not greater: `floor("a")`.
  public func floor() -> TypedExpression<Value> { TypedExpression(expression: expression.mathematical(.floor)) }

  /// The number without its fraction: `trunc("a")`.
  public func trunc() -> TypedExpression<Value> { TypedExpression(expression: expression.mathematical(.trunc)) }

  /// -1, 0 or 1: `sign("a")`.
  public func sign() -> TypedExpression<Int?> { TypedExpression(expression: expression.mathematical(.sign)) }

  /// The number to a power: `pow("a", ?)`.
  public func power(_ exponent: Double) -> TypedExpression<Double?> {
    TypedExpression(expression: expression.mathematical(.pow, SqlExpression(exponent)))
  }

  /// The number to the power of a term: `pow("a", "b")`.
  public func power<Exponent: TypedTerm>(_ exponent: Exponent) -> TypedExpression<Double?>
  where Exponent.Value: SqlNumber {
    TypedExpression(expression: expression.mathematical(.pow, exponent.expression))
  }

  /// The remainder of a division with fractions: `mod("a", ?)`. NULL for a division by 0. `%` takes whole numbers.
  public func mod(_ divisor: Double) -> TypedExpression<Double?> {
    TypedExpression(expression: expression.mathematical(.mod, SqlExpression(divisor)))
  }

  /// The remainder of a division by a term, with fractions: `mod("a", "b")`. NULL for a division by 0.
  public func mod<Divisor: TypedTerm>(_ divisor: Divisor) -> TypedExpression<Double?> where Divisor.Value: SqlNumber {
    TypedExpression(expression: expression.mathematical(.mod, divisor.expression))
  }

  /// The logarithm to a base: `log(?, "a")`. NULL for 0 and less.
  public func log(base: Double) -> TypedExpression<Double?> {
    TypedExpression(expression: SqlExpression(base).mathematical(.log, expression))
  }

  /// The angle of the point `x`, this, in radians: `atan2("a", "x")`.
  public func atan2<Other: TypedTerm>(_ x: Other) -> TypedExpression<Double?> where Other.Value: SqlNumber {
    TypedExpression(expression: expression.mathematical(.atan2, x.expression))
  }
}

extension SqlTerm {
  /// The square root, NULL for a negative number: `sqrt("a")`.
  public func sqrt() -> SqlExpression { expression.mathematical(.sqrt) }

  /// e to the power of the number: `exp("a")`.
  public func exp() -> SqlExpression { expression.mathematical(.exp) }

  /// The natural logarithm, NULL for 0 and less: `ln("a")`.
  public func ln() -> SqlExpression { expression.mathematical(.ln) }

  /// The logarithm to base 10, NULL for 0 and less: `log10("a")`.
  public func log10() -> SqlExpression { expression.mathematical(.log10) }

  /// The logarithm to base 2, NULL for 0 and less: `log2("a")`.
  public func log2() -> SqlExpression { expression.mathematical(.log2) }

  /// The sine of an angle in radians: `sin("a")`.
  public func sin() -> SqlExpression { expression.mathematical(.sin) }

  /// The cosine of an angle in radians: `cos("a")`.
  public func cos() -> SqlExpression { expression.mathematical(.cos) }

  /// The tangent of an angle in radians: `tan("a")`.
  public func tan() -> SqlExpression { expression.mathematical(.tan) }

  /// The arc sine in radians, NULL outside of -1 to 1: `asin("a")`.
  public func asin() -> SqlExpression { expression.mathematical(.asin) }

  /// The arc cosine in radians, NULL outside of -1 to 1: `acos("a")`.
  public func acos() -> SqlExpression { expression.mathematical(.acos) }

  /// The arc tangent in radians: `atan("a")`.
  public func atan() -> SqlExpression { expression.mathematical(.atan) }

  /// The hyperbolic sine: `sinh("a")`.
  public func sinh() -> SqlExpression { expression.mathematical(.sinh) }

  /// The hyperbolic cosine: `cosh("a")`.
  public func cosh() -> SqlExpression { expression.mathematical(.cosh) }

  /// The hyperbolic tangent: `tanh("a")`.
  public func tanh() -> SqlExpression { expression.mathematical(.tanh) }

  /// The inverse hyperbolic sine: `asinh("a")`.
  public func asinh() -> SqlExpression { expression.mathematical(.asinh) }

  /// The inverse hyperbolic cosine, NULL below 1: `acosh("a")`.
  public func acosh() -> SqlExpression { expression.mathematical(.acosh) }

  /// The inverse hyperbolic tangent, NULL outside of -1 to 1: `atanh("a")`.
  public func atanh() -> SqlExpression { expression.mathematical(.atanh) }

  /// An angle in radians as degrees: `degrees("a")`.
  public func degrees() -> SqlExpression { expression.mathematical(.degrees) }

  /// An angle in degrees as radians: `radians("a")`.
  public func radians() -> SqlExpression { expression.mathematical(.radians) }

  /// The least whole number that is not less: `ceil("a")`.
  public func ceil() -> SqlExpression { expression.mathematical(.ceil) }

  /// The greatest whole number that is not greater: `floor("a")`.
  public func floor() -> SqlExpression { expression.mathematical(.floor) }

  /// The number without its fraction: `trunc("a")`.
  public func trunc() -> SqlExpression { expression.mathematical(.trunc) }

  /// -1, 0 or 1: `sign("a")`.
  public func sign() -> SqlExpression { expression.mathematical(.sign) }

  /// The number to a power: `pow("a", ?)`.
  public func power(_ exponent: Double) -> SqlExpression { expression.mathematical(.pow, SqlExpression(exponent)) }

  /// The number to the power of a term: `pow("a", "b")`.
  public func power(_ exponent: some SqlTerm) -> SqlExpression { expression.mathematical(.pow, exponent.expression) }

  /// The remainder of a division with fractions: `mod("a", ?)`. NULL for a division by 0. `%` takes whole numbers.
  public func mod(_ divisor: Double) -> SqlExpression { expression.mathematical(.mod, SqlExpression(divisor)) }

  /// The remainder of a division by a term, with fractions: `mod("a", "b")`. NULL for a division by 0.
  public func mod(_ divisor: some SqlTerm) -> SqlExpression { expression.mathematical(.mod, divisor.expression) }

  /// The logarithm to a base: `log(?, "a")`. NULL for 0 and less.
  public func log(base: Double) -> SqlExpression { SqlExpression(base).mathematical(.log, expression) }

  /// The angle of the point `x`, this, in radians: `atan2("a", "x")`.
  public func atan2(_ x: some SqlTerm) -> SqlExpression { expression.mathematical(.atan2, x.expression) }
}
