extension SqliteDatabase {
  /// Copies pages from the WAL into the database file, and returns the progress.
  ///
  /// ```swift
  /// let checkpoint = try db.checkpoint(.truncate, waitingAtMost: .seconds(1))
  /// if !checkpoint.isComplete { … }     // another connection reads or writes
  /// ```
  ///
  /// SQLite also runs checkpoints automatically: see `walAutocheckpoint`. Every mode except ``CheckpointMode/passive``
  /// waits up to `limit` for other connections, and blocks writers meanwhile. If the limit passes, `checkpoint` returns
  /// the progress so far and throws no error. Without a WAL, `checkpoint` does nothing and the result is complete.
  ///
  /// Throws `.misuse` inside a transaction and while rows of this handle are being read. Throws `.readOnly` on a
  /// read-only handle. Also throws errors of the file system, such as `.io` and `.full`.
  @discardableResult
  public func checkpoint(
    _ mode: CheckpointMode = .passive, waitingAtMost limit: Duration = .zero, file: StaticString = #fileID,
    line: UInt = #line
  ) throws -> Checkpoint {
    let isTraced = try beginCall(file, line)
    defer { if isTraced { endCall() } }
    return try running { connection in
      guard connection.isAutocommit, connection.openCursors == 0 else {
        throw misuse("can't checkpoint the database inside a transaction, or while rows of the handle are being read")
      }
      guard !configuration.isReadOnly else {
        throw SqlError(
          .readOnly, message: "can't checkpoint the database: the handle is read-only", label: configuration.label
        )
      }
      try checkMayWrite()
      try checkFile(connection)
      return try connection.withBusyTimeout(limit) { try connection.checkpoint(mode) }
    }
  }
}
