/// How a transaction takes SQLite's locks.
public enum TransactionKind: Sendable, Hashable {
  /// `BEGIN IMMEDIATE`: the right to write is taken at the start, so no statement inside can find it taken.
  case immediate
  /// `BEGIN DEFERRED`: a snapshot for reading. A write inside it may throw `.busy` at once, whatever the busy timeout.
  case deferred
  /// `BEGIN EXCLUSIVE`: as immediate; outside WAL mode readers are kept out too.
  case exclusive
}

/// What a transaction's closure wants done with its work.
public enum TransactionResult: Sendable, Hashable {
  case commit, rollback
}

/// The open transactions of a handle, the outermost first.
final class TransactionStack {
  struct Level {
    /// Opened by a closure, which alone may end it.
    let isScoped: Bool
    /// How many changes were recorded when it began.
    let mark: Int
    /// What was done by then to the tables that live results read; nil where none reads any, and of the outermost.
    let summarized: ChangeBuffer.Summarized?
  }

  var levels: [Level] = [] {
    didSet { counts.levels = levels.count }
  }

  /// What every statement asks.
  struct Counts {
    fileprivate(set) var levels = 0
    /// How many levels were open when the statement that is being run began: it counts on them.
    var protectedLevels = 0
  }

  @exclusivity(unchecked) var counts = Counts()
}

extension SqliteDatabase {
  /// How many transactions are open: 0 is none, 1 a transaction, more are savepoints inside it.
  public var transactionLevel: Int { lockedAnyway { transactions.levels.count } }

  // MARK: With a closure

  /// Runs `body` in a transaction, committed when it returns and rolled back when it throws.
  ///
  /// ```swift
  /// let id = try db.transaction { db in try bike.insert().run(db) }     // BEGIN IMMEDIATE … COMMIT
  /// ```
  ///
  /// Inside another transaction it is a savepoint, whatever `kind` says. The error of the closure is the one that comes
  /// out. Throws `.busy` when another connection writes for longer than the busy timeout; after any error nothing of
  /// the transaction is stored. Other threads that use this handle wait until the closure has returned.
  @discardableResult
  public func transaction<Value>(
    _ kind: TransactionKind = .immediate, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    try scoped(kind, body)
  }

  /// Runs `body` in a transaction that it decides about itself.
  ///
  /// ```swift
  /// try db.transaction { db in
  ///   let changed = try Bicycle.delete(Bicycle.color == "red").run(db)
  ///   return changed > 10 ? .rollback : .commit
  /// }
  /// ```
  // Disfavored: a closure without a return would be taken for one that forgot it.
  @_disfavoredOverload
  @discardableResult
  public func transaction(
    _ kind: TransactionKind = .immediate, _ body: (SqliteDatabase) throws -> TransactionResult
  ) throws -> TransactionResult {
    try scoped(kind, body)
  }

  // MARK: For several callers

  /// Begins a transaction that several callers share, each with a savepoint in it; none of them can end it.
  func beginShared() throws { try locked { _ = try begin(.immediate, isScoped: true) } }

  /// Whether what was begun as shared is open, and nothing inside it.
  var isSharedTransactionWhole: Bool {
    guard let connection else { return false }
    return transactions.levels.count == 1 && !connection.isAutocommit && !connection.hasLostTransaction
  }

  /// Throws unless what was begun as shared is open, and nothing inside it.
  func checkShared() throws {
    try locked {
      try checkTransactionIsAlive(openConnection())
      guard isSharedTransactionWhole else { throw misuse("a transaction begun inside the closure was left open") }
    }
  }

  /// Commits what was begun as shared. Throws, and leaves it open, when that fails.
  func commitShared() throws {
    try locked {
      try checkShared()
      try commitInnermost()
    }
  }

  /// Undoes what was begun as shared, with all that is inside it.
  func rollBackShared() { lockedAnyway { _ = rollBack(from: 1) } }

  func scoped<Value>(
    _ kind: TransactionKind, _ body: (SqliteDatabase) throws -> Value
  ) throws -> Value {
    try locked {
      let level = try begin(kind, isScoped: true)
      let value: Value
      do {
        value = try body(self)
        try checkIsInnermost(level)
      } catch { throw rolledBack(level, because: error) }
      // Asked of the value: which of the two forms above was called is the compiler's choice, not the user's.
      switch value as? TransactionResult ?? .commit {
      case .rollback: if let failure = rollBack(from: level) { throw failure }
      case .commit: try commitOrRollBack(level)
      }
      return value
    }
  }

  // MARK: By hand

  /// Begins a transaction, or a savepoint inside the open one, and returns its level, 1 being the outermost.
  ///
  /// Prefer ``transaction(_:_:)-(_,(SqliteDatabase)->Value)``: between these calls other threads that use this handle
  /// are not kept waiting, and what they run belongs to the transaction.
  @discardableResult
  public func beginTransaction(_ kind: TransactionKind = .immediate) throws -> Int {
    try locked { try begin(kind, isScoped: false) }
  }

  /// Commits the innermost transaction.
  ///
  /// Throws `.misuse` without a transaction, when it belongs to a closure, or inside a struct's own code while a
  /// statement takes its values from it or makes its rows. When the commit itself fails with `.constraint(.foreignKey)`
  /// or `.busy` the transaction is still open.
  public func commitTransaction() throws {
    try locked {
      try checkIsNotInFunction(openConnection())
      guard let innermost = transactions.levels.last else { throw misuse("commit without a transaction") }
      guard !innermost.isScoped else { throw misuse("a closure's transaction ends when the closure returns") }
      try checkIsNotCountedOn(transactions.levels.count)
      try commitInnermost()
    }
  }

  /// Rolls back the innermost transaction, or the one at `level` with all that are inside it.
  ///
  /// ```swift
  /// let outer = try db.beginTransaction()      // 1
  /// try db.beginTransaction()                  // 2
  /// try db.rollbackTransaction(outer)          // none is open any more
  /// ```
  ///
  /// Throws `.misuse` when there is no such transaction, when one of them belongs to a closure, or inside a struct's
  /// own code while a statement takes its values from it or makes its rows. Should SQLite fail to undo a savepoint, the
  /// whole transaction is lost; should it fail to undo the transaction, the handle is (`.handleLost`). Nothing is
  /// stored either way.
  public func rollbackTransaction(_ level: Int? = nil) throws {
    try locked {
      try checkIsNotInFunction(openConnection())
      let level = level ?? transactions.levels.count
      guard level >= 1, level <= transactions.levels.count else {
        throw misuse("rollback without a transaction at that level")
      }
      guard !transactions.levels[(level - 1)...].contains(where: \.isScoped) else {
        throw misuse("a closure's transaction is rolled back by returning .rollback or throwing")
      }
      try checkIsNotCountedOn(level)
      if let failure = rollBack(from: level) { throw failure }
    }
  }
}

// MARK: - The steps, with the lock held

extension SqliteDatabase {
  /// Throws when what began after the level is still open.
  func checkIsInnermost(_ level: Int) throws {
    guard transactions.levels.count == level else {
      throw misuse("a transaction begun inside the closure was left open")
    }
  }

  /// Undoes the level, and gives the error with what became of the transaction.
  func rolledBack(_ level: Int, because error: any Error) -> any Error {
    let isLost = rollBack(from: level) != nil
    // The fate that an error tells was true where it was thrown; here the transaction ends.
    guard level == 1 || isLost, var error = error as? SqlError, error.transaction == .untouched else { return error }
    error.transaction = .rolledBack
    return error
  }

  /// Commits the level, which is the innermost, and undoes it where that fails: what a failed commit leaves open (a
  /// broken foreign key, say) would stay open for ever.
  func commitOrRollBack(_ level: Int) throws {
    do { try commitInnermost() } catch var error as SqlError {
      let isLost = rollBack(from: level) != nil
      if level == 1 || isLost { error.transaction = .rolledBack }
      throw error
    }
  }

  func begin(_ kind: TransactionKind, isScoped: Bool) throws -> Int {
    // The code of a struct or value may have forked, or lost the handle, since the run was entered.
    try checkFork()
    let connection = try openConnection()
    if let lost = connection.lost { throw lost }
    try checkIsNotInFunction(connection)
    try checkTransactionIsAlive(connection)
    if transactions.levels.isEmpty {
      if kind != .deferred { try checkFile(connection) }
      observation?.refresh()
      if kind == .deferred { try observation?.refreshKeys(isBeginning: true) }
      do { try connection.run(.begin(kind)) } catch {
        // It may have begun all the same, and nobody would end it.
        connection.undoTransaction()
        throw error
      }
      // Until it reads, the schema is still anybody's to change.
      if kind == .deferred { observation?.schemaDidChange() }
    } else {
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

  /// Commits the innermost level. Throws, and leaves the level open, when that fails.
  private func commitInnermost() throws {
    // The closure may be what forked: the transaction is the parent process's.
    try checkFork()
    let connection = try openConnection()
    try checkTransactionIsAlive(connection)
    if transactions.levels.count > 1 {
      try connection.run(.release)
      pop(connection)
    } else if let observation {
      // Again: a deferred transaction was not looked at, and any file can be deleted since.
      if connection.isWriting { try checkFile(connection) }
      try observation.commit {
        try connection.run(.commit)
        pop(connection)
      }
    }
  }

  /// Undoes the level and everything inside it. A transaction that SQLite undid already is only taken off the books.
  ///
  /// Gives an error when SQLite could not undo it: the whole transaction is lost then, or the handle.
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
      if transactions.levels.count == 1 { observation?.forgetAll() }
      pop(connection)
    }
    return failure
  }

  private func pop(_ connection: Connection) {
    transactions.levels.removeLast()
    connection.transactionLevel = transactions.levels.count
    if transactions.levels.isEmpty { connection.lostTransaction = nil }
  }

  /// To be called before a statement that is run calls its caller's code: what is open now, that code may not end.
  /// Gives what `endRun` is to have.
  @usableFromInline
  func beginRun() -> Int {
    let protectedLevels = transactions.counts.protectedLevels
    transactions.counts.protectedLevels = transactions.counts.levels
    return protectedLevels
  }

  /// How many levels the code that is running is counting on.
  var protectedLevels: Int { transactions.counts.protectedLevels }

  @usableFromInline
  func endRun(_ protectedLevels: Int) { transactions.counts.protectedLevels = protectedLevels }

  private func checkIsNotCountedOn(_ level: Int) throws {
    guard level > transactions.counts.protectedLevels else {
      throw misuse("a transaction can't end while a statement of its handle takes values or makes rows")
    }
  }

  /// Throws when an earlier error has undone the open transaction as a whole.
  ///
  /// SQLite is outside a transaction then, and would store what comes next at once.
  func checkTransactionIsAlive(_ connection: Connection) throws {
    guard connection.hasLostTransaction, let lost = connection.lostTransaction else { return }
    var error = lost
    error.message = "an earlier error rolled back the whole transaction: " + lost.message
    throw error
  }

  /// Throws when what is written would go into a file that nobody finds any more, or what is read would come from one.
  func checkFile(_ connection: Connection, isRead: Bool = false) throws {
    guard !connection.fileHasMoved else {
      throw SqlError(
        .io,
        message: isRead
          ? "the database file was moved, deleted or replaced; what is read would not be of the file at its path"
          : "the database file was moved or deleted; what is written now would be lost",
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
