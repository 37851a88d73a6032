import SqlableCore

extension SqliteDatabase {
  /// Backs the database up into a file, while it is read and written.
  ///
  /// ```swift
  /// try db.backup(to: "/backups/bikes.sqlite")
  /// try db.backup(to: "/backups/bikes.sqlite", .vacuumed)     // VACUUM "main" INTO '…'
  /// ```
  ///
  /// The copy is one snapshot of what was committed when it began, in a single file that opens without others beside
  /// it. It is made under a temporary name beside the target, checked, synced and renamed: the target is the old file
  /// or the complete new one at any moment. The file gets the permissions of the database.
  ///
  /// Blocks the thread; the handle can be used meanwhile. Throws `.corrupt` if the copy is damaged, `.misuse` if the
  /// target is the database itself and inside a transaction, `.notADatabase` for a target that is another kind of file,
  /// `.busy` if another connection has the target open or another backup to it is running, `.cannotOpen` or `.readOnly`
  /// for a directory that is missing or can't be written to, `.full`, `.timeout` after the time limit,
  /// `CancellationError` in a cancelled task, and what `progress` throws. A database in memory needs SQLite 3.36.
  public func backup(to path: String, _ options: BackupOptions = BackupOptions()) throws {
    try writeBackup(to: path, options, BackupStop(configuration, options))
  }

  /// Replaces the contents of another handle's database with those of this one.
  ///
  /// ```swift
  /// let copy = try SqliteDatabase.inMemory()
  /// try db.backup(to: copy)
  /// ```
  ///
  /// The same as ``restore(from:_:)``, with a database that may be in memory in place of a file. Throws `.misuse` if
  /// both handles have the same database.
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

  /// Replaces the contents of the database with those of a backup, in one transaction.
  ///
  /// ```swift
  /// try db.restore(from: "/backups/bikes.sqlite", BackupOptions(schema: Schema(Person.self, Bicycle.self)))
  /// ```
  ///
  /// The backup is checked first; nothing is replaced if a check fails. Other connections, also of other processes,
  /// keep the file open: they read the old contents until the commit and the new ones after it, and their writes wait.
  /// A process that is killed at any moment leaves the old contents or the new ones. Live results are read again, and
  /// loops over changes get `.missed`; observers of rows are not called.
  ///
  /// Throws what ``backup(to:_:)-(String,_)`` throws; `.notADatabase` for an empty file and one of another format;
  /// `.misuse` for the database's own file, for one of another text encoding, inside a transaction, and while rows of
  /// this handle are being read; `.busy`
  /// if another connection writes for longer than the busy timeout; `.readOnly` on a read-only handle. After any error
  /// the database is as before.
  public func restore(from path: String, _ options: BackupOptions = BackupOptions()) throws {
    let stop = BackupStop(configuration, options)
    try labelling {
      try stop.mapping {
        let source = try checkedBackup(at: path, options, stop)
        try replaceContents(from: source, options)
      }
    }
  }

  /// A backup that can be copied into this database, after all checks.
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

  /// Throws `.misuse` if the source is this database.
  private func checkIsNot(_ source: BackupSource) throws {
    let handlePath = try locked { try openConnection().absolutePath }
    let sourcePath = try source.db.locked { try source.db.openConnection().path(ofDatabase: source.name) }
    let identity = FileIdentity(handlePath)
    guard handlePath.isEmpty || handlePath != sourcePath, identity == nil || identity != FileIdentity(sourcePath) else {
      throw misuse("can't replace a database with itself")
    }
  }
}
