import CSqlableSQLite
import Glibc

/// Detects whether SQLite rolled back a failed statement.
///
/// SQLite normally rolls back a failed statement. RAISE(FAIL) in a trigger, OR FAIL, and ON CONFLICT FAIL in a table
/// keep the changes made before the failure. If a trigger or a cascade has written, neither result codes nor counts
/// distinguish the two cases. But for every rolled-back savepoint, SQLite calls `xRollbackTo` of each virtual table in
/// the transaction. The internal savepoint around a single statement is such a savepoint. `sqlable_undo_…` is an empty
/// virtual table that counts these calls.
final class RollbackDetector {
  /// A random name for this process. If the file had a table of the same name, SQLite would use that table instead.
  private static let table = "sqlable_undo_" + String(UInt64.random(in: .min ... .max), radix: 36)

  private unowned let connection: Connection
  private let counter = Counter()
  private var isRegistered = false
  private var join: PreparedStatement?

  /// The number of rolled-back savepoints. The virtual tables of the connection share the counter.
  final class Counter {
    @exclusivity(unchecked) fileprivate var rollbacks = 0

  }

  init(_ connection: Connection) { self.connection = connection }

  var rollbacks: Int { counter.rollbacks }

  /// Joins the open transaction. One call per transaction is enough. Returns false if the write lock is not available,
  /// or if the database is read-only. In both cases, no statement of the transaction can change the `main` database.
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
    // Join the transaction with a DELETE that matches no rows, because an INSERT would change `last_insert_rowid()`.
    var text = "DELETE FROM main.\(RollbackDetector.table)"
    let statement = try join ?? text.withUTF8 { try connection.compile($0) }
    join = statement
    defer { statement.reset() }
    do { _ = try statement.step() } catch let error as SqlError where error.kind == .busy || error.kind == .readOnly {
      return false
    }
    return true
  }

  /// Releases the statement. Call before the connection closes.
  func close() { join = nil }

  // MARK: The module

  /// The virtual table's memory: SQLite's header, followed by our fields.
  private struct Table {
    var base = sqlite3_vtab()
    var counter: Unmanaged<Counter>?
  }

  // `nonisolated(unsafe)` is sound: the module is written once, then only read. The module outlives all connections.
  nonisolated(unsafe) private static let module: UnsafePointer<sqlite3_module> = {
    var module = sqlite3_module()
    // Version 2 supports savepoints. Without xCreate the module is eponymous-only.
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
    // Without xUpdate, SQLite would treat the table as read-only.
    module.xUpdate = { _, _, _, _ in SQLITE_READONLY }
    // Without xBegin, the table would not take part in transactions.
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
  /// True if a failed statement might keep the changes made before the failure. This is the case if the SQL of the
  /// schema contains the letters FAIL, because every declaration that keeps changes contains this word. It is also the
  /// case if a database is attached, because changes of that database's schema are not noticed.
  ///
  /// A column `failed_at` also makes the result true. The detector is then used unnecessarily, but its result is
  /// correct.
  func mayKeepFailedRows() throws -> Bool {
    if try rows("PRAGMA database_list").contains(where: { $0[1] != "main" && $0[1] != "temp" }) { return true }
    let texts = try rows("SELECT sql FROM main.sqlite_master UNION ALL SELECT sql FROM temp.sqlite_master")
    return texts.contains { $0[0].utf8.containsFail }
  }
}

extension Collection<UInt8> {
  /// True if the bytes contain the letters FAIL, in upper or lower case.
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
