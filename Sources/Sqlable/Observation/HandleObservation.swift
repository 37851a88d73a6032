import Synchronization

/// What one handle has to do with observers: recording while a transaction is open, delivering after its commit.
///
/// Everything but `deliverPending()` is called with the handle's lock held.
final class HandleObservation {
  let registry: ObserverRegistry
  private let ancestors: [ObserverRegistry]
  private let buffer = ChangeBuffer()
  private let hook: ChangeHook
  private unowned let connection: Connection
  /// Serializes commit and hand-over among the handles of one family, so that two commits reach a common ancestor in
  /// their order.
  private let order: CommitOrder
  /// The changes of any handle's observers when this one's were looked at.
  @exclusivity(unchecked) private var seenChanges = -1
  private var interest = ObservedTables()
  /// The schema that the keys were looked up in; nil when they have to be looked up again.
  private var schemaVersion: Int64?
  /// Whether the schema may have changed since.
  private var mayBeOutdated = false
  /// Whether they were looked up inside the open transaction, in a schema that may be undone.
  private var isOfOpenTransaction = false
  /// The changes of observers when the open transaction began: for those who came since, rows that it wrote before are
  /// not recorded.
  private var changesAtBegin = -1
  /// The schema that the open transaction began with, where a sink is to hear that it was changed.
  private var schemaAtBegin: Int64?
  /// SQLite's number for what others have committed, at the last look; nil where nobody has looked: another handle may
  /// do so.
  private var dataVersion: Int64?
  /// Committed and not yet delivered to the handle's own observers.
  private let pending = Guarded<[ObserverRegistry.Recipients]>([])
  /// How many there are, to be asked after every statement without a lock.
  private let pendingCount = Atomic(0)
  private let isDelivering = Atomic(false)
  /// Whether something in the schema may have a failing statement keep what it did.
  private var mayKeepWhatFailed = false
  /// Whether that holds for the schema of now.
  private var isFailureKnown = false
  private let witness: RollbackDetector
  /// Whether the witness takes part in the open transaction.
  private var isWatching = false

  final class CommitOrder: Sendable {
    fileprivate let lock = Guarded(())
  }

  init(connection: Connection, registry: ObserverRegistry, order: CommitOrder, usesPreupdate: Bool) {
    self.connection = connection
    self.registry = registry
    self.order = order
    witness = RollbackDetector(connection)
    ancestors = Array(sequence(first: registry, next: \.parent).dropFirst())
    hook = ChangeHook(handle: connection.handle, sink: buffer, usesPreupdate: usesPreupdate)
  }

  /// Whether somebody observes, so that a write has to be a transaction of its own.
  var isActive: Bool { hook.isInstalled }

  /// Takes note of observers that came and went; to be called before every write.
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
      // A DELETE without a filter that was compiled without the hook clears its table without calling it.
      connection.dropStatements()
    }
  }

  /// What all want who are to hear of this handle's changes.
  private var wanted: ObservedTables {
    var wanted = registry.interest
    for ancestor in ancestors { wanted.formUnion(ancestor.interest) }
    return wanted
  }

  /// Looks up where the keys of the observed tables are, unless the schema is the one that was looked at before.
  ///
  /// To be called at the start of every transaction; inside one only what has changed since is looked at.
  func refreshKeys(isBeginning: Bool) throws {
    if isBeginning {
      isWatching = false
      (changesAtBegin, schemaAtBegin) = (seenChanges, nil)
      if interest.commits, dataVersion != nil { try detectOtherCommits() }
    }
    guard isBeginning ? isActive : isKnowledgeInDoubt else { return }
    if isBeginning { isOfOpenTransaction = false }
    let current = try connection.schemaVersion()
    if isBeginning { schemaAtBegin = current }
    mayBeOutdated = false
    if current != schemaVersion || !isFailureKnown {
      // What a savepoint creates or drops may be undone: inside a transaction it can only become more.
      let mayKeep = try connection.mayKeepWhatFailed()
      isFailureKnown = isBeginning || mayKeep == mayKeepWhatFailed
      mayKeepWhatFailed = mayKeep || !isBeginning && mayKeepWhatFailed
    }
    guard current != schemaVersion else { return }
    buffer.tables = try connection.tableNames().compactMap { name in
      try ChangeBuffer.Table(nameInDatabase: name, interest) { try connection.keyShape(ofTable: name) }
    }
    schemaVersion = current
    isOfOpenTransaction = !isBeginning
  }

  /// Finds out whether another connection has committed since the last look; to be called inside a transaction, or when
  /// none is open.
  func detectOtherCommits() throws {
    // Before: who is in doubt about what comes between has it looked again. The first look has none to be compared
    // with, and answers nobody's doubt.
    if dataVersion != nil { for ancestor in ancestors { ancestor.sink?.willDetectOtherCommits() } }
    let found: Int64
    do { found = try connection.dataVersion() } catch {
      for ancestor in ancestors { ancestor.sink?.didCommitElsewhere() }
      throw error
    }
    let isNew = dataVersion.map { $0 != found } ?? false
    dataVersion = found
    if isNew { for ancestor in ancestors { ancestor.sink?.didCommitElsewhere() } }
  }

  /// Whether the schema has to be looked at before the next write of the open transaction.
  var isKnowledgeInDoubt: Bool { isActive && (mayBeOutdated || schemaVersion == nil) }

  /// To be called after what may have changed the schema: a statement of this handle, or of another one before a
  /// deferred transaction reads.
  func schemaDidChange() { mayBeOutdated = true }

  /// To be called after a statement that may have changed the schema of database "temp" or attached a database, which
  /// no number of database "main" tells.
  func otherSchemasDidChange() { (mayBeOutdated, isFailureKnown) = (true, false) }

  /// To be called after a collation was registered: the keys may have been looked up when its name had none, or
  /// another.
  func collationsDidChange() { schemaVersion = nil }

  // MARK: The open transaction

  var mark: Int { buffer.count }

  func forget(after mark: Int) { buffer.forget(after: mark) }

  /// To be called after DROP TABLE. Where foreign keys refer to the table SQLite deletes its rows first, and the hook
  /// tells it; what that does to the rows of others, by ON DELETE, is a change like any other.
  func forgetRowsOfDroppedTables(after mark: Int) throws {
    guard buffer.count > mark else { return }
    // By bytes: == takes the two forms of an é for one, which are two tables.
    let names = Set(try connection.tableNames().map { Array($0.utf8) })
    buffer.forget(after: mark) { !names.contains(Array($0.nameInDatabase.utf8)) }
  }

  /// To be called when the transaction is rolled back as a whole.
  func forgetAll() { buffer.forgetAll() }

  // MARK: A statement that may fail

  /// To be called before a statement inside a transaction: what tells afterwards whether a failure was undone. Nil
  /// where every failure is.
  ///
  /// - Parameter mayKeep: Whether the statement's own text may have it keep what it did.
  func watch(mayKeep: Bool) throws -> Int? {
    guard mayKeep || mayKeepWhatFailed, isActive else { return nil }
    if !isWatching {
      guard try witness.joinTransaction() else { return nil }
      isWatching = true
    }
    return witness.rollbacks
  }

  /// Whether a statement that failed has kept what it did before it failed; `watched` is what `watch` gave before.
  func keeps(_ watched: Int?, after mark: Int) -> Bool {
    guard let watched, buffer.count > mark, !connection.isAutocommit else { return false }
    return witness.rollbacks == watched
  }

  /// What was done to the tables that live results read, for `undo` to go back to; nil where none reads any.
  var summarized: ChangeBuffer.Summarized? { interest.read.isEmpty ? nil : buffer.summarized }

  /// To be called after a savepoint or transaction was rolled back, with what there was when it had begun.
  func undo(after mark: Int, to summarized: ChangeBuffer.Summarized?) {
    forget(after: mark)
    if let summarized { buffer.goBack(to: summarized) }
    // The next change of the schema may get the number of one that was undone.
    if isOfOpenTransaction { schemaVersion = nil }
  }

  /// Commits by way of `commit`, and hands what was recorded to the observers when it has succeeded.
  func commit(_ commit: () throws -> Void) throws {
    // Who wants to know of all commits wants to know of those that only change the schema, too.
    let isWanted = interest.commits && connection.isWriting
    guard !ancestors.isEmpty, isWanted || !buffer.isEmpty else {
      let isWriting = connection.isWriting
      try commit()
      handOver()
      // A transaction that only read tells nobody anything.
      return isWriting ? tellLatecomers() : ()
    }
    let isSchemaNew = isWanted && schemaAtBegin.map { (try? connection.schemaVersion()) != $0 } ?? true
    let sinks = isWanted ? ancestors.compactMap(\.sink) : []
    try order.lock.withLock { _ in
      for sink in sinks { sink.commitBegins() }
      defer { for sink in sinks { sink.commitEnds() } }
      try commit()
      handOver(isWanted: isWanted, isUnknown: isSchemaNew || !hook.tellsAll)
    }
    tellLatecomers()
  }

  private func handOver(isWanted: Bool = false, isUnknown: Bool = false) {
    guard isWanted || !buffer.isEmpty else { return }
    var commit = buffer.takeAll()
    (commit.isUnknown, commit.heardSince) = (isUnknown, changesAtBegin)
    if !commit.rows.isEmpty, let audience = registry.recipients(for: commit.rows) {
      pending.withLock { pending in
        pending.append(audience)
        pendingCount.store(pending.count, ordering: .releasing)
      }
    }
    for ancestor in ancestors {
      ancestor.sink?.didCommit(commit)
      guard !commit.rows.isEmpty, let audience = ancestor.recipients(for: commit.rows) else { continue }
      ancestor.queue.async { audience.deliver() }
    }
  }

  /// Tells those who began to listen after the last look at them, and may have read before this commit, that there was
  /// one.
  private func tellLatecomers() {
    guard ObserverRegistry.changes != seenChanges, wanted != interest else { return }
    for ancestor in ancestors { ancestor.sink?.didCommit(CommittedChanges(heardSince: changesAtBegin)) }
  }

  // MARK: Delivery

  /// Whether commits wait for `deliverPending()`; for certain only of those of the thread that asks.
  var hasPending: Bool { pendingCount.load(ordering: .acquiring) > 0 }

  /// Calls the handle's own observers, commit by commit; to be called without the handle's lock.
  ///
  /// A commit made by an observer, or meanwhile by another thread, is delivered by whoever delivers already: after the
  /// commit before it, not in its midst.
  func deliverPending() {
    // Asked with the lock held: what another thread has added since the last look is not to be missed.
    while pending.withLock({ !$0.isEmpty }) {
      guard isDelivering.exchange(true, ordering: .acquiringAndReleasing) == false else { return }
      while let audience = takePending() { audience.deliver() }
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

  func close() {
    hook.remove()
    witness.close()
  }

}
