#if Crypto
import Crypto
import FoundationEssentials
import Sqlable

/// The bytes of sealed values: one byte for the form, four for the key's number, the nonce, the ciphertext and the tag.
enum SealedForm {
  private static let random: UInt8 = 1
  private static let deterministic: UInt8 = 2
  private static let headerCount = 5
  private static let nonceCount = 12
  private static let tagCount = 16

  /// Returns the bytes if they have the form of a sealed value, and throws `.decoding` otherwise. The ciphertext has at
  /// least one byte, for the storage class of its content.
  ///
  /// - Parameter form: True if the value must be deterministic, false if it must be random, nil if both forms are
  ///   valid.
  static func checked(_ bytes: Data, isDeterministic form: Bool?) throws -> Data {
    let forms = form.map { [$0 ? deterministic : random] } ?? [deterministic, random]
    guard bytes.count > headerCount + nonceCount + tagCount, bytes.first.map(forms.contains) == true else {
      throw SqlError.decoding(
        expected: "a sealed value", found: "a BLOB that is not a sealed value, or has an unknown format")
    }
    return bytes
  }

  static func isDeterministic(_ bytes: Data) -> Bool { bytes.first == deterministic }

  static func keyId(of bytes: Data) -> UInt32 {
    bytes.dropFirst().prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
  }

  static func seal(
    _ content: Data, in sealedPlace: SealedPlace, by key: SealingKey, isDeterministic: Bool
  ) throws -> Data {
    var header = Data([isDeterministic ? deterministic : random])
    header.append(bigEndian: key.id)
    let context = context(header, sealedPlace)
    do {
      let box: AES.GCM.SealedBox
      if isDeterministic {
        var hash = HMAC<Crypto.SHA256>(key: key.nonces)
        hash.update(data: context)
        hash.update(data: content)
        let nonce = try AES.GCM.Nonce(data: Data(hash.finalize()).prefix(nonceCount))
        box = try AES.GCM.seal(content, using: key.deterministic, nonce: nonce, authenticating: context)
      } else {
        box = try AES.GCM.seal(content, using: key.random, authenticating: context)
      }
      return header + Data(box.nonce) + box.ciphertext + box.tag
    } catch {
      throw sealedPlace.located(SqlError(.other, message: "can't seal the value"))
    }
  }

  /// Returns the content of sealed bytes. Throws `.wrongKey` if the ring lacks the key whose id the bytes contain, and
  /// `.notAuthentic` if that key does not open the bytes.
  static func open(_ bytes: Data, in sealedPlace: SealedPlace, with keys: KeyRing) throws -> Data {
    let header = Data(bytes.prefix(headerCount))
    let id = keyId(of: bytes)
    guard let key = keys[id] else {
      throw sealedPlace.located(
        SqlError(.wrongKey, message: "the key ring lacks key \(id), which sealed the value; add the key to the ring"))
    }
    let secret = header.first == deterministic ? key.deterministic : key.random
    do {
      let box = try AES.GCM.SealedBox(combined: Data(bytes.dropFirst(headerCount)))
      return try AES.GCM.open(box, using: secret, authenticating: context(header, sealedPlace))
    } catch {
      throw sealedPlace.located(
        SqlError(
          .notAuthentic,
          message: "the sealed value does not belong to this key and column, or its bytes were changed"))
    }
  }

  /// Returns the data that authenticates a value's place: the header, then the names of the table and the column, each
  /// name preceded by its length.
  private static func context(_ header: Data, _ sealedPlace: SealedPlace) -> Data {
    var context = header
    for name in [sealedPlace.table, sealedPlace.column].map(\.foldedName) {
      context.append(bigEndian: UInt32(clamping: name.count))
      context.append(contentsOf: name)
    }
    return context
  }
}

extension SealedForm {
  /// Returns the content of a value before sealing: a byte for the storage class, then the value's bytes.
  static func plain(_ value: DatabaseValue) throws -> Data {
    var plain = Data([UInt8(truncatingIfNeeded: value.storageClass.rawValue)])
    switch try value.checked() {
    case .null: break
    case .integer(let integer): plain.append(bigEndian: UInt64(bitPattern: integer))
    // Seal −0 as 0, because a column stores −0 as 0.
    case .real(let real): plain.append(bigEndian: (real == 0 ? 0 : real).bitPattern)
    case .text(let text): plain.append(contentsOf: text.utf8)
    case .blob(let data): plain.append(data)
    }
    return plain
  }

  static func value(_ plain: Data) throws -> DatabaseValue {
    let content = plain.dropFirst()
    let number = content.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    switch plain.first.flatMap({ StorageClass(rawValue: Int32($0)) }) {
    case .null? where content.isEmpty: return .null
    case .integer? where content.count == 8: return .integer(Int64(bitPattern: number))
    case .real? where content.count == 8: return .real(Double(bitPattern: number))
    case .text?: if let text = String(validating: content, as: UTF8.self) { return .text(text) }
    case .blob?: return .blob(Data(content))
    default: break
    }
    throw SqlError.decoding(expected: "the content of a sealed value", found: "other bytes")
  }
}

/// The column that a sealed value is bound to.
///
/// Sealed values can't follow a rename of their column or table. After a rename, pass the earlier place to a key
/// rotation; see ``SqliteDatabase/reseal(_:with:rows:from:progress:)``. Sealing ignores the case of A to Z in the
/// names.
public struct SealedPlace: Sendable, Hashable {
  public let table: String
  public let column: String

  public init(table: String, column: String) { (self.table, self.column) = (table, column) }

  func located(_ error: SqlError) -> SqlError {
    var error = error
    (error.table, error.column) = (table, column)
    return error
  }
}

extension Data {
  fileprivate mutating func append(bigEndian integer: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: integer.bigEndian) { append(contentsOf: $0) }
  }
}
#endif
