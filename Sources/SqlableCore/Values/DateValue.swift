import FoundationEssentials

/// Stored in the column's format, by default as `REAL` seconds since 1970; see ``ColumnType/DateFormat``.
extension Date: SqlValue {
  public static var columnType: ColumnType { .date }

  public var databaseValue: DatabaseValue {
    get throws { try timeIntervalSince1970.databaseValue }
  }

  public func databaseValue(in type: ColumnType) throws -> DatabaseValue {
    guard case .date(let format) = type.base else {
      return switch type.storageClass {
      case _ where type.scale != nil: throw type.mismatch(.real)
      case .integer: try integerStorage(.unixSeconds)
      case .text: try textStorage(.iso8601)
      default: try databaseValue
      }
    }
    return switch format {
    case .unixSecondsWithFraction: try databaseValue
    case .unixSeconds, .unixMilliseconds: try integerStorage(format)
    case .iso8601, .iso8601AssumingUTC, .sqliteText: try textStorage(format)
    }
  }

  public init(databaseValue: DatabaseValue) throws {
    self = try Date(databaseValue, in: .date)
  }

  @inlinable
  public func write(to cell: inout WriteCell) throws {
    if cell.type.isRealDate {
      try cell.set(timeIntervalSince1970)
    } else {
      try writeInOtherForm(to: &cell)
    }
  }

  @usableFromInline
  func writeInOtherForm(to cell: inout WriteCell) throws {
    guard let format = cell.type.dateFormat, format.isText else { return try cell.set(databaseValue(in: cell.type)) }
    try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: ISO8601Date.capacity) { bytes in
      let count = ISO8601Date.write(
        secondsSince1970: timeIntervalSince1970, inSQLitesForm: format == .sqliteText, to: bytes)
      guard count > 0 else { throw Date.unwritable }
      cell.set(converted: UnsafeBufferPointer(rebasing: bytes[..<count]))
    }
  }

  @inlinable
  public static func read(from cell: ReadCell) throws -> Date {
    if cell.type.isRealDate { return Date(timeIntervalSince1970: try cell.real()) }
    if let seconds = cell.isoSeconds { return Date(timeIntervalSince1970: seconds) }
    return try Date(cell.databaseValue(), in: cell.type)
  }

  @usableFromInline
  init(_ storage: DatabaseValue, in type: ColumnType) throws {
    switch storage {
    case .text(let text):
      let assumesUTC = type.dateFormat?.assumesUTC == true
      guard let seconds = ISO8601Date.secondsSince1970(text, assumingUTC: assumesUTC) else {
        let expected = assumesUTC ? "a date in ISO 8601" : "a date in ISO 8601 with a zone"
        throw SqlError.decoding(expected: expected, found: "TEXT in another format")
      }
      self = Date(timeIntervalSince1970: seconds)
    case .integer(let integer) where type.isMilliseconds:
      // Dividing into quotient and remainder keeps all digits of a distant date.
      let (seconds, milliseconds) = integer.quotientAndRemainder(dividingBy: 1000)
      self = Date(timeIntervalSince1970: Double(seconds) + Double(milliseconds) / 1000)
    case .real where type.isMilliseconds:
      // The number is either milliseconds from a computation, or the seconds of a date that was bound without a column.
      // A wrong guess would change the date by a factor of 1,000.
      throw SqlError.decoding(expected: type.name, found: "REAL")
    default: self = Date(timeIntervalSince1970: try Double(databaseValue: storage))
    }
  }

  private func integerStorage(_ format: ColumnType.DateFormat) throws -> DatabaseValue {
    let number = format == .unixMilliseconds ? (timeIntervalSince1970 * 1000).rounded() : timeIntervalSince1970
    guard let integer = Int64(exactly: number) else {
      throw SqlError.encoding(
        expected: "a date as \(format.rawValue)",
        found: number.isFinite ? "a date with a fraction of a second, or out of range" : "a date that is not finite")
    }
    return .integer(integer)
  }

  private func textStorage(_ format: ColumnType.DateFormat) throws -> DatabaseValue {
    let isSQLite = format == .sqliteText
    guard let text = ISO8601Date.text(secondsSince1970: timeIntervalSince1970, inSQLitesForm: isSQLite)
    else { throw Date.unwritable }
    return .text(text)
  }

  private static var unwritable: SqlError {
    .encoding(expected: "a date of the years 0000 to 9999", found: "another date")
  }
}

extension ReadCell {
  /// The seconds since 1970 of a text that is a date; nil for other values.
  @usableFromInline
  var isoSeconds: Double? {
    guard let bytes = borrowedTextBytes else { return nil }
    // A text in a canonical format is in UTC, whatever the format of the column.
    return ISO8601Date.secondsSince1970(ofCanonicalForm: bytes)
      ?? ISO8601Date.secondsSince1970(bytes, assumingUTC: type.dateFormat?.assumesUTC == true)
  }
}

extension ColumnType {
  /// True if dates are stored as REAL seconds, as in the default format and in plain `.real` columns.
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
