import SqlableCore

/// A limiter of the total rate of several copies.
final class CopyRate: Sendable {
  private let bytesPerSecond: Int?
  private let due = LockedValue(ContinuousClock.now)

  init(bytesPerSecond: Int?) { self.bytesPerSecond = bytesPerSecond }

  /// The earliest time at which a copy may continue.
  var next: ContinuousClock.Instant { due.withLock { $0 } }

  /// Counts copied bytes. After a pause, the copies do not run at a higher rate to catch up.
  func add(_ bytes: Int) {
    guard let bytesPerSecond else { return }
    due.withLock { due in due = max(due, .now) + .seconds(Double(bytes) / Double(bytesPerSecond)) }
  }
}
