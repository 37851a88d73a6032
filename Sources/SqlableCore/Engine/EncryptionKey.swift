/// The key of an encrypted database.
///
/// ```swift
/// let configuration = Configuration(key: try .rawFile("/run/secrets/bikes.key"))
/// ```
///
/// It needs the package trait `SQLCipher`: without it, opening a handle with a key throws `.misuse`. The key's memory
/// is locked, left out of core dumps where the system allows that, and overwritten when the last copy is gone. What it
/// is made of is the caller's to overwrite. It has no contents for descriptions, `dump` and `Mirror`.
public struct EncryptionKey: Sendable, Hashable {
  /// As SQLCipher takes it; nil for no key.
  package let secret: SecretBytes?
  /// True if it has the salt that otherwise the file has.
  package let hasSalt: Bool

  private init(_ secret: SecretBytes?, hasSalt: Bool = false) { (self.secret, self.hasSalt) = (secret, hasSalt) }

  /// A passphrase, from which SQLCipher derives the key of a file: see ``CipherSettings/kdfIterations``.
  ///
  /// Its bytes are those of the text in UTF-8. Throws `.misuse` for an empty one, and for one of the form `x'…'`:
  /// SQLCipher takes it for a raw key.
  public static func passphrase(_ text: String) throws -> EncryptionKey { try passphrase(Array(text.utf8)) }

  /// A passphrase of any bytes. Throws `.misuse` if there are none, or more than a megabyte, and for the form `x'…'`.
  public static func passphrase(_ bytes: [UInt8]) throws -> EncryptionKey {
    guard (1...1 << 20).contains(bytes.count) else {
      throw SqlError.misuse("a passphrase must have from 1 to 1,048,576 bytes")
    }
    return try passphrase(bytes[...])
  }

  private static func passphrase(_ bytes: some BidirectionalCollection<UInt8>) throws -> EncryptionKey {
    // SQLCipher takes it for a raw key, and derives nothing from it.
    let isNotation =
      bytes.count > 2 && bytes.last == UInt8(ascii: "'")
      && bytes.prefix(2).elementsEqual("x'".utf8) { $0 | 0x20 == $1 | 0x20 }
    guard !isNotation else {
      throw SqlError.misuse(
        "a passphrase can't have the form x'…', SQLCipher's notation of a raw key; use raw(_:salt:)")
    }
    return EncryptionKey(try SecretBytes(bytes))
  }

  /// A key of 32 random bytes, from which nothing is derived: a handle opens faster than with a passphrase.
  ///
  /// Each file has a salt in its first 16 bytes, unless one is given here, which then has 16. Throws `.misuse` for
  /// another number of bytes.
  public static func raw(_ bytes: [UInt8], salt: [UInt8]? = nil) throws -> EncryptionKey {
    guard bytes.count == 32, salt.map({ $0.count == 16 }) ?? true else {
      throw SqlError.misuse("a raw key must have 32 bytes, and its salt 16")
    }
    return try raw(bytes[...], salt: salt.map { $0[...] })
  }

  private static func raw<Bytes: Collection<UInt8>>(_ bytes: Bytes, salt: Bytes?) throws -> EncryptionKey {
    let halves = [bytes, salt].compactMap(\.self).lazy.joined().flatMap { [$0 >> 4, $0 & 15] }
    let digits = halves.map { $0 < 10 ? UInt8(ascii: "0") + $0 : UInt8(ascii: "a") + $0 - 10 }
    return try EncryptionKey(notation(of: digits, count: 2 * (bytes.count + (salt?.count ?? 0))), hasSalt: salt != nil)
  }

  /// SQLCipher's notation of a raw key: `x'…'` with two digits for each byte.
  private static func notation(of digits: some Sequence<UInt8>, count: Int) throws -> SecretBytes {
    try SecretBytes(count: 3 + count) { memory in
      (memory[0], memory[1], memory[memory.count - 1]) = (UInt8(ascii: "x"), UInt8(ascii: "'"), UInt8(ascii: "'"))
      for (index, digit) in digits.enumerated() { memory[index + 2] = digit }
    }
  }

  /// The raw key in a file, which is read now: 32 bytes, or 48 with its salt, also as 64 or 96 hexadecimal digits.
  ///
  /// ```swift
  /// let key = try EncryptionKey.rawFile("/run/secrets/bikes.key")  // head -c 32 /dev/urandom >/run/secrets/bikes.key
  /// ```
  ///
  /// A newline after the digits is left out. Throws `.cannotOpen` or `.io` if the file can't be read, and `.misuse` for
  /// any other contents.
  public static func rawFile(_ path: String) throws -> EncryptionKey {
    try contents(of: path) { bytes in
      switch bytes.count {
      case 32: return try raw(bytes[...], salt: nil)
      case 48: return try raw(bytes[..<32], salt: bytes[32...])
      case 64, 65, 96, 97:
        let digits = bytes[..<(bytes.count & ~1)]
        guard bytes.count == digits.count || bytes.last == UInt8(ascii: "\n"), digits.allSatisfy(isDigit) else { break }
        // In lower case: equal keys have equal bytes.
        let notation = try notation(of: digits.lazy.map { $0 | 0x20 }, count: digits.count)
        return EncryptionKey(notation, hasSalt: digits.count == 96)
      default: break
      }
      throw SqlError.misuse("the file of a raw key must have 32 or 48 bytes, or 64 or 96 hexadecimal digits: \(path)")
    }
  }

  /// The passphrase in a file, which is read now: its bytes, without a newline at the end.
  ///
  /// ```swift
  /// let key = try EncryptionKey.passphraseFile("/run/secrets/bikes.passphrase")
  /// ```
  ///
  /// Throws `.cannotOpen` or `.io` if the file can't be read, and `.misuse` for one that is empty or longer than a
  /// megabyte, or that has SQLCipher's notation of a raw key, `x'…'`.
  public static func passphraseFile(_ path: String) throws -> EncryptionKey {
    try contents(of: path) { bytes in
      let length = bytes.last == UInt8(ascii: "\n") ? bytes.count - 1 : bytes.count
      guard (1...fileLimit).contains(length) else {
        throw SqlError.misuse("the key file must have from 1 to 1,048,576 bytes: \(path)")
      }
      return try passphrase(bytes[..<length])
    }
  }

  /// The key in a file: 32 bytes are a raw key, 48 one with its salt, any others a passphrase.
  ///
  /// A passphrase of 32 characters is taken for a raw key, and 64 hexadecimal digits for a passphrase.
  @available(*, deprecated, message: "the kind of key in the file is ambiguous; use rawFile(_:) or passphraseFile(_:)")
  public static func file(_ path: String) throws -> EncryptionKey {
    let size = try contents(of: path) { $0.count }
    return size == 32 || size == 48 ? try rawFile(path) : try passphraseFile(path)
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

  /// By the number of bytes: a hash of a secret would tell something of it.
  public func hash(into hasher: inout Hasher) { hasher.combine(secret?.count) }
}

extension EncryptionKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// `key`, whatever it is.
  public var description: String { "key" }
  /// `key`, whatever it is.
  public var debugDescription: String { "key" }
  /// Without children.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
