import SqlableCore
import SqlableSchema

extension Migrations {
  /// Runs the pending migrations on a pool without blocking the thread.
  ///
  /// See ``apply(_:waitingAtMost:file:line:progress:waiting:)-(SqlDatabase,_,_,_,_,_)``.
  ///
  /// ```swift
  /// let names = try await Migrations(all).apply(pool)
  /// ```
  ///
  /// The closures run on threads of the pool and on the task's thread. Throws `CancellationError` if the task is
  /// cancelled. The running migration or batch is then rolled back; earlier migrations and batches stay.
  @discardableResult
  public func apply(
    _ pool: SqlitePool, waitingAtMost limit: Duration? = nil, file: StaticString = #fileID, line: UInt = #line,
    progress: @escaping @Sendable (Progress) -> Void = { _ in },
    waiting: @escaping @Sendable (SqlError) -> Void = { _ in }
  ) async throws -> [String] {
    try checkNames()
    var run = Run()
    while true {
      let batches = run.batches
      let callSite = CallSite(file: file, line: line)
      let step = try await pool.transactionAfterOthers(waitingAtMost: limit, at: callSite, waiting) { db in
        try next(db, batches: batches, progress)
      }
      if run.isDone(after: step, progress) { return run.names }
    }
  }

  /// Returns the state of the migrations in a pool's database without blocking the thread.
  ///
  /// See ``status(_:file:line:)-(SqlDatabase,_,_)``.
  ///
  /// ```swift
  /// guard try await Migrations(all).status(pool) == .current else { … }
  /// ```
  public func status(
    _ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Status {
    try await pool.read(file: file, line: line) { db in try status(db) }
  }
}

extension SchemaPlan {
  /// Applies the plan to a pool in one transaction without blocking the thread.
  ///
  /// See ``apply(_:allowing:waitingAtMost:file:line:progress:waiting:)-(SqlDatabase,_,_,_,_,_,_)``.
  ///
  /// ```swift
  /// try await plan.apply(pool, allowing: .dataLoss)
  /// ```
  ///
  /// The closures run on threads of the pool and on the task's thread. Throws `CancellationError` if the task is
  /// cancelled; the database then stays unchanged.
  public func apply(
    _ pool: SqlitePool, allowing permission: SchemaPermission = [], waitingAtMost limit: Duration? = nil,
    file: StaticString = #fileID, line: UInt = #line,
    progress: @escaping @Sendable (SchemaProgress) -> Void = { _ in },
    waiting: @escaping @Sendable (SqlError) -> Void = { _ in }
  ) async throws {
    try checkMayApply(permission)
    guard !isEmpty else { return }
    let callSite = CallSite(file: file, line: line)
    try await pool.transactionAfterOthers(waitingAtMost: limit, at: callSite, waiting) { db in
      try applySteps(db, progress)
    }
  }
}

extension Schema {
  /// Returns a plan that would change a pool's database to match the models, without blocking the thread.
  ///
  /// See ``plan(_:renamed:renamedTables:notRenamed:filling:dropping:file:line:)-(SqlDatabase,_,_,_,_,_,_,_)``.
  public func plan(
    _ pool: SqlitePool, renamed: [String: String] = [:], renamedTables: [String: String] = [:],
    notRenamed: Set<String> = [], filling: [String: any SqlValue] = [:], dropping: SchemaDropping = [],
    file: StaticString = #fileID, line: UInt = #line
  ) async throws -> SchemaPlan {
    try await pool.read(file: file, line: line) { db in
      try plan(
        db, renamed: renamed, renamedTables: renamedTables, notRenamed: notRenamed, filling: filling,
        dropping: dropping, file: file, line: line)
    }
  }
}

extension SqlitePool {
  /// Runs `body` in a write transaction. Waits for other writers beyond the busy timeout; does not retry `body`.
  fileprivate func transactionAfterOthers<Value: Sendable>(
    waitingAtMost limit: Duration?, at callSite: CallSite, _ waiting: @Sendable (SqlError) -> Void,
    _ body: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) async throws -> Value {
    var wait = WaitForOthers(atMost: limit)
    while true {
      let hasBegun = LockedValue(false)
      wait.beginTry()
      do {
        return try await perform(.write, at: callSite) { db in
          hasBegun.withLock { $0 = true }
          return try body(db)
        }
      } catch let error as SqlError where error.isWaitable(hasBegun: hasBegun.withLock { $0 }) {
        let pause = try wait.pause(after: error)
        waiting(error)
        try await Task.sleep(for: pause)
      }
    }
  }
}
