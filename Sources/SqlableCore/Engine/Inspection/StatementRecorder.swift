/// The statements that ran on a connection while it was recorded.
package final class StatementRecorder {
  /// The texts of the statements.
  package private(set) var texts: Set<String> = []
  private var runs = 0
  private var queries: [SelectQuery] = []

  /// The query whose result alone was read; nil if another statement ran, or a query ran several times.
  package var onlyQuery: SelectQuery? { runs == 1 && queries.count == 1 ? queries[0] : nil }

  func note(_ statement: TracedStatement) {
    runs += 1
    texts.insert(statement.sql)
  }

  /// Adds a read without a statement as the statement that would read the same.
  func note(reading column: String, ofTable table: String, inDatabase database: String) {
    runs += 1
    texts.insert("SELECT \(column.quotedName) FROM \(table.quotedName(inDatabase: database))")
  }

  func note(_ query: SelectQuery) { queries.append(query) }
}
