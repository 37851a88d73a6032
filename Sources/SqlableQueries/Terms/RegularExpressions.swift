// Regular expressions, which the library brings: SQLite has the operator REGEXP, but no function behind it.

import SqlableCore

extension SqlExpression {
  fileprivate func matches(_ pattern: String) -> SqlExpression {
    do { _ = try RegularExpression(pattern) } catch { return SqlExpression(invalid: error) }
    return combined(.matchesRegexp, with: SqlExpression(pattern))
  }
}

extension TypedTerm where Value: SqlText {
  /// True if a part of the text matches a regular expression: `"a" REGEXP ?`. NULL if the text is.
  ///
  /// ```swift
  /// Car.read().filter(Car.name.regexp("^[A-Z]\\w+ (e|electric)$"))
  /// ```
  ///
  /// It has characters and their escapes, `.`, sets such as `[a-z_]`, the classes `\d \w \s` and their opposites in
  /// upper case, `^` and `$` for the beginning and the end of the text, `\b` for the edge of a word, groups,
  /// alternatives `a|b`, and repetitions `* + ? {2} {2,} {2,5}`; `(?i)` at its beginning ignores case. Backreferences
  /// and lookaround are not supported, so that the time is at most in proportion to the text, whatever the expression:
  /// it has up to 2,000 steps. Running it throws `.invalidStatement` for what is none, without its text. A handle's
  /// first statement with one registers the function `regexp`, unless the program has; a remote SQLite needs its own.
  /// No index is used.
  public func regexp(_ pattern: String) -> SqlExpression { expression.matches(pattern) }

  /// True if a part of the text matches a regular expression that is a term: `"a" REGEXP "b"`. NULL if one is.
  public func regexp<Other: TypedTerm>(_ pattern: Other) -> SqlExpression where Other.Value: SqlText {
    expression.combined(.matchesRegexp, with: pattern.expression)
  }
}

extension SqlTerm {
  /// True if a part of the text matches a regular expression: `"a" REGEXP ?`. NULL if the text is. Numbers are texts as
  /// SQLite writes them, and a BLOB matches nothing.
  public func regexp(_ pattern: String) -> SqlExpression { expression.matches(pattern) }

  /// True if a part of the text matches a regular expression that is a term: `"a" REGEXP "b"`. NULL if one is.
  public func regexp(_ pattern: some SqlTerm) -> SqlExpression {
    expression.combined(.matchesRegexp, with: pattern.expression)
  }
}
