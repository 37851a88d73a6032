#if Cluster
/// What SQL text does on a node, by its words.
struct ClusterStatement: Sendable {
  /// Whether it inserts, updates or deletes rows.
  let isChange: Bool
  /// Whether each row that it changes changes a page: SQLite writes none for a row that an update leaves as it was.
  let changesPages: Bool
  let returnsRows: Bool
  /// Whether it is a query, which changes nothing.
  let isQuery: Bool
  /// Whether it is a query or a change that does not say by itself that an error ends the transaction.
  let keepsTransaction: Bool
  /// Why it is not sent.
  let refusal: String?
  /// What is sent instead of it; nil for the text itself.
  let sentSql: String?

  static let cache = TextCache { ClusterStatement(of: $0) }

  init(of sql: String) {
    let words = SQLWord.words(of: sql)
    let first = words.first { $0.text != ";" }?.keyword ?? ""
    // The keywords outside of parentheses, in which the queries after WITH stand.
    var (depth, keywords) = (0, [String]())
    for word in words {
      if word.kind == .symbol { depth += word.text == "(" ? 1 : word.text == ")" ? -1 : 0 }
      if depth == 0, !word.keyword.isEmpty { keywords.append(word.keyword) }
    }
    let changes: Set = ["INSERT", "UPDATE", "DELETE", "REPLACE"]
    let verb = first == "WITH" ? keywords.first { changes.contains($0) || $0 == "SELECT" || $0 == "VALUES" } : first
    isChange = verb.map(changes.contains) ?? false
    changesPages = verb == "DELETE" || (verb == "INSERT" && !keywords.contains("OR") && !keywords.contains("CONFLICT"))
    isQuery = !isChange && ClusterStatement.queries.contains(first)
    keepsTransaction = (isChange || isQuery) && !words.contains { $0.isKeyword("ROLLBACK") }
    // A PRAGMA that sets something has no result.
    let isSetting = first == "PRAGMA" && words.contains { $0.text == "=" || $0.keyword == "OPTIMIZE" }
    returnsRows = isChange ? keywords.contains("RETURNING") : (isQuery || first == "PRAGMA") && !isSetting
    refusal = ClusterStatement.refusal(first, words)
    sentSql = ["CREATE", "ALTER"].contains(first) ? DeclaredTypes.replaced(in: sql) : nil
  }

  private static let queries: Set = ["SELECT", "VALUES", "WITH", "EXPLAIN"]

  /// The pragmas that can be read, and not set: a node ends its process when the size of its pages is set.
  private static let readPragmas: Set = ["ENCODING", "FREELIST_COUNT", "PAGE_COUNT", "PAGE_SIZE"]

  /// The pragmas that mean on a node what they mean in a file.
  private static let pragmas: Set = [
    "APPLICATION_ID", "COLLATION_LIST", "COMPILE_OPTIONS", "ENCODING", "FOREIGN_KEY_CHECK", "FOREIGN_KEY_LIST",
    "FREELIST_COUNT", "FUNCTION_LIST", "INDEX_INFO", "INDEX_LIST", "INDEX_XINFO", "INTEGRITY_CHECK", "MODULE_LIST",
    "OPTIMIZE", "PAGE_COUNT", "PAGE_SIZE", "PRAGMA_LIST", "QUICK_CHECK", "TABLE_INFO", "TABLE_LIST", "TABLE_XINFO",
    "USER_VERSION",
  ]

  /// Whether the name of what is created has the schema temp.
  private static func createsInTemp(_ words: [SQLWord]) -> Bool {
    let head = words.prefix { !$0.isKeyword("AS") && !$0.isKeyword("ON") && !$0.isSymbol("(") }
    return zip(head, head.dropFirst()).contains { word, next in
      word.isName && word.text.isSameName(as: "temp") && next.isSymbol(".")
    }
  }

  private static func refusal(_ first: String, _ words: [SQLWord]) -> String? {
    let keywords = words.map(\.keyword)
    let ends = words.indices.filter { words[$0].kind == .symbol && words[$0].text == ";" }
    // The body of a trigger is of several statements.
    if !(first == "CREATE" && keywords.contains("TRIGGER")), let end = ends.first(where: { $0 > 0 }),
      words[end...].contains(where: { $0.text != ";" || $0.kind != .symbol })
    {
      return "a cluster runs one statement at a time"
    }
    switch first {
    case "": return "the SQL text has no statement"
    case "BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE":
      return "\(first) can't be sent to a cluster: transaction { } begins and ends transactions"
    case "ATTACH", "DETACH", "VACUUM":
      return "\(first) does not exist on a cluster"
    case "CREATE" where ["TEMP", "TEMPORARY"].contains(keywords.dropFirst().first) || createsInTemp(words):
      return "a cluster has no temporary tables, views or triggers: each call may use another connection"
    case "PRAGMA": return refusal(ofPragma: words.drop { !$0.isKeyword("PRAGMA") }.dropFirst())
    // SQLite runs some pragmas as it compiles them.
    case "EXPLAIN" where keywords.first { !["", "EXPLAIN", "QUERY", "PLAN"].contains($0) } == "PRAGMA":
      return "a PRAGMA can't be explained"
    default: return nil
    }
  }

  /// - Parameter words: Those after the keyword.
  private static func refusal(ofPragma words: ArraySlice<SQLWord>) -> String? {
    // PRAGMA main.user_version
    let path = words.prefix { $0.kind == .word || $0.kind == .name || $0.text == "." }
    guard let name = path.last?.text.uppercased(), pragmas.contains(name) else {
      return "this PRAGMA is of one connection, or of a file, which a cluster does not have"
    }
    guard !readPragmas.contains(name) || words.dropFirst(path.count).allSatisfy({ $0.isSymbol(";") }) else {
      return "PRAGMA \(name.lowercased()) can be read on a cluster, and not set"
    }
    return nil
  }
}
#endif
