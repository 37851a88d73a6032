import Synchronization

/// The statements of cursors that were released while another thread had the lock of their handle. That thread finishes
/// them.
///
/// Sound as `Sendable`:
/// 1. The list has its own lock, and the flag is atomic.
/// 2. A statement is in the list once nothing else refers to it, apart from the handle's statement cache. It is taken
///    off, used and released with the handle's lock held, like every statement.
/// 3. None stays behind. The thread that adds one then tries to take the handle's lock, and finishes it itself. If that
///    fails, another thread has the lock, and checks the flag after it has released it.
final class AbandonedStatements: @unchecked Sendable {
  /// A statement with a reference of its own, and the values that are bound to it.
  typealias Abandoned = (statement: Unmanaged<PreparedStatement>, values: ParameterBuffer)

  private let list = LockedValue<[Abandoned]>([])
  private let flag = Atomic(false)

  /// True if there are any.
  @inline(__always)
  var hasAny: Bool { flag.load(ordering: .sequentiallyConsistent) }

  func append(_ abandoned: Abandoned) {
    list.withLock { $0.append(abandoned) }
    flag.store(true, ordering: .sequentiallyConsistent)
  }

  /// Finishes all of them. Call with the handle's lock held.
  func finish() {
    flag.store(false, ordering: .sequentiallyConsistent)
    let all = list.withLock { list in
      defer { list = [] }
      return list
    }
    for (statement, values) in all {
      withExtendedLifetime(values) { statement._withUnsafeGuaranteedRef { $0.finishCursor() } }
      statement.release()
    }
  }
}

extension SqliteDatabase {
  /// Finishes the statement of a cursor, and releases it: at once, or if another thread has the lock, as soon as that
  /// thread releases it or runs its next statement. Never waits.
  func abandon(_ statement: Unmanaged<PreparedStatement>, with values: ParameterBuffer) {
    abandoned.append((statement, values))
    finishAbandoned()
  }

  /// Finishes the statements of released cursors, unless another thread has the lock.
  @inline(__always)
  func finishAbandoned() { if abandoned.hasAny { finishAbandonedStatements() } }

  private func finishAbandonedStatements() {
    // Again: another thread may have added one while this thread had the lock. In a child process nothing changes.
    while abandoned.hasAny, !isForked, lock.tryLock() {
      abandoned.finish()
      lock.unlock()
    }
  }
}

extension PreparedStatement {
  /// Ends the run of a cursor. Call with the handle's lock held.
  func finishCursor() {
    connection.openCursors -= 1
    clearBindings()
    connection.finish(self)
  }
}
