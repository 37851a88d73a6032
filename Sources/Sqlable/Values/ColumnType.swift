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
  public enum DateFormat: String, Sendable, Hashable, Codable {
    /// `REAL` seconds since 1970 with their fraction: the default, and the fastest.
    case unixSecondsWithFraction
    /// `INTEGER` seconds since 1970. A fraction of a second is refused, not cut off.
    case unixSeconds
    /// `INTEGER` milliseconds since 1970. Finer fractions are rounded to the millisecond.
    case unixMilliseconds
    /// `TEXT` like `2013-01-01T06:00:00.000Z`: UTC, always with milliseconds, so that text order is time order.
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
    default: "\(storageClass)"
    }
  }

  /// Whether a value of that class may be stored here.
  ///
  /// NULL is left to the NOT NULL constraint, which names table and column. An integer becomes a REAL without loss up to
  /// 2^53, which `Double` conversions keep to.
  @inlinable
  func stores(_ storageClass: StorageClass) -> Bool {
    let own = self.storageClass
    return storageClass == own || storageClass == .null || (own == .real && storageClass == .integer)
  }

  /// Whether a value of that class may be compared with this column: numbers of either class with numbers.
  func compares(with storageClass: StorageClass) -> Bool {
    switch (self.storageClass, storageClass) {
    case (_, .null), (.integer, .real), (.real, .integer): true
    case (let own, let other): own == other
    }
  }
}
