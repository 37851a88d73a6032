import SqlableCore

extension SqlitePool {
  /// Encrypts the file with another key, which all handles of the pool then use.
  ///
  /// ```swift
  /// try await pool.rekey(to: .rawFile("/run/secrets/bikes-2027.key"))
  /// ```
  ///
  /// Like `withClosed`, this method waits for the running calls. Later calls wait until the new key is in use. Live
  /// results are read again, and loops over changes receive `.missed`. ``SqliteDatabase/rekey(to:file:line:)``
  /// describes the errors and the effect on other processes. Blocks the thread. In `async` code, use the overload with
  /// `await`.
  public func rekey(to key: EncryptionKey, file: StaticString = #fileID, line: UInt = #line) throws {
    try rekey(to: key, FileCloseBarrier(callSite: .init(file: file, line: line)))
  }

  /// Encrypts the file with another key, on a separate thread.
  ///
  /// Throws `CancellationError` if the task is cancelled while the method waits for the running calls.
  public func rekey(to key: EncryptionKey, file: StaticString = #fileID, line: UInt = #line) async throws {
    try await closingOnOwnThread(.init(file: file, line: line)) { try self.rekey(to: key, $0) }
  }

  private func rekey(to key: EncryptionKey, _ closeBarrier: FileCloseBarrier) throws {
    try checkFork()
    try withState { try $0.checkIsOpen(configuration.handles.label) }
    try root.checkMayRekey(to: key)
    let end = Deadline.after(.seconds(configuration.handles.busyTimeout))
    try closing(closeBarrier, until: end) { try root.changeKey(to: key, until: end) }
  }
}
