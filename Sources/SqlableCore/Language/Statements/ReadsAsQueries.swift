// Reads of a model, used as queries.

extension Statement: SelectStatement where Output == [Model] {
  public typealias Row = Model

  /// Returns the read as a query. Running it throws `.invalidStatement` if the statement is a change with `RETURNING`.
  public consuming func asSelect() -> Select<Model> {
    guard case .select(let query) = tree else {
      var query = SelectQuery(of: tree.tableInfo)
      query.clauses.defect = .invalidStatement("a change with RETURNING is not a query")
      return Select(query)
    }
    return Select(query)
  }
}
