// The handle's lock around calls.

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
    // In a forked process the state never changes, and the lock can be held forever.
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
    // Runs after unlocking: a statement that is abandoned later finds the lock free.
    finishAbandoned()
    guard observation.hasPending else { return }
    observation.deliverPending()
    observation.deliverTraced()
  }
}
