#if Crypto
import Crypto
import FoundationEssentials
import Sqlable

/// A secret key for sealed values, and the number by which they name it.
///
/// ```swift
/// let key = try SealingKey(id: 1, file: "/run/secrets/patients-1.key")     // head -c 32 /dev/urandom
/// ```
///
/// From its 32 bytes three keys are derived by HKDF-SHA256: one for ``Sealed`` values, and two for deterministic ones.
/// Their memory is overwritten when the last copy is gone. It has no contents for descriptions, `dump` and `Mirror`.
public struct SealingKey: Sendable {
  /// The number of the key, which each value that it has sealed shows. Never give it to another key.
  public let id: UInt32
  let random: SymmetricKey
  let deterministic: SymmetricKey
  let nonces: SymmetricKey

  /// A key of 32 random bytes, which are the caller's to overwrite. Throws `.misuse` for another number of bytes.
  public init(id: UInt32, bytes: [UInt8]) throws { try self.init(id: id, SecretBytes(bytes)) }

  /// The key in a file of 32 bytes, which is read now.
  ///
  /// Throws `.cannotOpen` or `.io` if the file can't be read, and `.misuse` for one of another size.
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

/// The key that seals values, and those that sealed earlier ones.
///
/// ```swift
/// let keys = try KeyRing(SealingKey(id: 2, file: newPath), older: [SealingKey(id: 1, file: oldPath)])
/// ```
///
/// Pass it to those who may seal and open values; nothing of the library keeps one.
public struct KeyRing: Sendable {
  /// The key that seals.
  public let current: SealingKey
  private let keys: [UInt32: SealingKey]

  /// Throws `.misuse` if two keys have the same number.
  public init(_ current: SealingKey, older: [SealingKey] = []) throws {
    var keys = [current.id: current]
    for key in older {
      guard keys.updateValue(key, forKey: key.id) == nil else {
        throw SqlError.misuse("the key ring has two keys with the number \(key.id)")
      }
    }
    (self.current, self.keys) = (current, keys)
  }

  /// The numbers of the keys, that of the current one first, the others in their order.
  public var ids: [UInt32] { [current.id] + keys.keys.filter { $0 != current.id }.sorted() }

  subscript(id: UInt32) -> SealingKey? { keys[id] }

  /// The keys, the current one first.
  var all: [SealingKey] { ids.compactMap { keys[$0] } }
}

extension SealingKey: CustomStringConvertible, CustomReflectable {
  /// `key 3`.
  public var description: String { "key \(id)" }
  /// Without children.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension KeyRing: CustomStringConvertible, CustomReflectable {
  /// `keys 3, 1, 2`.
  public var description: String { "keys " + ids.map { "\($0)" }.joined(separator: ", ") }
  /// Without children.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
#endif
