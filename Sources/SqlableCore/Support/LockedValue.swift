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
  @usableFromInline let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  @exclusivity(unchecked) @usableFromInline var value: Value

  package init(_ value: Value) {
    self.value = value
    // A thread that finds the lock taken spins for some microseconds before it sleeps. Most critical sections are
    // shorter than the system calls that suspend and wake a thread.
    var attributes = pthread_mutexattr_t()
    pthread_mutexattr_init(&attributes)
    pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_ADAPTIVE_NP))
    pthread_mutex_init(mutex, &attributes)
    pthread_mutexattr_destroy(&attributes)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Calls `body` with the lock held. Not reentrant.
  @inlinable
  package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value)
  }

  /// Takes the lock before a fork. The handlers that run after the fork call `unlock()`.
  package func lock() { pthread_mutex_lock(mutex) }

  package func unlock() { pthread_mutex_unlock(mutex) }
}
