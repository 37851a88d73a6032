import CSqlableSQLite
import Glibc

/// The features of this process's SQLite library.
package enum Library {
  static let version = String(cString: sqlite3_libversion())
  /// The version as one number: 3,040,001 for 3.40.1.
  package static let versionNumber = Int(sqlite3_libversion_number())
  /// The minimum version: the first version that reports the state of a transaction.
  private static let leastVersionNumber = 3_034_000

  static func check() throws {
    guard versionNumber < leastVersionNumber else { return }
    throw SqlError.misuse(needed(for: "this library", since: 34))
  }

  /// Returns the message that a feature needs SQLite 3.x or later.
  static func needed(for feature: String, since minor: Int) -> String {
    "\(feature) needs SQLite 3.\(minor) or later; this is \(version)"
  }

  /// The version of SQLCipher, such as `4.6.1 community`; nil if this SQLite is not SQLCipher.
  static let cipherVersion: String? = ask("PRAGMA cipher_version") { row in
    sqlite3_column_text(row, 0).map { String(cString: $0) }
  }

  static let hasReturning = versionNumber >= 3_035_000
  /// True if several connections can share an in-memory database without a shared cache.
  static let sharesMemory = versionNumber >= 3_036_000
  /// True if ADD COLUMN checks existing rows against the constraints of the new column.
  package static let checksAddedColumns = versionNumber >= 3_037_000
  /// True if a DELETE of all rows of a WITHOUT ROWID table adds these rows to `changes`: true in 3.40, false in 3.34.
  static let countsClearedRows = versionNumber >= 3_040_000

  /// The functions of the pre-update hook; nil if this SQLite was built without the hook.
  static let preupdate: Preupdate? = {
    guard let hook = symbol("sqlite3_preupdate_hook"), let old = symbol("sqlite3_preupdate_old"),
      let new = symbol("sqlite3_preupdate_new")
    else { return nil }
    return Preupdate(
      hook: unsafeBitCast(hook, to: sqlable_preupdate_hook.self),
      old: unsafeBitCast(old, to: sqlable_preupdate_value.self),
      new: unsafeBitCast(new, to: sqlable_preupdate_value.self))
  }()

  struct Preupdate: Sendable {
    let hook: sqlable_preupdate_hook
    let old: sqlable_preupdate_value
    let new: sqlable_preupdate_value
  }

  /// The function that returns the table of a result column; nil if this SQLite was built without the function.
  static let columnTableName: sqlable_column_text? = symbol("sqlite3_column_table_name").map {
    unsafeBitCast($0, to: sqlable_column_text.self)
  }

  /// The function that returns the offset of an error in the SQL; nil before 3.38.
  static let errorOffset: sqlable_error_offset? = symbol("sqlite3_error_offset").map {
    unsafeBitCast($0, to: sqlable_error_offset.self)
  }

  /// The function that counts the rows that the latest statement changed. Before SQLite 3.37 the count has 32 bits.
  static let changes: sqlable_count =
    symbol("sqlite3_changes64").map { unsafeBitCast($0, to: sqlable_count.self) }
    ?? { Int64(UInt32(bitPattern: sqlite3_changes($0))) }

  /// The function that counts the rows changed since the connection was opened: a 32-bit count before SQLite 3.37.
  static let totalChanges: sqlable_count =
    symbol("sqlite3_total_changes64").map { unsafeBitCast($0, to: sqlable_count.self) }
    ?? { Int64(UInt32(bitPattern: sqlite3_total_changes($0))) }

  /// The function that returns whether a transaction has read or written; nil before 3.34.
  static let transactionState: sqlable_transaction_state? = symbol("sqlite3_txn_state").map {
    unsafeBitCast($0, to: sqlable_transaction_state.self)
  }

  /// The distance in bytes between the values of two neighbouring columns, measured on a sample row. 0 if SQLite does
  /// not store the values in one array, or if memory ran out. With 0, reading is slower.
  ///
  /// The distance is used only for a row whose first and last values are at the expected distance.
  static let valueStride: Int =
    ask("SELECT 1, 'two', 3.5, NULL, x'05'") { row in
      let addresses = (0..<5).map { Int(bitPattern: sqlite3_column_value(row, $0)) }
      let strides = Set(zip(addresses, addresses.dropFirst()).map { $1 - $0 })
      guard strides.count == 1, let stride = strides.first, stride > 0 else { return nil }
      return stride
    } ?? 0

  /// The number of digits in SQLite's conversion of a REAL to TEXT: 15, or 17 if 0.1 + 0.2 differs from 0.3 as TEXT.
  static var realDigits: Int32 { digits.answer ?? 15 }
  private static let digits = Probe<Int32> {
    ask("SELECT CAST(0.1 + 0.2 AS TEXT)") { row in
      // SQLite prints 0.1 + 0.2 with 15 digits as "0.3", and with 17 digits as a longer text.
      sqlite3_column_text(row, 0) == nil ? nil : sqlite3_column_bytes(row, 0) > 3 ? 17 : 15
    }
  }

  /// Calls `body` with a new in-memory database; returns nil if memory runs out or `body` returns nil.
  static func ask<Answer>(_ body: (OpaquePointer) -> Answer?) -> Answer? {
    var handle: OpaquePointer?
    defer { sqlite3_close(handle) }
    MemoryStatistics.settle()
    guard sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK,
      let handle
    else { return nil }
    return body(handle)
  }

  private static func ask<Answer>(_ sql: String, _ body: (OpaquePointer) -> Answer?) -> Answer? {
    ask { handle in
      var statement: OpaquePointer?
      defer { sqlite3_finalize(statement) }
      guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement,
        sqlite3_step(statement) == SQLITE_ROW
      else { return nil }
      return body(statement)
    }
  }

  /// A test of this SQLite library, with a stored result. The test is retried if memory ran out.
  final class Probe<Answer: Sendable>: Sendable {
    private let known = LockedValue<Answer?>(nil)
    private let ask: @Sendable () -> Answer?

    init(_ ask: @escaping @Sendable () -> Answer?) { self.ask = ask }

    /// The result; nil if memory ran out.
    var answer: Answer? {
      known.withLock { known in
        if known == nil { known = ask() }
        return known
      }
    }
  }

  private static func symbol(_ name: String) -> UnsafeMutableRawPointer? {
    dlsym(nil, name)  // nil is RTLD_DEFAULT: the SQLite that this process has loaded
  }
}
