/// The kind of a transaction. The kind determines the locks that SQLite takes.
public enum TransactionKind: Sendable, Hashable {
  /// `BEGIN IMMEDIATE`: takes the write lock at the start, so no statement inside the transaction has to wait for the
  /// lock.
  case immediate
  /// `BEGIN DEFERRED`: a snapshot for reading. A write inside the transaction can throw `.busy` immediately, regardless
  /// of the busy timeout.
  case deferred
  /// `BEGIN EXCLUSIVE`: like `immediate`; outside WAL mode, the transaction also blocks readers.
  case exclusive
}

/// The way in which a transaction ends, as returned by the transaction's closure.
public enum TransactionResult: Sendable, Hashable {
  case commit, rollback
}

/// The open transactions of a handle, outermost first.
final class TransactionStack {
  struct Level {
    /// True if the level belongs to a `transaction` closure. Then only the end of that closure can end the level.
    let isScoped: Bool
    let mark: Int
    /// A snapshot of the changes for live results; nil without live results, and for the outermost level.
    let summarized: ChangeBuffer.Summarized?
  }

  var levels: [Level] = [] {
    didSet {
      counts.levels = levels.count
      if levels.isEmpty, isMarked { mark(nil) }
    }
  }

  /// The number of open levels, and the number of levels that user code must not end. Every statement checks both
  /// numbers.
  struct Counts {
    fileprivate(set) var levels = 0
    /// The number of levels open when the running statement began. User code that the statement calls must not end
    /// these levels.
    var protectedLevels = 0
  }

  @exclusivity(unchecked) var counts = Counts()
  @exclusivity(unchecked) var (committed, rolledBack) = (0, 0)

  /// The call site and the time of the write that holds the write lock; nil without the write lock. Any thread can read
  /// this value.
  let writeMark = LockedValue<WriteMark?>(nil)
  @exclusivity(unchecked) private(set) var isMarked = false

  func mark(_ mark: WriteMark?) {
    isMarked = mark != nil
    writeMark.withLock { $0 = mark }
  }
}

extension SqliteDatabase {
  /// The number of open levels: 0 without a transaction, 1 in a transaction, and one more for each savepoint.
  ///
  /// 0 for a pool's handle outside the closure that received the handle, and on any other thread.
  public var transactionLevel: Int { isLentElsewhere ? 0 : lockedAnyway { transactions.levels.count } }

  // MARK: With a closure

  /// Runs `body` in a transaction, which commits when `body` returns and rolls back when `body` throws.
  ///
  /// ```swift
  /// let id = try db.transaction { db in try bike.insert().run(db) }     // BEGIN IMMEDIATE … COMMIT
  /// ```
  ///
  /// Inside another transaction, `body` runs in a savepoint, and `kind` is ignored. Rethrows the closure's error.
  /// Throws `.busy` if another connection holds the write lock for longer than the busy timeout. After any error, no
  /// change of the transaction is stored. Other threads that use this handle wait until the closure returns.
  @discardableResult
  public func transaction<Value>(
    _ kind: TransactionKind = .immediate, file: StaticString = #fileID, line: UInt = #line,
    _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    let isTraced = try beginCall(file, line)
    defer { if isTraced { endCall() } }
    return try scoped(kind, at: CallSite(file: file, line: line), body)
  }

  /// Runs `body` in a transaction, which commits if `body` returns `.commit` and rolls back if `body` returns
  /// `.rollback`.
  ///
  /// ```swift
  /// try db.transaction { db in
  ///   let changed = try Bicycle.delete(Bicycle.color == "red").run(db)
  ///   return changed > 10 ? .rollback : .commit
  /// }
  /// ```
  // Disfavored: otherwise the compiler would report a missing return in a closure that returns nothing.
  @_disfavoredOverload
  @discardableResult
  public func transaction(
    _ kind: TransactionKind = .immediate, file: StaticString = #fileID, line: UInt = #line,
    _ body: (SqliteDatabase) throws -> TransactionResult
  ) throws -> TransactionResult {
    let isTraced = try beginCall(file, line)
    defer { if isTraced { endCall() } }
    return try scoped(kind, at: CallSite(file: file, line: line), body)
  }

  // MARK: Shared by several callers

  /// Begins a transaction that several callers share, each with its own savepoint. No caller can end the transaction.
  package func beginShared(at site: CallSite) throws {
    try locked { _ = try begin(.immediate, isScoped: true, at: site) }
  }

  /// True if the shared transaction is open and contains no open savepoint.
  package var isSharedTransactionWhole: Bool {
    guard let connection else { return false }
    return transactions.levels.count == 1 && !connection.isAutocommit && !connection.hasLostTransaction
  }

  package func checkShared() throws {
    try locked {
      try checkTransactionIsAlive(openConnection())
      guard isSharedTransactionWhole else { throw misuse("the closure left a transaction open") }
    }
  }

  /// Commits the shared transaction. If the commit fails, throws and leaves the transaction open.
  package func commitShared() throws {
    try locked {
      try checkShared()
      try commitInnermost()
    }
  }

  package func rollBackShared() { lockedAnyway { _ = rollBack(from: 1) } }

  func scoped<Value>(
    _ kind: TransactionKind, at site: CallSite? = nil, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    try locked {
      let level = try begin(kind, isScoped: true, at: site)
      let value: Value
      do {
        value = try body(self)
        try checkIsInnermost(level)
      } catch { throw rolledBack(level, because: error) }
      // Check the returned value at run time: the compiler, not the caller, chooses between the two overloads above.
      switch value as? TransactionResult ?? .commit {
      case .rollback: if let failure = rollBack(from: level) { throw failure }
      case .commit: try commitOrRollBack(level)
      }
      return value
    }
  }

  // MARK: Without a closure

  /// Begins a transaction, or a savepoint inside the open transaction, and returns the level; 1 is the outermost.
  ///
  /// Prefer ``transaction(_:file:line:_:)-(_,_,_,(SqliteDatabase)->Value)``. Between `beginTransaction` and the commit,
  /// other threads that use this handle do not wait, and their statements become part of the transaction.
  @discardableResult
  public func beginTransaction(
    _ kind: TransactionKind = .immediate, file: StaticString = #fileID, line: UInt = #line
  ) throws -> Int {
    let isTraced = try beginCall(file, line)
    defer { if isTraced { endCall() } }
    return try locked { try begin(kind, isScoped: false, at: CallSite(file: file, line: line)) }
  }

  /// Commits the innermost transaction.
  ///
  /// Throws `.misuse` if there is no transaction, or if the transaction belongs to a closure. Also throws `.misuse`
  /// inside code that a running statement calls, such as a struct's `write(to:)` and `init(row:)`. If the commit itself
  /// fails with `.constraint(.foreignKey)` or `.busy`, the transaction remains open.
  public func commitTransaction(file: StaticString = #fileID, line: UInt = #line) throws {
    let isTraced = try beginCall(file, line)
    defer { if isTraced { endCall() } }
    try locked {
      try checkIsNotInFunction(openConnection())
      guard let innermost = transactions.levels.last else { throw misuse("can't commit: no transaction is open") }
      guard !innermost.isScoped else { throw misuse("can't commit a closure's transaction; return from the closure") }
      try checkIsNotCountedOn(transactions.levels.count)
      try commitInnermost()
    }
  }

  /// Rolls back the innermost transaction, or the transaction at `level` with all transactions inside it.
  ///
  /// ```swift
  /// let outer = try db.beginTransaction()      // 1
  /// try db.beginTransaction()                  // 2
  /// try db.rollbackTransaction(outer)          // ends both
  /// ```
  ///
  /// Throws `.misuse` if there is no such transaction, or if one of these transactions belongs to a closure. Also
  /// throws `.misuse` inside code that a running statement calls, such as a struct's `write(to:)` and `init(row:)`. If
  /// SQLite fails to roll back a savepoint, the whole transaction is rolled back. If SQLite fails to roll back the
  /// transaction, the handle is lost (`.handleLost`). In both cases, no change is stored.
  public func rollbackTransaction(
    _ level: Int? = nil, file: StaticString = #fileID, line: UInt = #line
  ) throws {
    let isTraced = try beginCall(file, line)
    defer { if isTraced { endCall() } }
    try locked {
      try checkIsNotInFunction(openConnection())
      let level = level ?? transactions.levels.count
      guard level >= 1, level <= transactions.levels.count else {
        throw misuse("can't roll back: no transaction is open at that level")
      }
      guard !transactions.levels[(level - 1)...].contains(where: \.isScoped) else {
        throw misuse("can't roll back a closure's transaction; return .rollback from the closure, or throw")
      }
      try checkIsNotCountedOn(level)
      if let failure = rollBack(from: level) { throw failure }
    }
  }
}

// MARK: - Steps with the lock held

extension SqliteDatabase {
  func checkIsInnermost(_ level: Int) throws {
    guard transactions.levels.count == level else {
      throw misuse("the closure left a transaction open")
    }
  }

  /// Rolls back a level: the transaction (level 1) or a savepoint. Returns the error, with `.rolledBack` if the whole
  /// transaction has ended.
  func rolledBack(_ level: Int, because error: any Error) -> any Error {
    let isLost = rollBack(from: level) != nil
    // `.untouched` was correct when the error was thrown, but the transaction has ended now.
    guard level == 1 || isLost, var error = error as? SqlError, error.transaction == .untouched else { return error }
    error.transaction = .rolledBack
    return error
  }

  /// Commits the innermost level, or rolls it back if the commit fails: no other code would end the level.
  func commitOrRollBack(_ level: Int) throws {
    do { try commitInnermost() } catch var error as SqlError {
      let isLost = rollBack(from: level) != nil
      if level == 1 || isLost, error.transaction != .unknown { error.transaction = .rolledBack }
      throw error
    }
  }

  func begin(_ kind: TransactionKind, isScoped: Bool, at site: CallSite? = nil) throws -> Int {
    // Check again, because user code, such as `write(to:)`, might have forked the process, or caused the loss of the
    // connection.
    try checkFork()
    let connection = try openConnection()
    if let lost = connection.lost { throw lost }
    try checkIsNotInFunction(connection)
    try checkTransactionIsAlive(connection)
    if transactions.levels.isEmpty {
      if kind != .deferred {
        try checkMayWrite()
        try checkFile(connection)
      }
      observation?.refresh()
      if kind == .deferred { try observation?.refreshKeys(isBeginning: true) }
      do { try connection.run(.begin(kind)) } catch {
        // Roll back, because the transaction might have begun despite the error, and no other code would end it.
        connection.undoTransaction()
        throw namingHolder(error)
      }
      if kind != .deferred { noteWriteLock(at: site) }
      // Until the deferred transaction reads, other connections can still change the schema.
      if kind == .deferred { observation?.schemaDidChange() }
    } else {
      try connection.checkMayBeginSavepoint()
      try connection.run(.savepoint)
    }
    transactions.levels.append(
      .init(
        isScoped: isScoped, mark: observation?.mark ?? 0,
        summarized: transactions.levels.isEmpty ? nil : observation?.summarized))
    let level = transactions.levels.count
    connection.transactionLevel = level
    if level == 1, kind != .deferred {
      do { try observation?.refreshKeys(isBeginning: true) } catch {
        _ = rollBack(from: 1)
        throw error
      }
    }
    return level
  }

  /// Commits the innermost level. If the commit fails, throws and leaves the level open.
  private func commitInnermost() throws {
    // The closure might have forked the process. The forked process must not commit the parent's transaction.
    try checkFork()
    let connection = try openConnection()
    try checkTransactionIsAlive(connection)
    if transactions.levels.count > 1 {
      try connection.run(.release)
      pop(connection)
    } else if let observation {
      // The file might have been deleted since the transaction began, and `begin` does not check deferred transactions.
      if connection.isWriting { try checkFile(connection) }
      try observation.commit {
        try connection.run(.commit)
        transactions.committed += 1
        pop(connection)
      }
    }
  }

  /// Rolls back the level and all levels inside it. If SQLite has already rolled back the transaction, only pops the
  /// levels.
  ///
  /// Returns an error if SQLite could not roll back. Then either the whole transaction or the handle is lost.
  private func rollBack(from level: Int) -> SqlError? {
    guard let connection, !isForked else { return nil }
    var failure: SqlError?
    while transactions.levels.count >= level, let innermost = transactions.levels.last {
      if transactions.levels.count == 1 {
        failure = connection.undoTransaction()
      } else if !connection.isAutocommit {
        failure = connection.undoSavepoint()
      }
      observation?.undo(after: innermost.mark, to: innermost.summarized)
      if transactions.levels.count == 1 {
        observation?.forgetAll()
        transactions.rolledBack += 1
      }
      pop(connection)
    }
    return failure
  }

  private func pop(_ connection: Connection) {
    transactions.levels.removeLast()
    connection.transactionLevel = transactions.levels.count
    if transactions.levels.isEmpty { connection.lostTransaction = nil }
  }

  /// Protects the open transactions from user code that a statement calls. Returns the argument of `endRun`.
  @usableFromInline
  func beginRun() -> Int {
    let protectedLevels = transactions.counts.protectedLevels
    transactions.counts.protectedLevels = transactions.counts.levels
    return protectedLevels
  }

  var protectedLevels: Int { transactions.counts.protectedLevels }

  @usableFromInline
  func endRun(_ protectedLevels: Int) { transactions.counts.protectedLevels = protectedLevels }

  private func checkIsNotCountedOn(_ level: Int) throws {
    guard level > transactions.counts.protectedLevels else {
      throw misuse("can't commit or roll back inside write(to:) or init(row:)")
    }
  }

  /// Throws if an earlier error has rolled back the whole open transaction.
  ///
  /// SQLite is then outside a transaction, and would commit the next write immediately.
  func checkTransactionIsAlive(_ connection: Connection) throws {
    guard connection.hasLostTransaction, let lost = connection.lostTransaction else { return }
    var error = lost
    error.message = "an earlier error rolled back the whole transaction: " + lost.message
    throw error
  }

  /// Throws if the file is no longer at its path. Writes would be lost, and reads would miss a new file at the path.
  package func checkFile(_ connection: Connection, isRead: Bool = false) throws {
    guard !connection.fileHasMoved else {
      throw SqlError(
        .io,
        message: isRead
          ? "the database file was moved, deleted or replaced; a read would return rows of the old file"
          : "the database file was moved or deleted; a write would be lost",
        transaction: transactions.levels.isEmpty ? .none : .untouched, label: configuration.label)
    }
  }
}

extension Connection.Control {
  fileprivate static func begin(_ kind: TransactionKind) -> Self {
    switch kind {
    case .immediate: .beginImmediate
    case .deferred: .beginDeferred
    case .exclusive: .beginExclusive
    }
  }
}
