import Foundation
import Sqlable

/// A summary of a column's values: storage classes, ranges and dates.
struct ColumnProfile {
  private(set) var hasNull = false
  private(set) var integers: ClosedRange<Int64>?
  private(set) var reals: ClosedRange<Double>?
  private(set) var dates = TextDates()
  private(set) var classes: Set<StorageClass> = []
  /// True if the column has an integer that no `Double` represents exactly.
  private(set) var hasInexact = false
  /// True if the column has text that is not UTF-8.
  private(set) var hasBrokenText = false

  /// The result of parsing a column's texts as dates.
  struct TextDates {
    /// True if the library can parse each text as a date.
    fileprivate(set) var areDates = true
    /// True if no text has a zone, as in SQLite's form: `2013-01-01 06:00:00`.
    private var haveNoZone = true
    /// The date formats in which the column would write each date exactly as its stored text.
    private var written: Set<ColumnType.DateFormat> = [.iso8601, .sqliteText]

    /// The date format of a column with these texts: SQLite's text format if no text has a zone, otherwise ISO 8601.
    var format: ColumnType.DateFormat { haveNoZone ? .sqliteText : .iso8601 }

    /// True if a column in `format` would write each date exactly as its stored text.
    var haveWrittenForm: Bool { written.contains(format) }

    fileprivate mutating func add(_ text: String) {
      // Writing the date again would lose a fraction finer than a millisecond.
      let fraction = text.utf8.drop { $0 != UInt8(ascii: ".") }.dropFirst().prefix { (48...57).contains($0) }
      guard fraction.count <= 3, let date = try? Date(databaseValue: .text(text)) else {
        areDates = false
        return
      }
      // Without a zone, only digits, colons and a point follow the day and a blank.
      if !text.utf8.dropFirst(11).allSatisfy({ (46...58).contains($0) }) { haveNoZone = false }
      written = written.filter { (try? date.databaseValue(in: .date($0))) == .text(text) }
    }
  }

  fileprivate mutating func add(_ content: StoredContent) {
    switch content.value {
    case .null: hasNull = true
    case .integer(let integer):
      classes.insert(.integer)
      integers = min(integers?.lowerBound ?? integer, integer)...max(integers?.upperBound ?? integer, integer)
      if Double(exactly: integer) == nil { hasInexact = true }
    case .real(let real):
      classes.insert(.real)
      reals = min(reals?.lowerBound ?? real, real)...max(reals?.upperBound ?? real, real)
    case .text(let text):
      classes.insert(.text)
      if dates.areDates { dates.add(text) }
    case .blob: classes.insert(.blob)
    case nil:
      classes.insert(.text)
      hasBrokenText = true
    }
  }
}

private struct StoredContent: SqlValue {
  static var columnType: ColumnType { .blob }

  /// The value, without the bytes of a BLOB; nil if the text is not UTF-8.
  let value: DatabaseValue?

  var databaseValue: DatabaseValue { value ?? .null }

  init(databaseValue: DatabaseValue) { value = databaseValue }

  private init(text: String?) { value = text.map { .text($0) } }

  static func read(from cell: ReadCell) throws -> StoredContent {
    switch cell.storageClass {
    case .blob: StoredContent(databaseValue: .blob(Data()))
    case .text: StoredContent(text: try? cell.text())
    default: StoredContent(databaseValue: try cell.databaseValue())
    }
  }
}

extension SqliteDatabase {
  /// Reads a table or view once. Returns a profile of each column. `sample` is the maximum number of rows to read; nil
  /// for all rows.
  func profiles(of columns: [String], in table: String, sample: Int?) throws -> [ColumnProfile] {
    var profiles = columns.map { _ in ColumnProfile() }
    guard !columns.isEmpty else { return profiles }
    let names = columns.map(\.quotedName).joined(separator: ", ")
    let limit = sample.map { " LIMIT \($0)" } ?? ""
    try query(SQL(verbatim: "SELECT \(names) FROM main.\(table.quotedName)\(limit)")) { row in
      for position in profiles.indices { profiles[position].add(try row.get(at: position, as: StoredContent.self)) }
    }
    return profiles
  }
}
