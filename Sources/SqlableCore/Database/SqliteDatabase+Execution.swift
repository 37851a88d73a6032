// The common path of all statements: the checks before each run, and the context added to errors.

/// A read in progress, with the handle's lock held.
///
/// The struct retains the statement manually. Releasing the last reference finalizes the statement, and must happen
/// before unlocking. After unlocking, another thread can use the connection, or an observer might have closed the
/// connection.
@usableFromInline
package struct StatementRun {
  @usableFromInline let owned: Unmanaged<PreparedStatement>
  fileprivate let protectedLevels: Int

  @inlinable package var statement: PreparedStatement { owned.takeUnretainedValue() }

  @inlinable
  @inline(__always)
  package func step() throws -> Bool { try owned._withUnsafeGuaranteedRef { try $0.step() } }

  @inlinable
  @inline(__always)
  package var row: ReadRow { owned._withUnsafeGuaranteedRef { ReadRow($0) } }

  /// Returns the integer in the first column of the first row; 0 without a row.
  func integer() throws -> Int {
    try owned._withUnsafeGuaranteedRef { try $0.stepWithoutRow() ? Int($0.integer(at: 0)) : 0 }
  }
}

extension SqliteDatabase {
  /// Starts a read of the statement that `prepare` returns; `endReading` ends the read. With `isLoop`, the caller may
  /// end transactions during the read.
  @inline(__always)
  func reading(
    of table: @autoclosure () -> TableInfo? = nil, isLoop: Bool = false,
    _ prepare: (Connection) throws -> PreparedStatement
  ) throws -> StatementRun {
    try enter()
    do {
      guard let connection = unretainedConnection else { throw closed }
      let statement = try connection._withUnsafeGuaranteedRef { connection in
        try checkTransactionIsAlive(connection)
        return try prepare(connection)
      }
      return StatementRun(owned: .passRetained(statement), protectedLevels: isLoop ? protectedLevels : beginRun())
    } catch {
      // Add the context before unlocking. After unlocking, another thread could begin or end a transaction.
      let error = located(error, in: table())
      unlockAndDeliver()
      throw error
    }
  }

  @usableFromInline
  package func endReading(_ reading: StatementRun) {
    endRun(reading.protectedLevels)
    unretainedConnection?._withUnsafeGuaranteedRef { connection in
      reading.owned._withUnsafeGuaranteedRef { connection.finish($0) }
    }
    reading.owned.release()
    unlockAndDeliver()
  }

  /// Calls `body` to run a statement, with the handle's lock held. Throws if an earlier error rolled back the
  /// transaction. User code, such as a struct's `init(row:)`, can't end the open transactions during the run.
  @inline(__always)
  package func running<Value>(
    of table: @autoclosure () -> TableInfo? = nil, _ body: (Connection) throws -> Value
  ) throws -> Value {
    try enter()
    defer { unlockAndDeliver() }
    do {
      guard let connection = unretainedConnection else { throw closed }
      return try connection._withUnsafeGuaranteedRef { connection in
        try checkTransactionIsAlive(connection)
        let run = beginRun()
        defer { endRun(run) }
        return try body(connection)
      }
    } catch { throw located(error, in: table()) }
  }

  /// Returns the error with the handle's label. An error from SQLite also gets the table and column, and `.busy` gets
  /// the holder of the write lock. Any other error gets the state of the transaction. Call with the lock held.
  func located(_ error: any Error, in table: TableInfo?) -> any Error {
    guard let error = error as? SqlError else { return error }
    let labelled = error.labelled(configuration.label)
    guard error.code == 0 else { return reported(namingHolder(table.map(labelled.withLocation) ?? labelled)) }
    return reported(labelled.inTransaction(transactions.counts.levels > 0))
  }
}
