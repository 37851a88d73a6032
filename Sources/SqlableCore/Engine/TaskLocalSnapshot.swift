import Synchronization

/// A snapshot of a task's values that receivers of its statements' events need on other threads, such as the parent of
/// its spans.
package struct TaskLocalSnapshot: Sendable {
  /// Calls a closure with these values restored, so that the closure sees them as the current task's values.
  let restore: @Sendable (() -> Void) -> Void

  package init(restore: @escaping @Sendable (() -> Void) -> Void) { self.restore = restore }

  private struct Capturing: Sendable {
    let capture: @Sendable () -> TaskLocalSnapshot?
  }

  private static let capturing = LockedValue<Capturing?>(nil)
  private static let isCapturing = Atomic(false)

  /// Makes `current` call `capture` from now on.
  package static func capture(by capture: @escaping @Sendable () -> TaskLocalSnapshot?) {
    capturing.withLock { $0 = Capturing(capture: capture) }
    isCapturing.store(true, ordering: .releasing)
  }

  /// The values of the current task; nil if there are none, or no `capture` is installed.
  package static var current: TaskLocalSnapshot? {
    guard isCapturing.load(ordering: .acquiring) else { return nil }
    return capturing.withLock { $0 }?.capture()
  }
}

extension TaskLocalSnapshot? {
  /// Calls `body` with these values restored; nil restores nothing.
  package func restoring<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    guard let self else { return try body() }
    var result: Result<Value, Failure>?
    self.restore { result = Result { () throws(Failure) in try body() } }
    return if let result { try result.get() } else { try body() }
  }
}
