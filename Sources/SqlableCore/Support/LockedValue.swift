import Glibc

/// A value that threads share, guarded by a lock.
///
/// It is a POSIX lock, since the thread sanitizer does not see Swift's `Mutex` and would report false races. Sound as
/// `Sendable`: `value` is only touched with `mutex` held, and leaves only as a copy that `body` makes.
///
/// `Value` must not be a closure: each call that passes a closure `inout` to generic code wraps it in two more, and
/// after some days calling or freeing it overflows the stack. A closure in a property of `Value` is not wrapped.
package final class LockedValue<Value>: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private var value: Value

  package init(_ value: Value) {
    self.value = value
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Calls `body` with the lock held. Not reentrant.
  package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value)
  }

  /// For fork handlers: one locks, and another one unlocks.
  package func lock() { pthread_mutex_lock(mutex) }

  package func unlock() { pthread_mutex_unlock(mutex) }
}
