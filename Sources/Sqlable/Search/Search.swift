// Searching a model's texts.

extension Sqlable {
  /// Whether the row's texts have what is looked for: a condition for any statement.
  ///
  /// ```swift
  /// Article.count().filter(Article.matches(.words("swift sqlite")) && Article.year > 2020)
  /// // … WHERE "id" IN (SELECT "rowid" FROM "article_fulltext" WHERE "article_fulltext" MATCH ?) AND "year" > ?
  /// ```
  ///
  /// Throws `.invalidStatement` when it is run, for a model without full-text search and for a column that is not searched.
  public static func matches(_ query: FullTextQuery) -> SqlExpression { TableInfo.unchecked(Self.self).matches(query) }

  /// The rows whose texts have what is looked for, the best first.
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
  /// It is a query as any: filters, joins and columns follow. An order that is added orders rows of the same rank.
  ///
  /// - Parameter weights: How much a word in a column counts, from 0 to 1,000,000; 1 without.
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

  /// How well a row of ``search(_:weights:)`` matches: the less, the better. It is a number below zero (BM25, by the weights
  /// of the search).
  public static var searchRank: TypedExpression<Double> {
    TypedExpression(expression: TableInfo.unchecked(Self.self).fullTextTerm(.rank))
  }

  /// A part of a text with the words that a search has found, marked.
  ///
  /// ```swift
  /// Article.search(query).select(Article.title, Article.snippet(of: Article.body, tokens: 8))
  /// // … snippet("article_fulltext"."article_fulltext", 1, ?, ?, ?, 8)
  /// ```
  ///
  /// NULL where the text is NULL or is not stored. Throws `.invalidStatement` outside a query that begins with
  /// ``search(_:weights:)``.
  ///
  /// - Parameters:
  ///   - column: Without one, the column where the part is that matches best.
  ///   - before: What stands before a word that was found. The text itself is not escaped.
  ///   - after: What stands behind it.
  ///   - ellipsis: What stands where the text was cut.
  ///   - tokens: How many words the part has at most; 1 to 64.
  public static func snippet(
    of column: (any ColumnConvertible)? = nil, before: String = "<b>", after: String = "</b>", ellipsis: String = "…",
    tokens: Int = 16
  ) -> TypedExpression<String?> {
    let term = TableInfo.unchecked(Self.self).fullTextTerm(.snippet(column?.column, tokens: tokens)) { table in
      guard (1...64).contains(tokens) else { throw SqlError.invalidStatement("a snippet has 1 to 64 words") }
      if let column { _ = try table.position(of: column.column) }
      return try [before, after, ellipsis].map(FullTextTable.mark)
    }
    return TypedExpression(expression: term)
  }

  /// A text with the words that a search has found, marked: `highlight("article_fulltext"."article_fulltext", 0, ?, ?)`.
  ///
  /// As ``snippet(of:before:after:ellipsis:tokens:)``, of the whole text.
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
  /// Whether the texts of the row under this name have what is looked for.
  public func matches(_ query: FullTextQuery) -> SqlExpression {
    TableInfo.unchecked(Model.self).matches(query, alias: name)
  }
}

extension TableInfo {
  fileprivate func matches(_ query: FullTextQuery, alias: String? = nil) -> SqlExpression {
    fullTextTerm(.matches(alias: alias)) { try $0.bound(query) }
  }

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
        throw SqlError.invalidStatement("the weight of a column is a number from 0 to 1,000,000")
          .at(table: name, column: column.column.name)
      }
      // FTS5 reads no exponents.
      let parts = Int((weight * 1_000_000).rounded()).quotientAndRemainder(dividingBy: 1_000_000)
      numbers[try position(of: column.column)] = "\(parts.quotient).\(String(1_000_000 + parts.remainder).dropFirst())"
    }
    return [SqlExpression(DatabaseValue.text("bm25(\(numbers.joined(separator: ", ")))"))]
  }

  fileprivate static func mark(_ text: String) throws -> SqlExpression {
    guard !text.utf8.contains(0) else { throw SqlError.invalidStatement("a mark of a found word holds a NUL byte") }
    return SqlExpression(DatabaseValue.text(text))
  }
}
