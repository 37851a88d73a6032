#if Crypto
import Crypto
import FoundationEssentials
import Sqlable

/// A secret key for sealed values, and the key's number. A sealed value contains the number.
///
/// ```swift
/// let key = try SealingKey(id: 1, file: "/run/secrets/patients-1.key")     // head -c 32 /dev/urandom
/// ```
///
/// HKDF-SHA256 derives three keys from the 32 bytes: one for ``Sealed`` values, and two for ``Sealed/Deterministic``
/// values. The keys' memory is overwritten when the last copy is released. Descriptions, `dump` and `Mirror` do not
/// show the keys.
public struct SealingKey: Sendable {
  /// The number of the key, which is readable in each sealed value. Never use the number for another key.
  public let id: UInt32
  let random: SymmetricKey
  let deterministic: SymmetricKey
  let nonces: SymmetricKey

  /// Creates a key from 32 random bytes. The caller should overwrite `bytes` afterwards. Throws `.misuse` for another
  /// number of bytes.
  public init(id: UInt32, bytes: [UInt8]) throws { try self.init(id: id, SecretBytes(bytes)) }

  /// Reads a key from a file of 32 bytes.
  ///
  /// Throws `.cannotOpen` or `.io` if the file can't be read, and `.misuse` if the file has another size.
  public init(id: UInt32, file path: String) throws { try self.init(id: id, SecretBytes(ofFileAt: path, limit: 33)) }

  private init(id: UInt32, _ secret: SecretBytes) throws {
    guard secret.count == 32 else { throw SqlError.misuse("a sealing key must have 32 bytes") }
    let secret = secret.withBytes { SymmetricKey(data: $0) }
    let derived = { (purpose: String) in
      let info = Array("sqlable \(purpose)".utf8)
      return HKDF<Crypto.SHA256>.deriveKey(inputKeyMaterial: secret, info: info, outputByteCount: 32)
    }
    self.id = id
    (random, deterministic, nonces) = (derived("sealed"), derived("sealed deterministic"), derived("sealed nonce"))
  }
}

/// The key that seals values, and the older keys that sealed earlier values.
///
/// ```swift
/// let keys = try KeyRing(SealingKey(id: 2, file: newPath), older: [SealingKey(id: 1, file: oldPath)])
/// ```
///
/// Pass a key ring to each call that seals or opens values. The library does not store key rings.
public struct KeyRing: Sendable {
  /// The key that seals values.
  public let current: SealingKey
  private let keys: [UInt32: SealingKey]

  /// Creates a key ring. Throws `.misuse` if two keys have the same number.
  public init(_ current: SealingKey, older: [SealingKey] = []) throws {
    var keys = [current.id: current]
    for key in older {
      guard keys.updateValue(key, forKey: key.id) == nil else {
        throw SqlError.misuse("the key ring has two keys with the number \(key.id)")
      }
    }
    (self.current, self.keys) = (current, keys)
  }

  /// The numbers of the keys: the current key first, then the older keys in ascending order.
  public var ids: [UInt32] { [current.id] + keys.keys.filter { $0 != current.id }.sorted() }

  subscript(id: UInt32) -> SealingKey? { keys[id] }

  var all: [SealingKey] { ids.compactMap { keys[$0] } }
}

extension SealingKey: CustomStringConvertible, CustomReflectable {
  /// `key 3`.
  public var description: String { "key \(id)" }
  /// A mirror without children, so that `dump` does not show the key.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension KeyRing: CustomStringConvertible, CustomReflectable {
  /// `keys 3, 1, 2`.
  public var description: String { "keys " + ids.map { "\($0)" }.joined(separator: ", ") }
  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
#endif
