import Glibc

/// A recursive lock: the thread that holds it may run statements inside its own transaction closure; other threads
/// wait.
@usableFromInline
final class HandleLock {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  /// How often the owning thread has locked it; accessed only while locked.
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

  /// Takes the lock if no other thread has it; returns whether it did.
  func tryLock() -> Bool {
    guard pthread_mutex_trylock(mutex) == 0 else { return false }
    depth += 1
    return true
  }

  @usableFromInline
  func unlock() {
    depth -= 1
    pthread_mutex_unlock(mutex)
  }
}
