import Sqlable

/// The effects of an SQL text on a node, derived from the keywords of the text.
package struct ClusterStatement: Sendable {
  let isChange: Bool
  /// True for a DELETE, and for an INSERT without a conflict clause: each row that SQLite counts changes a page. An
  /// UPDATE also counts rows that keep their values, for which SQLite writes no page.
  let changesPages: Bool
  let returnsRows: Bool
  package let isQuery: Bool
  /// True if the statement is a query or a change, and no clause of the statement ends the transaction after an error.
  let keepsTransaction: Bool
  /// The reason why the statement is not sent; nil if the statement can be sent.
  package let refusal: String?
  /// The SQL text to send instead of the statement; nil if the statement itself is sent.
  package let sentSql: String?

  static let cache = SQLTextCache { ClusterStatement(of: $0) }

  package init(of sql: String) {
    let tokens = SQLTokenList(sql)
    let start = (0..<tokens.count).first { !tokens.isSign($0, UInt8(ascii: ";")) } ?? 0
    let first = tokens.keyword(start)
    // Keywords in parentheses are ignored, because the queries after WITH are in parentheses.
    var (depth, keywords) = (0, Set<String>())
    for index in 0..<tokens.count {
      if tokens.isSign(index, UInt8(ascii: "(")) {
        depth += 1
      } else if tokens.isSign(index, UInt8(ascii: ")")) {
        depth -= 1
      } else if depth == 0, tokens.isWord(index) {
        keywords.insert(tokens.keyword(index))
      }
    }
    var text = sql
    let verb = text.withUTF8(\.verb) ?? ""
    isChange = ["INSERT", "UPDATE", "DELETE", "REPLACE"].contains(verb)
    changesPages = verb == "DELETE" || (verb == "INSERT" && !keywords.contains("OR") && !keywords.contains("CONFLICT"))
    isQuery = !isChange && ClusterStatement.queries.contains(verb)
    keepsTransaction = (isChange || isQuery) && !(0..<tokens.count).contains { tokens.isWord($0, "rollback") }
    let pragma = first == "PRAGMA" ? ClusterPragma(tokens, start + 1) : nil
    returnsRows = isChange ? keywords.contains("RETURNING") : isQuery || pragma.map { !$0.isSetting } ?? false
    refusal =
      sql.statementTexts.count > 1
      ? "the SQL text contains more than one statement; a cluster runs one statement at a time"
      : ClusterStatement.refusal(first, tokens, start, pragma)
    sentSql = ["CREATE", "ALTER"].contains(first) ? DeclaredTypes.replaced(in: sql) : nil
  }

  private static let queries: Set = ["SELECT", "VALUES", "EXPLAIN"]

  private static func createsInTemp(_ tokens: SQLTokenList, _ start: Int) -> Bool {
    for index in start..<tokens.count {
      if tokens.isWord(index, "as") || tokens.isWord(index, "on") || tokens.isSign(index, UInt8(ascii: "(")) { break }
      if tokens.isSign(index + 1, UInt8(ascii: ".")), tokens.name(index)?.isSameName(as: "temp") == true { return true }
    }
    return false
  }

  private static func refusal(
    _ first: String, _ tokens: SQLTokenList, _ start: Int, _ pragma: ClusterPragma?
  ) -> String? {
    switch first {
    case "" where start >= tokens.count || tokens.isSign(start, UInt8(ascii: ";")):
      return "the SQL text contains no statement"
    case "BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE":
      return "a cluster does not support \(first); use transaction { }"
    case "ATTACH", "DETACH", "VACUUM":
      return "a cluster does not support \(first)"
    case "CREATE" where ["TEMP", "TEMPORARY"].contains(tokens.keyword(start + 1)) || createsInTemp(tokens, start):
      return "a cluster does not support temporary tables, views or triggers: each call may use another connection"
    case "PRAGMA": return pragma?.refusal
    // SQLite runs some pragmas during compilation, so even EXPLAIN of a PRAGMA would run them.
    case "EXPLAIN":
      let isPlan = tokens.isWord(start + 1, "query") && tokens.isWord(start + 2, "plan")
      return tokens.isWord(start + (isPlan ? 3 : 1), "pragma") ? "a PRAGMA can't be explained" : nil
    default: return nil
    }
  }
}

private struct ClusterPragma {
  /// True if the PRAGMA sets a value, and therefore has no result.
  let isSetting: Bool
  let refusal: String?

  /// The pragmas that can be read but not set. If a client set the page size, the node's process would end.
  private static let readPragmas: Set = ["encoding", "freelist_count", "page_count", "page_size"]

  /// The pragmas that an argument sets, also in parentheses: `PRAGMA user_version(7)`.
  private static let setPragmas: Set = ["application_id", "user_version"]

  private static let pragmas: Set = [
    "application_id", "collation_list", "compile_options", "encoding", "foreign_key_check", "foreign_key_list",
    "freelist_count", "function_list", "index_info", "index_list", "index_xinfo", "integrity_check", "module_list",
    "optimize", "page_count", "page_size", "pragma_list", "quick_check", "table_info", "table_list", "table_xinfo",
    "user_version",
  ]

  /// - Parameter index: The index of the token after the keyword PRAGMA.
  init(_ tokens: SQLTokenList, _ index: Int) {
    // The name can be qualified: PRAGMA main.user_version.
    let index = tokens.isSign(index + 1, UInt8(ascii: ".")) ? index + 2 : index
    let name = String(decoding: tokens.name(index)?.foldedName ?? [], as: UTF8.self)
    let hasArgument = (index + 1..<max(index + 1, tokens.count)).contains { !tokens.isSign($0, UInt8(ascii: ";")) }
    isSetting = hasArgument && ClusterPragma.setPragmas.contains(name) || name == "optimize"
    if !ClusterPragma.pragmas.contains(name) {
      refusal = "a cluster does not support this PRAGMA: it applies to one connection or one file"
    } else if hasArgument, ClusterPragma.readPragmas.contains(name) {
      refusal = "a cluster can't set PRAGMA \(name)"
    } else {
      refusal = nil
    }
  }
}
