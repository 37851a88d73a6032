import CSqlableSQLite
import Glibc

// The calls of SQLCipher. A key is never part of an SQL text, because traces and errors show SQL texts.

extension Cipher {
  /// The reason why this build or process can't use a key, as a message; nil if keys can be used.
  static var missing: String? {
    #if SQLCipher
    guard let version = Library.cipherVersion else {
      return "an encryption key needs SQLCipher; this is SQLite \(Library.version)"
    }
    let parts = version.split(separator: ".").compactMap { Int($0.prefix { $0.isNumber }) }
    guard parts.count > 1, (parts[0], parts[1]) >= (4, 5) else {
      return "an encryption key needs SQLCipher 4.5 or later; this is \(version)"
    }
    return nil
    #else
    return "an encryption key needs a library built with the package trait SQLCipher"
    #endif
  }

  package static func check() throws { if let missing { throw SqlError.misuse(missing) } }
}

extension Connection {
  /// Sets the key of the file. Call before the first read.
  func use(_ cipher: Cipher) throws {
    try Cipher.check()
    #if SQLCipher
    self.cipher = cipher
    try give(cipher.key) { sqlite3_key_v2(handle, "main", $0, $1) }
    // Otherwise SQLCipher would write errors to the standard error output.
    try pragma("PRAGMA cipher_log_level = NONE")
    for (name, value) in cipher.settings.pragmas { try pragma("PRAGMA \(name) = \(value)") }
    #endif
  }

  /// Attaches a file with its key. The key is nil for a file that is not encrypted.
  package func attach(_ path: String, as name: String, _ key: EncryptionKey?) throws {
    // Clear the error of an earlier call, so that `hasFailedRead` finds only an error of this ATTACH.
    (errno, isAttaching) = (0, true)
    defer { isAttaching = false }
    guard Cipher.missing == nil else {
      _ = try pragma("ATTACH \(path.quotedText) AS \(name.quotedName)")
      return
    }
    // Without KEY, SQLCipher would use the key of the main database.
    let sql = "ATTACH \(path.quotedText) AS \(name.quotedName) KEY "
    guard let key, key.secret != nil else {
      _ = try pragma(sql + "''")
      return
    }
    let statement = try prepareText(sql + "?")
    defer {
      statement.reset()
      statement.clearBindings()
    }
    // SQLite does not copy the key's bytes, so the key must exist until the statement has run.
    try withExtendedLifetime(key) {
      // Binds a blob, because SQLite would convert a text in a UTF-16 database.
      try give(key) { sqlite3_bind_blob(statement.handle, 1, $0, $1, nil) }
      do { _ = try statement.step() } catch var error as SqlError {
        if error.kind == .notADatabase {
          let isPlain = (try? RawFile(path: path))?.isPlain == true
          let message = "the attached file \(name) is not encrypted; use attachedKeys: [name: .unencrypted]"
          (error.kind, error.message) = (.wrongKey, isPlain ? message : Connection.wrongKeyMessage)
        }
        throw error
      }
    }
  }

  private func give(_ key: EncryptionKey, to function: (UnsafePointer<CChar>?, Int32) -> Int32) throws {
    let code = key.secret?.withBytes { bytes in
      function(bytes.bindMemory(to: CChar.self).baseAddress, Int32(clamping: bytes.count))
    }
    guard let code, code == SQLITE_OK else { throw error(code ?? SQLITE_MISUSE, sql: nil) }
  }

  /// Encrypts a file with another key, on separate connections. Throws `.busy` if another connection still writes at
  /// `end`.
  package static func changeKey(
    ofFileAt path: String, _ cipher: Cipher, to key: EncryptionKey, until end: ContinuousClock.Instant
  ) throws {
    #if SQLCipher
    do {
      let connection = try keyed(path, cipher, until: end)
      // Begins a transaction because its `.busy` error names the lock's holder. SQLCipher's error would not.
      try connection.run(.beginImmediate)
      try connection.run(.rollback)
      try connection.give(key) { sqlite3_rekey_v2(connection.handle, "main", $0, $1) }
    }
    // SQLCipher reports no error of a rekey. To detect a failure, read the file with the new key.
    guard let changed = Cipher(key, cipher.settings), let connection = try? keyed(path, changed, until: end) else {
      // If reading the file with the old key fails too, throw the error of this read.
      _ = try keyed(path, cipher, until: end)
      throw SqlError(
        .io, message: "can't change the key: another connection was writing, or the disk is full")
    }
    // Until this checkpoint, the database file still has the old pages. Another connection can prevent the checkpoint.
    _ = try? connection.withBusyTimeout(.zero) { try connection.checkpoint(.truncate) }
    #endif
  }

  private static func keyed(_ path: String, _ cipher: Cipher, until end: ContinuousClock.Instant) throws -> Connection {
    let connection = try Connection(
      path: path, flags: SQLITE_OPEN_READWRITE, label: nil, cacheCapacity: 0, cipher: cipher)
    let left = max(.zero, ContinuousClock.now.duration(to: end)) / .milliseconds(1)
    connection.setBusyTimeout(milliseconds: Int32(min(left, Double(Int32.max))))
    try connection.pragma("PRAGMA main.schema_version")
    return connection
  }

  /// If the file is encrypted and `error` was caused by a wrong key or a damaged page, returns an error that names this
  /// cause. Otherwise returns `error`.
  ///
  /// With a wrong key, SQLite reports that the file is not a database. Once a page was decrypted, the key is known to
  /// be right. If another page then can't be decrypted, that page is damaged, or another process has changed the key.
  /// SQLCipher reports such a page as damage or as a general error. While a file is copied to another connection, only
  /// such a page causes a general error.
  func meaning(ofEncrypted error: SqlError, isOfCopy: Bool = false) -> SqlError {
    guard !isProbing, let cipher else { return error }
    let isUnclear = error.code == Int(SQLITE_ERROR) && error.message == "SQL logic error" && (isOfCopy || !readsPages)
    guard error.code == Int(SQLITE_NOTADB) || error.code == Int(SQLITE_CORRUPT) || isUnclear else { return error }
    var translated = error
    if isKeyProven ? !stillFits(cipher) : error.code == Int(SQLITE_NOTADB) {
      translated.kind = .wrongKey
      translated.message =
        cipher.settings.plaintextHeaderSize == 0 && hasPlainHeader
        ? "the file is not encrypted, but the handle has a key; open the file without a key, and use encrypt(with:)"
        : Connection.wrongKeyMessage
    } else if isUnclear {
      (translated.kind, translated.message) = (.corrupt, "a page of the encrypted file is damaged")
    }
    return translated
  }

  /// True if the connection can read a page. After a failed decryption, SQLCipher reads no page until the statement
  /// ends.
  private var readsPages: Bool {
    isProbing = true
    defer { isProbing = false }
    return (try? pragma("SELECT count(*) FROM main.sqlite_schema")) != nil
  }

  private static let wrongKeyMessage = "the key or the cipher settings do not match the file"

  private func stillFits(_ cipher: Cipher) -> Bool {
    do {
      let probe = try Connection(
        path: absolutePath, flags: SQLITE_OPEN_READONLY, label: label, cacheCapacity: 0, cipher: cipher)
      try probe.pragma("PRAGMA main.schema_version")
      return true
    } catch let error as SqlError {
      return error.kind != .wrongKey
    } catch {
      return true
    }
  }

  private var hasPlainHeader: Bool {
    let magic = Array("SQLite format 3\0".utf8)
    var file: UnsafeMutablePointer<sqlite3_file>?
    guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
      let read = file.pointee.pMethods?.pointee.xRead
    else { return false }
    var bytes = [UInt8](repeating: 0, count: magic.count)
    return read(file, &bytes, Int32(bytes.count), 0) == SQLITE_OK && bytes == magic
  }
}
