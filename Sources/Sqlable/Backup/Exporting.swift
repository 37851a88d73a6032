import Glibc

extension SqliteDatabase {
  /// Copies the database into a new file with another key, or with none: an encrypted copy of a plain database, a plain
  /// one of an encrypted database, or one with other cipher settings.
  ///
  /// ```swift
  /// try db.export(to: "bikes-encrypted.sqlite", key: .rawFile("/run/secrets/bikes.key"))
  /// // ATTACH 'bikes-encrypted.sqlite' AS sqlable_export KEY …
  /// // SELECT sqlcipher_export('sqlable_export')
  /// ```
  ///
  /// The copy is one snapshot of what was committed when it began: tables with their rowids, indexes, views, triggers,
  /// `user_version` and `application_id`. It is made under a temporary name, checked, synced and renamed, and has the
  /// permissions of the database. `checks` are those of a backup.
  ///
  /// Blocks the thread; the handle can be used meanwhile. It needs the package trait `SQLCipher`, and throws `.misuse`
  /// without it, inside a transaction, for a database in memory and if there is a file at the path.
  public func export(
    to path: String, key: EncryptionKey?, cipher: CipherSettings = CipherSettings(), checks: BackupChecks = .all
  ) throws {
    try labelling {
      try Cipher.check()
      try cipher.validate()
      guard !isInMemory else { throw misuse("a database in memory has no file to export") }
      guard cipher.plaintextHeaderSize == 0 || key?.hasSalt == true else {
        throw misuse("a file with a plaintext header has no room for the salt: its key must be a raw one with it")
      }
      guard transactionLevel == 0 else {
        throw misuse("can't export inside a transaction, whose changes the copy would lack")
      }
      let target = try BackupTarget(path)
      guard DatabaseFiles(of: target.path).paths.isEmpty else {
        throw misuse("there is a file at \(path), or one of a database there")
      }
      let file = try PartialFile.make(beside: target.path, mode: 0o600)
      let source = try createChild(isReadOnly: false, attached: [:])
      try source.locked {
        try source.openConnection().export(to: file.path, Cipher(key, cipher), label: configuration.label)
        if let info = try FileIdentity.info(source.openConnection().absolutePath) { try file.takePermissions(of: info) }
      }
      try source.close()
      let reading = Configuration(
        label: configuration.label, isReadOnly: true, journalMode: .delete, foreignKeys: configuration.foreignKeys,
        key: key ?? .unencrypted, cipher: cipher)
      let copy = try SqliteDatabase.openOther(at: file.path, reading, functions)
      let options = BackupOptions(checks: checks)
      try BackupSource.reading(copy, BackupStop(reading, options)).check(options, "the exported copy", for: self)
      try file.sync()
      try file.rename(to: target)
    }
  }
}

extension SqlitePool {
  /// Copies the database into a new file with another key, or with none; see
  /// ``SqliteDatabase/export(to:key:cipher:checks:)``.
  public func export(
    to path: String, key: EncryptionKey?, cipher: CipherSettings = CipherSettings(), checks: BackupChecks = .all
  ) throws {
    try checkFork()
    try withState { try $0.checkIsOpen(configuration.handles.label) }
    try root.export(to: path, key: key, cipher: cipher, checks: checks)
  }
}

extension Connection {
  private static let exported = "sqlable_export"

  /// Copies the main database into an empty file.
  fileprivate func export(to path: String, _ cipher: Cipher?, label: String?) throws {
    let settings = ["user_version", "application_id", "auto_vacuum"]
    let size = try pageSize()
    try attach(path, as: Connection.exported, cipher?.key)
    for (name, value) in cipher?.settings.pragmas ?? [("page_size", "\(size)")] {
      try pragma("PRAGMA \(name == "cipher_memory_security" ? "" : Connection.exported + ".")\(name) = \(value)")
    }
    try pragma("PRAGMA \(Connection.exported).journal_mode = OFF")
    try pragma("PRAGMA \(Connection.exported).synchronous = OFF")
    try pragma("BEGIN")
    do {
      // The first read takes the snapshot.
      let values = try settings.map { try pragma("PRAGMA main.\($0)") ?? "0" }
      for (name, value) in zip(settings, values).reversed() {
        try pragma("PRAGMA \(Connection.exported).\(name) = \(value)")
      }
      try pragma("SELECT sqlcipher_export('\(Connection.exported)')")
      try pragma("COMMIT")
    } catch {
      undoTransaction()
      throw error
    }
    try pragma("DETACH \(Connection.exported)")
  }
}
