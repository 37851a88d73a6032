#if Cluster
import Sqlable
import SqlableChanges

extension ChangeLog {
  /// Creates the log's tables and triggers on a cluster, or replaces triggers that are out of date, in one transaction.
  ///
  /// ```swift
  /// try await cluster.createTables(Person.self, Bicycle.self)
  /// try await ChangeLog(Person.self, Bicycle.self).create(cluster)
  /// ```
  ///
  /// Works as `create` does on a handle, with the same errors. A call that finds everything up to date only reads.
  /// `createTables` and migrations keep the log up to date. Inside a transaction of the cluster, the call belongs to
  /// the transaction.
  public func create(
    _ cluster: SqliteCluster, file: StaticString = #fileID, line: UInt = #line
  ) async throws {
    try await cluster.changeLog(file, line) { try creation(on: $0) }
  }

  /// Drops the triggers of the log's tables on a cluster. If no logged table remains, the log itself is dropped with
  /// all its changes.
  public func drop(_ cluster: SqliteCluster, file: StaticString = #fileID, line: UInt = #line) async throws {
    try await cluster.changeLog(file, line) { try removal(on: $0) }
  }

  /// Deletes the changes that no rule keeps from the log of a cluster, in transactions of at most 10,000 changes.
  /// Returns the number of deleted changes.
  ///
  /// ```swift
  /// try await ChangeLog.trim(cluster, keeping: .unacknowledged, .age(.seconds(86_400)))
  /// ```
  ///
  /// Works as `trim` does on a handle, with the same errors. An error does not undo earlier transactions.
  @discardableResult
  public static func trim(
    _ cluster: SqliteCluster, keeping rules: ChangeRetention..., file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Int {
    try rules.check()
    var total = 0
    while true {
      let count = try await cluster.transaction(file: file, line: line) { tx in
        let trim = try await trim(tx, LogCopy(of: tx), rules, atMost: 10_000)
        guard let statements = trim.statements else { return 0 }
        try await tx.execute(statements.losses)
        let answer = try await tx.answer(to: statements.delete.requests()[0])
        try await tx.execute(statements.end)
        return answer.changes
      }
      total += count
      if count < 10_000 { return total }
    }
  }
}

extension SqliteCluster {
  /// Passes a copy of the log to a closure, and then runs the closure's statements on the cluster.
  fileprivate func changeLog(
    _ file: StaticString, _ line: UInt, _ statements: (LogCopy) throws -> [SQL]
  ) async throws {
    // Read first, without the write lock, because usually everything is up to date.
    let isUpToDate = try await read(file: file, line: line) { tx in try await statements(tx.filledCopy()).isEmpty }
    guard !isUpToDate else { return }
    try await transaction(file: file, line: line) { tx in
      for sql in try await statements(tx.filledCopy()) { try await tx.execute(sql) }
    }
  }
}
#endif
