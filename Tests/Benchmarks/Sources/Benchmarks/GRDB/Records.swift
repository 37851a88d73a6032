#if GRDB
import Foundation
import GRDB

/// How the dates of a table are stored.
protocol DateForm {
  static var table: String { get }
  static var decoding: DatabaseDateDecodingStrategy { get }
  static func date(_ row: Row, at index: Int) -> Date
  static func date(_ row: Row, _ name: String) -> Date
}

/// Seconds since 1970, as all the others store them.
enum RealDates: DateForm {
  static let table = "mixed"
  static let decoding = DatabaseDateDecodingStrategy.timeIntervalSince1970

  static func date(_ row: Row, at index: Int) -> Date { Date(timeIntervalSince1970: row[index]) }
  static func date(_ row: Row, _ name: String) -> Date { Date(timeIntervalSince1970: row[name]) }
}

/// The text that is GRDB's default.
enum TextDates: DateForm {
  static let table = "mixed_text"
  static let decoding = DatabaseDateDecodingStrategy.deferredToDate

  static func date(_ row: Row, at index: Int) -> Date { row[index] }
  static func date(_ row: Row, _ name: String) -> Date { row[name] }
}

/// The mixed row in one of the forms that GRDB knows.
protocol MixedRecord: FetchableRecord, PersistableRecord, Digestible {
  var row: MixedRow { get set }
  init(_ row: MixedRow)
}

extension MixedRecord {
  @inline(__always)
  var digest: UInt64 { row.digest }

  func encode(to container: inout PersistenceContainer) {
    container["id"] = row.id
    container["name"] = row.name
    container["bio"] = row.bio
    container["price"] = row.price
    container["active"] = row.active
    container["nick"] = row.nick
    container["at"] = row.at.timeIntervalSince1970
  }
}

struct ByIndex<Dates: DateForm>: MixedRecord {
  var row: MixedRow

  static var databaseTableName: String { Dates.table }

  init(_ row: MixedRow) { self.row = row }

  init(row: Row) {
    self.row = MixedRow(
      id: row[0], name: row[1], bio: row[2], price: row[3], active: row[4], nick: row[5], at: Dates.date(row, at: 6))
  }
}

struct ByName<Dates: DateForm>: MixedRecord {
  var row: MixedRow

  static var databaseTableName: String { Dates.table }

  init(_ row: MixedRow) { self.row = row }

  init(row: Row) {
    self.row = MixedRow(
      id: row["id"], name: row["name"], bio: row["bio"], price: row["price"], active: row["active"], nick: row["nick"],
      at: Dates.date(row, "at"))
  }
}

struct ByCodable<Dates: DateForm>: FetchableRecord, PersistableRecord, Codable, Digestible {
  var row: MixedRow

  static var databaseTableName: String { Dates.table }

  static func databaseDateDecodingStrategy(for column: String) -> DatabaseDateDecodingStrategy { Dates.decoding }

  static func databaseDateEncodingStrategy(for column: String) -> DatabaseDateEncodingStrategy {
    .timeIntervalSince1970
  }

  init(_ row: MixedRow) { self.row = row }

  init(from decoder: any Decoder) throws { row = try MixedRow(from: decoder) }

  func encode(to encoder: any Encoder) throws { try row.encode(to: encoder) }

  @inline(__always)
  var digest: UInt64 { row.digest }
}

struct IntegersByIndex: FetchableRecord, TableRecord, Digestible {
  let row: Integers

  static let databaseTableName = "ints"

  init(row: Row) {
    self.row = Integers(
      a: row[0], b: row[1], c: row[2], d: row[3], e: row[4], f: row[5], g: row[6], h: row[7], i: row[8], j: row[9])
  }

  @inline(__always)
  var digest: UInt64 { row.digest }
}

struct IntegersByName: FetchableRecord, TableRecord, Digestible {
  let row: Integers

  static let databaseTableName = "ints"

  init(row: Row) {
    self.row = Integers(
      a: row["a"], b: row["b"], c: row["c"], d: row["d"], e: row["e"], f: row["f"], g: row["g"], h: row["h"],
      i: row["i"], j: row["j"])
  }

  @inline(__always)
  var digest: UInt64 { row.digest }
}

extension Integers: FetchableRecord, TableRecord {
  static var databaseTableName: String { "ints" }
}

struct LoanByIndex: FetchableRecord, Digestible {
  let loan: Loan

  init(row: Row) { loan = Loan(id: row[0], title: row[1], author: row[2], pages: row[3]) }

  @inline(__always)
  var digest: UInt64 { loan.digest }
}

struct LoanByName: FetchableRecord, Digestible {
  let loan: Loan

  init(row: Row) { loan = Loan(id: row["id"], title: row["title"], author: row["author"], pages: row["pages"]) }

  @inline(__always)
  var digest: UInt64 { loan.digest }
}

extension Loan: FetchableRecord {
  // The columns of the join are called as those of their tables, but for the author's name.
  static let grdbSQL = sql.replacingOccurrences(of: "author.name", with: "author.name AS author")
}

extension DocumentRow: FetchableRecord, TableRecord {
  static var databaseTableName: String { "document" }
}

extension AttachmentRow: FetchableRecord, PersistableRecord {
  static var databaseTableName: String { "attachment" }
}

struct AttachmentByIndex: FetchableRecord, TableRecord, Digestible {
  let row: AttachmentRow

  static let databaseTableName = "attachment"

  init(row: Row) { self.row = AttachmentRow(id: row[0], content: row[1]) }

  @inline(__always)
  var digest: UInt64 { row.digest }
}
#endif
