import CSqlableSQLite
import Glibc

/// Sees whether SQLite has undone a statement that failed.
///
/// A failing statement undoes itself, but for RAISE(FAIL) in a trigger, OR FAIL, and ON CONFLICT FAIL in a table, which
/// keep what it did before. Neither result codes nor counts tell one from the other once a trigger or a cascade has
/// written. The virtual tables that take part in a transaction are told of every savepoint that is rolled back, those
/// around single statements included: `sqlable_undo_…` is one that holds nothing and counts them.
final class RollbackDetector {
  /// Another name in each process: a table of the name in the file would be the one that is written to.
  private static let table = "sqlable_undo_" + String(UInt64.random(in: .min ... .max), radix: 36)

  private unowned let connection: Connection
  private let counter = Counter()
  private var isRegistered = false
  private var join: PreparedStatement?

  /// How many savepoints were rolled back, shared with SQLite's tables, which go with the connection.
  final class Counter {
    @exclusivity(unchecked) fileprivate var rollbacks = 0

  }

  init(_ connection: Connection) { self.connection = connection }

  /// How many savepoints were rolled back since it takes part in the transaction.
  var rollbacks: Int { counter.rollbacks }

  /// Takes part in the open transaction; once in each is enough. False where the right to write can't be had: then the
  /// statement that is to be watched changes nothing in database "main" either.
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
    // A delete without rows: an insert would change what last_insert_rowid() gives.
    var text = "DELETE FROM main.\(RollbackDetector.table)"
    let statement = try join ?? text.withUTF8 { try connection.compile($0) }
    join = statement
    defer { statement.reset() }
    do { _ = try statement.step() } catch let error as SqlError where error.kind == .busy || error.kind == .readOnly {
      return false
    }
    return true
  }

  /// To be called before the connection closes.
  func close() { join = nil }

  // MARK: The module

  /// What SQLite sees as the table: its own header first, ours behind it.
  private struct Table {
    var base = sqlite3_vtab()
    var counter: Unmanaged<Counter>?
  }

  // Written once, then only read, by SQLite; it must stay at one address for as long as a connection lives.
  nonisolated(unsafe) private static let module: UnsafePointer<sqlite3_module> = {
    var module = sqlite3_module()
    // Version 2 has savepoints. No xCreate: the module is eponymous only.
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
    // Without it SQLite would take the table for one that can't be written to.
    module.xUpdate = { _, _, _, _ in SQLITE_READONLY }
    // Without it the table would take no part in transactions.
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
  /// Whether a statement that fails may keep what it did before: where some text of the schema holds the word FAIL,
  /// which can be written in no other way, and where a database is attached, whose schema others may change unseen.
  ///
  /// A column `failed_at` counts too: then the statement is watched, and it is the witness who tells.
  func mayKeepWhatFailed() throws -> Bool {
    var isPossible = false
    try eachRow("PRAGMA database_list") { row in
      if row[1] != "main", row[1] != "temp" { isPossible = true }
    }
    guard !isPossible else { return true }
    try eachRow("SELECT sql FROM main.sqlite_master UNION ALL SELECT sql FROM temp.sqlite_master") { row in
      isPossible = isPossible || row[0].utf8.holdsFail
    }
    return isPossible
  }
}

extension Collection<UInt8> {
  /// Whether the letters FAIL are in it, in whatever case.
  var holdsFail: Bool {
    var rest = self[...]
    while let start = rest.firstIndex(where: { $0 | 0x20 == UInt8(ascii: "f") }) {
      rest = rest[start...]
      if rest.prefix(4).elementsEqual("fail".utf8, by: { $0 | 0x20 == $1 }) { return true }
      rest = rest.dropFirst()
    }
    return false
  }
}
