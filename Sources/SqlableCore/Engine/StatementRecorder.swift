/// A record of the statements that ran on a connection.
package final class StatementRecorder {
  package private(set) var texts: Set<String> = []
  private(set) var runs = 0
  /// The queries that were rendered, each a `SelectQuery`.
  private(set) var queries: [Any] = []

  func note(_ statement: TracedStatement) {
    runs += 1
    texts.insert(statement.sql)
  }

  /// Records a read that ran no statement. The record contains the SELECT that would read the same value.
  func note(reading column: String, ofTable table: String, inDatabase database: String) {
    runs += 1
    texts.insert("SELECT \(column.quotedName) FROM \(table.quotedName(inDatabase: database))")
  }

  func note(query: Any) { queries.append(query) }
}
