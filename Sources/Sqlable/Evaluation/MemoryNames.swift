extension SelectQuery.Clauses {
  /// The names that SQLite gives to the columns of the result: those of columns, and the text of other terms.
  var resultNames: [String] {
    guard rows.isEmpty else { return rows[0].indices.map { "column\($0 + 1)" } }
    return results.flatMap { result -> [String] in
      switch result {
      case .term(let term): return [name(of: term)]
      case .table(let table, _, _): return table.columns.map(\.name)
      case .model(let index, let replaced):
        let table = sources[index].table
        return table.columns.indices.map { position in
          let term = replaced.first { table.position(of: $0.column) == position }?.term
          return term.map(name(of:)) ?? table.columns[position].name
        }
      }
    }
  }

  private func name(of term: SqlExpression) -> String {
    switch term.node {
    case .column(let reference), .qualified(_, let reference): return reference.name
    default:
      let (sql, parameters) = (SqlBuffer(), ParameterBuffer())
      // The query has been written as a whole: a term of it can be.
      guard let scope = try? Scope(sources, outer: nil),
        (try? Renderer(scope, sql: sql, parameters: parameters).write(term)) != nil
      else { return "" }
      return sql.text
    }
  }
}
