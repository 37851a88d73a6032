import SqlableCore
import SqlablePool

extension SqlitePool {
  /// Waits for a time. Throws `.closed` when the pool closes, and `CancellationError` if the task is cancelled.
  ///
  /// - Parameter inCall: True if the task also runs a call of the pool. The pool waits for this call before it closes,
  ///   so the pause checks ten times per second whether `close` was called.
  func pause(for time: Duration, inCall: Bool = false) async throws {
    try Task.checkCancellation()
    guard time > .zero else { return }
    let end = ContinuousClock.now + time
    // Wait for a signal instead of sleeping, because closing the pool also ends the wait. The signal watches a table
    // that rarely changes: only `trim` writes to the table.
    let signal = CommitSignal(self, table: ChangeTables.history, columns: [])
    while ContinuousClock.now < end {
      let isWoken = await signal.wait(until: inCall ? min(end, .now + .milliseconds(100)) : end, isolation: nil)
      try Task.checkCancellation()
      try withState { try $0.checkIsOpen(configuration.handles.label) }
      guard isWoken else { return }
    }
  }
}

extension CommitSignal {
  /// Waits until the signal is set, at most until a time. Returns false if the pool was closed, and if the task is
  /// cancelled.
  func wait(until end: ContinuousClock.Instant, isolation actor: isolated (any Actor)?) async -> Bool {
    let alarm = Task {
      guard (try? await Task.sleep(until: end, clock: .continuous)) != nil else { return }
      wake()
    }
    defer { alarm.cancel() }
    return await wait(isolation: actor)
  }
}
