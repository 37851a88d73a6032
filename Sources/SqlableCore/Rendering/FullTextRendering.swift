extension Renderer {
  func write(_ term: FullTextTerm, _ terms: [SqlExpression], stack: Int) throws {
    // The SQL depends on the tables in scope, and a cache key does not contain these tables.
    if sql.isKey { return sql.refuseKey() }
    switch term.form {
    case .matches(let alias):
      // A subquery is needed because FTS5 does not support MATCH as an operand of OR or NOT.
      let source = try scope.source(of: term.table, alias: alias)
      let table = source?.table ?? term.table
      guard let index = table.fullText else { return }
      if let source, !scope.isPlain { writeName(source.name) }
      sql.append(text: index.rowid.quotedName)
      sql.append(text: " IN (SELECT \"rowid\" FROM \(index.quotedName) WHERE \(index.name.quotedName) MATCH ")
      for value in terms { try write(value, within: .atom, stack: stack + 14) }
      sql.append(")")
    case .search: try writeSearched(term, nil, " MATCH ", terms, stack: stack)
    case .weighting: try writeSearched(term, "rank", " MATCH ", terms, stack: stack)
    case .rank: try writeSearched(term, "rank", "", terms, stack: stack)
    case .snippet(let column, let tokens):
      sql.append("snippet(")
      let position = try column.flatMap { try term.table.fullText?.position(of: $0) } ?? -1
      try writeSearched(term, nil, ", \(position), ", terms, stack: stack + 5)
      sql.append(text: ", \(tokens))")
    case .highlight(let column):
      sql.append("highlight(")
      let position = try term.table.fullText?.position(of: column) ?? 0
      try writeSearched(term, nil, ", \(position), ", terms, stack: stack + 5)
      sql.append(")")
    }
  }

  /// Writes a hidden column of the searched index, followed by values. If `column` is nil, writes the column that has
  /// the index's name.
  private func writeSearched(
    _ term: FullTextTerm, _ column: String?, _ operation: String, _ values: [SqlExpression], stack: Int
  ) throws {
    guard let source = try scope.searched(term.table), let index = source.table.fullText else {
      throw SqlError.invalidStatement(
        "rank, snippet and highlight of table \(term.table.name) need a query that starts with search(_:)"
      ).at(table: term.table.name)
    }
    if index.isExternal { writeName(index.name) } else if !scope.isPlain { writeName(source.name) }
    sql.append(text: (column ?? index.name).quotedName)
    sql.append(text: operation)
    for (position, value) in values.enumerated() {
      if position > 0 { sql.append(", ") }
      try write(value, within: .atom, stack: stack)
    }
  }

  func writeIndex(of source: SelectQuery.Source) {
    guard let index = source.table.fullText, index.isExternal else { return }
    sql.append(text: " JOIN \(index.quotedName) ON \(index.name.quotedName).\"rowid\" = ")
    writeName(source.name)
    sql.append(text: index.rowid.quotedName)
  }
}
