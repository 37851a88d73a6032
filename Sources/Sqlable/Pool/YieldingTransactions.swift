extension SqlitePool {
  /// Calls `step` again and again in a transaction of the writer, until it returns ``Iteration/stop``; commits early and begins
  /// another transaction whenever somebody else wants to write.
  ///
  /// ```swift
  /// try pool.yieldingTransaction { db, isNew in
  ///   guard let line = try reader.next() else { return .stop }
  ///   try Bicycle(line).insert().run(db)
  ///   return .continue
  /// }
  /// ```
  ///
  /// For work that is long and may stay half done: what was committed early stays when a later step fails, which undoes the
  /// open transaction only. Others are served between two steps, in this pool and in other processes' pools; those who wait
  /// come first. `isNew` is true in the first step of each transaction: what an earlier step has read may have been changed
  /// since.
  ///
  /// Each transaction waits for the writer as a call of its own, and its commit is not shared, so that no step is run again.
  /// Throws what `transaction` throws, with the fate of the open transaction, and `.misuse` inside a closure of the pool.
  ///
  /// - Returns: how many transactions it took.
  @discardableResult
  public func yieldingTransaction(
    file: StaticString = #fileID, line: UInt = #line,
    _ step: (_ db: SqliteDatabase, _ isNew: Bool) throws -> Iteration
  ) throws -> Int {
    try checkIsOutside()
    var count = 1
    while try perform(.alone, at: .init(file: file, line: line), { db in try self.steps(db, step) }) == .continue {
      count += 1
    }
    return count
  }

  /// Calls `step` again and again, on a thread of the pool; commits early whenever somebody else wants to write.
  ///
  /// Throws `CancellationError` when the task is cancelled; what was committed early stays.
  @discardableResult
  public func yieldingTransaction(
    file: StaticString = #fileID, line: UInt = #line,
    _ step: @escaping @Sendable (_ db: SqliteDatabase, _ isNew: Bool) throws -> Iteration
  ) async throws -> Int {
    try checkIsOutside()
    var count = 1
    let place = PoolCall.CallSite(file: file, line: line)
    while try await perform(.alone, at: place, { db in try self.steps(db, step) }) == .continue { count += 1 }
    return count
  }

  /// In a closure that has the writer nobody else could be served, though they wait.
  private func checkIsOutside() throws {
    guard withState({ $0.ownHandle }) == nil else { throw misuse("a closure of the pool can't yield to others") }
  }

  /// One transaction: steps until there are no more, or somebody else wants to write.
  private func steps(
    _ db: SqliteDatabase, _ step: (SqliteDatabase, Bool) throws -> Iteration
  ) throws -> Iteration {
    try db.transaction { db in
      var isNew = true
      while true {
        guard try step(db, isNew) == .continue else { return .stop }
        isNew = false
        try db.openConnection().checkBrake()
        if isWriterWanted { return .continue }
      }
    }
  }

  /// Whether somebody waits for the writer, here or in another process.
  private var isWriterWanted: Bool { withState { $0.waitingWrites.count > 0 } || gate.isTurnOver }
}
