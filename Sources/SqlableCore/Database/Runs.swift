// How every statement runs: what each run needs, and where errors get their place.

/// A read in progress, with the handle's lock held.
///
/// It retains the statement by hand. The last reference finalizes the statement, and must go before the lock is
/// released: after that the connection belongs to another thread, or an observer has closed it.
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
  /// Begins a read of the statement that `prepare` returns, compiled, bound and with its columns set; `endReading` ends
  /// it. With `isLoop` the caller's code may end any transaction meanwhile.
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
      // With the lock held: after that, another thread may begin or end a transaction.
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

  /// Calls `body` as the run of a statement: with the handle's lock held, after checking that the transaction is alive,
  /// and with transactions that code of structs and values can't end meanwhile.
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

  /// The error with its place: the handle's label, the column of the statement's table, and, if SQLite did not report
  /// it, the fate of the transaction. Call with the lock held.
  func located(_ error: any Error, in table: TableInfo?) -> any Error {
    guard let error = error as? SqlError else { return error }
    let labelled = error.labelled(configuration.label)
    guard error.code == 0 else { return reported(namingHolder(table.map(labelled.placed) ?? labelled)) }
    return reported(labelled.inTransaction(transactions.counts.levels > 0))
  }
}
