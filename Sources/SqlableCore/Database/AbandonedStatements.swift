import Synchronization

/// A list of statements whose cursors were released while another thread held the handle's lock. That thread finishes
/// the statements.
///
/// `@unchecked Sendable` is sound for these reasons:
/// 1. The list has its own lock, and the flag is atomic.
/// 2. A statement in the list is otherwise referenced only by the handle's statement cache. Removing, finishing and
///    releasing the statement require the handle's lock.
/// 3. No statement remains in the list. The thread that adds a statement tries to take the handle's lock and finishes
///    the statement. If another thread holds the lock, that thread checks the flag after releasing the lock.
final class AbandonedStatements: @unchecked Sendable {
  typealias Abandoned = (statement: Unmanaged<PreparedStatement>, values: ParameterBuffer)

  private let list = LockedValue<[Abandoned]>([])
  private let flag = Atomic(false)

  /// True after a statement was added, until `finish()` begins.
  @inline(__always)
  var hasAny: Bool { flag.load(ordering: .sequentiallyConsistent) }

  func append(_ abandoned: Abandoned) {
    list.withLock { $0.append(abandoned) }
    flag.store(true, ordering: .sequentiallyConsistent)
  }

  /// Finishes all statements in the list. Call with the handle's lock held.
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
  /// Finishes a cursor's statement. Never waits: if another thread holds the lock, that thread finishes the statement.
  func abandon(_ statement: Unmanaged<PreparedStatement>, with values: ParameterBuffer) {
    abandoned.append((statement, values))
    finishAbandoned()
  }

  /// Finishes the statements of released cursors, unless another thread holds the lock.
  @inline(__always)
  func finishAbandoned() { if abandoned.hasAny { finishAbandonedStatements() } }

  private func finishAbandonedStatements() {
    // Repeat this, because another thread might have added a statement meanwhile. A forked process must not touch the
    // list.
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
