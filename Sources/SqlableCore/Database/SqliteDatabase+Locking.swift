// Functions that hold the handle's lock while they call a closure.

extension SqliteDatabase {
  /// Calls `body` with the handle's lock held and its connection open. Throws if the handle can't be used.
  @inlinable
  package func locked<Result>(_ body: () throws -> Result) throws -> Result {
    try enter()
    defer { unlockAndDeliver() }
    do { return try body() } catch { throw reported(error) }
  }

  /// Calls `body` with the lock held, in any state of the handle.
  package func lockedAnyway<Result>(_ body: () throws -> Result) rethrows -> Result {
    // Skip the lock in a forked process: a thread that was not copied can hold the lock forever, and the state never
    // changes.
    if isForked { return try body() }
    lock.lock()
    defer { lock.unlock() }
    return try body()
  }

  /// Releases the lock. The outermost release delivers committed changes after unlocking, because observers can use the
  /// handle.
  @usableFromInline
  func unlockAndDeliver() {
    guard lock.depth == 1, let observation else {
      lock.unlock()
      return finishAbandoned()
    }
    lock.unlock()
    // Call this after unlocking, so that no abandoned statement is left over. A statement that is abandoned later finds
    // the lock free.
    finishAbandoned()
    guard observation.hasPending else { return }
    observation.deliverPending()
    observation.deliverTraced()
  }
}
