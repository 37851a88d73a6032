import SqlableCore

extension SqlitePool {
  /// Encrypts the file with another key; all handles of the pool go on with it.
  ///
  /// ```swift
  /// try await pool.rekey(to: .rawFile("/run/secrets/bikes-2027.key"))
  /// ```
  ///
  /// It waits for the running calls as `withClosed` does. Calls that come meanwhile wait, and use the new key. Live
  /// results are read again, and loops over changes get `.missed`. See ``SqliteDatabase/rekey(to:file:line:)`` for what
  /// it throws, and for other processes. Blocks the thread.
  public func rekey(to key: EncryptionKey, file: StaticString = #fileID, line: UInt = #line) throws {
    try checkFork()
    try withState { try $0.checkIsOpen(configuration.handles.label) }
    try root.checkMayRekey(to: key)
    let closeBarrier = FileCloseBarrier(callSite: .init(file: file, line: line))
    try closing(closeBarrier, within: .seconds(configuration.handles.busyTimeout)) { end in
      try root.changeKey(to: key, until: end)
    }
  }

  /// Encrypts the file with another key, on a thread of its own.
  public func rekey(to key: EncryptionKey, file: StaticString = #fileID, line: UInt = #line) async throws {
    try await onOwnThread { try self.rekey(to: key, file: file, line: line) }
  }
}
