import CSqlableSQLite

/// A filter that removes bound and stored values from SQLite's message for a statement that failed while running.
///
/// A message is kept if SQLite builds the message from fixed words and schema names. A message is also kept if
/// compiling the statement again produces the same message, because the compiler has no values. Any other message is
/// cut off before the value, or replaced by the text of the result code if the beginning of the message is unknown.
package enum RunMessage {
  /// Returns the message if the message certainly contains no value; otherwise nil.
  static func known(_ message: String, code: Int32, extendedCode: Int32) -> String? {
    if isCodeText(message, code) || isCodeText(message, extendedCode) || fixed.contains(message) { return message }
    if code == SQLITE_CONSTRAINT, isBuiltFromSchema(message, extendedCode) { return message }
    return UserCode.isMarker(message) ? message : nil
  }

  /// Returns a message, cut off before a value that the message might quote.
  static func shortened(_ message: String, code: Int32) -> String {
    for (beginning, words) in shortenings where message.begins(with: beginning) { return words }
    for (end, words) in endings where message.ends(with: end) { return words }
    return sqlite3_errstr(code).map { String(cString: $0) } ?? "unknown error"
  }

  /// Returns the message of another machine's SQLite, cut off before a value that the message quotes.
  ///
  /// A remote statement can't be compiled again to find out whether the quoted text is a bound value. Text that also
  /// appears in the SQL is treated as part of the SQL.
  package static func ofRemote(_ message: String, code: Int32, extendedCode: Int32, sql: String?) -> String {
    guard known(message, code: code, extendedCode: extendedCode) == nil else { return message }
    for (beginning, words) in shortenings where message.begins(with: beginning) {
      // A compile error quotes a name from the statement; a full-text search error quotes a word of the search query.
      let isAboutName = beginning.begins(with: "no such ") || beginning.begins(with: "unable to use function ")
      if isAboutName, sql?.uppercased().contains("MATCH") != true { return message }
      let rest = message.dropFirst(beginning.count).filter { $0 != "\"" }
      return !rest.isEmpty && sql?.filter { $0 != "\"" }.contains(rest) == true ? message : words
    }
    return message
  }

  private static func isCodeText(_ message: String, _ code: Int32) -> Bool {
    sqlite3_errstr(code).map { String(cString: $0) } == message
  }

  /// True if SQLite built the message at compile time, from schema names and the text of a CHECK constraint.
  private static func isBuiltFromSchema(_ message: String, _ extendedCode: Int32) -> Bool {
    let beginning: String? =
      switch SqlError.Constraint(extendedCode: extendedCode) {
      case .check: "CHECK constraint failed: "
      case .notNull: "NOT NULL constraint failed: "
      case .unique, .primaryKey, .rowId: "UNIQUE constraint failed: "
      case .dataType: "cannot store "
      // The foreign-key message is constant, and is in `fixed`. A trigger's message can contain a value, because RAISE
      // accepts an expression.
      case .foreignKey, .trigger: nil
      // The message of R*Tree contains the names of a table and two columns.
      case .other: "rtree constraint failed: "
      }
    return beginning.map(message.begins(with:)) ?? false
  }

  /// Complete messages that quote no value.
  private static let fixed = Set(
    lines: """
      integer overflow
      LIKE or GLOB pattern too complex
      ESCAPE expression must be a single character
      malformed JSON
      JSON cannot hold BLOB values
      json_object() requires an even number of arguments
      json_object() labels must be TEXT
      json_insert() needs an odd number of arguments
      json_replace() needs an odd number of arguments
      json_set() needs an odd number of arguments
      JSON nested too deep
      local time unavailable
      argument type mismatch
      string or blob too big
      argument of ntile must be a positive integer
      second argument to nth_value must be a positive integer
      frame starting offset must be a non-negative integer
      frame ending offset must be a non-negative integer
      frame starting offset must be a non-negative number
      frame ending offset must be a non-negative number
      FOREIGN KEY constraint failed
      too many levels of trigger recursion
      not authorized
      query aborted
      abort due to ROLLBACK
      out of memory
      output file already exists
      non-text filename
      cannot VACUUM from within a transaction
      cannot VACUUM - SQL statements in progress
      cannot start a transaction within a transaction
      cannot commit - no transaction is active
      cannot commit transaction - SQL statements in progress
      cannot rollback - no transaction is active
      cannot open savepoint - SQL statements in progress
      cannot release savepoint - SQL statements in progress
      cannot change into wal mode from within a transaction
      cannot change out of wal mode from within a transaction
      cannot ATTACH database within transaction
      cannot DETACH database within transaction
      database is already attached
      attached databases must use the same text encoding as main database
      unable to open a temporary database file for storing temporary tables
      temporary storage cannot be changed from within a transaction
      Safety level may not be changed inside a transaction
      unsupported file format
      Cannot add a PRIMARY KEY column
      Cannot add a UNIQUE column
      cannot add a STORED column
      Cannot add a column with non-constant default
      Cannot add a NOT NULL column with default value NULL
      Cannot add a REFERENCES column with non-NULL default value
      CHECK constraint failed
      NOT NULL constraint failed
      type mismatch on DEFAULT
      unterminated string
      fts5: parser stack overflow
      recursively defined fts5 content table
      fts5: phrase queries are not supported (detail!=full)
      fts5: NEAR queries are not supported (detail!=full)
      fts5: column queries are not supported (detail=none)
      'delete-all' may only be used with a contentless or external content fts5 table
      'rebuild' may not be used with a contentless fts5 table
      'delete' may not be used with a contentless_delete=1 table
      unable to use function MATCH in the requested context
      unknown tokenizer
      fts3tokenize disabled
      wrong number of arguments to function highlight()
      wrong number of arguments to function snippet()
      """)

  /// The beginnings of messages that continue with a value, and their replacements.
  private static let shortenings: [(String, String)] = [
    ("fts5: syntax error near ", "fts5: syntax error"),
    ("fts5 expression tree is too large", "fts5 expression tree is too large"),
    ("FTS expression tree is too large", "FTS expression tree is too large"),
    ("malformed MATCH expression: ", "malformed MATCH expression"),
    ("unknown special query: ", "unknown special query"),
    ("parse error in rank function: ", "parse error in rank function"),
    ("parse error in ", "parse error"),
    ("expected integer, got ", "expected integer"),
    ("invalid fts5 file format ", "invalid fts5 file format; run 'rebuild'"),
    ("cannot DELETE from contentless fts5 table: ", "cannot DELETE from contentless fts5 table"),
    ("cannot UPDATE contentless fts5 table: ", "cannot UPDATE contentless fts5 table"),
    ("cannot UPDATE a subset of columns on fts5 contentless-delete table: ", "cannot UPDATE contentless fts5 table"),
    ("unrecognized matchinfo request: ", "unrecognized matchinfo request"),
    ("unrecognized option: ", "unrecognized option"),
    ("unrecognized parameter: ", "unrecognized parameter"),
    ("unknown tokenizer: ", "unknown tokenizer"),
    ("no such tokenizer: ", "no such tokenizer"),
    ("no such cursor: ", "no such cursor"),
    ("no such fts5 table: ", "no such fts5 table"),
    ("illegal first argument to ", "illegal first argument to a full-text function"),
    ("unable to use function ", "unable to use a function in the requested context"),
    ("wrong number of arguments to function ", "wrong number of arguments to a function"),
    ("JSON path error near ", "JSON path error"),
    ("bad JSON path: ", "bad JSON path"),
    ("no such column: ", "no such column"),
    ("no such table: ", "no such table"),
    ("no such index: ", "no such index"),
    ("no such function: ", "no such function"),
    ("no such savepoint: ", "no such savepoint"),
    ("unable to open database: ", "unable to open database"),
    ("unable to open shared library ", "unable to open shared library"),
    ("no entry point ", "no entry point in shared library"),
    ("error during initialization: ", "error during initialization"),
    ("no such database: ", "no such database"),
    ("unknown database ", "unknown database"),
    ("unknown database: ", "unknown database"),
    ("cannot detach database ", "cannot detach database"),
    ("too many attached databases - max ", "too many attached databases"),
    ("no such vfs: ", "no such vfs"),
    ("no such access mode: ", "no such access mode"),
    ("no such cache mode: ", "no such cache mode"),
    ("access mode not allowed: ", "access mode not allowed"),
    ("cache mode not allowed: ", "cache mode not allowed"),
    ("invalid uri authority: ", "invalid uri authority"),
    ("database table is locked: ", "database table is locked"),
    ("database schema is locked: ", "database schema is locked"),
  ]

  /// The ends of messages that begin with a value, and their replacements.
  private static let endings: [(String, String)] = [
    (" is already in use", "the name of the attached database is already in use; choose another name"),
    (" is locked", "the database is locked"),
    (
      ": table does not support scanning",
      "a contentless full-text table does not support scanning; read the table with MATCH"
    ),
  ]
}

extension Connection {
  /// Returns an error message without values, for a statement that failed while running.
  func runMessage(_ message: String, code: Int32, extendedCode: Int32, _ statement: PreparedStatement) -> String {
    if let known = RunMessage.known(message, code: code, extendedCode: extendedCode) { return known }
    switch code {
    case SQLITE_CONSTRAINT where raisedMessages().contains(message): return message
    // Bits above SQLite's extended codes mark an error thrown by user code. The user's error replaces this error.
    case SQLITE_ERROR where extendedCode > 0xFFFF: break
    case SQLITE_ERROR, SQLITE_CORRUPT:
      let words = statement.firstKeywords(2)
      // SQLite builds these messages from the schema and the statement's text, which contain no bound values.
      if words == ["CREATE", "VIRTUAL"] || words == ["ALTER", "TABLE"] && message.begins(with: "error in ") {
        return message
      }
      if let compileMessage = messageOfCompiling(statement, code: code) { return compileMessage }
    case SQLITE_CANTOPEN where !canCreateFiles && statement.firstKeywords(1) == ["ATTACH"]:
      return "unable to open database: the file can't be opened or does not exist; a child or pool handle can't create "
        + "a file with ATTACH, so create the file with a separate handle first"
    default: break
    }
    return RunMessage.shortened(message, code: code)
  }

  /// Compiles the statement's text again. Returns SQLite's message if the compilation fails with `code`; otherwise nil.
  /// After a schema change, SQLite recompiles a statement at run time, so a run can fail with a compile error.
  private func messageOfCompiling(_ statement: PreparedStatement, code: Int32) -> String? {
    var again: OpaquePointer?
    defer { sqlite3_finalize(again) }
    guard sqlite3_prepare_v2(handle, sqlite3_sql(statement.handle), -1, &again, nil) & 0xFF == code else { return nil }
    return sqlite3_errmsg(handle).map { Connection.withoutAdvice(String(cString: $0)) }
  }

  /// Returns the texts that triggers pass to RAISE. Leaves out expressions, because they can contain a value.
  private func raisedMessages() -> Set<String> {
    let databases = (try? rows("PRAGMA database_list").map { $0[1] }) ?? []
    var messages: Set<String> = []
    for database in databases {
      for row in (try? rows("SELECT sql FROM \(database.quotedName).sqlite_master WHERE type = 'trigger'")) ?? [] {
        messages.formUnion(raisedTexts(row[0]))
      }
    }
    return messages
  }
}

/// Returns the literals and names that are the second argument of RAISE in a trigger.
private func raisedTexts(_ sql: String) -> [String] {
  let tokens = SQLTokenList(sql)
  return (0..<tokens.count).compactMap { index in
    guard tokens.isWord(index, "raise"), tokens.isSign(index + 1, UInt8(ascii: "(")), tokens.isWord(index + 2),
      tokens.isSign(index + 3, UInt8(ascii: ",")), tokens.isSign(index + 5, UInt8(ascii: ")"))
    else { return nil }
    return tokens.name(index + 4)
  }
}
