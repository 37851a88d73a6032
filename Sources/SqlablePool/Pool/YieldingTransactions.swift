import Glibc
import SqlableCore

extension SqlitePool {
  /// Calls `step` repeatedly in write transactions until `step` returns ``Iteration/stop``, and commits early whenever
  /// another writer waits.
  ///
  /// ```swift
  /// try pool.yieldingTransaction { db, isNew in
  ///   guard let line = try reader.next() else { return .stop }
  ///   try Bicycle(line).insert().run(db)
  ///   return .continue
  /// }
  /// ```
  ///
  /// Use this for long work that is allowed to stay half done. A step that throws rolls back only the open transaction;
  /// earlier commits stay. Between two steps, waiting writers go first: calls of this pool, other pools, and handles,
  /// also in other processes. Other programs, such as the `sqlite3` shell, do not go first. `isNew` is true in the
  /// first step of each transaction: rows that an earlier step has read might have changed.
  ///
  /// Each transaction waits for the writer as a separate call. The transaction never shares a commit with other calls,
  /// so the pool runs no step twice. Throws the errors of `transaction`, with the outcome of the open transaction, and
  /// `.misuse` inside a closure that the pool runs.
  ///
  /// - Returns: The number of transactions.
  @discardableResult
  public func yieldingTransaction(
    file: StaticString = #fileID, line: UInt = #line,
    _ step: (_ db: SqliteDatabase, _ isNew: Bool) throws -> Iteration
  ) throws -> Int {
    try checkIsOutside()
    var count = 1
    while let pause = try perform(
      .outsideTransaction, at: .init(file: file, line: line), { db in try self.steps(db, step) })
    {
      if pause > .zero { usleep(UInt32(pause / .microseconds(1))) }
      count += 1
    }
    return count
  }

  /// Calls `step` repeatedly on a thread of the pool, and commits early whenever another writer waits.
  ///
  /// Throws `CancellationError` if the task is cancelled; earlier commits stay.
  @discardableResult
  public func yieldingTransaction(
    file: StaticString = #fileID, line: UInt = #line,
    _ step: @escaping @Sendable (_ db: SqliteDatabase, _ isNew: Bool) throws -> Iteration
  ) async throws -> Int {
    try checkIsOutside()
    var count = 1
    let callSite = CallSite(file: file, line: line)
    while let pause = try await perform(.outsideTransaction, at: callSite, { db in try self.steps(db, step) }) {
      if pause > .zero { try await Task.sleep(for: pause) }
      count += 1
    }
    return count
  }

  /// Calls `step` repeatedly in write transactions, passes a state from step to step, and returns the final state.
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
  /// The state replaces captured variables, which a closure can't change in async code. When a step throws, the state
  /// is lost. Otherwise this method behaves like `yieldingTransaction` without a state.
  public func yieldingTransaction<State>(
    into state: State, file: StaticString = #fileID, line: UInt = #line,
    _ step: (_ db: SqliteDatabase, _ state: inout State, _ isNew: Bool) throws -> Iteration
  ) throws -> State {
    var state = state
    try yieldingTransaction(file: file, line: line) { db, isNew in try step(db, &state, isNew) }
    return state
  }

  /// Calls `step` repeatedly on a thread of the pool, passes a state from step to step, and returns the final state.
  ///
  /// Throws `CancellationError` if the task is cancelled; earlier commits stay.
  public func yieldingTransaction<State: Sendable>(
    into state: State, file: StaticString = #fileID, line: UInt = #line,
    _ step: @escaping @Sendable (_ db: SqliteDatabase, _ state: inout State, _ isNew: Bool) throws -> Iteration
  ) async throws -> State {
    let current = LockedValue(state)
    try await yieldingTransaction(file: file, line: line) { db, isNew in
      try current.withLock { state in try step(db, &state, isNew) }
    }
    return current.withLock { $0 }
  }

  /// Throws `.misuse` inside a closure that the pool runs, because other writers could wait for the end of that
  /// closure.
  private func checkIsOutside() throws {
    try refuseInClosure("yield")
  }

  /// Runs steps of one transaction until another writer waits. Returns the pause before the next transaction; nil after
  /// the last step.
  private func steps(_ db: SqliteDatabase, _ step: (SqliteDatabase, Bool) throws -> Iteration) throws -> Duration? {
    try db.transaction { db in
      gate.beginLookingForHandles()
      return try db.runSteps(step) {
        let isWanted = withStateAndClaims { $0.waitingWrites.count > 0 || $0.closeBarrier != nil }
        if isWanted || gate.isTurnOver { return .zero }
        return gate.isHandleWaiting ? SqliteDatabase.pauseForHandles : nil
      }
    }
  }
}

extension SqliteDatabase {
  /// The pause that lets waiting handles write. A waiting handle notices a commit only at its next attempt.
  fileprivate static let pauseForHandles = Duration.microseconds(Int(BusyWait.longestPause) + 5_000)

  /// Runs steps until a step returns `.stop`, or until `isWanted` returns a pause for another writer. Returns the
  /// pause; nil after `.stop`.
  fileprivate func runSteps(
    _ step: (SqliteDatabase, Bool) throws -> Iteration, until isWanted: () -> Duration?
  ) throws -> Duration? {
    var isNew = true
    while true {
      let next = try step(self, isNew)
      try checkInterruption()
      guard next == .continue else { return nil }
      isNew = false
      if let pause = isWanted() { return pause }
    }
  }

  /// Calls `step` repeatedly in transactions until `step` returns ``Iteration/stop``, and commits early whenever
  /// another writer waits.
  ///
  /// ```swift
  /// try db.yieldingTransaction { db, isNew in
  ///   guard let line = try reader.next() else { return .stop }
  ///   try Bicycle(line).insert().run(db)
  ///   return .continue
  /// }
  /// // BEGIN IMMEDIATE; INSERT …; INSERT …; COMMIT; BEGIN IMMEDIATE; INSERT …; COMMIT
  /// ```
  ///
  /// Use this for long work that is allowed to stay half done. A step that throws rolls back only the open transaction;
  /// earlier commits stay. Between two steps, pools and handles that wait to write to the file go first, also in other
  /// processes. Other programs, such as the `sqlite3` shell, do not go first. An in-memory database uses a single
  /// transaction. `isNew` is true in the first step of each transaction: rows that an earlier step has read might have
  /// changed.
  ///
  /// Throws the errors of `transaction`, with the outcome of the open transaction, and `.misuse` inside a transaction
  /// or a closure of a pool. Blocks the thread. Other threads that use the handle wait for the open transaction.
  ///
  /// - Returns: The number of transactions.
  @discardableResult
  public func yieldingTransaction(
    file: StaticString = #fileID, line: UInt = #line,
    _ step: (_ db: SqliteDatabase, _ isNew: Bool) throws -> Iteration
  ) throws -> Int {
    guard !belongsToPool else {
      throw misuse(
        "can't call yieldingTransaction inside a closure that the pool runs; call the pool's method after the closure")
    }
    guard transactionLevel == 0 else {
      throw misuse("can't call yieldingTransaction inside a transaction; end the transaction first")
    }
    var count = 1
    while let pause = try transaction(file: file, line: line, { db in try db.steps(step) }) {
      usleep(UInt32(pause / .microseconds(1)))
      count += 1
    }
    return count
  }

  private func steps(_ step: (SqliteDatabase, Bool) throws -> Iteration) throws -> Duration? {
    let path = try locked { try openConnection().absolutePath }
    guard let gate = path.isEmpty ? nil : GateFile(besideFileAt: path) else { return try runSteps(step) { nil } }
    let lastWait = gate.lastWait
    var next = ContinuousClock.now
    return try runSteps(step) {
      let now = ContinuousClock.now
      guard now >= next else { return nil }
      next = now + .milliseconds(1)
      // Check the queue and the turn: a pool that has the turn still waits, because this handle holds SQLite's lock.
      return gate.isLockedByOthers(.queueAndTurn) || gate.lastWait != lastWait ? SqliteDatabase.pauseForHandles : nil
    }
  }
}
