import Glibc

/// A recursive lock: the owning thread can run statements inside a transaction closure while other threads wait.
@usableFromInline
final class HandleLock {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  /// The number of times that the owning thread has taken the lock. Accessed only while locked.
  @exclusivity(unchecked) private(set) var depth = 0

  init() {
    var attributes = pthread_mutexattr_t()
    pthread_mutexattr_init(&attributes)
    pthread_mutexattr_settype(&attributes, Int32(PTHREAD_MUTEX_RECURSIVE))
    pthread_mutex_init(mutex, &attributes)
    pthread_mutexattr_destroy(&attributes)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  @usableFromInline
  func lock() {
    pthread_mutex_lock(mutex)
    depth += 1
  }

  func tryLock() -> Bool {
    guard pthread_mutex_trylock(mutex) == 0 else { return false }
    depth += 1
    return true
  }

  /// Waits for the lock until `end`; returns true if this thread has taken the lock.
  func lock(until end: ContinuousClock.Instant) -> Bool {
    while true {
      // Waits in short steps, because `pthread_mutex_timedlock` uses the realtime clock, which can be set back.
      var time = timespec()
      clock_gettime(CLOCK_REALTIME, &time)
      let left = min(max(ContinuousClock.now.duration(to: end), .zero), .milliseconds(100)) / .nanoseconds(1)
      let nanoseconds = time.tv_nsec + Int(left)
      time.tv_sec += nanoseconds / 1_000_000_000
      time.tv_nsec = nanoseconds % 1_000_000_000
      if pthread_mutex_timedlock(mutex, &time) == 0 {
        depth += 1
        return true
      }
      if ContinuousClock.now >= end { return false }
    }
  }

  /// The system's id of the thread that holds the lock, for an error message; 0 if no thread holds the lock.
  var holder: Int32 { mutex.pointee.__data.__owner }

  @usableFromInline
  func unlock() {
    depth -= 1
    pthread_mutex_unlock(mutex)
  }
}
