import CSqlableSQLite
import Glibc

extension Connection {
  /// Creates an error from a result code of this connection, with the state of the open transaction.
  ///
  /// A full disk, an I/O error or an interrupt can roll back the whole transaction. SQLite is then in autocommit mode,
  /// and would commit the caller's next write alone. `lostTransaction` therefore stores the error.
  func error(_ code: Int32, sql: String?, running statement: PreparedStatement? = nil) -> SqlError {
    var code = code
    var failure = Connection.failure(code, handle: handle)
    if code & 0xFF == SQLITE_CORRUPT, failure.extendedCode == SQLITE_CORRUPT, hasFailedRead {
      (code, failure) = (SQLITE_IOERR, (Connection.failedRead, String(cString: sqlite3_errstr(SQLITE_IOERR))))
    }
    let primary = code & 0xFF
    var message = failure.message
    if let statement { message = runMessage(message, code: primary, extendedCode: failure.extendedCode, statement) }
    if failure.extendedCode == SQLITE_READONLY { message = refusal(ofWrite: sql) ?? message }
    // SQLITE_READONLY_DIRECTORY
    if failure.extendedCode == 1_544 {
      message = "can't read the database in WAL mode: its directory is not writable"
    }
    let needsRollback = SqlError.needsRollback
    if failure.extendedCode == Int32(needsRollback.extendedCode) { message = needsRollback.message }
    if primary == SQLITE_ERROR || primary == SQLITE_CORRUPT, let refusal = refusal(message) { message = refusal }
    var error = Connection.error(code, extendedCode: failure.extendedCode, message: message, label: label)
    error.sql = sql
    if let lack = LackingFeature.reason(of: error.message, sql: sql) {
      (error.kind, error.message) = (.misuse(lack), lack)
    }
    if transactionLevel > 0 {
      error.transaction = isAutocommit ? .rolledBack : .untouched
      if isAutocommit, sql == "COMMIT", error.canFollowCommit { error.transaction = .unknown }
      if isAutocommit, lostTransaction == nil { lostTransaction = error }
    } else if error.canFollowCommit, let statement, !statement.isReadOnly {
      error.transaction = .unknown
    }
    if cipher != nil { error = meaning(ofEncrypted: error) }
    if error.kind == .corrupt || error.kind == .notADatabase, concernsMain(sql) { didFindDamage?(error) }
    return error
  }

  /// SQLITE_IOERR_CORRUPTFS: the system refused to read a part of the file.
  fileprivate static let failedRead: Int32 = 8_458

  /// True if this thread's `errno` shows a failed read of the disk, and a database file or WAL has the same last error.
  /// During ATTACH, `errno` alone decides.
  ///
  /// If a read fails with EIO, SQLite's statements return SQLITE_CORRUPT. But a file that can't be read for a while is
  /// not damaged.
  private var hasFailedRead: Bool {
    let code = errno
    guard [EIO, ENXIO, ERANGE].contains(code) else { return false }
    // A successful read does not reset `errno`. Damage that is found later must not look like another failed read.
    defer { errno = 0 }
    if isAttaching { return true }
    return databaseNames.contains { name in
      [SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER].contains { kind in
        var file: UnsafeMutablePointer<sqlite3_file>?
        var last: Int32 = 0
        guard sqlite3_file_control(handle, name, kind, &file) == SQLITE_OK, let file,
          let control = file.pointee.pMethods?.pointee.xFileControl,
          control(file, SQLITE_FCNTL_LAST_ERRNO, &last) == SQLITE_OK
        else { return false }
        return last == code
      }
    }
  }

  private var databaseNames: [String] {
    var (names, statement): ([String], OpaquePointer?) = ([], nil)
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(handle, "PRAGMA database_list", -1, &statement, nil) == SQLITE_OK else { return ["main"] }
    while sqlite3_step(statement) == SQLITE_ROW {
      if let name = sqlite3_column_text(statement, 1) { names.append(String(cString: name)) }
    }
    return names
  }

  /// True if the damage that a statement reported can be in the main database, not only in an attached database.
  private func concernsMain(_ sql: String?) -> Bool {
    guard let sql, didFindDamage != nil else { return true }
    if Substring(sql).utf8.firstKeywords(1) == ["ATTACH"] { return false }
    guard hasAttached else { return true }
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(handle, "EXPLAIN " + sql, -1, &statement, nil) == SQLITE_OK else {
      // The statement can't be compiled, because SQLite can't read the schema of one of the databases. The following
      // query fails if the main database's schema is unreadable.
      sqlite3_finalize(statement)
      statement = nil
      return sqlite3_prepare_v2(handle, "SELECT count(*) FROM main.sqlite_schema", -1, &statement, nil) != SQLITE_OK
        || sqlite3_step(statement) != SQLITE_ROW
    }
    var readsOther = false
    while sqlite3_step(statement) == SQLITE_ROW {
      guard sqlite3_column_text(statement, 1).map({ String(cString: $0) }) == "Transaction" else { continue }
      let number = sqlite3_column_int(statement, 2)
      if number == 0 { return true }
      if number > 1 { readsOther = true }
    }
    return !readsOther
  }

  private var hasAttached: Bool { databaseNames.contains { $0 != "main" && $0 != "temp" } }

  func compileError(_ code: Int32, _ text: UnsafeBufferPointer<UInt8>) -> SqlError {
    var error = error(code, sql: String(decoding: text, as: UTF8.self))
    if let offset = Library.errorOffset?(handle), offset >= 0 { error.offset = Int(offset) }
    if error.kind == .other, let reason = Connection.reason(ofInvalid: error.message) {
      (error.kind, error.message) = (.invalidStatement(reason), reason)
    }
    error.nameConflictTarget()
    guard error.message == "too many SQL variables" else { return error }
    let limit = sqlite3_limit(handle, SQLITE_LIMIT_VARIABLE_NUMBER, -1)
    // The error omits the SQL, because a million question marks explain nothing.
    var tooMany = SqlError.invalidStatement(
      "the statement binds more than \(limit) values, the limit of this SQLite; bind a list of any length as one "
        + "value: IN (SELECT value FROM json_each(\\(json: values)))"
    ).labelled(label)
    tooMany.transaction = error.transaction
    return tooMany
  }

  /// Returns the reason why a statement is invalid although its syntax is correct; nil if the message has another
  /// cause.
  package static func reason(ofInvalid message: String) -> String? {
    if message == "no query solution" {
      return "SQLite can't use the index that INDEXED BY requires for this statement"
    }
    if message.begins(with: "misuse of aggregate") {
      return message + "; use having(_:) to filter groups, or wrap the query in named(_:)"
    }
    if message.begins(with: "misuse of window function") {
      return message + "; use over(…), and wrap the query in named(_:) to filter by the result"
    }
    if message == "HAVING clause on a non-aggregate query" {
      return "having needs groupBy, or an aggregate among the results"
    }
    let isAboutStatement =
      ["misuse of ", "too many terms in ", "at most ", "wrong number of arguments to function "].contains {
        message.begins(with: $0)
      }
      || ["DISTINCT is not supported for window functions", "row value misused"].contains(message)
    return isAboutStatement ? message : nil
  }

  /// Returns SQLite's extended code and message for a failure with this code.
  static func failure(_ code: Int32, handle: OpaquePointer?) -> (extendedCode: Int32, message: String) {
    let (primary, latest) = (code & 0xFF, sqlite3_extended_errcode(handle))
    // SQLite's message describes the connection's latest failure. Use the message only if that failure has `code`.
    let isLatest = handle != nil && latest & 0xFF == primary
    let text = (isLatest ? sqlite3_errmsg(handle) : sqlite3_errstr(code)).map { String(cString: $0) }
    return (isLatest && code == primary ? latest : code, withoutAdvice(text ?? "unknown error"))
  }

  package static func error(_ code: Int32, extendedCode: Int32, message: String, label: String?) -> SqlError {
    let kind = SqlError.Kind(code: code & 0xFF, extendedCode: extendedCode, message: message)
    var error = SqlError(
      kind, message: message, code: Int(code & 0xFF), extendedCode: Int(extendedCode), label: label)
    switch kind {
    case .constraint(.check), .constraint(.foreignKey), .constraint(.trigger): break
    case .constraint:
      // "UNIQUE constraint failed: bicycle.name, bicycle.color" or "cannot store TEXT value in INTEGER column a.b"
      let columnList = message.suffix(after: "constraint failed: ") ?? message.suffix(after: " column ")
      let first = columnList.map { $0.prefix(before: ",") ?? $0 }
      if let table = first?.prefix(before: "."), let column = first?.suffix(after: ".") {
        (error.table, error.column) = (table, column)
      }
    case .schema(.missingTable(let table)): error.table = table
    case .schema(.missingColumn(let column)): error.column = column
    default: break
    }
    return error
  }

  /// Returns the message without SQLite's advice. SQLite 3.46 and later add advice when a name in double quotes is not
  /// a column:
  /// `no such column: "a" - should this be a string literal in single-quotes?`
  package static func withoutAdvice(_ message: String) -> String {
    let advice = "\" - should this be a string literal in single-quotes?"
    guard message.begins(with: "no such column: \""), let name = message.suffix(after: "\""), name.ends(with: advice)
    else { return message }
    return "no such column: " + String(decoding: name.utf8.dropLast(advice.utf8.count), as: UTF8.self)
  }

  /// Returns the message for a write to a read-only database. Nil if no database is read-only. Also nil for a writable
  /// handle after `PRAGMA query_only = ON`.
  private func refusal(ofWrite sql: String?) -> String? {
    let keyword = sql.flatMap { Substring($0).utf8.firstKeywords(1).first }
    // The word WITH does not name the change: the keyword of the change follows the queries.
    let action = if let keyword, keyword != "WITH" { "run \(keyword)" } else { "write" }
    if shared?.isReader == true {
      return "can't \(action): a pool's readers can't write; use transaction { } of the pool, or run the statement "
        + "with the pool"
    }
    if isReadOnlyByRequest { return "can't \(action): the handle is read-only; use a handle without isReadOnly" }
    if (try? pragma("PRAGMA query_only")) == "1" { return nil }
    let names = databaseNames.filter { sqlite3_db_readonly(handle, $0) == 1 }
    if names.contains("main") { return "can't \(action): SQLite can't write to the database file" }
    guard !names.isEmpty else { return nil }
    let attached = names.count == 1 ? "database \(names[0]) is" : "databases \(names.joined(separator: ", ")) are"
    return "can't \(action): the attached \(attached) read-only; write to the file with a separate handle"
  }

  /// Returns the message for an unsafe part of the schema, with the settings that allow this part. Nil for any other
  /// message.
  ///
  /// If the part is in an index or a generated column, SQLite reports a malformed schema (SQLITE_CORRUPT).
  private func refusal(_ message: String) -> String? {
    guard let part = SqlError.unsafePart(ofMessage: message) else { return nil }
    return
      "unsafe use of \(part) in the schema; use Configuration(trustsSchema: true) for SQLite's functions and virtual "
      + "tables, or isAllowedInSchema: true for a registered function"
  }
}

extension SqlError {
  /// True for I/O errors after which a commit can be complete. If a sync of the WAL fails, the commit is already in the
  /// WAL, and the next connection after a crash finds the commit. Without a WAL, the commit is complete once the
  /// journal is deleted; syncing the directory and releasing the lock can fail after that.
  fileprivate var canFollowCommit: Bool {
    // SQLITE_IOERR_FSYNC, _DIR_FSYNC, _TRUNCATE, _UNLOCK, _RDLOCK, _DELETE
    [1_034, 1_290, 1_546, 2_058, 2_314, 2_570].contains(extendedCode)
  }

  /// SQLITE_READONLY_ROLLBACK: a read-only handle reads a file with the journal of a killed process.
  package static let needsRollback = SqlError(
    .readOnly,
    message:
      "the file has the journal of an interrupted write, which a read-only handle can't roll back; open the file once "
      + "with a writable handle", code: 8, extendedCode: 776)
}

extension SqlError {
  /// True if the disk could not be read. A file with this error can be closed and replaced, like a damaged file.
  package var isFailedRead: Bool { code == Int(SQLITE_IOERR) && extendedCode == Int(Connection.failedRead) }
}
