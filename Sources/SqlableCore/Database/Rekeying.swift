import CSqlableSQLite

extension SqliteDatabase {
  /// Encrypts the file with another key; this handle and its whole family go on with it.
  ///
  /// ```swift
  /// try db.rekey(to: .rawFile("/run/secrets/bikes-2027.key"))
  /// ```
  ///
  /// One transaction rewrites every page; the cipher settings stay. It closes the file as `withClosed` does: the
  /// family's handles wait until it has ended, and open the file again when they are next used. What SQL has set on
  /// them is gone, and `onOpen` runs again. Backups and attached files keep their keys. Close the file in other
  /// processes: there each statement throws `.wrongKey` from then on.
  ///
  /// Throws `.misuse` for a database that is not encrypted (``export(to:key:cipher:checks:)`` makes an encrypted copy),
  /// for one with a plaintext header, for a key with a salt, inside a transaction and for the handle of a pool, which
  /// has a `rekey` of its own; `.readOnly` on a read-only handle; `.busy` if a handle of the family is in use, or
  /// another connection writes, for longer than the busy timeout; `.io` if the pages can't be written. After any error
  /// the file has its old key.
  public func rekey(to key: EncryptionKey, file: StaticString = #fileID, line: UInt = #line) throws {
    try checkFork()
    guard !belongsToPool else { throw misuse("can't change the key with a pool's handle; use rekey of the pool") }
    try checkMayRekey(to: key)
    let end = ContinuousClock.now + .seconds(configuration.busyTimeout)
    try closing(.init(callSite: "\(file):\(line)"), until: end) { try changeKey(to: key, until: end) }
  }

  /// Throws `.misuse` for a key that the file can't get.
  package func checkMayRekey(to key: EncryptionKey) throws {
    guard let cipher, key.secret != nil else {
      throw misuse("rekey needs an encrypted database and a new key; use export(to:key:) to encrypt or decrypt a copy")
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

  /// Changes the key of the file, with the connections of the family closed. Call inside of `closing`.
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
      // Says who keeps it from writing; SQLCipher would not.
      try connection.run(.beginImmediate)
      try connection.run(.rollback)
      try connection.changeKey(to: key)
    }
    guard let changed = Cipher(key, cipher.settings), let connection = try? keyed(changed, until: end) else {
      // Throws what is wrong with the file, if it does not have its old key.
      _ = try keyed(cipher, until: end)
      throw SqlError(
        .io, message: "can't change the key: another connection was writing, or the disk is full")
    }
    // The file has the old pages until then. Others may keep it from being copied.
    _ = try? connection.withBusyTimeout(.zero) { try connection.checkpoint(.truncate) }
    #endif
  }

  /// A connection of its own, which has read the file with the key.
  private func keyed(_ cipher: Cipher, until end: ContinuousClock.Instant) throws -> Connection {
    let connection = try Connection(
      path: family.path, flags: SQLITE_OPEN_READWRITE, label: configuration.label, cacheCapacity: 0, cipher: cipher)
    let left = max(.zero, ContinuousClock.now.duration(to: end)) / .milliseconds(1)
    connection.setBusyTimeout(milliseconds: Int32(min(left, Double(Int32.max))))
    try connection.pragma("PRAGMA main.schema_version")
    return connection
  }
}
