extension SqliteDatabase {
  package func misuse(_ message: String) -> SqlError {
    let error = SqlError.misuse(message).labelled(configuration.label)
    return isForked || isLentElsewhere ? error : error.inTransaction(transactionLevel > 0)
  }

  @inline(never)
  package var closed: SqlError { SqlError(.closed, message: "the handle is closed", label: configuration.label) }

  var notLentHere: SqlError {
    SqlError.misuse("a pool's handle is valid only inside its closure, and on the closure's thread")
      .labelled(configuration.label)
  }

  package static let closedHere =
    "the file is closed until the closure of withClosed returns"

  /// The error for a call that the closure of `withClosed` makes on a handle of the family.
  var closedHere: SqlError {
    misuse(SqliteDatabase.closedHere)
  }

  package func labelling<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let error as SqlError { throw error.labelled(configuration.label) }
  }
}
