// Reads of a model, where a query is taken.

extension Statement: SelectStatement where Output == [Model] {
  public typealias Row = Model

  /// The same as a query. Running it throws `.invalidStatement` for a change that returns its rows.
  public consuming func asSelect() -> Select<Model> {
    var source = Model.source()
    if let name = query.tableName { source.table = source.table.named(name) }
    var select = SelectQuery(source, results: [.model(0)])
    select.clauses.filter = query.filter
    select.clauses.order = query.order
    select.clauses.limit = query.limit
    select.clauses.offset = query.offset
    if query.kind != .read { select.clauses.defect = .invalidStatement("a change that returns its rows is no query") }
    return Select(select)
  }
}
