import CSqlableSQLite

/// Finds the feature that this SQLite or this handle lacks, from SQLite's error message.
///
/// Examples are `near "RETURNING": syntax error` and `no such function: sqrt`. The check runs only after a failure, so
/// a successful statement is not slower. Raw SQL is checked in the same way as the library's statements.
enum LackingFeature {
  private struct Form {
    let name: String
    let since: Int
    /// The words at which an older parser reports a syntax error, in upper case; empty if the parser can stop at any
    /// word.
    let stops: [String]
    /// A text that SQL with this feature contains, in upper case. The word in SQLite's message is not enough, because a
    /// syntax error of another kind can name the same word.
    let sign: String
  }

  private static let forms = [
    Form(name: "RETURNING", since: 35, stops: ["RETURNING"], sign: "RETURNING"),
    // After a table name, an older parser reads RETURNING as an alias, and reports a later word.
    Form(name: "RETURNING", since: 35, stops: [], sign: " RETURNING "),
    Form(name: "a MATERIALIZED hint", since: 35, stops: ["MATERIALIZED", "NOT"], sign: "MATERIALIZED"),
    Form(name: "DROP COLUMN", since: 35, stops: ["DROP"], sign: "ALTER"),
    Form(name: "a STRICT table", since: 37, stops: ["STRICT", ","], sign: "STRICT"),
    Form(name: "the operator -> or ->>", since: 38, stops: [">", ">>"], sign: "->"),
    Form(name: "IS DISTINCT FROM", since: 39, stops: ["DISTINCT"], sign: "DISTINCT"),
  ]

  /// The functions added after SQLite 3.34, with the minor version that added them. Even in a later version, a build of
  /// SQLite can omit the JSON functions and the mathematical functions.
  private static let functions: [(since: Int, names: Set<String>)] = [
    (35, "sign"), (38, "unixepoch format"), (41, "unhex"), (42, "json_error_position"), (43, "octet_length timediff"),
    (44, "concat concat_ws string_agg"),
    (
      45,
      """
      jsonb jsonb_array jsonb_extract jsonb_group_array jsonb_group_object jsonb_insert jsonb_object jsonb_patch
      jsonb_remove jsonb_replace jsonb_set
      """
    ),
    (46, "json_pretty"), (48, "if"), (50, "unistr unistr_quote"),
  ].map { ($0, Set(words: $1)) }
  private static let mathematics = Set(
    words: """
      acos acosh asin asinh atan atan2 atanh ceil ceiling cos cosh degrees exp floor ln log log10 log2 mod pi pow
      power radians sin sinh sqrt tan tanh trunc
      """)
  private static let json = Set(
    words: """
      json json_array json_array_length json_extract json_group_array json_group_object json_insert json_object
      json_patch json_quote json_remove json_replace json_set json_type json_valid -> ->>
      """)

  /// True if UPDATE and DELETE support LIMIT. The compile option does not prove that the grammar has LIMIT.
  private static let limitsChanges = Library.Probe<Bool> {
    Library.ask { handle in
      let code = sqlite3_exec(handle, "CREATE TABLE a (b); DELETE FROM a LIMIT 1", nil, nil, nil)
      return code == SQLITE_NOMEM ? nil : code == SQLITE_OK
    }
  }

  static let noFullText = "full-text tables need an SQLite built with SQLITE_ENABLE_FTS5"
  private static let noJSON = "JSON functions need an SQLite built with JSON support, the default since 3.38"

  /// Returns a message that names the missing SQLite version, build option or registration; nil if the failure has
  /// another cause.
  static func reason(of message: String, sql: String?) -> String? {
    if message.begins(with: "no such ") {
      if let name = message.suffix(after: "no such function: ") {
        return reason(ofFunction: name.asciiLowercased) ?? unregistered("function", message)
      }
      if message.begins(with: "no such collation sequence: ") { return unregistered("collation", message) }
      switch message {
      case "no such table: json_each", "no such table: json_tree": return noJSON
      case "no such module: fts5": return noFullText
      default: return nil
      }
    }
    // SQLite's message for a write to a table whose index or generated column calls an unregistered function.
    if message.begins(with: "unknown function: ") { return unregistered("function", message) }
    if message == "RIGHT and FULL OUTER JOINs are not currently supported" {
      return Library.needed(for: "a RIGHT or FULL JOIN", since: 39)
    }
    if message == "a GROUP BY clause is required before HAVING" {
      return Library.needed(for: "HAVING without GROUP BY", since: 39)
    }
    // "malformed database schema (car) - near "STRICT": syntax error" is about the file, not about the statement.
    let isAboutSchema = message.begins(with: "malformed database schema ")
    // Some builds parse LIMIT but do not support it, and report `syntax error near "LIMIT"` or `near "ORDER BY"`.
    guard let rest = message.suffix(after: "near \""),
      let stop = (rest.prefix(before: "\": syntax error") ?? rest.prefix(before: " BY\"") ?? rest.prefix(before: "\""))?
        .asciiUppercased
    else { return nil }
    let text = isAboutSchema ? nil : (sql ?? "").asciiUppercased
    for form in forms where Library.versionNumber < 3_000_000 + form.since * 1_000 {
      guard form.stops.isEmpty || form.stops.contains(stop) else { continue }
      guard text.map({ $0.suffix(after: form.sign) != nil }) ?? (stop == form.stops.first) else { continue }
      return Library.needed(for: (isAboutSchema ? "the schema of this file: " : "") + form.name, since: form.since)
    }
    if stop == "ORDER", Library.versionNumber < 3_044_000, text?.ordersAnAggregate == true {
      return Library.needed(for: "an aggregate with ORDER BY", since: 44)
    }
    if let text, ["LIMIT", "ORDER"].contains(stop), limitsChanges.answer == false,
      text.begins(with: "UPDATE") || text.begins(with: "DELETE")
    {
      return "an UPDATE or DELETE with \(stop) needs an SQLite built with SQLITE_ENABLE_UPDATE_DELETE_LIMIT"
    }
    return nil
  }

  private static func unregistered(_ kind: String, _ message: String) -> String {
    "\(message); if the program defines this \(kind), call register(_:) on the handle or pool before its first use"
  }

  private static func reason(ofFunction name: String) -> String? {
    if mathematics.contains(name) {
      return "the function \(name) needs SQLite 3.35 or later, built with SQLITE_ENABLE_MATH_FUNCTIONS; "
        + "this is \(Library.version)"
    }
    for (since, names) in functions where names.contains(name) && Library.versionNumber < 3_000_000 + since * 1_000 {
      return Library.needed(for: "the function \(name)", since: since)
    }
    let isNewerJSON = name.begins(with: "json") && functions.contains { $0.names.contains(name) }
    guard isNewerJSON || json.contains(name) else { return nil }
    return noJSON
  }
}

extension String {
  /// True if this SQL, which must be in upper case, contains a function call with ORDER BY after the arguments.
  fileprivate var ordersAnAggregate: Bool {
    let text = Array(utf8)
    var open: [Int] = []
    for index in text.indices {
      switch text[index] {
      case UInt8(ascii: "("): open.append(index)
      case UInt8(ascii: ")"): _ = open.popLast()
      case UInt8(ascii: "O") where text[index...].starts(with: "ORDER BY".utf8):
        guard let start = open.last, start > 0 else { continue }
        let inside = String(decoding: text[(start + 1)..<index], as: UTF8.self)
        let name = String(decoding: text[..<start], as: UTF8.self)
        let isCall = text[start - 1] != UInt8(ascii: " ") && text[start - 1] != UInt8(ascii: "(")
        let isOther = ["SELECT ", "WITH ", "VALUES ", "VALUES(", "PARTITION "].contains(where: inside.begins)
        if isCall, !isOther, !inside.isEmpty, !["OVER", "IN", "AS", "FROM", "EXISTS"].contains(where: name.hasSuffix) {
          return true
        }
      default: break
      }
    }
    return false
  }

  fileprivate var asciiLowercased: String { String(decoding: foldedName, as: UTF8.self) }
  fileprivate var asciiUppercased: String {
    String(decoding: utf8.map { (97...122).contains($0) ? $0 - 32 : $0 }, as: UTF8.self)
  }
}
