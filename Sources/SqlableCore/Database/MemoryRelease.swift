import CSqlableSQLite

/// An owner of caches that can be freed because SQLite can rebuild their contents.
package protocol ReleasableMemory: AnyObject, Sendable {
  /// Frees memory that is not in use. Never waits.
  func releaseIdleMemory()
}

/// The objects of the process that can free memory, such as pools. A pool frees the memory of its handles itself,
/// because only the pool may use them.
package enum MemoryUsers {
  private struct Weak: Sendable {
    weak var user: (any ReleasableMemory)?
  }

  private static let all = LockedValue<[Weak]>([])

  package static func add(_ user: any ReleasableMemory) {
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
  /// Enables SQLite's memory statistics for the whole process.
  ///
  /// ```swift
  /// try SqliteDatabase.keepMemoryStatistics()     // before the first handle
  /// ```
  ///
  /// Memory statistics are off unless this function is called, or another library has already used SQLite. With
  /// statistics, every allocation by SQLite takes a lock that all threads share. Without statistics SQLite reports zero
  /// memory use, and limits on SQLite's heap have no effect. Throws `.misuse` if a handle was opened before.
  public static func keepMemoryStatistics() throws { try MemoryStatistics.keep() }

  /// Frees memory that SQLite can rebuild: cached pages and compiled statements.
  public func releaseMemory() throws {
    try locked { try openConnection().releaseMemory() }
  }

  /// Frees memory that SQLite can rebuild: cached pages and compiled statements. Covers all idle handles and pools of
  /// this process, and returns free memory to the system.
  ///
  /// ```swift
  /// SqliteDatabase.releaseMemory()     // after a nightly report
  /// ```
  ///
  /// Never waits: skips a handle that another thread is using. ``releaseMemoryUnderPressure(_:_:)`` calls this function
  /// when the system is short of memory.
  public static func releaseMemory() {
    MemoryUsers.releaseIdleMemory()
    for handle in HandleFamily.allHandles { handle.releaseIdleMemory() }
    sqlable_return_memory()
  }

  private func releaseIdleMemory() {
    guard !isForked, !belongsToPool, lock.tryLock() else { return }
    // At a greater depth, this thread is inside a statement of the handle, for example in a user-defined function.
    if lock.depth == 1 { connection?.releaseMemory() }
    lock.unlock()
    finishAbandoned()
  }
}
