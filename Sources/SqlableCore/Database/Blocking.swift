import Glibc

/// A period in which one caller has a database to itself. Until the block ends, all other calls on the blocked pool or
/// handle family wait. A family is all handles that descend from the same first handle.
///
/// ```swift
/// let block = try await pool.block()
/// defer { block.end() }
/// let bikes = try Bicycle.read().run(block)
/// try await inventory.check(bikes)                           // calls of other tasks wait meanwhile
/// try block.transaction { db in for bike in bikes { try bike.update().run(db) } }
/// ```
///
/// Statements run on the block itself or on ``database``, on any thread. A block is no transaction: each statement is
/// committed alone.
///
/// Call ``end()`` when the work is done: releasing the last reference also ends the block, but the compiler can release
/// the reference right after its last use.
public final class DatabaseBlock: Sendable {
  /// The handle on which calls run during the block. A pool's handle throws `.misuse` after the end of the block.
  public let database: SqliteDatabase
  private let ending: LockedValue<(@Sendable () -> Void)?>

  package init(of database: SqliteDatabase, _ end: @escaping @Sendable () -> Void) {
    (self.database, ending) = (database, LockedValue(end))
  }

  deinit { end() }

  /// True once the block has ended.
  public var isEnded: Bool { ending.withLock { $0 == nil } }

  /// Ends the block: the waiting calls continue. A second call does nothing.
  ///
  /// If ``database`` has an open transaction, the block of a pool rolls the transaction back. The block of a handle
  /// leaves the transaction open.
  public func end() {
    // In a forked process, the lock of a pool might belong to a thread of the parent.
    guard !database.isForked else { return }
    let end = ending.withLock { ending in
      defer { ending = nil }
      return ending
    }
    end?()
  }

  func checkIsActive() throws {
    guard !isEnded else { throw database.misuse("the block has ended") }
  }
}

extension SqliteDatabase {
  /// Blocks the database for other handles: calls on all other handles of the family wait until the block ends. The
  /// family is all handles that descend from the same first handle.
  ///
  /// ```swift
  /// let block = try db.block()
  /// defer { block.end() }
  /// try db.execute("VACUUM")
  /// ```
  ///
  /// `block` waits until no handle of the family runs a statement, reads rows or has a transaction open. This handle,
  /// and the children that it creates during the block, continue on any thread. Calls on other handles wait up to their
  /// busy timeout, and then throw `.busy` with the file and line of this call. Connections stay open, so they keep
  /// temporary tables and pragmas. Other processes, and unrelated handles of this process, are not blocked.
  ///
  /// Throws `.busy` if the family is in use for longer than `duration`; the error names the handle and its thread.
  /// Throws `.misuse` inside a transaction of the family, if this handle already blocks the database, and for the
  /// handle of a pool: use `block` of the pool.
  public func block(
    within duration: Duration = .seconds(10), file: StaticString = #fileID, line: UInt = #line
  ) throws -> DatabaseBlock {
    try checkFork()
    guard !belongsToPool else { throw misuse("can't block the database with a pool's handle; use block of the pool") }
    guard !family.isBlocked(by: self) else { throw misuse("the handle already blocks the database") }
    let end = ContinuousClock.now + duration
    let block = HandleFamily.Closing(callSite: "\(file):\(line)", isBlock: true)
    return try labelling {
      try family.begin(block, for: self, until: end)
      defer { family.endClosing() }
      guard isOpen else { throw closed }
      let held = try family.lockAll(for: self, to: "block the database", until: end)
      defer { for handle in held.reversed() { handle.lock.unlock() } }
      family.beginBlock(block, by: self)
      return DatabaseBlock(of: self) { [family] in family.endBlock() }
    }
  }

  /// Waits while another handle blocks the database, up to the busy timeout. Call with the handle's lock held. The lock
  /// is released during the wait.
  func waitForBlock() throws {
    guard family.block(of: self) != nil else { return }
    let end = ContinuousClock.now + .seconds(configuration.busyTimeout)
    while let block = family.block(of: self) {
      guard ContinuousClock.now < end else { throw block.error.labelled(configuration.label) }
      lock.unlock()
      usleep(1_000)
      lock.lock()
    }
  }
}
