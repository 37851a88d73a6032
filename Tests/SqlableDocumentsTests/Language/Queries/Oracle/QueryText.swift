import SqlableCore

// Tests/Record has this file and what it uses in one target.
#if canImport(SqlableTestSupport) && !RECORD
@testable import SqlableTestSupport
#endif

/// A writer of random queries as SQL text, independent of the library. Values are literals, terms have parentheses,
/// tables have aliases, and named queries are written in place.
struct QueryText {
  let world: QueryWorld

  func text(_ query: RandomQuery) -> String {
    var text = core(query)
    for (operation, other) in query.compounds { text += " \(operation.rawValue) \(core(other))" }
    let keys = query.order.map { ordering in
      switch ordering.key {
      case .result(let index): "\(index + 1)\(ordering.isDescending ? " DESC" : "")"
      case .term(let term): "\(self.text(term))\(ordering.isDescending ? " DESC" : "")"
      }
    }
    if !keys.isEmpty { text += " ORDER BY \(keys.joined(separator: ", "))" }
    if query.limit != nil || query.offset != nil { text += " LIMIT \(query.limit ?? -1) OFFSET \(query.offset ?? 0)" }
    return text
  }

  private func core(_ query: RandomQuery) -> String {
    let results = query.results.enumerated().map { "\(self.text($1)) AS c\($0)" }
    var text = "SELECT \(query.isDistinct ? "DISTINCT " : "")\(results.joined(separator: ", "))"
    for (index, source) in query.sources.enumerated() {
      text += index == 0 ? " FROM " : " \(source.join.rawValue) "
      text += "\(self.text(source.kind)) AS \(alias(source.id))"
      if let condition = source.condition { text += " ON \(self.text(condition))" }
    }
    if let filter = query.filter { text += " WHERE \(self.text(filter))" }
    if !query.groups.isEmpty { text += " GROUP BY \(texts(query.groups))" }
    if let having = query.having { text += " HAVING \(self.text(having))" }
    return text
  }

  private func alias(_ id: Int) -> String { "alias_\(id)" }

  private func text(_ kind: RandomQuery.Source.Kind) -> String {
    switch kind {
    case .table(let index): return "\(quoted(world.tables[index].tableName))"
    case .named(let query), .alias(let query): return "(\(text(query)))"
    case .values(let rows):
      let rows = rows.map { "SELECT \(literal($0[0])) AS c0, \(literal($0[1])) AS c1" }
      return "(\(rows.joined(separator: " UNION ALL ")))"
    case .elements(let term): return "json_each(\(text(term)))"
    }
  }

  /// Returns the name of a source's column.
  func column(_ source: RandomQuery.Source, _ position: Int) -> String {
    switch source.kind {
    case .table(let index): quoted(world.tables[index].columns[position].name)
    case .named, .alias, .values: "c\(position)"
    case .elements: position == 0 ? "key" : "value"
    }
  }

  var sources: [Int: RandomQuery.Source]

  private func quoted(_ name: String) -> String {
    "\"\(name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\""
  }

  private func literal(_ value: RandomValue) -> String {
    switch world.storage(value) {
    case .null: "NULL"
    // After ORDER BY, SQLite takes a bare number for a column's position.
    case .integer(let number): "CAST(\(number) AS INTEGER)"
    case .text(let text):
      "CAST(x'\(text.utf8.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined())' AS TEXT)"
    case .real, .blob: "?"
    }
  }

  private func texts(_ terms: [RandomTerm]) -> String { terms.map(text).joined(separator: ", ") }

  func text(_ term: RandomTerm) -> String {
    switch term {
    case .column(let id, let position): "\(alias(id)).\(sources[id].map { column($0, position) } ?? "?")"
    case .value(let value): literal(value)
    case .comparison(let comparison, let left, let right): "(\(text(left)) \(comparison.rawValue) \(text(right)))"
    case .plus(let left, let right): "(\(text(left)) + \(text(right)))"
    case .minus(let left, let right): "(\(text(left)) - \(text(right)))"
    case .times(let left, let right): "(\(text(left)) * \(text(right)))"
    case .concatenation(let left, let right): "(\(text(left)) || \(text(right)))"
    case .and(let left, let right): "(\(text(left)) AND \(text(right)))"
    case .or(let left, let right): "(\(text(left)) OR \(text(right)))"
    case .not(let term): "(NOT \(text(term)))"
    case .isNull(let term): "(\(text(term)) ISNULL)"
    case .between(let term, let low, let high): "(\(text(term)) BETWEEN \(text(low)) AND \(text(high)))"
    case .isIn(let term, let values):
      // SQLite turns `x IN ()` into 0, and after ORDER BY that into a column's position.
      values.isEmpty
        ? "(\(text(term)) IN (SELECT 1 WHERE 0))"
        : "(\(text(term)) IN (\(values.map(literal).joined(separator: ", "))))"
    case .choice(let cases, let otherwise):
      "(CASE \(cases.map { "WHEN \(text($0)) THEN \(text($1))" }.joined(separator: " "))"
        + "\(otherwise.map { " ELSE \(text($0))" } ?? "") END)"
    case .coalesce(let first, let second): "coalesce(\(text(first)), \(text(second)))"
    case .nullIf(let first, let second): "nullif(\(text(first)), \(text(second)))"
    case .countAll(let filter): "count(*)\(text(filter: filter))"
    case .aggregate(let aggregate, let term, let isDistinct, let filter):
      "\(aggregate.rawValue)(\(isDistinct ? "DISTINCT " : "")\(text(term)))\(text(filter: filter))"
    case .ranking(let ranking, let partition, let order):
      "\(ranking.rawValue)() OVER (\(partition.isEmpty ? "" : "PARTITION BY \(texts(partition)) ")"
        + "ORDER BY \(order.map { text($0) + ($1 ? " DESC" : "") }.joined(separator: ", ")))"
    case .running(let aggregate, let term, let partition, let order, let rows):
      "\(aggregate.rawValue)(\(text(term))) OVER (\(partition.isEmpty ? "" : "PARTITION BY \(texts(partition)) ")"
        + "ORDER BY \(texts(order))\(rows.map { " ROWS BETWEEN \($0) PRECEDING AND CURRENT ROW" } ?? ""))"
    case .query(.exists, let query): "(EXISTS (\(text(query))))"
    case .query(.scalar, let query): "(\(text(query)))"
    case .query(.isIn(let term), let query): "(\(text(term)) IN (\(text(query))))"
    }
  }

  private func text(filter: RandomTerm?) -> String { filter.map { " FILTER (WHERE \(text($0)))" } ?? "" }
}
