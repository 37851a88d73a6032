extension SqlExpression {
  package struct Fragment: Sendable, Hashable {
    /// The texts before, between and after the terms. Stored as UTF-8, which SQLite reads.
    package var texts: [[UInt8]]
    /// True if the SQL contains a subquery, whose tables can have columns with the names of outer columns.
    var hasQuery: Bool

    package init(texts: [[UInt8]], hasQuery: Bool) {
      (self.texts, self.hasQuery) = (texts, hasQuery)
    }
  }
}

extension SqlExpression.Fragment {
  package func words(_ terms: [SqlExpression], _ words: (SqlExpression) -> [String]) -> [String] {
    texts.indices.flatMap { index in
      DeclaredExpression.sql(String(decoding: texts[index], as: UTF8.self)).words
        + (index < terms.count ? words(terms[index]) : [])
    }
  }
}
