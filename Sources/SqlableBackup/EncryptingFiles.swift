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
  /// files and earlier backups stay as they are. Other processes must close the file before, and open it with the key.
  ///
  /// The disk needs space for two more copies of the file. The deleted journal held the plain pages, which stay in free
  /// blocks of the disk.
  ///
  /// Throws `.misuse` without the package trait `SQLCipher`, for an encrypted database, for a database in memory, and
  /// inside a transaction. Also throws `.misuse` for a pool's handle: use `encrypt` of the pool; and while a pool
  /// archives the file, because encrypted files can't be archived. Throws `.readOnly` on a read-only handle, `.corrupt`
  /// for a damaged file, and `.full`. Throws `.busy` if a handle is in use, a backup runs, or another process has the
  /// file open, for longer than the busy timeout. Also throws `.busy` if another handle has attached the file. An error
  /// leaves the file plain and complete.
  public func encrypt(with key: EncryptionKey, file: StaticString = #fileID, line: UInt = #line) throws {
    guard !belongsToPool else { throw misuse("can't encrypt the file with a pool's handle; use encrypt of the pool") }
    guard transactionLevel == 0 else { throw misuse("can't encrypt the file inside a transaction") }
    let barrier = SqlitePool.FileCloseBarrier(callSite: .init(file: file, line: line))
    try FileEncryption(self, key, barrier, until: .now + .seconds(configuration.busyTimeout)).run()
  }
}

extension SqlitePool {
  /// Encrypts a plain database file, while the pool stays open.
  ///
  /// ```swift
  /// try await pool.encrypt(with: .rawFile("/run/secrets/bikes.key"))
  /// ```
  ///
  /// Like `withClosed`, this method waits for the running calls. Later calls wait until the file is encrypted.
  /// ``SqliteDatabase/encrypt(with:file:line:)`` describes the errors and the effect on other handles. Blocks the
  /// thread. In `async` code, use the overload with `await`.
  public func encrypt(with key: EncryptionKey, file: StaticString = #fileID, line: UInt = #line) throws {
    try encrypt(with: key, FileCloseBarrier(callSite: .init(file: file, line: line)))
  }

  /// Encrypts a plain database file, on a separate thread.
  ///
  /// Throws `CancellationError` if the task is cancelled while the method waits for the running calls.
  public func encrypt(with key: EncryptionKey, file: StaticString = #fileID, line: UInt = #line) async throws {
    try await closingOnOwnThread(.init(file: file, line: line)) { try self.encrypt(with: key, $0) }
  }

  private func encrypt(with key: EncryptionKey, _ barrier: FileCloseBarrier) throws {
    try checkFork()
    try withState { try $0.checkIsOpen(configuration.handles.label) }
    guard withState({ $0.ownHandle }) == nil else {
      throw misuse("can't encrypt the file inside a closure of the pool")
    }
    let end = Deadline.after(.seconds(configuration.handles.busyTimeout))
    try FileEncryption(root, key, barrier, until: end).run()
  }
}

/// The encryption of a plain file under open handles and pools.
private struct FileEncryption {
  let db: SqliteDatabase
  let key: EncryptionKey
  let barrier: SqlitePool.FileCloseBarrier
  let end: ContinuousClock.Instant

  init(
    _ db: SqliteDatabase, _ key: EncryptionKey, _ barrier: SqlitePool.FileCloseBarrier,
    until end: ContinuousClock.Instant
  ) {
    (self.db, self.key, self.barrier, self.end) = (db, key, barrier, end)
  }

  private var path: String { db.family.path }

  func run() throws {
    try db.checkMayEncrypt(with: key)
    try db.labelling {
      let families = try db.familiesOfFile(until: end) { barrier.hasToStop }
      for family in families {
        guard let pool = family.pool as? SqlitePool, !pool.allFileUsers.isEmpty else { continue }
        throw db.misuse("can't encrypt the file while a pool archives the file: stop the archive")
      }
      // Wait before the handles are closed, so that calls continue while another process has the file open.
      db.waitForOtherProcesses(until: end) { barrier.hasToStop }
      try closing(families[...]) {
        try db.withDisconnected(families, to: "encrypt the file", until: end) {
          if barrier.hasToStop { throw CancellationError() }
          // Another thread can have encrypted or opened the file meanwhile.
          try db.checkIsPlain()
          try db.checkIsUsedOnly(by: families)
          try replaceFile()
          for family in families {
            if (family.key ?? .unencrypted) == .unencrypted { family.keyDidChange(to: key) }
            family.forgetDamage()
          }
        }
      }
    }
  }

  /// Calls `body` while no call runs in the pools of these families, and no other call can close the file.
  ///
  /// All calls close the families in the order of their creation, so that two calls can't wait for each other.
  private func closing(_ families: ArraySlice<HandleFamily>, _ body: () throws -> Void) throws {
    guard let family = families.first else { return try body() }
    if let pool = family.pool as? SqlitePool {
      guard pool.isOpen || family === db.family else {
        throw SqlError(.busy, message: "can't encrypt the file: another pool of this process closes the file")
      }
      let other = SqlitePool.FileCloseBarrier(callSite: barrier.callSite, isCancelled: barrier.isCancelled)
      return try pool.closing(other, until: end) { try closing(families.dropFirst(), body) }
    }
    try family.begin(.init(callSite: "\(barrier.callSite)"), for: db, until: end)
    defer { family.endClosing() }
    try closing(families.dropFirst(), body)
  }

  /// Replaces the plain file by an encrypted copy.
  private func replaceFile() throws {
    let plain = try openExclusively()
    do {
      try plain.locked { try checkSource(plain.openConnection()) }
      let settings = db.configuration.cipher
      let file = try PartialFile.make(beside: path, mode: 0o600, for: "encryption")
      try plain.locked {
        try plain.openConnection().export(to: file.path, Cipher(key, settings), comparesRowids: true)
      }
      try db.checkExport(file, key, settings, .integrity)
      try plain.locked { try plain.openConnection().replaceFile(withBytesOf: file) }
    } catch {
      try? plain.close()
      // If the replacement has begun, this connection restores the plain pages from the journal.
      if FileIdentity.linkInfo(path + "-journal") != nil { _ = try? openPlain(busyTimeout: 1) }
      throw error
    }
    try? plain.close()
  }

  /// Throws for a damaged file: the copy could lack rows.
  private func checkSource(_ connection: Connection) throws {
    let problems = try connection.rows("PRAGMA main.quick_check(10)").map { $0.first ?? "" }
    guard problems != ["ok"] else { return }
    throw SqlError(.corrupt, message: "can't encrypt a damaged file: " + problems.joined(separator: "; "))
  }

  /// Opens the plain file outside WAL mode, with an exclusive lock against all other connections.
  private func openExclusively() throws -> SqliteDatabase {
    do {
      let plain = try openPlain(busyTimeout: max(0, ContinuousClock.now.duration(to: end) / .seconds(1)))
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
