import FoundationEssentials

/// Stored as its column says: `REAL` seconds since 1970 by default, see ``ColumnType/DateFormat``.
extension Date: SqlValue {
  public static var columnType: ColumnType { .date }

  public var sqlStorage: SqlStorage {
    get throws { try timeIntervalSince1970.sqlStorage }
  }

  public func sqlStorage(in type: ColumnType) throws -> SqlStorage {
    guard case .date(let format) = type.base else {
      return switch type.storageClass {
      case .integer: try integerStorage(.unixSeconds)
      case .text: try textStorage()
      default: try sqlStorage
      }
    }
    return switch format {
    case .unixSecondsWithFraction: try sqlStorage
    case .unixSeconds, .unixMilliseconds: try integerStorage(format)
    case .iso8601: try textStorage()
    }
  }

  public init(sqlStorage: SqlStorage) throws {
    self = try Date(sqlStorage, in: .date)
  }

  @inlinable
  public func write(to cell: inout WriteCell) throws {
    if cell.type.isRealDate {
      try cell.set(timeIntervalSince1970)
    } else {
      cell.set(try sqlStorage(in: cell.type))
    }
  }

  @inlinable
  public static func read(from cell: ReadCell) throws -> Date {
    if cell.type.isRealDate { return Date(timeIntervalSince1970: try cell.real()) }
    return try Date(cell.storage(), in: cell.type)
  }

  @usableFromInline
  init(_ storage: SqlStorage, in type: ColumnType) throws {
    switch storage {
    case .text(let text):
      guard let date = Date.parse(text) else {
        throw SqlError.decoding(expected: "a date in ISO 8601", found: "TEXT of another form")
      }
      self = date
    case .integer(let integer) where type.isMilliseconds:
      // Divided as a whole and a rest, so that no digit of a far date is lost.
      let (seconds, milliseconds) = integer.quotientAndRemainder(dividingBy: 1000)
      self = Date(timeIntervalSince1970: Double(seconds) + Double(milliseconds) / 1000)
    default: self = Date(timeIntervalSince1970: try Double(sqlStorage: storage))
    }
  }

  private func integerStorage(_ format: ColumnType.DateFormat) throws -> SqlStorage {
    let number = format == .unixMilliseconds ? (timeIntervalSince1970 * 1000).rounded() : timeIntervalSince1970
    guard let integer = Int64(exactly: number) else {
      throw SqlError.encoding(
        expected: "a date as \(format.rawValue)",
        found: number.isFinite ? "a date with a fraction of a second, or out of range" : "a date that is no number")
    }
    return .integer(integer)
  }

  private func textStorage() throws -> SqlStorage {
    // Years of other than four digits would sort wrongly as text, and parse as something else.
    guard timeIntervalSince1970 >= -62_167_219_200, timeIntervalSince1970 < 253_402_300_799.9995 else {
      throw SqlError.encoding(expected: "a date of the years 0000 to 9999", found: "another date")
    }
    return .text(formatted(Date.iso8601WithMilliseconds))
  }

  private static let iso8601 = Date.ISO8601FormatStyle()
  private static let iso8601WithMilliseconds = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
  private static let sqliteStyle = Date.ISO8601FormatStyle(dateTimeSeparator: .space)

  /// Reads `2013-01-01T06:00:00Z` with or without a fraction of a second, and what SQLite's `datetime()` writes.
  private static func parse(_ text: String) -> Date? {
    if let date = try? iso8601WithMilliseconds.parse(text) { return date }
    if let date = try? iso8601.parse(text) { return date }
    return try? sqliteStyle.parse(text + "Z")
  }
}

extension ColumnType {
  /// Whether dates are REAL seconds here: said of the default form, and of columns that say nothing about dates.
  @usableFromInline
  var isRealDate: Bool {
    switch base {
    case .date(let format): format == .unixSecondsWithFraction
    case .real: true
    default: false
    }
  }

  fileprivate var isMilliseconds: Bool { base == .date(.unixMilliseconds) }
}
