import CSqlableSQLite

extension SqliteDatabase {
  /// Encrypts the file with another key. This handle and its whole family then use the new key.
  ///
  /// ```swift
  /// try db.rekey(to: .rawFile("/run/secrets/bikes-2027.key"))
  /// ```
  ///
  /// One transaction rewrites every page; the cipher settings do not change. `rekey` closes the file like `withClosed`:
  /// the family's handles wait, and open the file again at their next use. Settings made with SQL are lost, and
  /// `onOpen` actions run again. Backups and attached files keep their keys. Close the file in other processes first,
  /// because their statements throw `.wrongKey` after the change.
  ///
  /// Throws `.misuse` for a database that is not encrypted: use `encrypt(with:)`. Also throws `.misuse` for a database
  /// with a plaintext header, for a key with a salt, and inside a transaction. Also throws `.misuse` for the handle of
  /// a pool: use `rekey` of the pool. Throws `.readOnly` on a read-only handle, and `.io` if the pages can't be
  /// written. Throws `.busy` if a handle of the family is in use, or another connection writes, for longer than the
  /// busy timeout. After any error, the file still has its old key.
  public func rekey(to key: EncryptionKey, file: StaticString = #fileID, line: UInt = #line) throws {
    try checkFork()
    guard !belongsToPool else { throw misuse("can't change the key with a pool's handle; use rekey of the pool") }
    try checkMayRekey(to: key)
    let end = ContinuousClock.now + .seconds(configuration.busyTimeout)
    try closing(.init(callSite: "\(file):\(line)"), until: end) { try changeKey(to: key, until: end) }
  }

  /// Throws unless the file's key can be changed to this key.
  package func checkMayRekey(to key: EncryptionKey) throws {
    guard let cipher, key.secret != nil else {
      throw misuse(
        "rekey needs an encrypted database and a new key; use encrypt(with:) for a plain file, and export(to:key:) for "
          + "a decrypted copy"
      )
    }
    guard !key.hasSalt else { throw misuse("the new key can't have a salt: the file keeps its salt") }
    guard cipher.settings.plaintextHeaderSize == 0 else {
      throw misuse("can't change the key of a file with a plaintext header; use export(to:key:) for a copy")
    }
    guard !configuration.isReadOnly else {
      throw SqlError(.readOnly, message: "can't change the key: the handle is read-only")
        .labelled(configuration.label)
    }
    try locked { try checkFile(openConnection()) }
  }

  /// Closes the connections of the family and changes the key of the file. Call inside `closing`.
  package func changeKey(to key: EncryptionKey, until end: ContinuousClock.Instant) throws {
    try withFamilyDisconnected(until: end) {
      guard let cipher else { return }
      try labelling { try change(cipher, to: key, until: end) }
      family.keyDidChange(to: key)
    }
  }

  private func change(_ cipher: Cipher, to key: EncryptionKey, until end: ContinuousClock.Instant) throws {
    #if SQLCipher
    do {
      let connection = try keyed(cipher, until: end)
      // Begins a transaction because its `.busy` error names the lock's holder. SQLCipher's error would not.
      try connection.run(.beginImmediate)
      try connection.run(.rollback)
      try connection.changeKey(to: key)
    }
    guard let changed = Cipher(key, cipher.settings), let connection = try? keyed(changed, until: end) else {
      // If the file can't be read with its old key either, throws that error.
      _ = try keyed(cipher, until: end)
      throw SqlError(
        .io, message: "can't change the key: another connection was writing, or the disk is full")
    }
    // Until this checkpoint, the database file still has the old pages. Another connection can prevent the checkpoint.
    _ = try? connection.withBusyTimeout(.zero) { try connection.checkpoint(.truncate) }
    #endif
  }

  /// Opens a separate connection, and reads the file with the key.
  private func keyed(_ cipher: Cipher, until end: ContinuousClock.Instant) throws -> Connection {
    let connection = try Connection(
      path: family.path, flags: SQLITE_OPEN_READWRITE, label: configuration.label, cacheCapacity: 0, cipher: cipher)
    let left = max(.zero, ContinuousClock.now.duration(to: end)) / .milliseconds(1)
    connection.setBusyTimeout(milliseconds: Int32(min(left, Double(Int32.max))))
    try connection.pragma("PRAGMA main.schema_version")
    return connection
  }
}
