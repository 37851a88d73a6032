import CSqlableSQLite
import Glibc

/// What the SQLite that this process runs with can do, asked of it and not assumed.
enum Library {
  static let version = String(cString: sqlite3_libversion())
  /// The same as one number: 3,040,001 for 3.40.1.
  static let versionNumber = Int(sqlite3_libversion_number())
  /// The first that has all that can't be done without: the state of a transaction.
  private static let leastVersionNumber = 3_034_000

  /// Throws where this SQLite is too old.
  static func check() throws {
    guard versionNumber < leastVersionNumber else { return }
    throw SqlError.misuse(needed(for: "this library", since: 34))
  }

  /// Says that something needs SQLite 3.x or later.
  static func needed(for what: String, since minor: Int) -> String {
    "\(what) needs SQLite 3.\(minor) or later; this is \(version)"
  }

  /// Whether statements can return the rows that they change.
  static let hasReturning = versionNumber >= 3_035_000
  /// Whether several connections can share a database in memory without sharing their locks too.
  static let sharesMemory = versionNumber >= 3_036_000
  /// Whether ADD COLUMN holds the rows that are there against the checks of the new column.
  static let checksAddedColumns = versionNumber >= 3_037_000
  /// Whether a DELETE of all rows counts those of a table without rowid; 3.34 does not, 3.40 does.
  static let countsClearedRows = versionNumber >= 3_040_000

  /// The functions of the pre-update hook, or nil when this SQLite was built without it.
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

  /// Tells which table a column of a result comes from, or nil when this SQLite was built without it.
  static let columnTableName: sqlable_column_text? = symbol("sqlite3_column_table_name").map {
    unsafeBitCast($0, to: sqlable_column_text.self)
  }

  /// Tells where in a text SQLite found an error, or nil before 3.38.
  static let errorOffset: sqlable_error_offset? = symbol("sqlite3_error_offset").map {
    unsafeBitCast($0, to: sqlable_error_offset.self)
  }

  /// Counts rows past 2^31; before 3.37 there are counts of 32 bits only.
  static let changes: sqlable_count =
    symbol("sqlite3_changes64").map { unsafeBitCast($0, to: sqlable_count.self) } ?? { Int64(sqlite3_changes($0)) }

  /// Tells whether a transaction has read or written, or nil before 3.34.
  static let transactionState: sqlable_transaction_state? = symbol("sqlite3_txn_state").map {
    unsafeBitCast($0, to: sqlable_transaction_state.self)
  }

  /// How far apart SQLite's values of one row lie, asked of a row of its own; 0 when they don't lie in one array, or
  /// there was no memory to ask, which makes reading slower and nothing else.
  ///
  /// A value is found by this number only where the first and the last of a row lie as far apart as it says.
  static let valueStride: Int =
    ask("SELECT 1, 'two', 3.5, NULL, x'05'") { row in
      let addresses = (0..<5).map { Int(bitPattern: sqlite3_column_value(row, $0)) }
      let strides = Set(zip(addresses, addresses.dropFirst()).map { $1 - $0 })
      guard strides.count == 1, let stride = strides.first, stride > 0 else { return nil }
      return stride
    } ?? 0

  /// How many digits SQLite writes when it makes a text of a REAL: 15, or 17 where it tells 0.1 + 0.2 from 0.3.
  static var realDigits: Int32 { digits.answer ?? 15 }
  private static let digits = Probe<Int32> {
    ask("SELECT CAST(0.1 + 0.2 AS TEXT)") { row in
      // "0.3", or one digit for each of the 17.
      sqlite3_column_text(row, 0) == nil ? nil : sqlite3_column_bytes(row, 0) > 3 ? 17 : 15
    }
  }

  /// What a database of its own tells of this SQLite; nil where there is no memory for one, or `body` gives nil.
  static func ask<Answer>(_ body: (OpaquePointer) -> Answer?) -> Answer? {
    var handle: OpaquePointer?
    defer { sqlite3_close(handle) }
    MemoryStatistics.settle()
    guard sqlite3_open_v2(":memory:", &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK,
      let handle
    else { return nil }
    return body(handle)
  }

  /// What the first row of a query tells of this SQLite.
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

  /// A question about this SQLite, asked until there was memory enough to answer it.
  final class Probe<Answer: Sendable>: Sendable {
    private let known = Guarded<Answer?>(nil)
    private let ask: @Sendable () -> Answer?

    init(_ ask: @escaping @Sendable () -> Answer?) { self.ask = ask }

    /// Nil where there was not.
    var answer: Answer? {
      known.withLock { known in
        if known == nil { known = ask() }
        return known
      }
    }
  }

  private static func symbol(_ name: String) -> UnsafeMutableRawPointer? {
    dlsym(nil, name)  // nil is RTLD_DEFAULT: wherever this process has SQLite from
  }
}
