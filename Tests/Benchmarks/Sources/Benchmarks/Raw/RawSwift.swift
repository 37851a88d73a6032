import CBaseline
import CSQLite3
import Foundation

/// The same work hand-written against the C API: prepared once, bound, stepped, read by position, unchecked.
final class RawSwift {
  let db: OpaquePointer

  struct Failure: Error, CustomStringConvertible {
    let code: Int32
    let message: String

    var description: String { "SQLite gave \(code): \(message)" }
  }

  init(path: String) throws {
    var handle: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    let code = sqlite3_open_v2(path, &handle, flags, nil)
    guard code == SQLITE_OK, let handle else { throw Failure(code: code, message: path) }
    db = handle
    try execute(Fixture.pragmas)
  }

  deinit { sqlite3_close(db) }

  func execute(_ sql: String) throws { try check(sqlite3_exec(db, sql, nil, nil, nil)) }

  func prepare(_ sql: String) throws -> OpaquePointer {
    var statement: OpaquePointer?
    try check(sqlite3_prepare_v3(db, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil))
    guard let statement else { throw Failure(code: SQLITE_MISUSE, message: "no statement") }
    return statement
  }

  private func check(_ code: Int32) throws {
    guard code == SQLITE_OK else { throw Failure(code: code, message: String(cString: sqlite3_errmsg(db))) }
  }

  /// Calls `body` between BEGIN and COMMIT.
  func transaction<Result>(_ begin: String = "BEGIN", _ body: () throws -> Result) throws -> Result {
    try execute(begin)
    let result = try body()
    try execute("COMMIT")
    return result
  }

  /// Steps a statement that gives no row, and makes it ready for the next time.
  static func step(_ statement: OpaquePointer) throws {
    let code = sqlite3_step(statement)
    sqlite3_reset(statement)
    guard code == SQLITE_DONE else { throw Failure(code: code, message: "in a step") }
  }

  /// Reads all rows of a bound statement, and makes it ready for the next time.
  static func rows(_ statement: OpaquePointer, datesAreText: Bool = false) -> [MixedRow] {
    var rows: [MixedRow] = []
    while sqlite3_step(statement) == SQLITE_ROW { rows.append(mixed(statement, datesAreText: datesAreText)) }
    sqlite3_reset(statement)
    return rows
  }

  // MARK: - Columns and parameters

  static func text(_ statement: OpaquePointer, _ column: Int32) -> String {
    String(
      decoding: UnsafeBufferPointer(
        start: sqlite3_column_text(statement, column), count: Int(sqlite3_column_bytes(statement, column))),
      as: UTF8.self)
  }

  static func blob(_ statement: OpaquePointer, _ column: Int32) -> Data {
    guard let bytes = sqlite3_column_blob(statement, column) else { return Data() }
    return Data(bytes: bytes, count: Int(sqlite3_column_bytes(statement, column)))
  }

  static let mixedColumns = "id, name, bio, price, active, nick, at"

  @inline(__always)
  static func mixed(_ statement: OpaquePointer, datesAreText: Bool = false) -> MixedRow {
    MixedRow(
      id: Int(sqlite3_column_int64(statement, 0)), name: text(statement, 1), bio: text(statement, 2),
      price: sqlite3_column_double(statement, 3), active: sqlite3_column_int64(statement, 4) != 0,
      nick: sqlite3_column_type(statement, 5) == SQLITE_NULL ? nil : text(statement, 5),
      at: Date(
        timeIntervalSince1970: datesAreText
          ? baseline_date(sqlite3_column_text(statement, 6)) : sqlite3_column_double(statement, 6)))
  }

  static func bind(_ text: String, _ statement: OpaquePointer, _ index: Int32) {
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    var text = text
    text.withUTF8 { utf8 in
      utf8.withMemoryRebound(to: CChar.self) { chars in
        _ = sqlite3_bind_text(statement, index, chars.baseAddress, Int32(chars.count), transient)
      }
    }
  }

  static func bind(_ row: MixedRow, _ statement: OpaquePointer) {
    sqlite3_bind_int64(statement, 1, Int64(row.id))
    bind(row.name, statement, 2)
    bind(row.bio, statement, 3)
    sqlite3_bind_double(statement, 4, row.price)
    sqlite3_bind_int64(statement, 5, row.active ? 1 : 0)
    if let nick = row.nick { bind(nick, statement, 6) } else { sqlite3_bind_null(statement, 6) }
    sqlite3_bind_double(statement, 7, row.at.timeIntervalSince1970)
  }
}
