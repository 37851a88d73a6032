extension SqlitePool {
  /// Calls `step` repeatedly in a transaction of the writer until it returns ``Iteration/stop``; commits early and
  /// begins another transaction whenever another writer waits.
  ///
  /// ```swift
  /// try pool.yieldingTransaction { db, isNew in
  ///   guard let line = try reader.next() else { return .stop }
  ///   try Bicycle(line).insert().run(db)
  ///   return .continue
  /// }
  /// ```
  ///
  /// For long work that may stay half done: a step that fails rolls back the open transaction only, and early commits
  /// stay. Between two steps, writers that wait in this pool and in other processes' pools go first. `isNew` is true in
  /// the first step of each transaction: what an earlier step has read may have changed since.
  ///
  /// Each transaction waits for the writer as a separate call, and does not share its commit, so no step is run twice.
  /// Throws what `transaction` throws, with the fate of the open transaction, and `.misuse` inside a closure of the
  /// pool.
  ///
  /// - Returns: The number of transactions.
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

  /// Calls `step` repeatedly on a thread of the pool; commits early whenever another writer waits.
  ///
  /// Throws `CancellationError` if the task is cancelled; early commits stay.
  @discardableResult
  public func yieldingTransaction(
    file: StaticString = #fileID, line: UInt = #line,
    _ step: @escaping @Sendable (_ db: SqliteDatabase, _ isNew: Bool) throws -> Iteration
  ) async throws -> Int {
    try checkIsOutside()
    var count = 1
    let place = CallSite(file: file, line: line)
    while try await perform(.alone, at: place, { db in try self.steps(db, step) }) == .continue { count += 1 }
    return count
  }

  /// Calls `step` repeatedly in a transaction of the writer and passes a state along, which it returns after the last
  /// step; commits early whenever another writer waits.
  ///
  /// ```swift
  /// let count = try await pool.yieldingTransaction(into: 0) { db, count, _ in
  ///   guard count < bikes.count else { return .stop }
  ///   try bikes[count].insert().run(db)
  ///   count += 1
  ///   return .continue
  /// }
  /// ```
  ///
  /// The state takes the place of variables that the closure would capture, which it can't in async code. When a step
  /// throws, the state is lost with it. Otherwise like `yieldingTransaction`.
  public func yieldingTransaction<State>(
    into state: State, file: StaticString = #fileID, line: UInt = #line,
    _ step: (_ db: SqliteDatabase, _ state: inout State, _ isNew: Bool) throws -> Iteration
  ) throws -> State {
    var state = state
    try yieldingTransaction(file: file, line: line) { db, isNew in try step(db, &state, isNew) }
    return state
  }

  /// Calls `step` repeatedly on a thread of the pool and passes a state along, which it returns after the last step;
  /// commits early whenever another writer waits.
  ///
  /// Throws `CancellationError` if the task is cancelled; early commits stay.
  public func yieldingTransaction<State: Sendable>(
    into state: State, file: StaticString = #fileID, line: UInt = #line,
    _ step: @escaping @Sendable (_ db: SqliteDatabase, _ state: inout State, _ isNew: Bool) throws -> Iteration
  ) async throws -> State {
    let current = Guarded(state)
    try await yieldingTransaction(file: file, line: line) { db, isNew in
      try current.withLock { state in try step(db, &state, isNew) }
    }
    return current.withLock { $0 }
  }

  /// Inside a closure that holds the writer, no waiting writer could go first.
  private func checkIsOutside() throws {
    guard withState({ $0.ownHandle }) == nil else { throw misuse("can't yield inside a closure of the pool") }
  }

  /// Runs one transaction: steps until the last, or until another writer waits.
  private func steps(
    _ db: SqliteDatabase, _ step: (SqliteDatabase, Bool) throws -> Iteration
  ) throws -> Iteration {
    try db.transaction { db in
      var isNew = true
      while true {
        let next = try step(db, isNew)
        try db.checkInterruption()
        guard next == .continue else { return .stop }
        isNew = false
        if isWriterWanted { return .continue }
      }
    }
  }

  /// Whether a call of this pool waits for the writer or to close the files, or another pool for its turn.
  private var isWriterWanted: Bool {
    withState { $0.waitingWrites.count > 0 || $0.blockade != nil } || gate.isTurnOver
  }
}
