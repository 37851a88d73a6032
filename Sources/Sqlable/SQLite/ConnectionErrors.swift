import CSQLite

extension Connection {
  /// What a result code of this connection means, and what became of the open transaction.
  ///
  /// A full disk, an I/O error and an interrupt can undo the whole transaction; SQLite then is back in autocommit mode,
  /// where the next write of an unsuspecting caller would be stored on its own. So the loss is remembered.
  func error(_ code: Int32, sql: String?, running statement: PreparedStatement? = nil) -> SqlError {
    let (primary, extendedCode) = (code & 0xFF, sqlite3_extended_errcode(handle))
    var message = Connection.message(code, extendedCode: extendedCode, handle: handle)
    if let statement {
      let extended = extendedCode & 0xFF == primary ? extendedCode : code
      message = runMessage(message, code: primary, extendedCode: extended, statement)
    }
    if primary == SQLITE_ERROR || primary == SQLITE_CORRUPT, let refusal = refusal(message) { message = refusal }
    var error = Connection.error(code, extendedCode: extendedCode, message: message, label: label)
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
    var error = error(code, sql: String(decoding: text, as: UTF8.self))
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

  /// What SQLite says of its latest failure, where that is the one with this code.
  static func message(_ code: Int32, extendedCode: Int32, handle: OpaquePointer?) -> String {
    // The message belongs to the connection's latest failure, which need not be this one.
    let isLatest = handle != nil && extendedCode & 0xFF == code & 0xFF
    let text = isLatest ? sqlite3_errmsg(handle) : sqlite3_errstr(code)
    return withoutAdvice(text.map { String(cString: $0) } ?? "unknown error")
  }

  static func error(_ code: Int32, extendedCode: Int32, message: String, label: String?) -> SqlError {
    let extended = extendedCode & 0xFF == code & 0xFF && code == code & 0xFF ? extendedCode : code
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

  /// What a message says that refuses a part of the schema as unsafe, with what helps; nil for any other.
  ///
  /// SQLite calls such a schema malformed, where an index or a generated column is meant.
  private func refusal(_ message: String) -> String? {
    guard let part = SqlError.unsafePart(ofMessage: message) else { return nil }
    return "unsafe use of \(part) in the schema: Configuration(trustsSchema: true) allows what SQLite has, "
      + "isAllowedInSchema: true a function of the program's own"
  }
}

extension SqlError {
  /// What a message says that a view, a trigger or a table's definition may not use; nil for a message of another kind.
  static func unsafePart(ofMessage message: String) -> String? {
    let beginning = "unsafe use of "
    if message.utf8.starts(with: beginning.utf8) { return message.suffix(after: beginning) }
    guard message.utf8.starts(with: "malformed database schema (".utf8) else { return nil }
    return message.suffix(after: ") - " + beginning)
  }
}
