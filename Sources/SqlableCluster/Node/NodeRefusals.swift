#if ClusterNode
import Sqlable

extension SqliteClusterNode {
  /// Returns the statements that nodes of this process refuse or end, as errors with the text of the statement.
  ///
  /// ```swift
  /// for await refusal in node.refusals() { logger.warning("\(refusal)") }
  /// ```
  ///
  /// `.interrupted` is a statement that took more than the configuration's `maximumStatementTime`, `.misuse` a pragma
  /// that would change how the database is stored. The text has no values of parameters. A loop that is 100 refusals
  /// behind misses the oldest ones. The sequence ends when its task is cancelled.
  public func refusals() -> AsyncStream<SqlError> {
    AsyncStream(bufferingPolicy: .bufferingNewest(100)) { continuation in
      let number = StatementWatch.observe { continuation.yield($0) }
      continuation.onTermination = { _ in StatementWatch.removeObserver(number) }
    }
  }
}
#endif
