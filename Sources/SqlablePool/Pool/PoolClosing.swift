import Dispatch
import Glibc
import SqlableCore

extension SqlitePool {
  /// The time for which the checkpoint of a closing pool waits for readers of other pools and processes. No connection
  /// can write meanwhile.
  private static let closingCheckpoint = Duration.milliseconds(100)

  /// Closes the pool: rejects new calls, waits for accepted calls, stops calls that remain after `duration`,
  /// checkpoints the WAL, and closes all handles.
  ///
  /// Closing a closed pool does nothing. Acknowledged commits are never lost. Calls that still wait after `duration`
  /// throw `.closed`. Running calls then also throw `.closed`: the pool interrupts their statements and rolls back
  /// their transactions. Backups and exports of the pool count as calls. Throws `.misuse` inside a closure that the
  /// pool or its backup runs. Throws `.busy` if a closure does not end after the interruption, for example because it
  /// sleeps. The pool then rejects calls, and can be closed again.
  ///
  /// - Parameter duration: The time that calls have to end without being stopped.
  public func close(within duration: Duration = .seconds(10)) throws {
    try close(within: duration, leavesLog: false)
  }

  /// - Parameter leavesLog: True if another connection reads the WAL afterwards. The pool then writes nothing.
  package func close(within duration: Duration, leavesLog: Bool) throws {
    try checkFork()
    try refuseInClosure("close the pool")
    // Refuse the call, because the backup can't end while its closure waits for this call.
    guard withState({ !$0.works.values.contains { $0.thread == pthread_self() } }) else {
      throw misuse("can't close the pool inside a closure of its backup")
    }
    try withState { try $0.checkIsNotBlockedHere(configuration.handles.label) }
    guard !drained(by: duration) else { return try finish(leavesLog: leavesLog) }
    let (calls, works) = withState { ($0.unended, Array($0.works.values)) }
    for call in calls { stop(call, .closing) }
    for work in works { work.stop() }
    guard drained(by: max(duration, .seconds(1))) else {
      let callSite = withState { $0.unended.first?.callSite ?? $0.closeBarrier?.callSite }
      throw SqlError(
        .busy,
        message: "can't close the pool: \(callSite.map { "the call at \($0)" } ?? "a backup") has not ended",
        label: configuration.handles.label)
    }
    try finish(leavesLog: leavesLog)
  }

  /// Closes the pool, waiting on a separate thread.
  public func close(within duration: Duration = .seconds(10)) async throws {
    try await onOwnThread { try self.close(within: duration) }
  }

  /// Adds work that opens separate connections to the file, such as a backup. ``close(within:)`` waits for the
  /// work as for a call, and calls `stop` if the work still runs after `duration`. Returns a token for `endWork`.
  package func beginWork(_ stop: @escaping @Sendable () -> Void) throws -> Int {
    try withState { try $0.beginWork(stop, configuration.handles.label) }
  }

  /// Runs `body`, which belongs to the work with this token. `body` can't close the pool.
  package func runWork<Value>(_ token: Int, _ body: () throws -> Value) rethrows -> Value {
    withState { $0.works[token]?.thread = pthread_self() }
    defer { withState { $0.works[token]?.thread = nil } }
    return try body()
  }

  package func endWork(_ token: Int) { withState { $0.endWork(token) } }

  /// Adds work that ``close(within:)`` runs in a savepoint, after the last call of the pool. The work is skipped if
  /// another process does not end its write in time. Returns a token for `removeLastWork`.
  package func addLastWork(_ body: @escaping @Sendable (SqliteDatabase) throws -> Void) -> Int {
    lastWorks.withLock { works in
      works.count += 1
      works.bodies[works.count] = body
      return works.count
    }
  }

  package func removeLastWork(_ token: Int) { lastWorks.withLock { $0.bodies[token] = nil } }

  /// Rejects new calls; returns true if all accepted calls end within `duration`.
  private func drained(by duration: Duration) -> Bool {
    let done = DispatchSemaphore(value: 0)
    return withState { $0.beginClosing(done) }
      || SharedThreads.whileBlockedByCaller { done.wait(timeout: .now() + duration.dispatched) == .success }
  }

  private func finish(leavesLog: Bool) throws {
    let handles = withState { $0.finishClosing() }
    guard !handles.isEmpty else { return }
    endWatching()
    for handle in handles { handle.discard() }
    let writes = memory == nil && !leavesLog
    // Run the closures of `addLastWork` before an archive ends, because the archive must get their commits.
    let hadTurn = !writes || doLastWorks()
    for user in allFileUsers { user.end() }
    let isInTurn = hadTurn && takeTurn()
    defer { gate.giveBack() }
    // Checkpoint here, because closing the last connection checkpoints only if no other process has the file open.
    // Without the turn, skip the checkpoint: another pool is writing, and the commits of that pool checkpoint the WAL.
    if isInTurn, writes {
      try? root.execute("PRAGMA optimize")
      _ = try? root.checkpoint(.truncate, waitingAtMost: SqlitePool.closingCheckpoint)
    }
    try root.close()
    memory?.remove()
    events.send(.closed)
  }

  /// Runs the closures that were passed to ``addLastWork(_:)``. Returns false if the pool did not get its turn to
  /// write.
  private func doLastWorks() -> Bool {
    let works = lastWorks.withLock { $0.bodies.ordered { $0.key < $1.key }.map(\.value) }
    guard !works.isEmpty else { return true }
    let isInTurn = takeTurn()
    defer { gate.giveBack() }
    guard isInTurn else { return false }
    // Run all closures in one transaction, so that the pool waits only once if another program is writing.
    try? root.transaction(.immediate) { db in
      for work in works { try? db.transaction { db in try work(db) } }
    }
    return true
  }

  private func takeTurn() -> Bool {
    (try? gate.take(Interruption(busyTimeout: configuration.handles.busyTimeout))) != nil
  }

  /// True until the first call of `close`. Also true for a pool that opens its file at the next call: then
  /// ``isConnected`` is false.
  public var isOpen: Bool { withStateAndClaims { $0.phase == .open } }

  /// True while the pool has a connection to its file. Never waits for a call.
  ///
  /// False before the first call of a pool whose handles have ``Configuration/opensLazily``, during `withClosed` and
  /// until the next call, and once the pool is closed.
  public var isConnected: Bool { root.family.isConnected }
}

extension SqlitePool.State {
  /// Rejects new calls. Returns true if no call is left; otherwise `done` is signalled after the last call.
  package mutating func beginClosing(_ done: DispatchSemaphore) -> Bool {
    if phase == .open { phase = .closing }
    guard calls > 0 else { return true }
    closers.append(done)
    return false
  }

  /// Returns the handles to close; empty if the pool is closed already.
  package mutating func finishClosing() -> [PooledHandle] {
    defer {
      phase = .closed
      idleReaders = []
    }
    return phase == .closed ? [] : readers + [writer]
  }
}
