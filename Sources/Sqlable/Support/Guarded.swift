import Glibc

/// A value that threads share, reached with a lock held.
///
/// A POSIX lock, since the thread sanitizer does not see the one of Swift's `Mutex` and would report races where there are
/// none. Sound as `Sendable`: `value` is only touched with `mutex` held, and leaves only as a copy that `body` makes.
///
/// `Value` is never a closure itself: Swift wraps one that is passed `inout` to generic code in two more with each call,
/// and after some days the stack is too small to call or to free it. A closure as a property of `Value` stays as it is.
final class Guarded<Value>: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private var value: Value

  init(_ value: Value) {
    self.value = value
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  /// Calls `body` while no other thread has the value. Not to be called inside itself.
  func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value)
  }

  /// For what happens around a `fork`, where no closure can be called with the value.
  func lock() { pthread_mutex_lock(mutex) }

  func unlock() { pthread_mutex_unlock(mutex) }
}
