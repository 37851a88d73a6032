import CSQLite

extension Connection {
  /// What a result code of this connection means, and what became of the open transaction.
  ///
  /// A full disk, an I/O error and an interrupt can undo the whole transaction; SQLite then is back in autocommit mode,
  /// where the next write of an unsuspecting caller would be stored on its own. So the loss is remembered.
  func error(_ code: Int32, sql: String?, whilePreparing: Bool = false) -> SqlError {
    var error = Connection.error(
      code, extendedCode: sqlite3_extended_errcode(handle), handle: handle, label: label,
      sql: whilePreparing ? nil : sql)
    error.sql = sql
    if let lack = LackingFeature.reason(of: error.message, sql: sql) {
      (error.kind, error.message) = (.misuse(lack), lack)
    }
    if transactionLevel > 0 {
      error.transaction = isAutocommit ? .rolledBack : .untouched
      if isAutocommit, lostTransaction == nil { lostTransaction = error }
    }
    return error
  }

  /// Why a text did not compile.
  func compileError(_ code: Int32, _ text: UnsafeBufferPointer<UInt8>) -> SqlError {
    var error = error(code, sql: String(decoding: text, as: UTF8.self), whilePreparing: true)
    if let offset = Library.errorOffset?(handle), offset >= 0 { error.offset = Int(offset) }
    guard error.message == "too many SQL variables" else { return error }
    let limit = sqlite3_limit(handle, SQLITE_LIMIT_VARIABLE_NUMBER, -1)
    // Without its text, of which a million question marks tell nothing.
    var tooMany = SqlError.invalidStatement(
      "the statement binds more than \(limit) values, the limit of this SQLite; bind a list of any length as one value, "
        + "as in: IN (SELECT value FROM json_each(\\(json: values)))"
    ).labelled(label)
    tooMany.transaction = error.transaction
    return tooMany
  }

  /// Whether a statement that failed in an open transaction has kept what it did before, `total` being the changes counted
  /// before it ran; nil when that can't be told.
  ///
  /// A failing statement undoes itself, but for RAISE(FAIL) in a trigger, OR FAIL, and ON CONFLICT FAIL in a table. SQLite
  /// does not tell which it was. An undone statement counts no changes of its own; those of a trigger's statement or of a
  /// cascade, which are counted as soon as that is done, stay counted all the same.
  func keepsChanges(since total: Int64, despite error: any Error) -> Bool? {
    guard !isAutocommit, totalChanges != total else { return false }
    if changes > 0 { return true }
    // Left in doubt is a first row that failed after a trigger or cascade had written, where something says FAIL.
    if (error as? SqlError)?.sql?.uppercased().suffix(after: "FAIL") != nil { return nil }
    let mention =
      try? pragma(
        """
        SELECT 1 FROM (SELECT sql FROM main.sqlite_master UNION ALL SELECT sql FROM temp.sqlite_master)
        WHERE sql LIKE '%FAIL%' LIMIT 1
        """)
    return mention == nil ? false : nil
  }

  static func error(
    _ code: Int32, extendedCode: Int32, handle: OpaquePointer?, label: String?, sql: String? = nil
  ) -> SqlError {
    // The message belongs to the connection's latest failure, which need not be this one.
    let isLatest = handle != nil && extendedCode & 0xFF == code & 0xFF
    let text = isLatest ? sqlite3_errmsg(handle) : sqlite3_errstr(code)
    var message = text.map { String(cString: $0) } ?? "unknown error"
    let extended = isLatest && code == code & 0xFF ? extendedCode : code
    message = withoutAdvice(message)
    if let sql, [SQLITE_ERROR, SQLITE_CANTOPEN].contains(code & 0xFF) { message = withoutValues(message, sql: sql) }
    let kind = SqlError.Kind(code: code & 0xFF, extendedCode: extended, message: message)
    var error = SqlError(
      kind, message: message, code: Int(code & 0xFF), extendedCode: Int(extended), label: label)
    switch kind {
    case .constraint(.check), .constraint(.foreignKey), .constraint(.trigger): break
    case .constraint:
      // "UNIQUE constraint failed: bicycle.name, bicycle.color" and "cannot store TEXT value in INTEGER column a.b"
      let place = message.suffix(after: "constraint failed: ") ?? message.suffix(after: " column ")
      let first = place.map { $0.prefix(before: ",") ?? $0 }
      if let table = first?.prefix(before: "."), let column = first?.suffix(after: ".") {
        (error.table, error.column) = (table, column)
      }
    case .schema(.missingTable(let table)): error.table = table
    case .schema(.missingColumn(let column)): error.column = column
    default: break
    }
    return error
  }

  /// The message without what SQLite 3.46 and later add where a name in double quotes is no column:
  /// `no such column: "a" - should this be a string literal in single-quotes?`
  private static func withoutAdvice(_ message: String) -> String {
    let (start, end) = ("no such column: \"", "\" - should this be a string literal in single-quotes?")
    guard message.utf8.starts(with: start.utf8), message.utf8.reversed().starts(with: end.utf8.reversed()),
      message.utf8.count >= start.utf8.count + end.utf8.count
    else { return message }
    let name = message.utf8.dropFirst(start.utf8.count).dropLast(end.utf8.count)
    return "no such column: " + String(decoding: name, as: UTF8.self)
  }

  /// A message of a failing run, without what it may quote of a bound value: a full-text query, a JSON path, a file to
  /// attach.
  private static func withoutValues(_ message: String, sql: String) -> String {
    for marker in [" near ", ": \"", ": '", "'"] {
      if let start = message.prefix(before: marker) { return start }
    }
    // "no such column: x" may be of the SQL, after another connection's ALTER, or of a bound full-text query.
    if let name = message.suffix(after: ": "), let last = name.utf8.split(separator: UInt8(ascii: ".")).last,
      sql.suffix(after: String(decoding: last, as: UTF8.self)) == nil, let start = message.prefix(before: ": ")
    {
      return start
    }
    if message.begins(with: "database "), message.ends(with: " is already in use") {
      return "the name is already in use"
    }
    return message
  }
}
