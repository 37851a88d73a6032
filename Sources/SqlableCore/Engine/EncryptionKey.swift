/// The key of an encrypted database.
///
/// ```swift
/// let configuration = Configuration(key: try .rawFile("/run/secrets/bikes.key"))
/// ```
///
/// A key requires the package trait `SQLCipher`; without the trait, opening a handle with a key throws `.misuse`. The
/// key's memory is locked, excluded from core dumps if the system allows, and overwritten when the last copy is
/// deallocated. Overwriting the text or bytes from which the key was created is up to the caller. Descriptions, `dump`
/// and `Mirror` do not show the key's contents.
public struct EncryptionKey: Sendable, Hashable {
  /// The key in the form that SQLCipher accepts; nil for no key.
  package let secret: SecretBytes?
  /// True if the key contains the salt, which is otherwise stored in the file.
  package let hasSalt: Bool

  private init(_ secret: SecretBytes?, hasSalt: Bool = false) { (self.secret, self.hasSalt) = (secret, hasSalt) }

  /// Creates a passphrase, from which SQLCipher derives the file's key; see ``CipherSettings/kdfIterations``.
  ///
  /// The passphrase consists of the text's UTF-8 bytes. Throws `.misuse` for an empty text, for more than a megabyte,
  /// and for the form `x'…'`, which SQLCipher treats as a raw key.
  public static func passphrase(_ text: String) throws -> EncryptionKey { try passphrase(Array(text.utf8)) }

  /// Creates a passphrase of any bytes. Throws `.misuse` for no bytes, for more than a megabyte, and for the form
  /// `x'…'`.
  public static func passphrase(_ bytes: [UInt8]) throws -> EncryptionKey {
    guard (1...1 << 20).contains(bytes.count) else {
      throw SqlError.misuse("a passphrase must have from 1 to 1,048,576 bytes")
    }
    return try passphrase(bytes[...])
  }

  private static func passphrase(_ bytes: some BidirectionalCollection<UInt8>) throws -> EncryptionKey {
    // Rejects the form `x'…'`, because SQLCipher would use it as a raw key, without key derivation.
    let isNotation =
      bytes.count > 2 && bytes.last == UInt8(ascii: "'")
      && bytes.prefix(2).elementsEqual("x'".utf8) { $0 | 0x20 == $1 | 0x20 }
    guard !isNotation else {
      throw SqlError.misuse(
        "a passphrase can't have the form x'…', SQLCipher's notation of a raw key; use raw(_:salt:)")
    }
    return EncryptionKey(try SecretBytes(bytes))
  }

  /// Creates a key from 32 random bytes. A handle opens faster than with a passphrase, because the key is used without
  /// derivation.
  ///
  /// If `salt` is nil, the salt is stored in the first 16 bytes of the file. Throws `.misuse` unless `bytes` has 32
  /// bytes and `salt` has 16 bytes.
  public static func raw(_ bytes: [UInt8], salt: [UInt8]? = nil) throws -> EncryptionKey {
    guard bytes.count == 32, salt.map({ $0.count == 16 }) ?? true else {
      throw SqlError.misuse("a raw key must have 32 bytes, and its salt must have 16 bytes")
    }
    return try raw(bytes[...], salt: salt.map { $0[...] })
  }

  private static func raw<Bytes: Collection<UInt8>>(_ bytes: Bytes, salt: Bytes?) throws -> EncryptionKey {
    let halves = [bytes, salt].compactMap(\.self).lazy.joined().flatMap { [$0 >> 4, $0 & 15] }
    let digits = halves.map { $0 < 10 ? UInt8(ascii: "0") + $0 : UInt8(ascii: "a") + $0 - 10 }
    return try EncryptionKey(notation(of: digits, count: 2 * (bytes.count + (salt?.count ?? 0))), hasSalt: salt != nil)
  }

  /// Returns SQLCipher's notation of a raw key: `x'…'` with two digits for each byte.
  private static func notation(of digits: some Sequence<UInt8>, count: Int) throws -> SecretBytes {
    try SecretBytes(count: 3 + count) { memory in
      (memory[0], memory[1], memory[memory.count - 1]) = (UInt8(ascii: "x"), UInt8(ascii: "'"), UInt8(ascii: "'"))
      for (index, digit) in digits.enumerated() { memory[index + 2] = digit }
    }
  }

  /// Reads a raw key from a file: 32 bytes or 64 hexadecimal digits, or with a salt, 48 bytes or 96 digits.
  ///
  /// ```swift
  /// let key = try EncryptionKey.rawFile("/run/secrets/bikes.key")  // head -c 32 /dev/urandom >/run/secrets/bikes.key
  /// ```
  ///
  /// A newline after the digits is ignored. Throws `.cannotOpen` or `.io` if the file can't be read, and `.misuse` for
  /// any other contents.
  public static func rawFile(_ path: String) throws -> EncryptionKey {
    try contents(of: path) { bytes in
      switch bytes.count {
      case 32: return try raw(bytes[...], salt: nil)
      case 48: return try raw(bytes[..<32], salt: bytes[32...])
      case 64, 65, 96, 97:
        let digits = bytes[..<(bytes.count & ~1)]
        guard bytes.count == digits.count || bytes.last == UInt8(ascii: "\n"), digits.allSatisfy(isDigit) else { break }
        // Converts the digits to lower case, so that equal keys have equal bytes.
        let notation = try notation(of: digits.lazy.map { $0 | 0x20 }, count: digits.count)
        return EncryptionKey(notation, hasSalt: digits.count == 96)
      default: break
      }
      throw SqlError.misuse("the file of a raw key must have 32 or 48 bytes, or 64 or 96 hexadecimal digits: \(path)")
    }
  }

  /// Reads a passphrase from a file. The passphrase consists of the file's bytes without a final newline.
  ///
  /// ```swift
  /// let key = try EncryptionKey.passphraseFile("/run/secrets/bikes.passphrase")
  /// ```
  ///
  /// Throws `.cannotOpen` or `.io` if the file can't be read. Throws `.misuse` for a file that is empty or longer than
  /// a megabyte, and for SQLCipher's notation of a raw key, `x'…'`.
  public static func passphraseFile(_ path: String) throws -> EncryptionKey {
    try contents(of: path) { bytes in
      let length = bytes.last == UInt8(ascii: "\n") ? bytes.count - 1 : bytes.count
      guard (1...fileLimit).contains(length) else {
        throw SqlError.misuse("the key file must have from 1 to 1,048,576 bytes: \(path)")
      }
      return try passphrase(bytes[..<length])
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
      || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
  }

  private static let fileLimit = 1 << 20

  private static func contents<Result>(
    of path: String, _ body: (UnsafeRawBufferPointer) throws -> Result
  ) throws -> Result {
    try SecretBytes(ofFileAt: path, limit: fileLimit + 2).withBytes(body)
  }

  /// No key, for an attached file that is not encrypted; see ``Configuration/attachedKeys``.
  public static let unencrypted = EncryptionKey(nil)

  public static func == (left: EncryptionKey, right: EncryptionKey) -> Bool {
    guard let first = left.secret, let second = right.secret else { return left.secret == nil && right.secret == nil }
    return first.isEqual(to: second)
  }

  /// Hashes only the number of bytes, because a hash of the secret would reveal part of the secret.
  public func hash(into hasher: inout Hasher) { hasher.combine(secret?.count) }
}

extension EncryptionKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The constant text `key`, which hides the contents.
  public var description: String { "key" }
  /// The constant text `key`, which hides the contents.
  public var debugDescription: String { "key" }
  /// A mirror without children, which hides the key.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
