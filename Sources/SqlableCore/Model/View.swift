/// The query that a view's rows come from.
public struct View: Sendable, Hashable {
  let query: DeclaredExpression

  /// A query in SQL, which is inserted unchanged: it must come from the program, never from user input.
  ///
  /// It must have as many columns as the model.
  public init(sql: String) { query = .sql(sql) }

  init(_ query: DeclaredExpression) { self.query = query }

  /// The query's SQL, with literals in place of values.
  ///
  /// - Parameter real: Spells a number so that SQLite reads it exactly.
  package func sql(for table: TableInfo, real: (Double) throws -> String) throws -> String {
    try query.sql(for: table, real: real)
  }
}

extension TableInfo {
  /// Throws `.misuse` for a view, which can't be changed.
  func checkIsNoView() throws {
    guard view == nil else { throw SqlError.misuse("view \(name) is read-only").at(table: name) }
  }
}
