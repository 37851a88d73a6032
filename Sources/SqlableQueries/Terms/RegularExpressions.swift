// Regular expressions. SQLite parses REGEXP but has no function for it, so the library supplies the function.

import SqlableCore

extension SqlExpression {
  fileprivate func matches(_ pattern: String) -> SqlExpression {
    do { _ = try RegularExpression(pattern) } catch { return SqlExpression(invalid: error) }
    return combined(.matchesRegexp, with: SqlExpression(pattern))
  }
}

extension TextTerm {
  /// True if a part of the text matches a regular expression: `"a" REGEXP ?`. NULL if the text is NULL.
  ///
  /// ```swift
  /// Car.read().filter(Car.name.regexp("^[A-Z]\\w+ (e|electric)$"))
  /// ```
  ///
  /// A pattern can contain characters and escapes, `.`, sets such as `[a-z_]`, the classes `\d \w \s`, and the opposite
  /// classes `\D \W \S`. `^` matches the beginning of the text, `$` the end, and `\b` the edge of a word. Groups,
  /// alternatives `a|b` and repetitions `* + ? {2} {2,} {2,5}` are supported. `(?i)` at the beginning of the pattern
  /// ignores case.
  ///
  /// Backreferences and lookaround are not supported. A pattern has at most 2,000 elements, with repetitions written
  /// out, so the matching time is at most proportional to the length of the text. An invalid pattern throws
  /// `.invalidStatement` when the statement runs; the error does not contain the pattern.
  ///
  /// The first statement of a handle with a regular expression registers the function `regexp`, unless the program has
  /// registered that function. A remote SQLite needs its own function `regexp`. SQLite uses no index for the condition.
  ///
  /// If an untyped term is a number, SQLite's text of the number is matched. A BLOB matches no pattern.
  public func regexp(_ pattern: String) -> SqlExpression { expression.matches(pattern) }

  /// True if a part of the text matches a regular expression that is a term: `"a" REGEXP "b"`. NULL if the text or the
  /// pattern is NULL.
  public func regexp(_ pattern: some TextTerm) -> SqlExpression {
    expression.combined(.matchesRegexp, with: pattern.expression)
  }
}
