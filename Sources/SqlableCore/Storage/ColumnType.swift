/// The type of a column: the SQL type, and the way in which the column stores Swift values.
///
/// ```swift
/// static let at = Column("at", .date(.iso8601))            // "at" TEXT NOT NULL
/// static let color = Column("color", .nullable(.text))     // "color" TEXT
/// ```
public struct ColumnType: Sendable, Hashable {
  @usableFromInline package let base: Base
  /// True if the column can contain NULL.
  public let isNullable: Bool

  @usableFromInline
  package enum Base: Sendable, Hashable {
    case integer, real, text, blob, boolean
    case date(DateFormat)
    case decimal(scale: Int)
    /// Any value, for a column of a table without a model.
    case any

    /// All types except decimals. A column whose type is missing here could not have a default.
    static let unscaled: [Base] = [.integer, .real, .text, .blob, .boolean] + DateFormat.allCases.map(Base.date)
    package static let all: [Base] = unscaled + ColumnType.scales.map { .decimal(scale: $0) }
  }

  package init(_ base: Base, isNullable: Bool = false) {
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
  /// `true` and `false` as 1 and 0: `INTEGER`.
  public static let boolean = ColumnType(.boolean)
  /// Dates as seconds since 1970: `REAL`.
  public static let date = ColumnType(.date(.unixSecondsWithFraction))

  static let any = ColumnType(.any, isNullable: true)

  /// Dates in the given format.
  public static func date(_ format: DateFormat) -> ColumnType { ColumnType(.date(format)) }

  /// Decimals with a fixed number of digits after the point: `INTEGER`. SQLite stores the decimal without the point.
  ///
  /// ```swift
  /// static let price = column("price", Decimal.self, as: .decimal(scale: 2))     // 12.34 is stored as 1234
  /// ```
  ///
  /// The scale is 0 to 18; with another scale, every statement of the model throws `.misuse`. Storing throws
  /// `.encoding` if a decimal has more digits after the point, or if the stored integer would not fit into an `Int64`.
  /// A comparison accepts such a decimal.
  public static func decimal(scale: Int) -> ColumnType { ColumnType(.decimal(scale: scale)) }

  static let scales = 0...18

  package var scale: Int? { if case .decimal(let scale) = base { scale } else { nil } }

  /// The same type, with NULL allowed.
  public static func nullable(_ type: ColumnType) -> ColumnType { ColumnType(type.base, isNullable: true) }

  /// The storage format of a date.
  public enum DateFormat: String, Sendable, Hashable, Codable, CaseIterable {
    /// `REAL` seconds since 1970 with a fraction: the default, and the fastest format. For present dates, the precision
    /// of the `Double` is a quarter of a microsecond. The last bit of a `Date` can be lost, because a `Date` stores the
    /// seconds since 2001.
    case unixSecondsWithFraction
    /// `INTEGER` seconds since 1970. Storing a date with a fraction of a second throws, but comparing with such a date
    /// works.
    case unixSeconds
    /// `INTEGER` milliseconds since 1970, rounded to the millisecond.
    case unixMilliseconds
    /// `TEXT` like `2013-01-01T06:00:00.000Z`: UTC, always with milliseconds, so that text order is time order. Dates
    /// are rounded to the millisecond, and years are 0000 to 9999 of the Gregorian calendar. Reading also accepts text
    /// with a UTC offset, with any fraction of a second or without seconds, and the output of SQLite's `datetime()`.
    /// Filters do not find dates in these other formats, because SQLite compares text.
    case iso8601
    /// Stored as `iso8601`. Reading also accepts text without a zone, as the time in UTC: `2013-01-01T06:00:00`, and
    /// `2013-01-01` as midnight. Use this format for columns of another program that writes UTC times without a zone,
    /// such as Python's `isoformat()`.
    case iso8601AssumingUTC
    /// `TEXT` like `2013-01-01 06:00:00.000`, SQLite's own date format: UTC, always with milliseconds, with the
    /// rounding and the years of `iso8601`. GRDB stores a `Date` in this format by default. Reading also accepts all
    /// texts that `iso8601AssumingUTC` reads, such as those of `datetime()` and `CURRENT_TIMESTAMP`. `datetime()` and
    /// `CURRENT_TIMESTAMP` write no milliseconds: their texts sort in time order, but are not equal to a stored date of
    /// the same moment.
    case sqliteText

    /// The format in which dates are written. Dates of two columns with the same written format can be compared.
    var written: DateFormat { self == .iso8601AssumingUTC ? .iso8601 : self }

    var isText: Bool { self == .iso8601 || self == .iso8601AssumingUTC || self == .sqliteText }

    /// The SQL around the arguments of a date function whose result is in this format.
    var function: (start: StaticString, end: StaticString) {
      switch self {
      case .iso8601, .iso8601AssumingUTC: ("strftime('%Y-%m-%dT%H:%M:%fZ', ", ")")
      case .sqliteText: ("strftime('%Y-%m-%d %H:%M:%f', ", ")")
      // A Julian day is precise only to the millisecond.
      case .unixSecondsWithFraction: ("round((julianday(", ") - 2440587.5) * 86400.0, 3)")
      case .unixSeconds: ("CAST(strftime('%s', ", ") AS INTEGER)")
      case .unixMilliseconds: ("CAST(round((julianday(", ") - 2440587.5) * 86400000.0) AS INTEGER)")
      }
    }

    /// True if text without a zone is read as the time in UTC.
    var assumesUTC: Bool { self == .iso8601AssumingUTC || self == .sqliteText }

    /// True if the column stores a number of seconds since 1970, with or without a fraction.
    var isInSeconds: Bool { self == .unixSecondsWithFraction || self == .unixSeconds }

    /// True if computed dates in this format, such as those of a registered function, can be compared with dates of the
    /// other format, and stored in the same column.
    func canMix(with other: DateFormat) -> Bool {
      written == other.written || (isInSeconds && other.isInSeconds)
    }
  }

  package var dateFormat: DateFormat? { if case .date(let format) = base { format } else { nil } }

  @usableFromInline
  package var storageClass: StorageClass {
    switch base {
    case .integer, .boolean, .decimal: .integer
    case .real: .real
    case .text: .text
    case .blob, .any: .blob
    case .date(let format):
      switch format {
      case .unixSecondsWithFraction: .real
      case .unixSeconds, .unixMilliseconds: .integer
      case .iso8601, .iso8601AssumingUTC, .sqliteText: .text
      }
    }
  }

  /// The type in CREATE TABLE. STRICT tables allow all these names.
  package var sqlName: StaticString {
    switch storageClass {
    case .integer: "INTEGER"
    case .real: "REAL"
    case .text: "TEXT"
    case .blob, .null: "BLOB"
    }
  }

  @usableFromInline
  package var name: String {
    switch base {
    case .boolean: "INTEGER 0 or 1"
    case .date(let format): "\(storageClass) (date as \(format.rawValue))"
    case .decimal(let scale): "a Decimal with \(scale) digits after the point"
    case .integer, .real, .text, .blob: "\(storageClass)"
    case .any: "any value"
    }
  }

  /// The storage classes whose values are always accepted, one bit each; see ``BoundValue/classBit``.
  var accepted: UInt8 {
    switch base {
    case .integer, .date(.unixSeconds), .date(.unixMilliseconds): 1 | 2
    // Integers need a check: a boolean must be 0 or 1, and in a decimal column the integer 5 could mean 5 or 0.05.
    case .boolean, .decimal: 1
    case .real, .date(.unixSecondsWithFraction): 1 | 4
    case .text, .date(.iso8601), .date(.iso8601AssumingUTC), .date(.sqliteText): 1 | 8
    case .blob: 1 | 16
    case .any: 1 | 2 | 4 | 8 | 16
    }
  }

  package func stores(_ value: DatabaseValue) -> Bool {
    if case .integer(let integer) = value { return stores(integer) }
    return value == .null || base == .any || value.storageClass == storageClass
  }

  func stores(_ integer: Int64) -> Bool {
    switch base {
    case .integer, .decimal, .any: true
    case .boolean: integer == 0 || integer == 1
    case .real, .date(.unixSecondsWithFraction): Double(exactly: integer) != nil
    case .date(.unixSeconds), .date(.unixMilliseconds): true
    case .text, .blob, .date(.iso8601), .date(.iso8601AssumingUTC), .date(.sqliteText): false
    }
  }

  /// True if a comparison can bind a value that the column would not store: a rounded decimal, or a fraction of a
  /// second.
  var comparesInAnotherForm: Bool { base == .date(.unixSeconds) || scale != nil }

  func takesValues(of other: ColumnType) -> Bool {
    switch (base, other.base) {
    // A column of type `any` can store decimals of any scale.
    case (.decimal, .any): false
    case (.real, .integer), (.real, .boolean), (.integer, .boolean), (.any, _), (_, .any): true
    case (.date(let format), .date(let another)): format.written == another.written
    default: base == other.base
    }
  }

  package func mismatch(_ storageClass: StorageClass) -> SqlError {
    if scale != nil { return .encoding(expected: name, found: "\(storageClass)") }
    let declared = self.storageClass
    // The column accepts the storage class, but can't store this number.
    let isNumber = storageClass == .integer && (declared == .integer || declared == .real)
    let actual =
      !isNumber
      ? "\(storageClass)"
      : declared == .integer ? "another INTEGER" : "an INTEGER that a Double can't represent exactly"
    return .encoding(expected: name, found: actual)
  }

  /// True if values of this class can be compared with the column. INTEGER and REAL can be compared with each other.
  package func compares(with storageClass: StorageClass) -> Bool {
    if base == .any { return true }
    return switch (self.storageClass, storageClass) {
    case (_, .null), (.integer, .real), (.real, .integer): true
    case (let declared, let other): declared == other
    }
  }
}
