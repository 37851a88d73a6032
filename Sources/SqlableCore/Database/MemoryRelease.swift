import CSqlableSQLite

/// What can free memory of the library that SQLite can rebuild.
package protocol MemoryUser: AnyObject, Sendable {
  /// Frees what is not in use. Never waits.
  func releaseIdleMemory()
}

/// The pools, whose handles only they may touch.
package enum MemoryUsers {
  private struct Weak: Sendable {
    weak var user: (any MemoryUser)?
  }

  private static let all = Guarded<[Weak]>([])

  package static func add(_ user: any MemoryUser) {
    all.withLock { all in
      all.removeAll { $0.user == nil }
      all.append(Weak(user: user))
    }
  }

  static func releaseIdleMemory() {
    for user in all.withLock({ $0.compactMap(\.user) }) { user.releaseIdleMemory() }
  }
}

extension SqliteDatabase {
  /// Frees memory that SQLite can rebuild: cached pages and compiled statements.
  public func releaseMemory() throws {
    try locked { try openConnection().releaseMemory() }
  }

  /// Frees memory that SQLite can rebuild, cached pages and compiled statements, of all handles and pools of this
  /// process that are not in use, and returns free memory to the system.
  ///
  /// ```swift
  /// SqliteDatabase.releaseMemory()     // after a nightly report
  /// ```
  ///
  /// Waits for nothing: a handle that another thread uses keeps its memory. ``releaseMemoryUnderPressure(_:_:)`` calls
  /// it when the system needs memory.
  public static func releaseMemory() {
    MemoryUsers.releaseIdleMemory()
    for handle in HandleFamily.allHandles { handle.releaseIdleMemory() }
    sqlable_return_memory()
  }

  private func releaseIdleMemory() {
    guard !isForked, !belongsToPool, lock.tryLock() else { return }
    // Otherwise this thread is inside a run of the handle, such as in an observer.
    if lock.depth == 1 { connection?.releaseMemory() }
    lock.unlock()
    finishAbandoned()
  }
}
