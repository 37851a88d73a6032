import SqlableCore

extension SqlitePool {
  /// Blocks the pool: later calls wait until the block ends.
  ///
  /// ```swift
  /// let block = try pool.block()
  /// defer { block.end() }
  /// try Bicycle(name: "Trek", color: "red").insert().run(block)     // on the writer
  /// ```
  ///
  /// `block` waits for the running calls. Later calls wait until the end of the block; this wait counts toward their
  /// `waitTimeout` and deadlines. Statements on the block run on the pool's writer, so loops and live results notice
  /// their changes. The holder of the block must use the block: a call on the pool itself would wait for the end of the
  /// block. Other processes, and other pools on the file, are not blocked. An archive pauses during the block.
  ///
  /// Throws `.busy`, with the call site of a running call, if this call still runs after `duration` or at the deadline
  /// of ``withDeadline(_:_:)``. Throws `.misuse` inside a closure that the pool runs, and `.closed` for a closed pool.
  /// Blocks the thread. In `async` code, use the overload with `await`.
  public func block(
    within duration: Duration = .seconds(10), file: StaticString = #fileID, line: UInt = #line
  ) throws -> DatabaseBlock {
    try block(FileCloseBarrier(callSite: .init(file: file, line: line), isBlock: true), within: duration)
  }

  /// Blocks the pool, and waits for the running calls on a separate thread.
  ///
  /// Throws `CancellationError` if the task is cancelled before the block begins.
  public func block(
    within duration: Duration = .seconds(10), file: StaticString = #fileID, line: UInt = #line
  ) async throws -> DatabaseBlock {
    try await closingOnOwnThread(.init(file: file, line: line), isBlock: true) { try self.block($0, within: duration) }
  }

  private func block(_ barrier: FileCloseBarrier, within duration: Duration) throws -> DatabaseBlock {
    try checkFork()
    try refuseInClosure("block the database")
    let end = Deadline.after(duration)
    let closing = HandleFamily.Closing(callSite: "\(barrier.callSite)", isBlock: true)
    try root.labelling { try root.family.begin(closing, for: root, until: end) }
    let users = allFileUsers
    for user in users { user.pause() }
    @Sendable func finish() {
      for user in users { user.resume() }
      root.family.endClosing()
    }
    do {
      try begin(barrier, until: end)
      let writer = withState { $0.writer }
      do {
        return try writer.block(by: root, feed) { [self] in
          endCloseBarrier()
          finish()
        }
      } catch {
        endCloseBarrier()
        throw error
      }
    } catch {
      finish()
      throw error
    }
  }
}

extension PooledHandle {
  /// Lends the handle to a new `DatabaseBlock`. Until the block ends, no call of the pool gets the handle.
  fileprivate func block(
    by root: SqliteDatabase, _ feed: PoolFeed, _ end: @escaping @Sendable () -> Void
  ) throws -> DatabaseBlock {
    let database = try open(by: root, feed)
    database.lendToAll()
    return DatabaseBlock(of: database) {
      database.rollBackShared()
      self.endLoan()
      if self.isUnusable { self.discard() }
      end()
    }
  }
}
