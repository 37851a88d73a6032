import Glibc
import SqlableCore
import SqlablePool

extension SqliteDatabase {
  /// Encrypts the file with another key. All handles and pools of this process on the file then use the new key.
  ///
  /// ```swift
  /// try db.rekey(to: .rawFile("/run/secrets/bikes-2027.key"))
  /// ```
  ///
  /// One transaction rewrites every page; the cipher settings do not change. `rekey` closes the file like `withClosed`:
  /// all handles and pools of this process on the file wait, and open the file again at their next use. Settings made
  /// with SQL are lost, and `onOpen` actions run again. Backups and attached files keep their keys. Close the file in
  /// other processes first, because their statements throw `.wrongKey` after the change.
  ///
  /// After any error, the file still has its old key. Throws:
  ///
  /// - `.misuse` for a database that is not encrypted: use `encrypt(with:)`;
  /// - `.misuse` for a database with a plaintext header, for a key with a salt, and inside a transaction;
  /// - `.misuse` for the handle of a pool: use `rekey` of the pool;
  /// - `.readOnly` on a read-only handle, and `.io` if the pages can't be written;
  /// - `.busy` if a handle is in use, or another connection writes, for longer than the busy timeout;
  /// - `.busy` if another handle has attached the file.
  public func rekey(to key: EncryptionKey, file: StaticString = #fileID, line: UInt = #line) throws {
    try KeyChange.ofHandle(self, .rekey, at: .init(file: file, line: line)) { try rekey(to: key, $0) }
  }

  fileprivate func rekey(to key: EncryptionKey, _ change: KeyChange) throws {
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
    try change.checkIsWritable()
    try change.run(key) {
      // Another thread can have changed the key meanwhile.
      guard let cipher = self.cipher else { return }
      try Connection.changeKey(ofFileAt: family.path, cipher, to: key, until: change.end)
    }
  }
}

extension SqlitePool {
  /// Encrypts the file with another key. All handles and pools of this process on the file then use the new key.
  ///
  /// ```swift
  /// try pool.rekey(to: .rawFile("/run/secrets/bikes-2027.key"))
  /// ```
  ///
  /// Like `withClosed`, this method waits for the running calls. Later calls wait until the new key is in use. Live
  /// results are read again, and loops over changes receive `.missed`. ``SqliteDatabase/rekey(to:file:line:)``
  /// describes the errors and the effect on other processes. Blocks the thread. In `async` code, use the overload with
  /// `await`.
  public func rekey(to key: EncryptionKey, file: StaticString = #fileID, line: UInt = #line) throws {
    try rekey(to: key, FileCloseBarrier(callSite: .init(file: file, line: line)))
  }

  /// Encrypts the file with another key, on a separate thread.
  ///
  /// Throws `CancellationError` if the task is cancelled while the method waits for the running calls.
  public func rekey(to key: EncryptionKey, file: StaticString = #fileID, line: UInt = #line) async throws {
    try await closingOnOwnThread(.init(file: file, line: line)) { try self.rekey(to: key, $0) }
  }

  private func rekey(to key: EncryptionKey, _ barrier: FileCloseBarrier) throws {
    try KeyChange.ofPool(self, .rekey, barrier) { try root.rekey(to: key, $0) }
  }
}
