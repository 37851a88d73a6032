import SqlableCore
import SqlablePool

extension SqlitePool {
  /// Backs up the database to a file while the pool reads and writes.
  ///
  /// ```swift
  /// try pool.backup(to: "/backups/bikes.sqlite")
  /// ```
  ///
  /// See ``SqliteDatabase/backup(to:_:)-(String,_)``. The backup uses neither the writer nor a reader. The deadline of
  /// ``withDeadline(_:_:)`` ends the backup; the deadline in the pool's configuration does not. `close` waits for a
  /// running backup, as for any call. If the backup still runs after the time of `close(within:)`, the pool stops the
  /// backup, and the backup throws `.closed`. Blocks the thread. In `async` code, use the overload with `await`.
  public func backup(to path: String, _ options: BackupOptions = BackupOptions()) throws {
    try backingUp(options) { [root] stop in try root.writeBackup(to: path, options, stop) }
  }

  /// Backs up the database to a file, on a separate thread.
  ///
  /// ```swift
  /// try await pool.backup(to: path, BackupOptions(bytesPerSecond: 20 << 20) { print($0.fraction) })
  /// ```
  ///
  /// Throws `CancellationError` if the task is cancelled before the backup is renamed to `path`; the temporary file is
  /// then deleted.
  public func backup(to path: String, _ options: BackupOptions = BackupOptions()) async throws {
    try await backingUp(options) { [root] stop in try root.writeBackup(to: path, options, stop) }
  }

  /// Replaces the contents of a handle's database with the contents of the pool's database.
  ///
  /// See ``SqliteDatabase/backup(to:_:)-(SqliteDatabase,_)``.
  public func backup(to other: SqliteDatabase, _ options: BackupOptions = BackupOptions()) throws {
    try backingUp(options) { [root] stop in try root.writeBackup(to: other, options, stop) }
  }

  /// Replaces the contents of a handle's database with the contents of the pool's database, on a separate thread.
  public func backup(to other: SqliteDatabase, _ options: BackupOptions = BackupOptions()) async throws {
    try await backingUp(options) { [root] stop in try root.writeBackup(to: other, options, stop) }
  }

  /// Replaces the contents of the database with the contents of a backup, in one transaction of the writer.
  ///
  /// ```swift
  /// try pool.restore(from: "/backups/bikes.sqlite")
  /// ```
  ///
  /// See ``SqliteDatabase/restore(from:_:)``. Reads continue during the restore and return the old contents. The pool
  /// first checks the backup without the writer. The deadline in the pool's configuration starts after this check, when
  /// the call waits for the writer. Blocks the thread. In `async` code, use the overload with `await`.
  public func restore(
    from path: String, _ options: BackupOptions = BackupOptions(), file: StaticString = #fileID, line: UInt = #line
  ) throws {
    try checkFork()
    let stop = stop(options)
    let source = try root.labelling { try stop.mapping { try root.checkedBackup(at: path, options, stop) } }
    try perform(.outsideTransaction, at: .init(file: file, line: line)) { db in
      try stop.mapping { try db.replaceContents(from: source, options) }
    }
  }

  /// Replaces the contents of the database with the contents of a backup, on threads of the pool.
  ///
  /// Throws `CancellationError` if the task is cancelled before the commit; the contents then stay unchanged.
  public func restore(
    from path: String, _ options: BackupOptions = BackupOptions(), file: StaticString = #fileID, line: UInt = #line
  ) async throws {
    try checkFork()
    let stop = stop(options)
    let source = try await onBackupThread(stop) { [root] in
      try root.labelling { try stop.mapping { try root.checkedBackup(at: path, options, stop) } }
    }
    try await perform(.outsideTransaction, at: .init(file: file, line: line)) { db in
      try stop.mapping { try db.replaceContents(from: source, options) }
    }
  }

  /// Returns a backup as a sequence of chunks of bytes, for a store that is not a file system.
  ///
  /// ```swift
  /// for try await chunk in pool.backupBytes() { try await upload.append(chunk) }
  /// ```
  ///
  /// See ``SqliteDatabase/backupBytes(_:chunkSize:directory:)``.
  public func backupBytes(
    _ options: BackupOptions = BackupOptions(), chunkSize: Int = 1 << 20, directory: String? = nil
  ) -> some AsyncSequence<[UInt8], any Error> & Sendable {
    BackupBytes(db: root, pool: self, options: options, chunkSize: chunkSize, directory: directory)
  }

  private func stop(_ options: BackupOptions) -> BackupStop {
    BackupStop(configuration.handles, options, deadline: Deadline.current)
  }

  /// Runs a backup or export, which the pool's `close` can stop.
  func backingUp(_ options: BackupOptions, _ body: @Sendable (BackupStop) throws -> Void) throws {
    try checkFork()
    let stop = stop(options)
    let work = try beginWork(stop.close)
    defer { endWork(work) }
    try runWork(work) { try body(stop) }
  }

  func backingUp(
    _ options: BackupOptions, _ body: @escaping @Sendable (BackupStop) throws -> Void
  ) async throws {
    try checkFork()
    let stop = stop(options)
    let work = try beginWork(stop.close)
    defer { endWork(work) }
    try await onBackupThread(stop) { [self] in try runWork(work) { try body(stop) } }
  }
}

/// Runs `body` on a separate thread, because copying blocks the thread.
package func onBackupThread<Value: Sendable>(
  _ stop: BackupStop, _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
  try await onOwnThread(onCancel: stop.cancel, body)
}
