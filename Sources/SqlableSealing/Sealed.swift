#if Crypto
import FoundationEssentials
import Sqlable

/// A value that is stored encrypted: a BLOB that opens only with its key and in its column.
///
/// ```swift
/// extension Patient: Sqlable {
///   static let diagnosis = column("diagnosis", Sealed<String>.self)                  // "diagnosis" BLOB NOT NULL
///   static let insurance = column("insurance", Sealed<String>.Deterministic?.self)   // "insurance" BLOB
/// }
/// let patient = Patient(diagnosis: try Patient.diagnosis.seal("fracture", with: keys))
/// let diagnosis = try Patient.diagnosis.open(patient.diagnosis, with: keys)          // fracture
/// ```
///
/// AES-GCM seals the value with a 256-bit key and a random nonce. Equal values have different bytes, so no filter finds
/// them. Filters can find ``Deterministic`` values. Reading and writing rows, statements as data and traces use the
/// sealed bytes and need no key. Sealed values need the package trait `Crypto`.
///
/// `Sealed<String>?` stores nil as NULL; `Sealed<String?>` also seals nil, which then has the length of an empty text.
/// The length of each sealed value is visible. Reading throws `.decoding` for a stored value that does not have the
/// form of a sealed value. Other damage is detected only when the value is opened.
public struct Sealed<Content: SqlValue>: SealedValue {
  public let bytes: Data
  public static var isDeterministic: Bool { false }

  public init(bytes: Data) throws { self.bytes = try SealedForm.checked(bytes, isDeterministic: false) }

  /// A sealed value with equal bytes for equal values, so that filters, `Unique` and joins work.
  ///
  /// ```swift
  /// let patients = try Patient.read().filter(Patient.insurance.equals("A 123", with: keys)).run(db)
  /// // … WHERE "insurance" IN (?, ?): one for each key
  /// ```
  ///
  /// The nonce is an HMAC of the value and its column, with a separate key. A reader of the file can see which rows of
  /// the column have equal values. An attacker who can make the program seal chosen values can guess stored values by
  /// comparison. Values that were sealed in another column or with another key never match.
  public struct Deterministic: SealedValue {
    public let bytes: Data
    public static var isDeterministic: Bool { true }

    public init(bytes: Data) throws { self.bytes = try SealedForm.checked(bytes, isDeterministic: true) }
  }
}

/// A sealed value: ``Sealed`` or ``Sealed/Deterministic``.
///
/// Two sealed values are equal if their bytes are equal.
public protocol SealedValue: SealedCell, Hashable, Codable, CustomStringConvertible, CustomReflectable {
  /// The type of the value before sealing.
  associatedtype Content: SqlValue

  /// The stored bytes: the form, the key's number, a nonce, the encrypted value and an authentication tag.
  var bytes: Data { get }

  /// Creates a sealed value from its stored bytes. Throws `.decoding` if the bytes do not have the form of a sealed
  /// value.
  init(bytes: Data) throws
}

/// The value of a column with sealed values: a sealed value or an optional sealed value.
public protocol SealedCell: SqlValue {
  /// True if equal values have equal bytes.
  static var isDeterministic: Bool { get }
}

extension Optional: SealedCell where Wrapped: SealedCell {
  public static var isDeterministic: Bool { Wrapped.isDeterministic }
}

extension SealedValue {
  public static var columnType: ColumnType { .blob }
  public var databaseValue: DatabaseValue { .blob(bytes) }

  public init(databaseValue: DatabaseValue) throws { try self.init(bytes: Data(databaseValue: databaseValue)) }

  public init(from decoder: any Decoder) throws {
    try self.init(bytes: decoder.singleValueContainer().decode(Data.self))
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(bytes)
  }

  /// The number of the key that opens the value.
  public var keyId: UInt32 { SealedForm.keyId(of: bytes) }

  /// `sealed by key 3`.
  public var description: String { "sealed by key \(keyId)" }
  /// A mirror without children.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
#endif
