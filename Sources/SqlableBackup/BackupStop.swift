import Dispatch
import Glibc
import SqlableCore

/// The conditions that stop a backup, restore, export or encryption: the task is cancelled, the time limit has passed,
/// or the pool is closed.
///
/// A stop interrupts running statements. The copy also checks for a stop between its steps.
package final class BackupStop: Sendable {
  private enum Reason {
    case cancelled, late, closed
  }

  let interruption: Interruption
  private let reason = LockedValue<Reason?>(nil)
  private let end: ContinuousClock.Instant?

  package init(_ configuration: Configuration, _ options: BackupOptions, deadline: ContinuousClock.Instant? = nil) {
    interruption = Interruption(busyTimeout: configuration.busyTimeout)
    end = [deadline, options.timeLimit.map { .now + $0 }].compactMap(\.self).min()
    guard let end else { return }
    DispatchQueue.global().asyncAfter(deadline: .now() + ContinuousClock.now.duration(to: end).dispatched) {
      [weak self] in self?.request(.late)
    }
  }

  package func cancel() { request(.cancelled) }

  /// Stops the work of a pool that is being closed.
  package func close() { request(.closed) }

  private func request(_ new: Reason) {
    reason.withLock { $0 = $0 ?? new }
    interruption.request()
  }

  package func check() throws {
    if Task.isCancelled { request(.cancelled) }
    if let end, ContinuousClock.now >= end { request(.late) }
    guard let reason = reason.withLock({ $0 }) else { return }
    throw BackupStop.error(reason)
  }

  package func sleep(until time: ContinuousClock.Instant, _ check: () throws -> Void) throws {
    while ContinuousClock.now < time {
      try check()
      usleep(UInt32(min(20_000, max(0, ContinuousClock.now.duration(to: time).wholeMicroseconds))))
    }
  }

  /// Calls `body`; if the work was stopped, throws the reason instead of SQLite's error.
  package func mapping<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let error as SqlError where error.kind == .interrupted || error.kind == .busy {
      if let end, ContinuousClock.now >= end { request(.late) }
      guard let reason = reason.withLock({ $0 }) else { throw error }
      throw BackupStop.error(reason)
    }
  }

  private static func error(_ reason: Reason) -> any Error {
    switch reason {
    case .cancelled: CancellationError()
    case .late:
      SqlError(.timeout, message: "the deadline passed before the backup, restore, export or encryption was done")
    case .closed: SqlError(.closed, message: "the pool was closed before the backup or export was done")
    }
  }
}
