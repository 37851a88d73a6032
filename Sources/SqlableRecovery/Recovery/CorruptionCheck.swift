import CSqlableSQLite
import Dispatch
import SqlableCore
import SqlablePool
import SqlableSchema

/// A check of a database on a separate connection.
struct CorruptionCheck {
  let path: String
  let label: String?
  let functions: FunctionRegistry
  let cipher: Cipher?

  /// Checks the database after an error that reported damage, and calls `body` with the report. No other connection can
  /// write during the check. With `exclusively`, no other connection can write during `body` either. If another
  /// connection holds a lock for more than five seconds, the check runs without a lock.
  ///
  /// If the file can't be checked, the report contains the reason. A changed key is not damage: `body` is not called.
  func notify(of damage: SqlError, exclusively: Bool, _ body: (CorruptionReport) -> Void) {
    var report = CorruptionReport()
    var check: ExclusiveCheck?
    do throws(SqlError) { check = try examine(&report, exclusively: exclusively) } catch {
      guard error.kind != .wrongKey else { return }
      report = CorruptionReport()
      report.checkError = error
    }
    report.error = damage
    defer { check?.end() }
    ExclusiveCheck.$current.withValue(check) { body(report) }
  }

  /// Checks the database, and returns a report of the damage. No other connection can write during the check.
  func report(after damage: SqlError?) throws -> CorruptionReport {
    var report = CorruptionReport()
    _ = try examine(&report, exclusively: false)
    report.error = damage
    return report
  }

  /// Fills the report. If `exclusively` is true, returns the check, whose connection remains open; otherwise returns
  /// nil. Throws if the file can't be checked.
  private func examine(_ report: inout CorruptionReport, exclusively: Bool) throws(SqlError) -> ExclusiveCheck? {
    do {
      let connection = try Connection(
        path: path, flags: SQLITE_OPEN_READWRITE, label: label, cacheCapacity: 0, cipher: cipher)
      connection.setBusyTimeout(milliseconds: 5_000)
      try functions.apply(to: connection)
      var refusal: SqlError?
      do { _ = try connection.pragma(exclusively ? "BEGIN EXCLUSIVE" : "BEGIN IMMEDIATE") } catch let error as SqlError
      {
        refusal = error
      }
      // Without this check's lock, a b-tree might change while its pages are read. A file that is too damaged to be
      // locked is checked anyway.
      if refusal?.reportsDamage ?? true { try checkPages(&report) }
      try checkContent(connection, &report)
      report.isExclusive = refusal == nil && exclusively
      if exclusively { return ExclusiveCheck(of: path, connection) }
      _ = try? connection.pragma("ROLLBACK")
      return nil
    } catch {
      var failure = error as? SqlError ?? SqlError(.other, message: "\(error)", label: label)
      failure.message = "can't check the file: \(failure.message)"
      failure.transaction = .none
      throw failure
    }
  }

  /// Reads the b-trees without SQLite, because SQLite's check names a damaged page but not the page's table or index.
  private func checkPages(_ report: inout CorruptionReport) throws {
    // The pages of an encrypted file can't be read as b-trees.
    guard cipher == nil else { return }
    let file: DamagedFile
    do { file = try DamagedFile(path: path) } catch let error as SqlError
      where error.reportsDamage || error.kind == Salvage.encrypted.kind
    {
      report.isSchemaDamaged = true
      return
    }
    let crawler = TreeCrawler(file)
    _ = crawler.marks.markFreelist(of: file)
    let schema = try SalvagedSchema(of: crawler, completedBy: [])
    report.isSchemaDamaged = schema.isDamaged || file.header == nil
    for entry in schema.entries where entry.root > 0 {
      let shape = entry.type == "table" ? (try? SchemaReader.table(entry.sql)).map { TableShape($0) } : nil
      let tally = try crawler.check(entry.root, shape, isIndex: entry.type == "index")
      guard !tally.isComplete else { continue }
      if entry.type == "index" { report.indexes.append(entry.name) } else { report.tables.append(entry.name) }
      report.pages += tally.badPages.map(Int.init)
    }
  }

  private func checkContent(_ connection: Connection, _ report: inout CorruptionReport) throws {
    var tables: [String] = []
    var lines: [String] = []
    var failure: SqlError?
    do {
      // After an error, keep the rows that were read before the error.
      try connection.eachRow("SELECT name FROM main.sqlite_schema WHERE type = 'table'") { tables.append($0[0]) }
      try connection.eachRow("PRAGMA main.integrity_check") { row in
        lines += row[0].split(separator: "\n").map(String.init)
      }
    } catch let error as SqlError { failure = error }
    for line in lines where line != "ok" && !line.hasPrefix("*** in database") { report.add(line, tables: tables) }
    guard let failure else { return }
    if failure.reportsDamage {
      report.add(failure.message, tables: tables)
      if tables.isEmpty { report.isSchemaDamaged = true }
    } else if report.isSound || failure.kind == .wrongKey {
      throw failure
    } else {
      report.checkError = failure
    }
  }
}

extension SqlError {
  /// True if SQLite found damage. Any other error, such as a lock or a failed read, says nothing about the file.
  fileprivate var reportsDamage: Bool { kind == .corrupt || kind == .notADatabase }
}

extension SqliteDatabase {
  /// The first error that reported damage to the file since the last repair; nil if there was none. The error can come
  /// from any handle or pool of this process that has the file open.
  public var corruption: SqlError? { family.corruption.first }

  /// Calls `body` with a report of the damage, after the first `SQLITE_CORRUPT` or `SQLITE_NOTADB` error since the last
  /// repair. The error can occur on any handle or pool of this process that has the file open.
  ///
  /// ```swift
  /// db.onCorruption { report in alert(report.tables, report.indexes, report.pages) }
  /// ```
  ///
  /// `body` is called on a new thread, after a check of the file on a separate connection. The check reads the whole
  /// file, and writers wait meanwhile. With `exclusively`, writers wait until `body` returns or calls `withClosed`.
  /// Readers wait too if the database is not in WAL mode. If damage was detected before this call, `body` is called
  /// soon. If no error has reported damage, the file is not checked. If the file can't be opened or is locked, the
  /// report contains the reason (``CorruptionReport/checkError``) and no damage.
  public func onCorruption(
    exclusively: Bool = false, _ body: @escaping @Sendable (CorruptionReport) -> Void
  ) {
    guard let check = lockedAnyway({ corruptionCheck }) else { return }
    family.corruption.add { error in
      startThread { check.notify(of: error, exclusively: exclusively, body) }
    }
  }

  private var corruptionCheck: CorruptionCheck? {
    guard let functions else { return nil }
    return CorruptionCheck(path: family.path, label: configuration.label, functions: functions, cipher: cipher)
  }

  /// Checks the file, and returns a report of the damage.
  ///
  /// ```swift
  /// let report = try db.checkForCorruption()     // PRAGMA integrity_check
  /// if report.isMendedByReindex { try db.reindex(report) }
  /// ```
  ///
  /// The check runs on a separate connection. Writers wait during the check, which can take long. Throws `.misuse` for
  /// an in-memory database. Also throws `.misuse` inside a transaction, because the check would wait for the
  /// transaction's lock. Throws `.wrongKey` if another process changed the key of the file, and `.cannotOpen` if the
  /// file can't be opened. Throws `.busy` if another connection prevents the check for more than five seconds. A thrown
  /// error does not mean that the file is damaged.
  public func checkForCorruption() throws -> CorruptionReport {
    guard !isInMemory else { throw misuse("an in-memory database has no file to check") }
    guard transactionLevel == 0 else { throw misuse("can't check the file inside a transaction") }
    guard let check = lockedAnyway({ corruptionCheck }) else {
      throw closed
    }
    return try check.report(after: corruption)
  }

  /// Rebuilds the damaged indexes of a report, checks the file again, and returns the remaining damage. If no damage
  /// remains, writes are allowed again, and the next error causes a new notification.
  ///
  /// ```swift
  /// try db.reindex(report)     // REINDEX "bicycle_color"
  /// ```
  ///
  /// Throws `.constraint(.unique)` if rows of the table violate a unique index. Throws `.corrupt` if pages of the index
  /// are lost. In this case, use ``Salvage`` to create a new file. If the file can't be checked again, throws the
  /// errors of ``checkForCorruption()``: the indexes are rebuilt, but writes stay forbidden.
  @discardableResult
  public func reindex(_ report: CorruptionReport) throws -> CorruptionReport {
    try running { connection in
      for index in report.indexes { try connection.pragma("REINDEX main.\(index.quotedName)") }
    }
    let remaining = try checkForCorruption()
    if remaining.isSound { forgetCorruption() }
    return remaining
  }

  /// Clears the recorded damage. Call this after the file was repaired or replaced. Writes are then allowed again, and
  /// the next error causes a new notification.
  public func forgetCorruption() { family.forgetDamage() }
}

extension SqlitePool {
  /// The first error since the last repair that reported damage to the file, on any connection; nil if there was none.
  public var corruption: SqlError? { root.corruption }

  /// Calls `body` with a report of the damage after an error that reports damage; see `SqliteDatabase.onCorruption`.
  public func onCorruption(
    exclusively: Bool = false, _ body: @escaping @Sendable (CorruptionReport) -> Void
  ) { root.onCorruption(exclusively: exclusively, body) }

  /// Checks the file, and returns a report of the damage; see ``SqliteDatabase/checkForCorruption()``.
  ///
  /// Writes wait during the check, and reads continue. Throws `.misuse` inside a closure that the pool runs. Blocks the
  /// thread. In `async` code, use the overload with `await`.
  public func checkForCorruption() throws -> CorruptionReport {
    try checkFork()
    try refuseInClosure("check the file")
    try withState { try $0.checkIsOpen(configuration.handles.label) }
    return try root.checkForCorruption()
  }

  /// Checks the file on a separate thread, and returns a report of the damage. Cancellation does not interrupt the
  /// check.
  ///
  /// ```swift
  /// let report = try await pool.checkForCorruption()     // PRAGMA integrity_check
  /// if report.isMendedByReindex { try await pool.reindex(report) }
  /// ```
  public func checkForCorruption() async throws -> CorruptionReport {
    try await onOwnThread { try self.checkForCorruption() }
  }

  /// Rebuilds the damaged indexes of a report with the writer, checks the file again, and returns the remaining damage;
  /// see ``SqliteDatabase/reindex(_:)``. Blocks the thread. In `async` code, use the overload with `await`.
  @discardableResult
  public func reindex(
    _ report: CorruptionReport, file: StaticString = #fileID, line: UInt = #line
  ) throws -> CorruptionReport {
    try withWriter(file: file, line: line) { db in try db.reindex(report) }
  }

  /// Rebuilds the damaged indexes of a report on a thread of the pool, checks the file again, and returns the remaining
  /// damage.
  @discardableResult
  public func reindex(
    _ report: CorruptionReport, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> CorruptionReport {
    try await withWriter(file: file, line: line) { db in try db.reindex(report) }
  }

  /// Clears the recorded damage. Call this after the file was repaired or replaced.
  public func forgetCorruption() { root.forgetCorruption() }
}
