import Dispatch

extension SqlitePool {
  /// Closes the pool: takes no more calls, waits for those that it has taken, stops what is left after a while, copies
  /// the write-ahead log into the file, and closes all handles. Closing again does nothing.
  ///
  /// Nothing is lost that was acknowledged. Calls that wait when the time is over throw `.closed`, and so does what
  /// runs then: its statement is interrupted, its transaction rolled back. Throws `.misuse` inside a closure of the
  /// pool, and `.busy` when a closure does not end though it was interrupted, as one that sleeps: the pool takes no
  /// calls then, and can be closed again.
  ///
  /// - Parameter duration: How long the calls have to end by themselves.
  public func close(within duration: Duration = .seconds(10)) throws {
    try checkFork()
    guard withState({ $0.ownHandle }) == nil else { throw misuse("a pool can't be closed inside a closure of its own") }
    guard !drained(by: duration) else { return try finish() }
    for call in withState({ $0.unended }) { stop(call, .closing) }
    guard drained(by: max(duration, .seconds(1))) else {
      let place = withState { $0.unended.first?.place }
      throw SqlError(
        .busy,
        message: "the call made at \(place.map { "\($0)" } ?? "?") does not end, and keeps the pool from being closed",
        label: configuration.handles.label)
    }
    try finish()
  }

  /// Closes the pool, on a thread of its own.
  public func close(within duration: Duration = .seconds(10)) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      DispatchQueue(label: "sqlable.pool.closing").async {
        continuation.resume(with: Result { try self.close(within: duration) })
      }
    }
  }

  /// Whether all calls have ended within a time.
  private func drained(by duration: Duration) -> Bool {
    let done = DispatchSemaphore(value: 0)
    let isIdle = withState { state in
      if state.phase == .open { state.phase = .closing }
      guard state.calls > 0 else { return true }
      state.closers.append(done)
      return false
    }
    return isIdle || done.wait(timeout: .now() + duration.dispatched) == .success
  }

  private func finish() throws {
    let handles = withState { state in
      defer {
        state.phase = .closed
        state.idleReaders = []
      }
      return state.phase == .closed ? [] : state.readers + [state.writer]
    }
    guard !handles.isEmpty else { return }
    endWatching()
    for handle in handles { handle.discard() }
    let interruption = Interruption(busyTimeout: configuration.handles.busyTimeout)
    let isInTurn = (try? gate.take(interruption)) != nil
    defer { gate.giveBack() }
    // The last to close copies the log, unless other processes have the file open. What keeps the turn from coming
    // writes all the time, and so copies the log too.
    if isInTurn, memory == nil {
      try? root.execute("PRAGMA optimize")
      _ = try? root.query("PRAGMA wal_checkpoint(TRUNCATE)") { _ in }
    }
    try root.close()
    memory?.remove()
  }

  /// Whether the pool takes calls.
  public var isOpen: Bool { withState { $0.phase == .open } }
}
