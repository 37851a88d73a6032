import Glibc

/// A value that threads share, guarded by a lock.
///
/// Uses a POSIX lock, because the thread sanitizer does not support Swift's `Mutex` and would report false races.
/// `@unchecked Sendable` is sound: `value` is accessed only with `mutex` held, and callers receive only copies that
/// `body` returns.
///
/// `Value` must not be a closure. Each call that passes a closure `inout` to generic code wraps the closure in two more
/// closures. After some days, calling or freeing the closure would overflow the stack. A closure in a property of
/// `Value` is not wrapped.
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

  /// Takes the lock in one fork handler; another fork handler calls `unlock()`.
  package func lock() { pthread_mutex_lock(mutex) }

  package func unlock() { pthread_mutex_unlock(mutex) }
}
