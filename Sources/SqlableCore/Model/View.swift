/// The query that defines a view.
public struct View: Sendable, Hashable {
  let query: DeclaredExpression

  /// Makes a view from an SQL query, inserted unchanged. Write the query in the program; never take it from user input.
  ///
  /// The query must have the same number of columns as the model.
  public init(sql: String) { query = .sql(sql) }

  init(_ query: DeclaredExpression) { self.query = query }

  /// Returns the query's SQL, with literals for values; see ``DeclaredExpression``.
  package func sql(for table: TableInfo, real: (Double) throws -> String) throws -> String {
    try query.sql(for: table, real: real)
  }
}

extension TableInfo {
  func checkIsNoView() throws {
    guard view == nil else { throw SqlError.misuse("view \(name) is read-only").at(table: name) }
  }
}
