import Glibc

// The conditions under which a plain file can become an encrypted one. SqlableBackup writes the encrypted contents.

extension SqliteDatabase {
  /// Throws unless the handle's file can be encrypted with this key.
  package func checkMayEncrypt(with key: EncryptionKey) throws {
    try checkFork()
    do { try Cipher.check() } catch let error as SqlError { throw error.labelled(configuration.label) }
    guard !isInMemory else { throw misuse("an in-memory database has no file to encrypt") }
    try checkIsPlain()
    guard key.secret != nil else { throw misuse("encrypt needs a key") }
    guard configuration.cipher.plaintextHeaderSize == 0 || key.hasSalt else {
      throw misuse("a file with a plaintext header can't store the salt; use raw(_:salt:)")
    }
    guard !configuration.isReadOnly else {
      throw SqlError(.readOnly, message: "can't encrypt the file: the handle is read-only")
        .labelled(configuration.label)
    }
    try checkMayWrite()
    try locked { try checkFile(openConnection()) }
  }

  package func checkIsPlain() throws {
    guard cipher == nil else { throw misuse("the database is already encrypted; use rekey(to:) for another key") }
  }

  /// Returns the families of the program's handles and pools on this handle's file, in the order of their creation.
  ///
  /// Waits until the library's own connections to the file, as of a check, are closed. Throws `.busy` at `end`, and if
  /// a handle of another file has attached this file. Throws `.misuse` if a handle has other cipher settings.
  package func familiesOfFile(
    until end: ContinuousClock.Instant, unless isCancelled: () -> Bool
  ) throws -> [HandleFamily] {
    let path = family.path
    for handle in HandleFamily.allHandles where handle.isOpen && handle.family !== family {
      guard let name = handle.configuration.attached.first(where: { SqliteDatabase.isSameFile($0.value, path) })?.key
      else { continue }
      throw SqlError(
        .busy, message: "can't encrypt the file: handle \(handle.number) has attached the file as \(name)")
    }
    while true {
      let families = HandleFamily.families.filter { $0.isAt(path) && $0.members.contains(where: \.isOpen) }
      let users = families.filter { $0.isListed || $0.pool != nil }
      for handle in users.flatMap(\.members) where handle.isOpen {
        var settings = handle.configuration.cipher
        settings.memorySecurity = configuration.cipher.memorySecurity
        guard settings == configuration.cipher else {
          throw misuse("can't encrypt the file: handle \(handle.number) of this process has other cipher settings")
        }
      }
      guard families.contains(where: { family in family.isConnected && !users.contains { $0 === family } }) else {
        return users
      }
      guard ContinuousClock.now < end, !isCancelled() else { throw SqliteDatabase.isInUse }
      usleep(1_000)
    }
  }

  /// Throws `.busy` if a connection of this process outside these families has the handle's file open.
  package func checkIsUsedOnly(by families: [HandleFamily]) throws {
    let path = family.path
    for other in HandleFamily.families where other.isConnected && !families.contains(where: { $0 === other }) {
      if other.isAt(path) { throw SqliteDatabase.isInUse }
    }
  }

  private static let isInUse = SqlError(
    .busy, message: "can't encrypt the file: another connection of this process has the file open")
}
