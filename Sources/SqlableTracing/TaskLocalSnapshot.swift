import SqlableCore
import Synchronization

/// A task's local values, such as the parent of its spans, for trace closures that run on other threads.
package struct TaskLocalSnapshot: Sendable {
  /// A function that calls a closure with these values restored as the current task's local values.
  let restore: @Sendable (() -> Void) -> Void

  package init(restore: @escaping @Sendable (() -> Void) -> Void) { self.restore = restore }

  private struct Capturing: Sendable {
    let capture: @Sendable () -> TaskLocalSnapshot?
  }

  private static let capturing = LockedValue<Capturing?>(nil)
  private static let isCapturing = Atomic(false)

  /// Sets the function that `current` calls.
  package static func capture(by capture: @escaping @Sendable () -> TaskLocalSnapshot?) {
    capturing.withLock { $0 = Capturing(capture: capture) }
    isCapturing.store(true, ordering: .releasing)
  }

  /// The local values of the current task; nil if there are no values, or if no `capture` function is set.
  package static var current: TaskLocalSnapshot? {
    guard isCapturing.load(ordering: .acquiring) else { return nil }
    return capturing.withLock { $0 }?.capture()
  }
}

extension TaskLocalSnapshot? {
  /// Calls `body` with these values restored. If the snapshot is nil, no values are restored.
  package func restoring<Value, Failure: Error>(_ body: () throws(Failure) -> Value) throws(Failure) -> Value {
    guard let self else { return try body() }
    var result: Result<Value, Failure>?
    self.restore { result = Result { () throws(Failure) in try body() } }
    return if let result { try result.get() } else { try body() }
  }
}
