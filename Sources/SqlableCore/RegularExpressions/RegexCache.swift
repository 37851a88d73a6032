/// A cache of recently used regular expressions, so that a pattern is parsed once for many rows. Used by one thread at
/// a time.
struct RegexCache {
  private var known: [(text: String, expression: RegularExpression)] = []

  private static let maximum = 16

  /// Returns true if a part of the text matches the pattern. Throws `.invalidStatement` for an invalid pattern.
  mutating func matches(_ pattern: String, _ text: String) throws(SqlError) -> Bool {
    if let last = known.last, last.text.isExactly(pattern) { return last.expression.matches(in: text) }
    let expression: RegularExpression
    if let index = known.firstIndex(where: { $0.text.isExactly(pattern) }) {
      expression = known.remove(at: index).expression
    } else {
      expression = try RegularExpression(pattern)
      if known.count == RegexCache.maximum { known.removeFirst() }
    }
    known.append((pattern, expression))
    return expression.matches(in: text)
  }
}
