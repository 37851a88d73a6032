#if ClusterNode
import CSqlableDqlite
import CSqlableSQLite
import Glibc
import Sqlable

/// A watch on a node's statements: interrupts statements that run for too long, and refuses pragmas that would end the
/// process.
///
/// dqlite runs one statement at a time, on the thread that also answers the other nodes, and never interrupts a
/// statement. An endless statement makes the cluster lose its leader, and then each following leader. dqlite opens its
/// connections in this process, so an automatic extension of SQLite reaches them. ``begin(limit:)`` installs the
/// extension.
///
/// A watch needs no lock: SQLite calls the progress handler and the authorizer on the thread that runs the connection's
/// statement.
final class StatementWatch {
  /// The maximum processor time of a statement, in nanoseconds. The last started node sets the value.
  private static let limit = LockedValue<(isInstalled: Bool, nanoseconds: Int64)>((false, 0))
  /// The number of SQLite's virtual machine steps between two checks; about a tenth of a millisecond.
  private static let steps: Int32 = 10_000
  /// The maximum time that is charged to a statement between two checks, in nanoseconds. A longer gap means that the
  /// statement waited for its client while other statements ran.
  private static let longestSlice: Int64 = 50_000_000
  /// The pragmas that change how a database is stored, with the values that dqlite sets itself.
  private static let storagePragmas = [
    "page_size": "4096", "journal_mode": "wal", "locking_mode": "normal", "wal_autocheckpoint": "0",
  ]
  /// The pragmas that are refused with any value. A checkpoint that dqlite did not start ends the process. The other
  /// pragmas are settings of the whole process.
  private static let refusedPragmas: Set = [
    "wal_checkpoint", "hard_heap_limit", "soft_heap_limit", "temp_store_directory",
    "data_store_directory",
  ]

  private typealias Observer = @Sendable (SqlError) -> Void
  private static let observers = LockedValue<(next: Int, all: [Int: Observer])>((0, [:]))

  private var statement: OpaquePointer?
  private var run: Int32 = 0
  /// The processor time of the current run, and the thread's processor time at the last check.
  private var (runTime, last): (Int64, Int64) = (0, 0)

  /// Watches all connections that dqlite opens in this process after this call.
  static func begin(limit nanoseconds: Int64) throws {
    let isFirst = limit.withLock { limit in
      defer { limit = (true, nanoseconds) }
      return !limit.isInstalled
    }
    guard isFirst else { return }
    let code = sqlable_auto_extension { connection, _, _ in
      if let connection, StatementWatch.isNodeConnection(connection) { StatementWatch.install(on: connection) }
      return SQLITE_OK
    }
    guard code == SQLITE_OK else {
      limit.withLock { $0.isInstalled = false }
      throw SqlError(.cannotOpen, message: "can't install the limits of statements in SQLite (code \(code))")
    }
  }

  /// Calls `body` with the error of each statement that is refused or interrupted, on the thread of the node. Returns a
  /// number for ``removeObserver(_:)``.
  static func observe(_ body: @escaping @Sendable (SqlError) -> Void) -> Int {
    observers.withLock { observers in
      observers.next += 1
      observers.all[observers.next] = body
      return observers.next
    }
  }

  static func removeObserver(_ number: Int) { observers.withLock { _ = $0.all.removeValue(forKey: number) } }

  private static func report(_ error: SqlError) {
    for body in observers.withLock({ Array($0.all.values) }) { body(error) }
  }

  /// True if dqlite opened the connection. Such a connection uses dqlite's own file system.
  private static func isNodeConnection(_ connection: OpaquePointer) -> Bool {
    var fileSystem: UnsafeMutablePointer<sqlite3_vfs>?
    guard sqlite3_file_control(connection, "main", SQLITE_FCNTL_VFS_POINTER, &fileSystem) == SQLITE_OK,
      let name = fileSystem?.pointee.zName
    else { return false }
    return String(cString: name).hasPrefix("dqlite")
  }

  private static func install(on connection: OpaquePointer) {
    let context = Unmanaged.passRetained(StatementWatch()).toOpaque()
    // SQLite releases the context together with the function when the connection is closed.
    let code = sqlite3_create_function_v2(
      connection, "sqlable_statement_watch", 0, SQLITE_UTF8 | SQLITE_DIRECTONLY, context,
      { context, _, _ in sqlite3_result_null(context) }, nil, nil,
      { context in if let context { Unmanaged<StatementWatch>.fromOpaque(context).release() } })
    // If the call fails, SQLite has already released the context.
    guard code == SQLITE_OK else { return }
    sqlite3_progress_handler(
      connection, steps,
      { context in
        guard let context else { return 0 }
        let watch = Unmanaged<StatementWatch>.fromOpaque(context).takeUnretainedValue()
        guard watch.isOverLimit else { return 0 }
        watch.reportTime()
        return 1
      }, context)
    Unmanaged<StatementWatch>.fromOpaque(context).takeUnretainedValue().connection = connection
    sqlite3_set_authorizer(
      connection,
      { _, action, name, argument, _, _ in
        guard action == SQLITE_PRAGMA, let name else { return SQLITE_OK }
        let (pragma, value) = (String(cString: name), argument.map { String(cString: $0) })
        guard !StatementWatch.allows(pragma, value) else { return SQLITE_OK }
        var error = SqlError.misuse(
          "a node does not allow this PRAGMA, because it affects the database files or the whole process")
        error.sql = "PRAGMA \(pragma)" + (value.map { " = \($0)" } ?? "")
        StatementWatch.report(error)
        return SQLITE_DENY
      }, nil)
  }

  private func reportTime() {
    let limit = Duration.nanoseconds(StatementWatch.limit.withLock { $0.nanoseconds })
    var error = SqlError(.interrupted, message: "the statement took more than \(limit) of processor time")
    error.sql = statement.flatMap { sqlite3_sql($0) }.map { String(cString: $0) }
    StatementWatch.report(error)
  }

  private static func allows(_ pragma: String, _ value: String?) -> Bool {
    let name = pragma.lowercased()
    if refusedPragmas.contains(name) { return false }
    guard let value, let required = storagePragmas[name] else { return true }
    return value.lowercased() == required
  }

  private var connection: OpaquePointer?

  private var isOverLimit: Bool {
    var statement = sqlite3_next_stmt(connection, nil)
    while let candidate = statement, sqlite3_stmt_busy(candidate) == 0 {
      statement = sqlite3_next_stmt(connection, candidate)
    }
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    let now = Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    defer { last = now }
    let run = statement.map { sqlite3_stmt_status($0, SQLITE_STMTSTATUS_RUN, 0) } ?? 0
    guard statement == self.statement, run == self.run else {
      (self.statement, self.run, runTime) = (statement, run, 0)
      return false
    }
    runTime += min(max(0, now - last), StatementWatch.longestSlice)
    return runTime > StatementWatch.limit.withLock { $0.nanoseconds }
  }
}
#endif
