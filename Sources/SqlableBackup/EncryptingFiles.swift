import SqlableCore
import SqlablePool

extension SqliteDatabase {
  /// Encrypts a plain database file. All handles and pools of this process on the file then use the key.
  ///
  /// ```swift
  /// try db.encrypt(with: .rawFile("/run/secrets/bikes.key"))
  /// ```
  ///
  /// The cipher settings are those of the handle's configuration. The contents, with rowids, `user_version` and
  /// `application_id`, are copied as by ``export(to:key:cipher:checks:)``. The copy is checked, and then replaces the
  /// bytes of the file. A crash at any moment leaves the complete plain file or the complete encrypted file. After a
  /// crash during the replacement, the next opening restores the plain file from the journal beside the file.
  ///
  /// `encrypt` closes the file like `withClosed`: all handles and pools of this process on the file wait, and open the
  /// file again at their next use. Observers, traces and prepared statements remain. Live results are read again, and
  /// loops over changes receive `.missed`. Settings made with SQL are lost, and `onOpen` actions run again. Attached
  /// files and earlier backups stay as they are. Other processes must close the file before this call, and must open it
  /// with the key afterwards.
  ///
  /// The disk needs space for two more copies of the file. During the encryption, a journal file contains the plain
  /// pages. After the journal is deleted, these pages remain in free blocks of the disk.
  ///
  /// An error leaves the file plain and complete. Throws:
  ///
  /// - `.misuse` without the package trait `SQLCipher`, for an encrypted database, for a database in memory, and inside
  ///   a transaction;
  /// - `.misuse` for a pool's handle: use `encrypt` of the pool;
  /// - `.misuse` while a pool archives the file, because encrypted files can't be archived;
  /// - `.readOnly` on a read-only handle, `.corrupt` for a damaged file, and `.full`;
  /// - `.busy` if a handle is in use, a backup runs, or another process has the file open, for longer than the busy
  ///   timeout;
  /// - `.busy` if another handle has attached the file;
  /// - `CancellationError` if the task is cancelled before the replacement of the bytes begins.
  public func encrypt(with key: EncryptionKey, file: StaticString = #fileID, line: UInt = #line) throws {
    try KeyChange.ofHandle(self, .encrypt, at: .init(file: file, line: line)) {
      try FileEncryption(key, $0, BackupStop(configuration, BackupOptions())).run()
    }
  }
}

extension SqlitePool {
  /// Encrypts a plain database file, while the pool stays open.
  ///
  /// ```swift
  /// try await pool.encrypt(with: .rawFile("/run/secrets/bikes.key"))
  /// ```
  ///
  /// Like `withClosed`, this method waits for the running calls. Later calls wait until the file is encrypted. Throws
  /// `.timeout` if the deadline of ``withDeadline(_:_:)`` passes before the replacement of the bytes begins; the
  /// deadline in the pool's configuration does not apply. ``SqliteDatabase/encrypt(with:file:line:)`` describes the
  /// other errors and the effect on other handles. Blocks the thread. In `async` code, use the overload with `await`.
  public func encrypt(with key: EncryptionKey, file: StaticString = #fileID, line: UInt = #line) throws {
    try encrypt(with: key, FileCloseBarrier(callSite: .init(file: file, line: line)), encryptionStop)
  }

  /// Encrypts a plain database file, on a separate thread.
  ///
  /// Throws `CancellationError` if the task is cancelled before the replacement of the bytes begins. The file then
  /// stays plain.
  public func encrypt(with key: EncryptionKey, file: StaticString = #fileID, line: UInt = #line) async throws {
    let stop = encryptionStop
    try await closingOnOwnThread(.init(file: file, line: line), onCancel: stop.cancel) {
      try self.encrypt(with: key, $0, stop)
    }
  }

  private var encryptionStop: BackupStop {
    BackupStop(configuration.handles, BackupOptions(), deadline: Deadline.current)
  }

  private func encrypt(with key: EncryptionKey, _ barrier: FileCloseBarrier, _ stop: BackupStop) throws {
    try KeyChange.ofPool(self, .encrypt, barrier) { try FileEncryption(key, $0, stop).run() }
  }
}

private struct FileEncryption {
  let key: EncryptionKey
  let change: KeyChange
  /// The means to cancel the encryption. A cancellation has no effect after the replacement of the file's bytes has
  /// begun.
  let stop: BackupStop

  init(_ key: EncryptionKey, _ change: KeyChange, _ stop: BackupStop) {
    (self.key, self.change, self.stop) = (key, change, stop)
  }

  private var db: SqliteDatabase { change.db }
  private var path: String { db.family.path }

  func run() throws {
    try db.labelling { try Cipher.check() }
    guard !db.isInMemory else { throw db.misuse("an in-memory database has no file to encrypt") }
    try checkIsPlain()
    guard key.secret != nil else { throw db.misuse("encrypt needs a key") }
    guard db.configuration.cipher.plaintextHeaderSize == 0 || key.hasSalt else {
      throw db.misuse("a file with a plaintext header can't store the salt; use raw(_:salt:)")
    }
    try change.checkIsWritable()
    try stop.mapping {
      try change.run(key, check: check) {
        // Another thread might have encrypted the file meanwhile.
        try checkIsPlain()
        try replaceFile()
        db.family.forgetDamage()
      }
    }
  }

  private func checkIsPlain() throws {
    guard db.cipher == nil else { throw db.misuse("the database is already encrypted; use rekey(to:) for another key") }
  }

  /// Throws `.misuse` if a pool archives the file, or if a handle has other cipher settings.
  private func check(_ families: [HandleFamily]) throws {
    for case let pool as SqlitePool in families.map(\.pool) where !pool.allFileUsers.isEmpty {
      throw db.misuse("can't encrypt the file: a pool archives the file; stop the archive first")
    }
    for handle in families.flatMap(\.members) where handle.isOpen {
      var settings = handle.configuration.cipher
      settings.memorySecurity = db.configuration.cipher.memorySecurity
      guard settings == db.configuration.cipher else {
        throw db.misuse("can't encrypt the file: handle \(handle.number) of this process has other cipher settings")
      }
    }
  }

  private func replaceFile() throws {
    let plain = try openExclusively()
    do {
      try plain.locked { try plain.openConnection().use(stop.interruption) }
      let copy = try encryptedCopy(of: plain)
      try stop.check()
      try plain.locked { try plain.openConnection().replaceFile(withBytesOf: copy) }
    } catch {
      try? plain.close()
      // If the replacement of the file's bytes has begun, opening the plain file restores the plain pages from the
      // journal.
      if FileIdentity.linkInfo(path + "-journal") != nil { _ = try? openPlain(busyTimeout: 1) }
      // SQLCipher reports an interrupted export as a general error, so check for a stop first.
      try stop.check()
      guard var failure = error as? SqlError, !failure.message.begins(with: "can't encrypt") else { throw error }
      failure.message = "can't encrypt the file, which stays plain: \(failure.message)"
      throw failure
    }
    try? plain.close()
  }

  private func encryptedCopy(of plain: SqliteDatabase) throws -> PartialFile {
    let settings = db.configuration.cipher
    return try plain.locked {
      let connection = try plain.openConnection()
      // Rows that violate a CHECK are copied too, because such rows are not damage.
      try connection.pragma("PRAGMA ignore_check_constraints = ON")
      try connection.checkPages("PRAGMA main.quick_check(10)")
      let copy = try PartialFile.make(beside: path, mode: 0o600, for: "encryption")
      try connection.export(to: copy.path, Cipher(key, settings), comparesRowids: true)
      try db.checkExport(copy, key, settings, .integrity, stop)
      return copy
    }
  }

  /// Opens the plain file outside WAL mode, with an exclusive lock against all other connections.
  private func openExclusively() throws -> SqliteDatabase {
    do {
      let plain = try openPlain(busyTimeout: max(0, ContinuousClock.now.duration(to: change.end) / .seconds(1)))
      try plain.locked { try plain.openConnection().lockExclusively() }
      return plain
    } catch let error as SqlError where error.kind == .busy {
      let process = KernelLocks.otherProcess(withFileAt: path).map { "process \($0)" } ?? "another connection"
      throw SqlError(.busy, message: "can't encrypt the file: \(process) has the file open")
    }
  }

  private func openPlain(busyTimeout: Double) throws -> SqliteDatabase {
    let settings = db.configuration
    let configuration = Configuration(
      label: settings.label, createsDirectories: false, busyTimeout: busyTimeout, journalMode: .delete,
      foreignKeys: false, trustsSchema: settings.trustsSchema, extensions: settings.extensions, key: .unencrypted)
    return try SqliteDatabase.openOther(at: path, configuration, db.functions)
  }
}
