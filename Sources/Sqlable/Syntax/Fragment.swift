extension SqlExpression {
  /// SQL text around terms.
  struct Fragment: Sendable, Hashable {
    /// The texts before, between and after the terms: one more than there are terms. By bytes, as SQLite reads them.
    var texts: [[UInt8]]
    /// Whether it has a subquery, whose tables may have columns with the names of those outside.
    var hasQuery: Bool
  }
}

extension SqlExpression.Fragment {
  /// The words of its texts, with those of each term between them.
  func words(_ terms: [SqlExpression], _ words: (SqlExpression) -> [String]) -> [String] {
    texts.indices.flatMap { index in
      DeclaredExpression.sql(String(decoding: texts[index], as: UTF8.self)).words
        + (index < terms.count ? words(terms[index]) : [])
    }
  }
}
