import Synchronization

/// The observation of one handle: records changes during a transaction, and delivers them after its commit.
///
/// All methods except `deliverPending()` and `deliverTraced()` must be called with the handle's lock held.
package final class HandleObservation {
  let registry: ObserverRegistry
  private let ancestors: [ObserverRegistry]
  let buffer = ChangeBuffer()
  let hook: ChangeHook
  unowned let connection: Connection
  /// The lock that a handle and its child handles hold during commit and delivery, so that the parent's observers
  /// receive the commits of all these handles in order.
  private let order: CommitOrder
  /// The value of ``ObserverRegistry/changes`` when `interest` was last updated.
  @exclusivity(unchecked) private var seenChanges = -1
  private var interest = ObservedTables()
  /// The schema version in which the keys were looked up; nil if they must be looked up again.
  private var schemaVersion: Int64?
  /// True if the schema might have changed since the keys were looked up.
  private var mayBeOutdated = false
  /// True if the keys were looked up inside the open transaction, whose schema changes might be rolled back.
  private var isLookupUncommitted = false
  /// The value of ``ObserverRegistry/changes`` when the transaction began. An observer that was added later missed
  /// earlier writes of the transaction.
  private var changesAtBegin = -1
  /// The schema version when the transaction began; nil if unread. If the version differs at the commit, the sinks
  /// receive a commit with unknown changes.
  private var schemaAtBegin: Int64?
  /// True if the last check for other connections' commits ran inside the open transaction. If the transaction writes,
  /// no other connection can commit between this check and the commit.
  private var isCheckCurrent = false
  /// SQLite's `data_version` at the last check for other connections' commits; nil before the first check.
  private var dataVersion: Int64?
  /// Commits that are not yet delivered to the handle's own observers.
  private let pending = LockedValue<[ObserverRegistry.Recipients]>([])
  /// The number of pending commits. Every statement checks the number at its end, without a lock.
  private let pendingCount = Atomic(0)
  private let isDelivering = Atomic(false)
  private let makeTracer: (Connection, _ didMeasure: @escaping () -> Void) -> (any RunTracer)?
  private let tracer = LockedValue<(any RunTracer)?>(nil)
  /// True if the tracer has runs to deliver.
  private let hasTraced = Atomic(false)
  /// True if the schema can make a failed statement keep some of its changes, for example by ON CONFLICT FAIL.
  private var mayKeepFailedRows = false
  private var isFailureKnown = false
  private let witness: RollbackDetector
  /// True if the rollback detector has joined the open transaction.
  private var isWatching = false

  final class CommitOrder: Sendable {
    fileprivate let lock = LockedValue(())
  }

  init(
    connection: Connection, registry: ObserverRegistry, order: CommitOrder, usesPreupdate: Bool,
    makeTracer: @escaping (Connection, _ didMeasure: @escaping () -> Void) -> (any RunTracer)?
  ) {
    self.connection = connection
    self.makeTracer = makeTracer
    self.registry = registry
    self.order = order
    witness = RollbackDetector(connection)
    ancestors = Array(sequence(first: registry, next: \.parent).dropFirst())
    hook = ChangeHook(handle: connection.handle, sink: buffer, usesPreupdate: usesPreupdate)
  }

  /// True if changes are recorded. In this case, each write needs a transaction.
  var isActive: Bool { hook.isInstalled }

  /// True if `refresh()` would change nothing, and no changes are recorded.
  @inline(__always)
  var isIdle: Bool { !hook.isInstalled && ObserverRegistry.changes == seenChanges }

  /// Updates `interest` if observers have changed. Call before every write.
  func refresh() {
    let changes = ObserverRegistry.changes
    if changes == seenChanges { return }
    seenChanges = changes
    let wanted = wanted
    if wanted != interest {
      interest = wanted
      schemaVersion = nil
    }
    if wanted.isEmpty == hook.isInstalled {
      if wanted.isEmpty { hook.remove() } else { hook.install() }
      // A DELETE without a filter that was compiled before the hook was installed would not call the hook.
      connection.dropStatements()
    }
  }

  private var wanted: ObservedTables {
    var wanted = registry.interest
    for ancestor in ancestors { wanted.formUnion(ancestor.interest) }
    return wanted
  }

  /// The sinks of this handle and its ancestors.
  private var sinks: [any CommitSink] {
    var sinks = ancestors.compactMap(\.sink)
    if let own = registry.sink { sinks.append(own) }
    return sinks
  }

  /// Looks up the key positions of the observed tables, unless the schema is unchanged since the last lookup.
  ///
  /// Call at the start of every transaction, and before each write inside a transaction. Inside a transaction, looks
  /// the positions up again only after a possible schema change, or if the set of observed tables has changed.
  func refreshKeys(isBeginning: Bool) throws {
    if isBeginning {
      isWatching = false
      (changesAtBegin, schemaAtBegin) = (seenChanges, nil)
      let detects = interest.commits && dataVersion != nil
      if detects { try detectOtherCommits() }
      // In autocommit mode, a deferred transaction begins later, and another connection can commit before it begins.
      isCheckCurrent = detects && !connection.isAutocommit
    }
    guard isBeginning ? isActive : isSchemaUncertain else { return }
    if isBeginning { isLookupUncommitted = false }
    let current = try connection.schemaVersion()
    if isBeginning { schemaAtBegin = current }
    mayBeOutdated = false
    if current != schemaVersion || !isFailureKnown {
      let mayKeep = try connection.mayKeepFailedRows()
      isFailureKnown = isBeginning || mayKeep == mayKeepFailedRows
      // Inside a transaction, the value never becomes false again, because a savepoint that changed the schema might be
      // rolled back.
      mayKeepFailedRows = mayKeep || !isBeginning && mayKeepFailedRows
    }
    guard current != schemaVersion else { return }
    buffer.tables = try connection.tableNames().compactMap { name in
      try ChangeBuffer.Table(nameInDatabase: name, interest) { try connection.keyShape(ofTable: name) }
    }
    schemaVersion = current
    isLookupUncommitted = !isBeginning
  }

  package func detectOtherCommits() throws {
    // Notify before the check, because a commit during the check requires another check. The first check only reads the
    // version with which later checks compare, so no notification precedes it.
    if dataVersion != nil { for sink in sinks { sink.willDetectOtherCommits() } }
    let current: Int64
    do { current = try connection.dataVersion() } catch {
      for sink in sinks { sink.didCommitElsewhere(on: nil) }
      throw error
    }
    let isNew = dataVersion.map { $0 != current } ?? false
    dataVersion = current
    if isNew { for sink in sinks { sink.didCommitElsewhere(on: connection) } }
  }

  /// True if the schema must be checked before the next write of the open transaction.
  var isSchemaUncertain: Bool { isActive && (mayBeOutdated || schemaVersion == nil) }

  /// Records that the schema might have changed. Call after a statement of this handle that can change the schema. Also
  /// call at the beginning of a deferred transaction, because other connections can change the schema until the first
  /// read.
  func schemaDidChange() { mayBeOutdated = true }

  /// Records a change that the schema version of `main` does not show. Call after a statement that might have changed
  /// the schema of `temp` or attached a database.
  func otherSchemasDidChange() { (mayBeOutdated, isFailureKnown) = (true, false) }

  /// Makes the next transaction read the keys of the observed tables again. Call after registering a collation, which a
  /// key might use.
  func collationsDidChange() { schemaVersion = nil }

  // MARK: The open transaction

  var mark: Int { buffer.count }

  func forget(after mark: Int) { buffer.forget(after: mark) }

  /// Removes the recorded deletions of a dropped table's rows. Call after DROP TABLE: if foreign keys refer to the
  /// table, SQLite first deletes the table's rows, and calls the hook for each row. Changes that ON DELETE makes to
  /// other tables remain recorded.
  func forgetRowsOfDroppedTables(after mark: Int) throws {
    guard buffer.count > mark else { return }
    // Compare bytes, because `==` treats the two encodings of an é as equal, but SQLite has two different tables.
    let names = Set(try connection.tableNames().map { Array($0.utf8) })
    buffer.forget(after: mark) { !names.contains(Array($0.nameInDatabase.utf8)) }
  }

  /// Removes all recorded changes. Call when the whole transaction is rolled back.
  func forgetAll() { buffer.forgetAll() }

  // MARK: A statement that may fail

  /// Prepares for a statement inside a transaction. Returns the number of rollbacks so far; `keeps` compares this
  /// number to detect whether a failed statement was rolled back. Returns nil if a failed statement is always rolled
  /// back.
  ///
  /// - Parameter mayKeep: True if the statement's text, such as `OR FAIL`, can make a failed statement keep changes.
  func watch(mayKeep: Bool) throws -> Int? {
    guard mayKeep || mayKeepFailedRows, isActive else { return nil }
    if !isWatching {
      guard try witness.joinTransaction() else { return nil }
      isWatching = true
    }
    return witness.rollbacks
  }

  /// True if a failed statement has kept its changes; `watched` is the result of `watch`.
  func keeps(_ watched: Int?, after mark: Int) -> Bool {
    guard let watched, buffer.count > mark, !connection.isAutocommit else { return false }
    return witness.rollbacks == watched
  }

  /// The changes so far to tables that live results read; `undo` can restore this snapshot. Nil if no live result reads
  /// a table.
  var summarized: ChangeBuffer.Summarized? { interest.read.isEmpty ? nil : buffer.summarized }

  /// Removes the changes of a savepoint or transaction that was rolled back. `mark` and `summarized` are the values at
  /// the start of the savepoint or transaction.
  func undo(after mark: Int, to summarized: ChangeBuffer.Summarized?) {
    forget(after: mark)
    if let summarized { buffer.goBack(to: summarized) }
    // Look up the tables' keys again: the next schema change can get the version number of the rolled-back change.
    if isLookupUncommitted { schemaVersion = nil }
  }

  /// Calls `commit`, and if `commit` succeeds, passes the recorded changes to the observers.
  func commit(_ commit: () throws -> Void) throws {
    // A sink that requests all commits also receives commits that change only the schema.
    let isWanted = interest.commits && connection.isWriting
    guard isWanted || !ancestors.isEmpty && !buffer.isEmpty else {
      let isWriting = connection.isWriting
      try commit()
      handOver()
      // A transaction that only read can't have changed a live result.
      return isWriting ? notifyLatecomers(isUnannounced: true) : ()
    }
    let schemaVersion = isWanted && schemaAtBegin != nil ? try? connection.schemaVersion() : nil
    let isSchemaNew = isWanted && (schemaVersion == nil || schemaVersion != schemaAtBegin)
    let sinks = isWanted ? sinks : []
    try order.lock.withLock { _ in
      for sink in sinks {
        sink.commitBegins(on: connection, schemaVersion: isCheckCurrent ? schemaVersion : nil)
      }
      defer { for sink in sinks { sink.commitEnds() } }
      try commit()
      handOver(isWanted: isWanted, isUnknown: isSchemaNew || !hook.reportsAll)
    }
    notifyLatecomers(isUnannounced: !isWanted)
  }

  /// Calls `commit`, which commits changes that are not recorded, such as a restore. If `commit` returns true, notifies
  /// the sinks that any table might have changed.
  package func commitUnrecorded(_ commit: () throws -> Bool) throws {
    let sinks = sinks
    try order.lock.withLock { _ in
      for sink in sinks { sink.commitBegins(on: connection, schemaVersion: nil) }
      defer { for sink in sinks { sink.commitEnds() } }
      guard try commit() else { return }
      for sink in sinks { sink.didCommit(CommittedChanges(isUnknown: true)) }
    }
    (schemaVersion, isFailureKnown) = (nil, false)
  }

  private func handOver(isWanted: Bool = false, isUnknown: Bool = false) {
    guard isWanted || !buffer.isEmpty else { return }
    var commit = buffer.takeAll()
    (commit.isUnknown, commit.recordedSince, commit.isUnannounced) = (isUnknown, changesAtBegin, !isWanted)
    if !commit.rows.isEmpty, let recipients = registry.recipients(for: commit.rows) {
      pending.withLock { pending in
        pending.append(recipients)
        pendingCount.store(pending.count, ordering: .releasing)
      }
    }
    for sink in sinks { sink.didCommit(commit) }
    for ancestor in ancestors {
      guard !commit.rows.isEmpty, let recipients = ancestor.recipients(for: commit.rows) else { continue }
      ancestor.queue.async { recipients.deliver() }
    }
  }

  /// Reports the commit to subscribers added after `interest` was read. Such a subscriber might have read old rows.
  private func notifyLatecomers(isUnannounced: Bool) {
    guard ObserverRegistry.changes != seenChanges, wanted != interest else { return }
    for sink in sinks {
      sink.didCommit(CommittedChanges(recordedSince: changesAtBegin, isUnannounced: isUnannounced))
    }
  }

  // MARK: Delivery

  /// True if commits or traced runs wait for delivery. Reliable only for commits and runs of the calling thread.
  var hasPending: Bool { pendingCount.load(ordering: .acquiring) > 0 || hasTraced.load(ordering: .relaxed) }

  /// Calls the handle's own observers, commit by commit. Call without the handle's lock.
  ///
  /// If an observer or another thread commits meanwhile, the thread that is already delivering also delivers that
  /// commit, after the current commit.
  func deliverPending() {
    // Check inside the lock, so that a commit that another thread has just added is not missed.
    while pending.withLock({ !$0.isEmpty }) {
      guard isDelivering.exchange(true, ordering: .acquiringAndReleasing) == false else { return }
      while let recipients = takePending() { recipients.deliver() }
      isDelivering.store(false, ordering: .releasing)
    }
  }

  private func takePending() -> ObserverRegistry.Recipients? {
    pending.withLock { pending in
      guard !pending.isEmpty else { return nil }
      pendingCount.store(pending.count - 1, ordering: .releasing)
      return pending.removeFirst()
    }
  }

  // MARK: Tracing

  func trace(_ isTraced: Bool) {
    guard isTraced != (connection.tracer != nil) else { return }
    let new = isTraced ? makeTracer(connection) { [unowned self] in hasTraced.store(true, ordering: .releasing) } : nil
    connection.trace(with: new)
    tracer.withLock { $0 = new }
  }

  /// Passes each ended run to the traces, once. Call without the handle's lock.
  func deliverTraced() {
    guard hasTraced.exchange(false, ordering: .acquiringAndReleasing) else { return }
    tracer.withLock { $0 }?.deliver()
  }

  func close() {
    hook.remove()
    witness.close()
  }

}
