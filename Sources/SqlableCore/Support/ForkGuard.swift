import CSqlableSQLite
import Glibc

/// Detects that the process was forked after a handle was opened.
///
/// A connection that crosses fork() breaks the file's locks and corrupts the database. glibc's getpid() is a system
/// call, too expensive for every statement; a counter that a fork handler increments in the child costs one load.
package enum ForkGuard {
  // Written only by the fork handler, in a child that has one thread; read everywhere else.
  nonisolated(unsafe) private static let counter: UnsafeMutablePointer<Int> = {
    let counter = UnsafeMutablePointer<Int>.allocate(capacity: 1)
    counter.initialize(to: 0)
    pthread_atfork(nil, nil, { ForkGuard.counter.pointee += 1 })
    return counter
  }()

  /// The number of forks between the first process and this one.
  package static var generation: Int { counter.pointee }
}
