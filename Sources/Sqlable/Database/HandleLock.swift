import Glibc

/// A recursive lock: a handle's owner may run statements inside its own transaction closure, anybody else waits.
@usableFromInline
final class HandleLock {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  @exclusivity(unchecked) private var locks = 0

  /// How often the owning thread has locked; touched only while locked.
  var depth: Int { locks }

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
    locks += 1
  }

  @usableFromInline
  func unlock() {
    locks -= 1
    pthread_mutex_unlock(mutex)
  }
}
