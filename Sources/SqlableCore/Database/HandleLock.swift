import Glibc
import Synchronization

/// A recursive lock: the owning thread can run statements inside a transaction closure while other threads wait.
@usableFromInline
final class HandleLock {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  /// The thread that holds the lock; 0 for no thread. Only the owner stores its own id, so a thread that reads its own
  /// id holds the lock. Taking the lock again then needs no call of the mutex.
  private let owner = Atomic<pthread_t>(0)
  /// The number of times that the owning thread has taken the lock. Accessed only while locked.
  @exclusivity(unchecked) private(set) var depth = 0

  init() {
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  @usableFromInline
  func lock() {
    if !isOwned {
      pthread_mutex_lock(mutex)
      owner.store(pthread_self(), ordering: .relaxed)
    }
    depth += 1
  }

  @inline(__always)
  private var isOwned: Bool { owner.load(ordering: .relaxed) == pthread_self() }

  func tryLock() -> Bool {
    if !isOwned {
      guard pthread_mutex_trylock(mutex) == 0 else { return false }
      owner.store(pthread_self(), ordering: .relaxed)
    }
    depth += 1
    return true
  }

  /// Waits for the lock until `end`; returns true if this thread has taken the lock.
  func lock(until end: ContinuousClock.Instant) -> Bool {
    if tryLock() { return true }
    while true {
      // Waits in short steps, because `pthread_mutex_timedlock` uses the realtime clock, which can be set back.
      var time = timespec()
      clock_gettime(CLOCK_REALTIME, &time)
      let left = min(max(ContinuousClock.now.duration(to: end), .zero), .milliseconds(100)) / .nanoseconds(1)
      let nanoseconds = time.tv_nsec + Int(left)
      time.tv_sec += nanoseconds / 1_000_000_000
      time.tv_nsec = nanoseconds % 1_000_000_000
      if pthread_mutex_timedlock(mutex, &time) == 0 {
        owner.store(pthread_self(), ordering: .relaxed)
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
    guard depth == 0 else { return }
    owner.store(0, ordering: .relaxed)
    pthread_mutex_unlock(mutex)
  }
}
