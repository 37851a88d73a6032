import Glibc
import Synchronization

// Lending of a pool's handles to threads.

extension SqliteDatabase {
  static let notLent = pthread_t.max
  private static let lentToAll = pthread_t.max - 1

  package var belongsToPool: Bool { borrower.load(ordering: .relaxed) != SqliteDatabase.notLent }

  package func belongToPool() { lend(to: pthread_self()) }

  /// True if a pool owns the handle and has not lent it to this thread. Takes no lock, because the thread that uses the
  /// handle might hold the lock while it waits for this thread.
  @inline(__always)
  var isLentElsewhere: Bool {
    let thread = borrower.load(ordering: .relaxed)
    return thread != SqliteDatabase.notLent && thread != pthread_self() && thread != SqliteDatabase.lentToAll
  }

  /// Lends a pool's handle to one thread; nil lends the handle to no thread. As a result, code that keeps the handle
  /// after its closure can't join a later transaction.
  package func lend(to thread: pthread_t?) { borrower.store(thread ?? 0, ordering: .relaxed) }

  /// Lends a pool's handle to the holder of a block. The holder can use the handle on any thread.
  package func lendToAll() { borrower.store(SqliteDatabase.lentToAll, ordering: .relaxed) }
}
