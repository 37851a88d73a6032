#if Cluster
import Sqlable
import SqlableChanges

extension SqliteCluster {
  /// Returns the changes of a model's table for a named consumer. The cluster stores the consumer's position.
  ///
  /// ```swift
  /// for try await batch in cluster.changes(on: Bicycle.self, as: "search-index") {
  ///   if batch.isSnapshot { try await index.clear() }
  ///   for try await change in batch.changes { try await index.apply(change.row) }
  ///   try await batch.acknowledge()
  /// }
  /// ```
  ///
  /// Works as `changes(on:as:)` does on a pool, with the same errors. Across all clients of the cluster, one loop at a
  /// time owns a consumer, by a lease in the database. A client that closes during its loop does not release the lease,
  /// so the next loop waits for `lease`. The client reads all rows of a snapshot into memory. If a read or a write
  /// finds no leader before the client's deadline, the loop throws `.unavailable` or `.timeout`. The next loop starts
  /// with the first change that is not acknowledged. `acknowledge()` throws `.misuse` inside a transaction of the
  /// cluster.
  public func changes<Model: Sqlable & Sendable>(
    on model: Model.Type, in tableName: String? = nil, as name: String, startingWith start: ConsumerStart = .rows,
    lease: Duration = .seconds(10), file: StaticString = #fileID, line: UInt = #line
  ) -> ChangeBatches<LoggedModelChange<Model>> {
    ChangeBatches(
      database: self, followed: .of(model, in: tableName), name: name, start: start, lease: lease,
      callSite: CallSite(file: file, line: line))
  }

  /// Returns the changes of all logged tables for a named consumer, with their values as ``DynamicRow``; see
  /// ``changes(on:in:as:startingWith:lease:file:line:)``.
  public func changes(
    as name: String, startingWith start: ConsumerStart = .rows, lease: Duration = .seconds(10),
    file: StaticString = #fileID, line: UInt = #line
  ) -> ChangeBatches<LoggedChange> {
    ChangeBatches(
      database: self, followed: .ofAllTables, name: name, start: start, lease: lease,
      callSite: CallSite(file: file, line: line))
  }

  /// Returns the consumers of the cluster's change log, in the order of their names.
  ///
  /// Throws `.schema(.missingTable)` if the database has no change log.
  public func changeConsumers(file: StaticString = #fileID, line: UInt = #line) async throws -> [ChangeConsumer] {
    try await read(file: file, line: line) { tx in
      try await logCopies.withCopy(of: tx, LogPart()) { copy in try await ChangeConsumer.all(in: tx, copy) }
    }
  }

  /// Removes a consumer with its position and its quarantine. A running loop with this name starts again as a new
  /// consumer.
  ///
  /// Does nothing if no consumer has the name. Throws `.schema(.missingTable)` if the database has no change log.
  public func removeChangeConsumer(_ name: String, file: StaticString = #fileID, line: UInt = #line) async throws {
    try await transaction(file: file, line: line) { tx in
      try await logCopies.withCopy(of: tx, LogPart()) { copy in _ = try LogState(copy.db) }
      for statement in ChangeConsumer.removal(of: name) { try await tx.execute(statement) }
    }
  }
}
#endif
