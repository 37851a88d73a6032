#if Crypto
import FoundationEssentials
import Sqlable

/// A value that is stored encrypted: a BLOB that only a key opens, in its own column.
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
/// It is sealed by AES-GCM with a 256-bit key and a random nonce: equal values have different bytes, which no filter
/// finds; ``Deterministic`` values are found. Reading and writing rows, statements as data and traces have the sealed
/// bytes and need no key. It needs the package trait `Crypto`.
///
/// `Sealed<String>?` stores nil as NULL; `Sealed<String?>` also hides whether there is a value. The length of a text or
/// of bytes shows. Reading throws `.decoding` for a stored value that has not the form of a sealed one; whether it is
/// intact shows when it is opened.
public struct Sealed<Content: SqlValue>: SealedValue {
  public let bytes: Data
  public static var isDeterministic: Bool { false }

  public init(bytes: Data) throws { self.bytes = try SealedForm.checked(bytes, isDeterministic: false) }

  /// A sealed value whose bytes are equal for equal values, so that filters, `Unique` and joins find it.
  ///
  /// ```swift
  /// let patients = try Patient.read().filter(Patient.insurance.equals("A 123", with: keys)).run(db)
  /// // … WHERE "insurance" IN (?, ?): one for each key
  /// ```
  ///
  /// Its nonce is an HMAC of the value and its column, by a key of its own. A reader of the file sees which rows of
  /// the column have equal values, and how many; one who can have values sealed can guess the others. Values of other
  /// columns, and of other keys, don't compare.
  public struct Deterministic: SealedValue {
    public let bytes: Data
    public static var isDeterministic: Bool { true }

    public init(bytes: Data) throws { self.bytes = try SealedForm.checked(bytes, isDeterministic: true) }
  }
}

/// ``Sealed`` or ``Sealed/Deterministic``.
///
/// They are equal if their bytes are.
public protocol SealedValue: SealedCell, Hashable, Codable, CustomStringConvertible, CustomReflectable {
  /// What is sealed.
  associatedtype Content: SqlValue

  /// The sealed value as it is stored: its form, the number of its key, a nonce, the encrypted value and its tag.
  var bytes: Data { get }

  /// Takes a sealed value as it is stored. Throws `.decoding` if it has not the form of one.
  init(bytes: Data) throws
}

/// The value of a column with sealed values: one of them, or an optional one.
public protocol SealedCell: SqlValue {
  /// Whether equal values have equal bytes.
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

  /// The number of the key that opens it.
  public var keyId: UInt32 { SealedForm.keyId(of: bytes) }

  /// `sealed by key 3`.
  public var description: String { "sealed by key \(keyId)" }
  /// Without children.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
#endif
