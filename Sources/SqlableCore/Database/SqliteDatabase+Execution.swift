// The common path of all statements: the conditions of each run, and the context that errors get.

/// A read in progress, with the handle's lock held.
///
/// The struct retains the statement manually. The release of the last reference finalizes the statement, and must come
/// before the lock is released. After that the connection belongs to another thread, or an observer has closed it.
@usableFromInline
package struct StatementRun {
  @usableFromInline let owned: Unmanaged<PreparedStatement>
  fileprivate let protectedLevels: Int

  @inlinable package var statement: PreparedStatement { owned.takeUnretainedValue() }

  /// Advances to the next row; returns false if there is none.
  @inlinable
  @inline(__always)
  package func step() throws -> Bool { try owned._withUnsafeGuaranteedRef { try $0.step() } }

  /// The current row.
  @inlinable
  @inline(__always)
  package var row: ReadRow { owned._withUnsafeGuaranteedRef { ReadRow($0) } }

  /// Returns the integer in the first column of the first row; 0 without a row.
  func integer() throws -> Int { try step() ? Int(statement.integer(at: 0)) : 0 }
}

extension SqliteDatabase {
  /// Begins a read of the statement that `prepare` returns, compiled, bound and with its columns set. `endReading` ends
  /// the read. With `isLoop` the caller's code may end any transaction during the read.
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
      // Adds the context with the lock held: after that, another thread may begin or end a transaction.
      let error = located(error, in: table)
      unlockAndDeliver()
      throw error
    }
  }

  @usableFromInline
  package func endReading(_ reading: StatementRun) {
    endRun(reading.protectedLevels)
    reading.owned._withUnsafeGuaranteedRef { $0.connection.finish($0) }
    reading.owned.release()
    unlockAndDeliver()
  }

  /// Calls `body` as the run of a statement: with the handle's lock held, after checking that the transaction is alive.
  /// Code of structs and values can't end the transactions during the run.
  @inline(__always)
  package func running<Value>(
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

  /// Returns the error with its context: the handle's label, and the column of the statement's table. If SQLite did not
  /// report the error, the context is the label and the fate of the transaction. Call with the lock held.
  func located(_ error: any Error, in table: TableInfo?) -> any Error {
    guard let error = error as? SqlError else { return error }
    let labelled = error.labelled(configuration.label)
    guard error.code == 0 else { return reported(namingHolder(table.map(labelled.withLocation) ?? labelled)) }
    return reported(labelled.inTransaction(transactions.counts.levels > 0))
  }
}
