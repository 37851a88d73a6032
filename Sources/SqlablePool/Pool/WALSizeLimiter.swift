import Dispatch
import SqlableCore

/// Decides when to check the WAL's size and whether a reset is pending.
package final class WALSizeLimiter: Sendable {
  private struct State {
    /// The time from which a commit checks the size again: a check at every commit would cost too much.
    var nextLook = ContinuousClock.now
    /// The size in bytes at which the next attempt is made; nil stands for the limit.
    var nextSize: Int?
    var isAttempting = false
  }

  /// The longest time for which new reads are held back.
  package static let patience = Duration.seconds(1)
  private static let interval = Duration.milliseconds(10)

  let queue = DispatchQueue(label: "sqlable.pool.log")
  private let state = LockedValue(State())

  /// Returns whether the WAL is to be reset; `size` is called at most once in ten milliseconds.
  func isExceeded(_ limit: Int, size: () throws -> Int?) rethrows -> Bool {
    let now = ContinuousClock.now
    return try state.withLock { state in
      guard now >= state.nextLook, !state.isAttempting else { return false }
      state.nextLook = now + WALSizeLimiter.interval
      guard let size = try size() else { return false }
      if size < limit { state.nextSize = nil }
      state.isAttempting = size >= state.nextSize ?? limit
      // If that fails, the log grows by a quarter of the limit before reads are held back again.
      if state.isAttempting { state.nextSize = size + limit / 4 }
      return state.isAttempting
    }
  }

  func endAttempt() { state.withLock { $0.isAttempting = false } }
}

extension SqlitePool {
  /// Starts a reset of the WAL if the WAL is too large; to be called by the writer's thread after a commit.
  func checkWALSize(_ db: SqliteDatabase) {
    guard let limit = configuration.maximumWalSize,
      walSizeLimiter.isExceeded(limit, size: { db.connection?.walSize })
    else {
      return
    }
    walSizeLimiter.queue.async { [weak self] in
      guard let self else { return }
      // An archive keeps the WAL, and resets it itself.
      if allFileUsers.isEmpty { resetWAL() }
      walSizeLimiter.endAttempt()
    }
  }

  /// Copies the WAL into the database while no call reads, so that the next commit resets the WAL.
  ///
  /// SQLite copies the WAL up to the oldest snapshot that a reader has. While reads overlap, one of them always has a
  /// snapshot older than the last commit, so the WAL grows.
  private func resetWAL() {
    let isWhole = withReadsHeldBack(for: WALSizeLimiter.patience) { isReading in !isReading && checkpointWAL() }
    if !isWhole { reportLargeWAL() }
  }

  /// Calls `body` when no call reads. If a call still reads after `duration`, passes true. Reads that are made
  /// meanwhile wait until `body` has returned.
  package func withReadsHeldBack<Result>(
    for duration: Duration, _ body: (_ isReading: Bool) throws -> Result
  ) rethrows -> Result {
    let readersEnd = DispatchSemaphore(value: 0)
    let isReading = withState { state -> Bool? in
      guard state.readersEnd == nil else { return nil }
      state.readersEnd = readersEnd
      return state.isReading
    }
    // An archive and the pool's own limit may both hold reads back while the first begins.
    guard let isReading else { return try body(true) }
    defer {
      for (handle, call) in withState({ $0.admitReads(configuration) }) { handOn(handle, to: call) }
    }
    return try body(isReading && readersEnd.wait(timeout: .now() + duration.dispatched) == .timedOut)
  }

  /// Runs a checkpoint; returns whether the whole WAL is then in the database file. A long write is not waited for: the
  /// write may itself wait for a read that is held back.
  private func checkpointWAL() -> Bool {
    let callSite = CallSite(file: #fileID, line: #line)
    let checkpoint = try? withDeadline(WALSizeLimiter.patience) {
      try perform(.outsideTransaction, at: callSite) { db in try db.checkpoint() }
    }
    return checkpoint?.isComplete ?? false
  }

  private func reportLargeWAL() {
    let now = ContinuousClock.now
    let read = withState { state in
      state.readers.compactMap { $0.running(at: now) }.max { $0.age < $1.age }
    }
    let size = currentWALSize
    if let read { events.send(.longRead(read, walSize: size)) }
    let holder = read.map { "\($0.callSite) has been reading for \($0.age.seconds) s" }
    root.fail(
      SqlError(
        .busy,
        message: """
          can't reset the WAL (\(size) bytes): \
          \(holder ?? "another handle, pool or process is reading, or has been writing for long")
          """, sql: read?.sql, label: configuration.handles.label))
  }
}
