#if ClusterNode
import Sqlable

extension SqliteClusterNode {
  /// Returns the statements that nodes of this process refused or interrupted, as errors with the SQL text.
  ///
  /// ```swift
  /// for await refusal in node.refusals() { logger.warning("\(refusal)") }
  /// ```
  ///
  /// `.interrupted` reports a statement that exceeded the configuration's `maximumStatementTime`. `.misuse` reports a
  /// pragma that would change how the database is stored. The SQL text does not include parameter values. A loop that
  /// is 100 refusals behind misses the oldest refusals. The sequence ends when its task is cancelled.
  public func refusals() -> AsyncStream<SqlError> {
    AsyncStream(bufferingPolicy: .bufferingNewest(100)) { continuation in
      let number = StatementWatch.observe { continuation.yield($0) }
      continuation.onTermination = { _ in StatementWatch.removeObserver(number) }
    }
  }
}
#endif
