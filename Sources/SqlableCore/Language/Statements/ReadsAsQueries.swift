extension Statement: SelectStatement where Output == [Model] {
  public typealias Row = Model

  /// Returns the read as a query. Running the query throws `.invalidStatement` if the statement is an insert, update or
  /// delete with `RETURNING`.
  public consuming func asSelect() -> Select<Model> {
    guard case .select(let query) = tree else {
      var query = SelectQuery(of: tree.tableInfo)
      query.clauses.defect = .invalidStatement(
        "a change with RETURNING can't be used as a query; run the change, and use the returned rows")
      return Select(query)
    }
    return Select(query)
  }
}
