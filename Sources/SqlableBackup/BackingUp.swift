import Glibc
import SqlableCore

extension SqliteDatabase {
  package func writeBackup(to path: String, _ options: BackupOptions, _ stop: BackupStop) throws {
    try labelling {
      try stop.mapping {
        try options.validate()
        let target = try BackupTarget(path)
        let source = try BackupSource.handle(self, options, stop)
        let sourcePath = try source.path()
        try target.check(against: sourcePath)
        try target.prepareForReplacing(self, replacesOtherKeys: options.replacesOtherKeys)
        let file = try PartialFile.make(beside: target.path, mode: sourcePath.isEmpty ? 0o644 : 0o600)
        try fill(file, from: source, options)
        if let info = FileIdentity.info(sourcePath) { try file.takePermissions(of: info) }
        try file.sync()
        try stop.check()
        // Check again, because another program might have opened the target during the copy.
        try target.prepareForReplacing(self, replacesOtherKeys: options.replacesOtherKeys)
        try file.rename(to: target)
      }
    }
  }

  /// Copies the database into a file, and checks the copy.
  func fill(_ file: PartialFile, from source: BackupSource, _ options: BackupOptions) throws {
    guard !isInMemory || family.key?.secret == nil else {
      throw misuse(
        "the backup of an in-memory database would not be encrypted, although the handle has a key; open the handle "
          + "with the key .unencrypted"
      )
    }
    switch options.method {
    case .copied:
      try source.copy(to: Connection.unjournaled(file.path, label: configuration.label, cipher), options)
    case .vacuumed:
      try source.vacuum(into: file.path, options)
      try source.checkUnchanged()
    }
    try file.removeNeedForWAL(cipher)
    var options = options
    // The models describe the handle's main database, so the copy of an attached database is not compared with the
    // models.
    if options.database != "main" { options.schema = nil }
    let copy = try BackupSource.file(file.path, for: self, source.stop)
    try copy.check(options, "the copy of the database")
  }

  /// Throws `.misuse` if the source and this database have different text encodings. SQLite fixes a connection's
  /// encoding at the first read of the schema, so every open connection would reject the restored file.
  private func checkEncoding(of source: BackupSource, _ connection: Connection) throws {
    let encoding = try connection.pragma("PRAGMA encoding") ?? ""
    let other = try source.db.locked { try source.db.openConnection().pragma("PRAGMA encoding") } ?? ""
    guard encoding != other else { return }
    throw misuse(
      "the database has text encoding \(encoding), but the backup has \(other); close all connections, and replace the "
        + "database file and its WAL by the backup"
    )
  }

  /// Replaces the contents of the database with the contents of `source`, in one write transaction.
  ///
  /// SQLite copies the pages; no file is renamed. After a rename, other connections would keep the old file, its WAL
  /// and its locks until they close. With a transaction, these connections see the old or the new contents, as with any
  /// commit. If the process is killed, the old contents stay.
  package func replaceContents(from source: BackupSource, _ options: BackupOptions) throws {
    try locked {
      let connection = try openConnection()
      try checkIsNotInFunction(connection)
      guard connection.transactionLevel == 0, connection.isAutocommit else {
        throw misuse("can't replace the database inside a transaction")
      }
      guard connection.openCursors == 0 else {
        throw misuse("can't replace the database while its rows are being read")
      }
      guard !connection.isReadOnly else {
        throw SqlError(.readOnly, message: "can't replace the database: the handle is read-only")
      }
      try checkFile(connection)
      try checkEncoding(of: source, connection)
      try source.copy(to: connection, options) { [self] last in
        // Check again, because the file might have been deleted during the copy.
        try checkFile(connection)
        guard let observation else { throw misuse("the handle was closed while a restore was replacing its database") }
        try observation.commitUnrecorded(last)
      }
      // The restored contents have replaced the damaged pages.
      family.forgetDamage()
      shrinkWAL(connection)
    }
  }

  /// Checkpoints and truncates the WAL, because the WAL contains every page after a restore. Does nothing while another
  /// connection uses the WAL.
  private func shrinkWAL(_ connection: Connection) {
    guard !isInMemory else { return }
    // With a busy timeout, the checkpoint would wait for readers and block writers during this wait.
    _ = try? connection.withBusyTimeout(.zero) { try connection.checkpoint(.truncate) }
  }

  /// Returns a source that can be copied into this database: `source` itself, or a copy with another header or page
  /// size.
  ///
  /// SQLite can't change the page size of a database that is in WAL mode or in memory. The first page of a backup can
  /// contain a header that requires WAL mode. This header must be changed for an in-memory database, which does not
  /// support WAL mode, and for a database that is not in WAL mode, because a restore must not change the journal mode.
  func adapted(_ source: BackupSource, _ options: BackupOptions) throws -> BackupSource {
    let (path, isWAL, size, isEmpty) = try locked {
      let connection = try openConnection()
      return (
        connection.absolutePath, try connection.journalMode() == "wal", try connection.pageSize(),
        try connection.pragma("PRAGMA page_count") == "0"
      )
    }
    guard source.cipher == nil || !isInMemory else {
      throw misuse("can't restore the pages of an encrypted backup into an in-memory database")
    }
    let sourceSize = try source.pageSize()
    let isResized = sourceSize != size && (isInMemory ? !isEmpty : isWAL)
    guard try isResized || (!isWAL && source.requiresWAL()) else { return source }
    guard !isInMemory || !isResized else {
      throw misuse("can't restore pages of \(sourceSize) bytes into an in-memory database with pages of \(size) bytes")
    }
    let copy =
      isInMemory
      ? try PartialFile.makeNumbered(beside: PartialFile.temporaryDirectory + "/sqlable-memory")
      : try PartialFile.make(beside: path, mode: 0o600)
    try source.copy(to: Connection.unjournaled(copy.path, label: configuration.label, cipher), options)
    try copy.removeNeedForWAL(cipher)
    guard isResized else { return try BackupSource.file(copy, for: self, source.stop) }
    let converted = try PartialFile.make(beside: copy.path, mode: 0o600)
    try BackupSource.file(copy.path, for: self, source.stop).vacuum(into: converted.path, options, pageSize: size)
    return try BackupSource.file(converted, for: self, source.stop)
  }
}

extension BackupSource {
  func vacuum(into path: String, _ options: BackupOptions, pageSize: Int? = nil) throws {
    // `VACUUM INTO` would write the new file with the settings of SQLCipher 4.
    guard cipher?.settings.areUsual ?? true else {
      throw db.misuse("VACUUM INTO can't keep the cipher settings; use the method .copied, or export(to:key:cipher:)")
    }
    try db.locked {
      let connection = try db.openConnection()
      if let pageSize { try connection.pragma("PRAGMA page_size = \(pageSize)") }
      try connection.pragma("VACUUM \(name.quotedName) INTO \(path.quotedText)")
      let size = FileIdentity.info(path).map { Int($0.st_size) } ?? 0
      let ownPageSize = try pageSize ?? self.pageSize()
      let pages = size / max(1, ownPageSize)
      try options.progress?(BackupProgress(copiedPages: pages, totalPages: pages, pageSize: ownPageSize))
    }
  }
}
