import SqlableCore

extension SqliteDatabase {
  /// Backs up the database to a file while connections read and write.
  ///
  /// ```swift
  /// try db.backup(to: "/backups/bikes.sqlite")
  /// try db.backup(to: "/backups/bikes.sqlite", .vacuumed)     // VACUUM "main" INTO '…'
  /// ```
  ///
  /// The copy is one snapshot of the committed data at the start of the backup. The copy is a single file that opens
  /// without a WAL or journal. The backup writes a temporary file beside the target, checks and syncs the file, and
  /// renames it. At any moment, the target is either the old file or the complete new file. The new file gets the
  /// permissions of the database.
  ///
  /// Blocks the thread; other threads can use the handle meanwhile. Throws:
  ///
  /// - `.corrupt` if the copy is damaged;
  /// - `.misuse` if the target is the database itself, and inside a transaction;
  /// - `.notADatabase` if the target exists and is not a database, and `.wrongKey` if the target has another key;
  /// - `.busy` if another connection has the target open, or if another backup writes to the target;
  /// - `.cannotOpen` or `.readOnly` if the directory is missing or not writable;
  /// - `.full`, and `.timeout` after the time limit;
  /// - `CancellationError` in a cancelled task, and the errors of `progress`.
  ///
  /// Backing up an in-memory database requires SQLite 3.36.
  public func backup(to path: String, _ options: BackupOptions = BackupOptions()) throws {
    try writeBackup(to: path, options, BackupStop(configuration, options))
  }

  /// Replaces the contents of another handle's database with the contents of this database.
  ///
  /// ```swift
  /// let copy = try SqliteDatabase.inMemory()
  /// try db.backup(to: copy)
  /// ```
  ///
  /// This method works like ``restore(from:_:)``, but both databases can be in memory. Throws `.misuse` if both handles
  /// use the same database.
  public func backup(to other: SqliteDatabase, _ options: BackupOptions = BackupOptions()) throws {
    try writeBackup(to: other, options, BackupStop(configuration, options))
  }

  func writeBackup(to other: SqliteDatabase, _ options: BackupOptions, _ stop: BackupStop) throws {
    try labelling {
      try stop.mapping {
        let source = try BackupSource.handle(self, options, stop)
        let checked = try other.checked(source, options, "the database to copy")
        try other.replaceContents(from: checked, options)
      }
    }
  }

  /// Replaces the contents of the database with the contents of a backup, in one transaction.
  ///
  /// ```swift
  /// try db.restore(from: "/backups/bikes.sqlite", BackupOptions(schema: Schema(Person.self, Bicycle.self)))
  /// ```
  ///
  /// The method checks the backup first, and replaces nothing if a check fails. Other connections, also in other
  /// processes, keep the file open. These connections read the old contents until the commit and the new contents
  /// afterwards; their writes wait. If the process is killed, the database contains either the old or the new contents.
  /// Live results are read again, and loops over changes receive `.missed`. Observers of rows are not called.
  ///
  /// Throws the errors of ``backup(to:_:)-(String,_)``, and also:
  ///
  /// - `.notADatabase` for an empty file or a file of another format;
  /// - `.misuse` for the database's own file, for a backup with another text encoding, inside a transaction, and while
  ///   this handle reads rows;
  /// - `.busy` if another connection writes for longer than the busy timeout;
  /// - `.readOnly` on a read-only handle.
  ///
  /// An error leaves the database unchanged.
  public func restore(from path: String, _ options: BackupOptions = BackupOptions()) throws {
    let stop = BackupStop(configuration, options)
    try labelling {
      try stop.mapping {
        let source = try checkedBackup(at: path, options, stop)
        try replaceContents(from: source, options)
      }
    }
  }

  package func checkedBackup(at path: String, _ options: BackupOptions, _ stop: BackupStop) throws -> BackupSource {
    try options.validate()
    let source = try BackupSource.file(path, for: self, stop)
    try source.beginSnapshot(anyMode: true)
    return try checked(source, options, "the backup")
  }

  private func checked(_ source: BackupSource, _ options: BackupOptions, _ what: String) throws -> BackupSource {
    try checkIsNot(source)
    try source.beginSnapshot()
    let adapted = try adapted(source, options)
    try adapted.check(options, what)
    return adapted
  }

  private func checkIsNot(_ source: BackupSource) throws {
    let handlePath = try locked { try openConnection().absolutePath }
    let sourcePath = try source.db.locked { try source.db.openConnection().path(ofDatabase: source.name) }
    let identity = FileIdentity(handlePath)
    guard handlePath.isEmpty || handlePath != sourcePath, identity == nil || identity != FileIdentity(sourcePath) else {
      throw misuse("can't replace a database with itself")
    }
  }
}
