/// The key of an encrypted database.
///
/// ```swift
/// let configuration = Configuration(key: try .file("/run/secrets/bikes.key"))
/// ```
///
/// It needs the package trait `SQLCipher`: without it, opening a handle with a key throws `.misuse`. The key's memory
/// is locked, left out of core dumps where the system allows that, and overwritten when the last copy is gone. What it
/// is made of is the caller's to overwrite. It has no contents for descriptions, `dump` and `Mirror`.
public struct EncryptionKey: Sendable, Hashable {
  /// As SQLCipher takes it; nil for no key.
  let secret: SecretBytes?
  /// Whether it has the salt that otherwise the file has.
  let hasSalt: Bool

  private init(_ secret: SecretBytes?, hasSalt: Bool = false) { (self.secret, self.hasSalt) = (secret, hasSalt) }

  /// A passphrase, from which SQLCipher derives the key of a file: see ``CipherSettings/kdfIterations``.
  ///
  /// Its bytes are those of the text in UTF-8. Throws `.misuse` for an empty one.
  public static func passphrase(_ text: String) throws -> EncryptionKey { try passphrase(Array(text.utf8)) }

  /// A passphrase of any bytes. Throws `.misuse` if there are none, or more than a megabyte.
  public static func passphrase(_ bytes: [UInt8]) throws -> EncryptionKey {
    guard (1...1 << 20).contains(bytes.count) else {
      throw SqlError.misuse("a passphrase must have from 1 to 1,048,576 bytes")
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
    // SQLCipher's notation of such a key: x'…' with two digits for each byte.
    let secret = try SecretBytes(count: 3 + 2 * (bytes.count + (salt?.count ?? 0))) { memory in
      (memory[0], memory[1], memory[memory.count - 1]) = (UInt8(ascii: "x"), UInt8(ascii: "'"), UInt8(ascii: "'"))
      var place = 2
      for byte in [bytes, salt].compactMap(\.self).joined() {
        for half in [byte >> 4, byte & 15] {
          memory[place] = half < 10 ? UInt8(ascii: "0") + half : UInt8(ascii: "a") + half - 10
          place += 1
        }
      }
    }
    return EncryptionKey(secret, hasSalt: salt != nil)
  }

  /// The key in a file, which is read now: 32 bytes are a raw key, 48 one with its salt, any others a passphrase,
  /// without a newline at its end.
  ///
  /// Throws `.cannotOpen` or `.io` if the file can't be read, and `.misuse` for one that is empty or longer than a
  /// megabyte.
  public static func file(_ path: String) throws -> EncryptionKey {
    let limit = 1 << 20
    return try SecretBytes(ofFileAt: path, limit: limit + 2).withBytes { bytes in
      switch bytes.count {
      case 32: return try raw(bytes[...], salt: nil)
      case 48: return try raw(bytes[..<32], salt: bytes[32...])
      default:
        let length = bytes.last == UInt8(ascii: "\n") ? bytes.count - 1 : bytes.count
        guard (1...limit).contains(length) else {
          throw SqlError.misuse("the key file must have from 1 to 1,048,576 bytes: \(path)")
        }
        return EncryptionKey(try SecretBytes(bytes[..<length]))
      }
    }
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
