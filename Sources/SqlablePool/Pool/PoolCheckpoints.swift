import SqlableCore

extension SqlitePool {
  /// Copies pages from the WAL into the database file, and returns the progress of the checkpoint.
  ///
  /// ```swift
  /// let checkpoint = try pool.checkpoint(.truncate, waitingAtMost: .seconds(1))
  /// if !checkpoint.isComplete { … }     // a call of the pool, or another connection, reads or writes
  /// ```
  ///
  /// See ``SqliteDatabase/checkpoint(_:waitingAtMost:file:line:)``. The call waits for the writer like other calls, and
  /// then waits up to `limit` for readers. During this wait, new reads of the pool wait too, except with
  /// ``CheckpointMode/passive``. While an archive reads the WAL, ``CheckpointMode/restart`` and
  /// ``CheckpointMode/truncate`` do not complete. Blocks the thread. In `async` code, use the overload with `await`.
  @discardableResult
  public func checkpoint(
    _ mode: CheckpointMode = .passive, waitingAtMost limit: Duration = .zero, file: StaticString = #fileID,
    line: UInt = #line
  ) throws -> Checkpoint {
    try perform(.outsideTransaction, at: .init(file: file, line: line)) { db in
      try checkpoint(mode, db, waitingAtMost: limit)
    }
  }

  /// Copies pages from the WAL into the database file, on a thread of the pool.
  @discardableResult
  public func checkpoint(
    _ mode: CheckpointMode = .passive, waitingAtMost limit: Duration = .zero, file: StaticString = #fileID,
    line: UInt = #line
  ) async throws -> Checkpoint {
    try await perform(.outsideTransaction, at: .init(file: file, line: line)) { db in
      try self.checkpoint(mode, db, waitingAtMost: limit)
    }
  }

  private func checkpoint(
    _ mode: CheckpointMode, _ db: SqliteDatabase, waitingAtMost limit: Duration
  ) throws -> Checkpoint {
    guard mode != .passive, limit > .zero else { return try db.checkpoint(mode) }
    let end = ContinuousClock.now + limit
    // Hold back new reads. With overlapping reads, the checkpoint would always have to wait for the snapshot of one of
    // them.
    return try withReadsHeldBack(for: limit) { _ in
      try db.checkpoint(mode, waitingAtMost: ContinuousClock.now.duration(to: end))
    }
  }
}
