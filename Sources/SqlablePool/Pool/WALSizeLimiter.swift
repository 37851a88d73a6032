import Dispatch
import SqlableCore

/// A limiter of the WAL's size, which decides when to check the size and whether to reset the WAL.
package final class WALSizeLimiter: Sendable {
  private struct State {
    /// The time of the next size check. A check after every commit would take too long.
    var nextLook = ContinuousClock.now
    /// The size in bytes at which to try the next reset; nil for the configured limit.
    var nextSize: Int?
    var isAttempting = false
  }

  /// The maximum time for which new reads wait for running reads. Also the maximum time for which the new reads then
  /// wait for the checkpoint.
  package static let patience = Duration.seconds(1)
  private static let interval = Duration.milliseconds(10)

  let queue = DispatchQueue(label: "sqlable.pool.log")
  private let state = LockedValue(State())

  /// Returns true if the WAL must be reset. Calls `size` at most once in ten milliseconds.
  func isExceeded(_ limit: Int, size: () throws -> Int?) rethrows -> Bool {
    let now = ContinuousClock.now
    return try state.withLock { state in
      guard now >= state.nextLook, !state.isAttempting else { return false }
      state.nextLook = now + WALSizeLimiter.interval
      guard let size = try size() else { return false }
      if size < limit { state.nextSize = nil }
      state.isAttempting = size >= state.nextSize ?? limit
      // If the reset fails, the WAL grows by a quarter of the limit before the next attempt.
      if state.isAttempting { state.nextSize = size + limit / 4 }
      return state.isAttempting
    }
  }

  func endAttempt() { state.withLock { $0.isAttempting = false } }
}

extension SqlitePool {
  /// Starts a reset of the WAL if the WAL is too large. The writer's thread calls this method after a commit.
  func checkWALSize(_ db: SqliteDatabase) {
    guard let limit = configuration.maximumWalSize,
      walSizeLimiter.isExceeded(limit, size: { db.connection?.walSize })
    else {
      return
    }
    walSizeLimiter.queue.async { [weak self] in
      guard let self else { return }
      // An archive still needs the commits in the WAL, and resets the WAL itself after copying them.
      if allFileUsers.isEmpty { resetWAL() }
      walSizeLimiter.endAttempt()
    }
  }

  /// Checkpoints the WAL while no call reads, so that the next commit resets the WAL.
  ///
  /// SQLite checkpoints the WAL only up to the oldest snapshot of a reader. With overlapping reads, one snapshot is
  /// always older than the last commit, so the WAL grows.
  private func resetWAL() {
    let isWhole = withReadsHeldBack(for: WALSizeLimiter.patience) { isReading in !isReading && checkpointWAL() }
    if !isWhole { reportLargeWAL() }
  }

  /// Holds new reads back until `body` returns. Calls `body(false)` as soon as no call reads, or `body(true)` if calls
  /// still read after `duration`.
  package func withReadsHeldBack<Result>(
    for duration: Duration, _ body: (_ isReading: Bool) throws -> Result
  ) rethrows -> Result {
    let readersEnd = DispatchSemaphore(value: 0)
    let isReading = withState { $0.holdReadsBack(readersEnd) }
    // Don't wait for the running reads, because another caller, such as an archive, already holds reads back.
    guard let isReading else { return try body(true) }
    defer {
      for (handle, call) in withState({ $0.admitReads(configuration) }) { handOn(handle, to: call) }
    }
    return try body(isReading && readersEnd.wait(timeout: .now() + duration.dispatched) == .timedOut)
  }

  /// Runs a checkpoint; returns true if the database file then contains the whole WAL. Waits for the writer for at most
  /// `patience`, because a long write might itself wait for a read that is held back.
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

extension SqlitePool.State {
  var isReading: Bool { readers.contains { $0.call != nil } }

  /// Makes new reads wait until `admitReads`. Returns true if earlier reads are still running; the last of these reads
  /// then signals `end`. Returns nil if another caller already holds reads back.
  package mutating func holdReadsBack(_ end: DispatchSemaphore) -> Bool? {
    guard readersEnd == nil else { return nil }
    readersEnd = end
    return isReading
  }

  /// Gives readers to the reads that were held back; returns the started calls with their readers.
  package mutating func admitReads(_ configuration: PoolConfiguration) -> [(PooledHandle, PoolCall)] {
    readersEnd = nil
    // If the pool's files are being closed, `endCloseBarrier` starts these reads later.
    return closeBarrier == nil ? beginReads(configuration) : []
  }
}
