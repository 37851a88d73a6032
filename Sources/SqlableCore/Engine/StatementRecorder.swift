/// A record of the statements that ran on a connection.
package final class StatementRecorder {
  /// The texts of the statements.
  package private(set) var texts: Set<String> = []
  private(set) var runs = 0
  /// The queries that were written from a `SelectQuery`, not from SQL text.
  private(set) var queries: [Any] = []

  func note(_ statement: TracedStatement) {
    runs += 1
    texts.insert(statement.sql)
  }

  /// Adds a read that runs no statement, such as the read of a blob in parts. The text is a SELECT that would read the
  /// same value.
  func note(reading column: String, ofTable table: String, inDatabase database: String) {
    runs += 1
    texts.insert("SELECT \(column.quotedName) FROM \(table.quotedName(inDatabase: database))")
  }

  func note(query: Any) { queries.append(query) }
}
