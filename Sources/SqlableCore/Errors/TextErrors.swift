// Errors of SQL text with interpolated values.

extension SqlError {
  /// The maximum number of values of a list in SQL text. The limits of SQLite are lower. This limit ends the loop over
  /// an infinite sequence.
  static let maximumListInText = 1_000_000

  static var longListInText: SqlError {
    .invalidStatement("a list in SQL text has more than \(maximumListInText) values")
  }

  static var listInText: SqlError {
    .invalidStatement(
      """
      an array or set in SQL text can't be optional, and its elements must be single values; use \\(json: …)
      """)
  }

  static var quotedInText: SqlError {
    .invalidStatement(
      "an interpolation is inside quotes or a comment of the SQL text; write the interpolation outside, without quotes")
  }

  static var parameterInText: SqlError {
    .invalidStatement("the SQL text has a parameter without a value; write \\(value) in its place")
  }

  static var nulInText: SqlError { .invalidStatement("the SQL text contains a NUL byte") }
}
