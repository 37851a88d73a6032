import FoundationEssentials
import Glibc

extension Configuration {
  func validateKeys() throws {
    try cipher.validate()
    if let name = attachedKeys.keys.sorted().first(where: { attached[$0] == nil }) {
      throw SqlError.misuse("attachedKeys has a key for \(name), but no attached database has this name")
    }
    let keys = [key].compactMap(\.self) + attachedKeys.values
    guard keys.contains(where: { $0.secret != nil }) else { return }
    try Cipher.check()
    if cipher.plaintextHeaderSize > 0, key?.hasSalt != true {
      throw SqlError.misuse(
        "a file with a plaintext header can't store the salt; use raw(_:salt:)")
    }
  }

  #if SQLCipher && KEY_OF_TESTS
  /// The key that tests use for a configuration without a key: the 64 hexadecimal digits in the variable `SQLABLE_KEY`.
  static let keyOfTests: EncryptionKey? = {
    guard let text = getenv("SQLABLE_KEY").map({ Array(String(cString: $0).utf8) }) else { return nil }
    let bytes = stride(from: 0, to: text.count - 1, by: 2).compactMap { index in
      UInt8(String(decoding: text[index...index + 1], as: UTF8.self), radix: 16)
    }
    return try? .raw(bytes)
  }()
  #else
  static var keyOfTests: EncryptionKey? { nil }
  #endif
}

extension SqliteDatabase {
  /// The encryption of the file; nil if the file is not encrypted or the database is in memory.
  package var cipher: Cipher? { isInMemory ? nil : Cipher(family.key, configuration.cipher) }

  func files(at path: String) -> DatabaseFiles {
    DatabaseFiles(of: path, key: family.key, cipher: configuration.cipher)
  }
}
