import SqlableCore

extension Sqlable {
  /// Returns a condition for any statement: true if the row matches a full-text query.
  ///
  /// ```swift
  /// Article.count().filter(Article.matches(.words("swift sqlite")) && Article.year > 2020)
  /// // … WHERE "id" IN (SELECT "rowid" FROM "article_fulltext" WHERE "article_fulltext" MATCH ?) AND "year" > ?
  /// ```
  ///
  /// A statement with this condition throws `.invalidStatement` if the model has no full-text search, or if a column of
  /// the query is not indexed.
  public static func matches(_ query: FullTextQuery) -> SqlExpression { TableInfo.unchecked(Self.self).matches(query) }

  /// Returns a query of the rows that match a full-text query, best match first.
  ///
  /// ```swift
  /// Article.search(.prefix(input)).limit(20)     // [Article]
  /// Article.search(.prefix(input), weights: [Article.title: 10]).select(Article.id, Article.snippet(of: Article.body))
  /// ```
  ///
  /// ```sql
  /// SELECT "article"."id", … FROM "article" JOIN "article_fulltext" ON "article_fulltext"."rowid" = "article"."id"
  ///   WHERE "article_fulltext"."article_fulltext" MATCH ? ORDER BY "article_fulltext"."rank" LIMIT ?
  /// ```
  ///
  /// The query can be filtered, joined and combined like any other query. An additional order sorts rows of the same
  /// rank.
  ///
  /// - Parameters:
  ///   - query: The full-text condition.
  ///   - weights: The weight of a match in each column, from 0 to 1,000,000; 1 by default.
  public static func search(
    _ query: FullTextQuery, weights: KeyValuePairs<any ColumnConvertible, Double> = [:]
  ) -> Select<Self> {
    let table = TableInfo.unchecked(Self.self)
    var source = source()
    source.isSearched = true
    var select = SelectQuery(source, results: [.model(0)])
    var condition = table.fullTextTerm(.search) { try $0.bound(query) }
    if !weights.isEmpty { condition = condition && table.fullTextTerm(.weighting) { try $0.bound(weights) } }
    select.clauses.filter = condition
    select.clauses.order = [OrderTerm(expression: table.fullTextTerm(.rank), order: .asc)]
    return Select(select)
  }

  /// The rank of a row of ``search(_:weights:)``: a negative number from BM25 and the search's weights, lower for
  /// better matches.
  public static var searchRank: TypedExpression<Double> {
    TypedExpression(expression: TableInfo.unchecked(Self.self).fullTextTerm(.rank))
  }

  /// Returns an excerpt of a text in which the matches are marked.
  ///
  /// ```swift
  /// Article.search(query).select(Article.title, Article.snippet(of: Article.body, tokens: 8))
  /// // … snippet("article_fulltext"."article_fulltext", 1, ?, ?, ?, 8)
  /// ```
  ///
  /// The excerpt is NULL if the text is NULL or is not stored. A statement throws `.invalidStatement` unless the
  /// statement starts with ``search(_:weights:)``.
  ///
  /// - Parameters:
  ///   - column: The column; by default the column with the best excerpt.
  ///   - before: The text before a match. The excerpt itself is not escaped.
  ///   - after: The text after a match.
  ///   - ellipsis: The text where the excerpt was cut.
  ///   - tokens: The maximum number of words in the excerpt, 1 to 64.
  public static func snippet(
    of column: (any ColumnConvertible)? = nil, before: String = "<b>", after: String = "</b>", ellipsis: String = "…",
    tokens: Int = 16
  ) -> TypedExpression<String?> {
    let term = TableInfo.unchecked(Self.self).fullTextTerm(.snippet(column?.column, tokens: tokens)) { table in
      guard (1...64).contains(tokens) else { throw SqlError.invalidStatement("a snippet must have 1 to 64 words") }
      if let column { _ = try table.position(of: column.column) }
      return try [before, after, ellipsis].map(FullTextTable.mark)
    }
    return TypedExpression(expression: term)
  }

  /// Returns the full text with the matches marked: `highlight("article_fulltext"."article_fulltext", 0, ?, ?)`.
  ///
  /// The rules of ``snippet(of:before:after:ellipsis:tokens:)`` apply.
  public static func highlight(
    _ column: any ColumnConvertible, before: String = "<b>", after: String = "</b>"
  ) -> TypedExpression<String?> {
    let term = TableInfo.unchecked(Self.self).fullTextTerm(.highlight(column.column)) { table in
      _ = try table.position(of: column.column)
      return try [before, after].map(FullTextTable.mark)
    }
    return TypedExpression(expression: term)
  }
}

extension Alias {
  /// Returns a condition that is true if the row of the aliased table matches a full-text query.
  public func matches(_ query: FullTextQuery) -> SqlExpression {
    TableInfo.unchecked(Model.self).matches(query, alias: name)
  }
}

extension TableInfo {
  fileprivate func matches(_ query: FullTextQuery, alias: String? = nil) -> SqlExpression {
    fullTextTerm(.matches(alias: alias)) { try $0.bound(query) }
  }

  @inline(never)
  fileprivate func fullTextTerm(
    _ form: FullTextTerm.Form, _ terms: (FullTextTable) throws -> [SqlExpression] = { _ in [] }
  ) -> SqlExpression {
    do {
      if let defect { throw defect }
      guard let fullText else {
        throw SqlError.invalidStatement("the model of table \(name) has no full-text search").at(table: name)
      }
      return SqlExpression(
        .special(.init(form: .fullText(FullTextTerm(form: form, table: self)), terms: try terms(fullText))))
    } catch {
      return SqlExpression(invalid: error)
    }
  }
}

extension FullTextTable {
  fileprivate func bound(_ query: FullTextQuery) throws -> [SqlExpression] {
    if let failure = query.failure { throw failure }
    for column in query.columns { _ = try position(of: column) }
    return [SqlExpression(DatabaseValue.text(query.rawValue))]
  }

  fileprivate func bound(_ weights: KeyValuePairs<any ColumnConvertible, Double>) throws -> [SqlExpression] {
    var numbers = columns.map { _ in "1.0" }
    for (column, weight) in weights {
      guard weight >= 0, weight <= 1_000_000 else {
        throw SqlError.invalidStatement("the weight of a column must be from 0 to 1,000,000")
          .at(table: name, column: column.column.name)
      }
      // FTS5 does not parse exponents, so weights are written with decimal places.
      let parts = Int((weight * 1_000_000).rounded()).quotientAndRemainder(dividingBy: 1_000_000)
      numbers[try position(of: column.column)] = "\(parts.quotient).\(String(1_000_000 + parts.remainder).dropFirst())"
    }
    return [SqlExpression(DatabaseValue.text(FullTextTable.ranking(numbers)))]
  }

  package static func ranking(_ weights: [String]) -> String { "bm25(\(weights.joined(separator: ", ")))" }

  fileprivate static func mark(_ text: String) throws -> SqlExpression {
    guard !text.utf8.contains(0) else {
      throw SqlError.invalidStatement(
        "the `before`, `after` or `ellipsis` text of a snippet or highlight contains a NUL byte")
    }
    return SqlExpression(DatabaseValue.text(text))
  }
}
