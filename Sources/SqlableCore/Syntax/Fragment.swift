extension SqlExpression {
  /// SQL text around terms.
  package struct Fragment: Sendable, Hashable {
    /// The texts before, between and after the terms: one more than there are terms. By bytes, as SQLite reads them.
    package var texts: [[UInt8]]
    /// True if it has a subquery, whose tables may have columns with the names of those outside.
    var hasQuery: Bool

    package init(texts: [[UInt8]], hasQuery: Bool) {
      (self.texts, self.hasQuery) = (texts, hasQuery)
    }
  }
}

extension SqlExpression.Fragment {
  /// The words of its texts, with those of each term between them.
  package func words(_ terms: [SqlExpression], _ words: (SqlExpression) -> [String]) -> [String] {
    texts.indices.flatMap { index in
      DeclaredExpression.sql(String(decoding: texts[index], as: UTF8.self)).words
        + (index < terms.count ? words(terms[index]) : [])
    }
  }
}
