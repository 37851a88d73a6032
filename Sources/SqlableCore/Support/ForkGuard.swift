import CSqlableSQLite
import Glibc

/// Detects a fork of the process after a handle was opened.
///
/// Using a connection after fork() breaks the file's locks and corrupts the database. Calling `getpid()` for every
/// statement would be too slow, because glibc makes a system call. Reading a counter that a fork handler increments
/// takes one load.
package enum ForkGuard {
  // `nonisolated(unsafe)` is sound: only the fork handler writes, when the forked process has one thread.
  nonisolated(unsafe) private static let counter: UnsafeMutablePointer<Int> = {
    let counter = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    counter.initialize(to: 0)
    pthread_atfork(nil, nil, { ForkGuard.counter.pointee += 1 })
    return counter
  }()

  /// The address of ``generation``, which is never freed.
  static var address: UnsafePointer<Int> { UnsafePointer(counter) }

  /// The number of forks between the first process and this process.
  package static var generation: Int { counter.pointee }
}
