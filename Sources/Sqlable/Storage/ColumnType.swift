/// What a column holds: the type that SQLite is told, and how Swift values become it.
///
/// ```swift
/// static let at = Column("at", .date(.iso8601))            // "at" TEXT NOT NULL
/// static let color = Column("color", .nullable(.text))     // "color" TEXT
/// ```
public struct ColumnType: Sendable, Hashable {
  @usableFromInline let base: Base
  /// Whether NULL may be stored.
  public let isNullable: Bool

  @usableFromInline
  enum Base: Sendable, Hashable {
    case integer, real, text, blob, boolean
    case date(DateFormat)

    /// All of them. A column of one that is missing here takes no default.
    static let all: [Base] = [.integer, .real, .text, .blob, .boolean] + DateFormat.allCases.map(Base.date)
  }

  init(_ base: Base, isNullable: Bool = false) {
    self.base = base
    self.isNullable = isNullable
  }

  /// 64-bit integers: `INTEGER`.
  public static let integer = ColumnType(.integer)
  /// 64-bit floating-point numbers: `REAL`.
  public static let real = ColumnType(.real)
  /// UTF-8 text: `TEXT`.
  public static let text = ColumnType(.text)
  /// Bytes: `BLOB`.
  public static let blob = ColumnType(.blob)
  /// `true` and `false`, stored as 1 and 0: `INTEGER`.
  public static let boolean = ColumnType(.boolean)
  /// Points in time, stored as seconds since 1970: `REAL`.
  public static let date = ColumnType(.date(.unixSecondsWithFraction))

  /// Points in time in a form of your choice.
  public static func date(_ format: DateFormat) -> ColumnType { ColumnType(.date(format)) }

  /// The same column, which may also be NULL.
  public static func nullable(_ type: ColumnType) -> ColumnType { ColumnType(type.base, isNullable: true) }

  /// The form that a date has in its column.
  public enum DateFormat: String, Sendable, Hashable, Codable, CaseIterable {
    /// `REAL` seconds since 1970 with their fraction: the default, and the fastest. It is as fine as a `Double` of that
    /// size, a quarter of a microsecond in our days; a `Date`, which counts from 2001, may be finer in its last bit.
    case unixSecondsWithFraction
    /// `INTEGER` seconds since 1970. A fraction of a second is refused, not cut off; in a comparison it counts.
    case unixSeconds
    /// `INTEGER` milliseconds since 1970. Finer fractions are rounded to the millisecond.
    case unixMilliseconds
    /// `TEXT` like `2013-01-01T06:00:00.000Z`: UTC, always with milliseconds, so that text order is time order. Finer
    /// fractions are rounded to the millisecond, years are 0000 to 9999 of the Gregorian calendar. Read are offsets too,
    /// any fraction, and what SQLite's `datetime()` writes.
    case iso8601
  }

  /// The storage class that values have in this column.
  @usableFromInline
  var storageClass: StorageClass {
    switch base {
    case .integer, .boolean: .integer
    case .real: .real
    case .text: .text
    case .blob: .blob
    case .date(let format):
      switch format {
      case .unixSecondsWithFraction: .real
      case .unixSeconds, .unixMilliseconds: .integer
      case .iso8601: .text
      }
    }
  }

  /// How CREATE TABLE spells it; the names are those that STRICT tables allow.
  var sqlName: StaticString {
    switch storageClass {
    case .integer: "INTEGER"
    case .real: "REAL"
    case .text: "TEXT"
    case .blob, .null: "BLOB"
    }
  }

  /// How an error spells it.
  @usableFromInline
  var name: String {
    switch base {
    case .boolean: "INTEGER 0 or 1"
    case .date(let format): "\(storageClass) (date as \(format.rawValue))"
    case .integer, .real, .text, .blob: "\(storageClass)"
    }
  }

  /// A bit for each class whose values may be stored here whatever they are; see ``BoundValue/classBit``.
  var accepted: UInt8 {
    switch base {
    case .integer, .date(.unixSeconds), .date(.unixMilliseconds): 1 | 2
    case .boolean: 1
    case .real, .date(.unixSecondsWithFraction): 1 | 4
    case .text, .date(.iso8601): 1 | 8
    case .blob: 1 | 16
    }
  }

  /// Whether a value may be stored here as it is.
  func stores(_ value: DatabaseValue) -> Bool {
    if case .integer(let integer) = value { return stores(integer) }
    return value == .null || value.storageClass == storageClass
  }

  func stores(_ integer: Int64) -> Bool {
    switch base {
    case .integer: true
    case .boolean: integer == 0 || integer == 1
    case .real, .date(.unixSecondsWithFraction): Double(exactly: integer) != nil
    case .date(.unixSeconds), .date(.unixMilliseconds): true
    case .text, .blob, .date(.iso8601): false
    }
  }

  /// Whether a value that is compared has another form here than one that is stored.
  var comparesInAnotherForm: Bool { base == .date(.unixSeconds) }

  /// Whether values of a column of another type may be stored here as they are.
  func takesValues(of other: ColumnType) -> Bool {
    switch (base, other.base) {
    case (.real, .integer), (.real, .boolean), (.integer, .boolean): true
    default: base == other.base
    }
  }

  /// What is said of a value that this column does not store.
  func mismatch(_ storageClass: StorageClass) -> SqlError {
    let own = self.storageClass
    // The class fits, or would with another number.
    let isNumber = storageClass == .integer && (own == .integer || own == .real)
    let found =
      !isNumber ? "\(storageClass)" : own == .integer ? "another INTEGER" : "an INTEGER that no Double holds exactly"
    return .encoding(expected: name, found: found)
  }

  /// Whether a value of that class may be compared with this column: numbers of either class with numbers.
  func compares(with storageClass: StorageClass) -> Bool {
    switch (self.storageClass, storageClass) {
    case (_, .null), (.integer, .real), (.real, .integer): true
    case (let own, let other): own == other
    }
  }
}
