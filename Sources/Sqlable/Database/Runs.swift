// The one way of a statement to SQLite: what holds for every run of it, and where its errors get their place.

/// A read that has begun, with the handle's lock held.
///
/// It owns the statement by hand. Whoever has it last finalizes it, and that is to be over when the lock is given back:
/// the connection is another thread's then, or closed by an observer.
@usableFromInline
struct StatementRun {
  @usableFromInline let owned: Unmanaged<PreparedStatement>
  fileprivate let protectedLevels: Int

  @inlinable var statement: PreparedStatement { owned.takeUnretainedValue() }

  /// Goes to the next row; false when there is none.
  @inlinable
  @inline(__always)
  func step() throws -> Bool { try owned._withUnsafeGuaranteedRef { try $0.step() } }

  /// The row that it stands on.
  @inlinable
  @inline(__always)
  var row: ReadRow { owned._withUnsafeGuaranteedRef { ReadRow($0) } }

  /// The integer that it gives; 0 without a row.
  func integer() throws -> Int { try step() ? Int(statement.integer(at: 0)) : 0 }
}

extension SqliteDatabase {
  /// Begins a read of the statement that `prepare` gives, compiled, bound and its columns expected; `endReading` ends
  /// it. In a loop the caller's code may end what transaction it likes.
  @inline(__always)
  func reading(
    of table: TableInfo? = nil, isLoop: Bool = false, _ prepare: (Connection) throws -> PreparedStatement
  ) throws -> StatementRun {
    try enter()
    do {
      let connection = try openConnection()
      try checkTransactionIsAlive(connection)
      let statement = try prepare(connection)
      return StatementRun(owned: .passRetained(statement), protectedLevels: isLoop ? protectedLevels : beginRun())
    } catch {
      // With the lock held: whether a transaction is open is another thread's affair behind it.
      let error = located(error, in: table)
      unlockAndDeliver()
      throw error
    }
  }

  @usableFromInline
  func endReading(_ reading: StatementRun) {
    endRun(reading.protectedLevels)
    reading.owned._withUnsafeGuaranteedRef { $0.connection.finish($0) }
    reading.owned.release()
    unlockAndDeliver()
  }

  /// Calls `body` as the run of a statement: with the handle's lock held, and with a transaction that is alive and that
  /// the code of structs and values can't end meanwhile.
  @inline(__always)
  func running<Value>(
    of table: TableInfo? = nil, _ body: (Connection) throws -> Value
  ) throws -> Value {
    try enter()
    defer { unlockAndDeliver() }
    do {
      let connection = try openConnection()
      try checkTransactionIsAlive(connection)
      let run = beginRun()
      defer { endRun(run) }
      return try body(connection)
    } catch { throw located(error, in: table) }
  }

  /// The error with all that is known of its place: the handle's label, the column of the statement's table, and, where
  /// SQLite did not say it, what became of the transaction. To be called with the lock held.
  func located(_ error: any Error, in table: TableInfo?) -> any Error {
    guard let error = error as? SqlError else { return error }
    let labelled = error.labelled(configuration.label)
    guard error.code == 0 else { return table.map(labelled.placed) ?? labelled }
    return labelled.inTransaction(transactions.counts.levels > 0)
  }
}
