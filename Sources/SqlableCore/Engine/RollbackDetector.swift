import CSqlableSQLite
import Glibc

/// Detects whether SQLite rolled back a failed statement.
///
/// SQLite rolls back a failed statement, except for RAISE(FAIL) in a trigger, OR FAIL, and ON CONFLICT FAIL in a table,
/// which keep what it did before. Once a trigger or a cascade has written, neither result codes nor counts tell the
/// cases apart. But virtual tables that take part in a transaction are notified of every savepoint that is rolled back,
/// including those around single statements: `sqlable_undo_…` is an empty virtual table that counts them.
final class RollbackDetector {
  /// A random name per process: a table of that name in the file would be written to instead.
  private static let table = "sqlable_undo_" + String(UInt64.random(in: .min ... .max), radix: 36)

  private unowned let connection: Connection
  private let counter = Counter()
  private var isRegistered = false
  private var join: PreparedStatement?

  /// The number of savepoints rolled back, shared with SQLite's virtual tables, which live as long as the connection.
  final class Counter {
    @exclusivity(unchecked) fileprivate var rollbacks = 0

  }

  init(_ connection: Connection) { self.connection = connection }

  /// The number of savepoints rolled back in transactions that it joined.
  var rollbacks: Int { counter.rollbacks }

  /// Joins the open transaction; once per transaction is enough. Returns false if the write lock is not available: then
  /// the statement to be watched can't change the `main` database either.
  func joinTransaction() throws -> Bool {
    if !isRegistered {
      let code = sqlite3_create_module_v2(
        connection.handle, RollbackDetector.table, RollbackDetector.module, Unmanaged.passRetained(counter).toOpaque()
      ) { counter in
        if let counter { Unmanaged<Counter>.fromOpaque(counter).release() }
      }
      guard code == SQLITE_OK else { throw connection.error(code, sql: nil) }
      isRegistered = true
    }
    // A DELETE of no rows: an INSERT would change last_insert_rowid().
    var text = "DELETE FROM main.\(RollbackDetector.table)"
    let statement = try join ?? text.withUTF8 { try connection.compile($0) }
    join = statement
    defer { statement.reset() }
    do { _ = try statement.step() } catch let error as SqlError where error.kind == .busy || error.kind == .readOnly {
      return false
    }
    return true
  }

  /// Call before the connection closes.
  func close() { join = nil }

  // MARK: The module

  /// The table as SQLite sees it: SQLite's header first, our fields after it.
  private struct Table {
    var base = sqlite3_vtab()
    var counter: Unmanaged<Counter>?
  }

  // Written once, then only read, by SQLite. It must stay at one address while any connection lives.
  nonisolated(unsafe) private static let module: UnsafePointer<sqlite3_module> = {
    var module = sqlite3_module()
    // Version 2 has savepoints. Without xCreate the module is eponymous-only.
    module.iVersion = 2
    module.xConnect = { database, counter, _, _, table, _ in
      let code = sqlite3_declare_vtab(database, "CREATE TABLE x(value)")
      guard code == SQLITE_OK, let counter else { return code }
      let new = UnsafeMutablePointer<Table>.allocate(capacity: 1)
      new.initialize(to: Table(counter: Unmanaged<Counter>.fromOpaque(counter)))
      _ = new.pointee.counter?.retain()
      table?.pointee = UnsafeMutableRawPointer(new).assumingMemoryBound(to: sqlite3_vtab.self)
      return SQLITE_OK
    }
    module.xDisconnect = { base in
      guard let base else { return SQLITE_OK }
      let table = UnsafeMutableRawPointer(base).assumingMemoryBound(to: Table.self)
      table.pointee.counter?.release()
      table.deallocate()
      return SQLITE_OK
    }
    module.xBestIndex = { _, _ in SQLITE_OK }
    module.xOpen = { _, cursor in
      let new = UnsafeMutablePointer<sqlite3_vtab_cursor>.allocate(capacity: 1)
      new.initialize(to: sqlite3_vtab_cursor())
      cursor?.pointee = new
      return SQLITE_OK
    }
    module.xClose = { cursor in
      cursor?.deallocate()
      return SQLITE_OK
    }
    module.xFilter = { _, _, _, _, _ in SQLITE_OK }
    module.xNext = { _ in SQLITE_OK }
    module.xEof = { _ in 1 }
    module.xColumn = { _, context, _ in
      sqlite3_result_null(context)
      return SQLITE_OK
    }
    module.xRowid = { _, _ in SQLITE_OK }
    // Without it SQLite would treat the table as read-only.
    module.xUpdate = { _, _, _, _ in SQLITE_READONLY }
    // Without it the table would not take part in transactions.
    module.xBegin = { _ in SQLITE_OK }
    module.xSync = { _ in SQLITE_OK }
    module.xCommit = { _ in SQLITE_OK }
    module.xRollback = { _ in SQLITE_OK }
    module.xSavepoint = { _, _ in SQLITE_OK }
    module.xRelease = { _, _ in SQLITE_OK }
    module.xRollbackTo = { base, _ in
      guard let base else { return SQLITE_OK }
      let table = UnsafeMutableRawPointer(base).assumingMemoryBound(to: Table.self)
      table.pointee.counter?._withUnsafeGuaranteedRef { $0.rollbacks += 1 }
      return SQLITE_OK
    }
    let stored = UnsafeMutablePointer<sqlite3_module>.allocate(capacity: 1)
    stored.initialize(to: module)
    return UnsafePointer(stored)
  }()
}

extension Connection {
  /// True if a failed statement may keep what it did before: true if any SQL of the schema contains the word FAIL,
  /// without which that can't be declared, or if a database is attached, whose schema others can change unnoticed.
  ///
  /// A column `failed_at` counts too; then statements are watched, and the detector decides.
  func mayKeepFailedRows() throws -> Bool {
    if try rows("PRAGMA database_list").contains(where: { $0[1] != "main" && $0[1] != "temp" }) { return true }
    let texts = try rows("SELECT sql FROM main.sqlite_master UNION ALL SELECT sql FROM temp.sqlite_master")
    return texts.contains { $0[0].utf8.containsFail }
  }
}

extension Collection<UInt8> {
  /// True if it contains the letters FAIL, in upper or lower case.
  var containsFail: Bool {
    var rest = self[...]
    while let start = rest.firstIndex(where: { $0 | 0x20 == UInt8(ascii: "f") }) {
      rest = rest[start...]
      if rest.prefix(4).elementsEqual("fail".utf8, by: { $0 | 0x20 == $1 }) { return true }
      rest = rest.dropFirst()
    }
    return false
  }
}
