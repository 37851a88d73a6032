// Reads of a model, where a query is taken.

extension Statement: SelectStatement where Output == [Model] {
  public typealias Row = Model

  /// The same as a query. Running it throws `.invalidStatement` for a change that returns its rows.
  public consuming func asSelect() -> Select<Model> {
    guard case .select(let query) = tree else {
      var query = SelectQuery(of: tree.tableInfo)
      query.clauses.defect = .invalidStatement("a change that returns its rows is no query")
      return Select(query)
    }
    return Select(query)
  }
}
