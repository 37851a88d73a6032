#if Cluster
import Sqlable
import SqlableChanges

extension SqliteCluster {
  /// Returns the position of the last logged change of the cluster.
  ///
  /// ```swift
  /// let (bikes, position) = try await cluster.read { tx in
  ///   (try await Bicycle.read().run(tx), try await cluster.changePosition())
  /// }
  /// ```
  ///
  /// In the same `read` as a query, the position belongs to the snapshot of the query. Throws `.schema(.missingTable)`
  /// if the database has no change log.
  public func changePosition(file: StaticString = #fileID, line: UInt = #line) async throws -> ChangePosition {
    try await readLog(LogPart(), at: CallSite(file: file, line: line)) { db in try LogState(db).end }
  }

  /// Returns the logged changes of all tables of the cluster after a position: first the changes until now, then each
  /// later change of any client.
  ///
  /// ```swift
  /// for try await change in cluster.changes(since: position) {
  ///   try await send(change.new, id: change.position.description)
  /// }
  /// ```
  ///
  /// The sequence delivers each change once, in the order of commits and of changes in a commit. A loop can begin at
  /// the position of any change, even after a restart of the program. About 1,000 changes are in memory. When a loop
  /// has reached the end of the log, the client checks for new changes after its own commits and every
  /// ``ClusterConfiguration/pollInterval``, once for all of its loops.
  ///
  /// The sequence ends when the client closes. It throws the errors of a pool's `changes(since:)`, and `.unavailable`
  /// or `.timeout` if a read finds no leader before the deadline. The next loop continues at the position of the last
  /// change.
  public func changes(
    since position: ChangePosition, file: StaticString = #fileID, line: UInt = #line
  ) -> LoggedChanges<LoggedChange> {
    LoggedChanges(self, LogSource(), since: position, CallSite(file: file, line: line))
  }

  /// Returns the logged changes of a model's table after a position, as structs.
  ///
  /// ```swift
  /// for try await change in cluster.changes(on: Bicycle.self, since: position) {
  ///   if case .delete(let bike) = change.row { index.remove(bike) }
  /// }
  /// ```
  ///
  /// Apart from the type of the changes, this method works like ``changes(since:file:line:)``. Also throws the errors
  /// of a pool's `changes(on:since:)`.
  public func changes<Model: Sqlable & Sendable>(
    on model: Model.Type, in tableName: String? = nil, since position: ChangePosition, file: StaticString = #fileID,
    line: UInt = #line
  ) -> LoggedChanges<LoggedModelChange<Model>> {
    let table = TableInfo.unchecked(model)
    let source = LogSource<LoggedModelChange<Model>>(tableName.map(table.named) ?? table)
    return LoggedChanges(self, source, since: position, CallSite(file: file, line: line))
  }
}
#endif
