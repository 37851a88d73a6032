import CSqlableSQLite
import Foundation

/// A plain SQLite connection, which shows how SQLite reads a text.
final class SQLiteParser {
  struct Token: Equatable {
    let range: Range<Int>
    let isIllegal: Bool
  }

  private var db: OpaquePointer?

  struct FailedToOpen: Error {}

  init() throws {
    guard sqlite3_open(":memory:", &db) == SQLITE_OK else { throw FailedToOpen() }
  }

  deinit { sqlite3_close_v2(db) }

  /// Compiles a text, and returns SQLite's code, the end of the compiled part, and the message.
  private func prepare(_ bytes: [UInt8], _ body: (OpaquePointer) -> Void = { _ in }) -> (Int32, end: Int, String) {
    bytes.withUnsafeBufferPointer { bytes in
      bytes.withMemoryRebound(to: CChar.self) { text in
        var (statement, tail) = (OpaquePointer?.none, UnsafePointer<CChar>?.none)
        let code = sqlite3_prepare_v3(db, text.baseAddress, -1, 0, &statement, &tail)
        let message = code == SQLITE_OK ? "" : String(cString: sqlite3_errmsg(db))
        if let statement { body(statement) }
        sqlite3_finalize(statement)
        return (code, tail.flatMap { tail in text.baseAddress.map { tail - $0 } } ?? 0, message)
      }
    }
  }

  /// The first token of a text from a position on; nil if there is none.
  ///
  /// Any token behind a whole statement is an error whose message contains the token. A semicolon is no error there,
  /// but is one inside another statement.
  func token(of text: String, from position: Int) -> Token? {
    for start in ["COMMIT TRANSACTION [x]", "CREATE TABLE [x]"] {
      let (code, end, message) = prepare(Array(start.utf8) + Array(text.utf8)[position...] + [0])
      if code == SQLITE_OK { continue }
      let offset = position - start.utf8.count
      func content(_ start: String, _ end: String) -> Int? {
        guard message.hasPrefix(start), message.hasSuffix(end) else { return nil }
        return message.utf8.count - start.utf8.count - end.utf8.count
      }
      if let count = content("near \"", "\": syntax error") {
        return Token(range: offset + end - count..<offset + end, isIllegal: false)
      }
      if let count = content("unrecognized token: \"", "\"") {
        return Token(range: offset + end..<offset + end + count, isIllegal: true)
      }
      return nil
    }
    return nil
  }

  /// Runs a script, and returns the ends of the statements that SQLite finds in it.
  func statementEnds(of text: String) -> [Int] {
    let bytes = Array(text.utf8)
    var (start, ends) = (0, [Int]())
    while start < bytes.count {
      var isStatement = false
      let (code, end, _) = prepare(Array(bytes[start...]) + [0]) { statement in
        isStatement = true
        while sqlite3_step(statement) == SQLITE_ROW {}
      }
      guard code == SQLITE_OK else { return ends + [-1] }
      start += end
      if isStatement { ends.append(start) }
    }
    return ends
  }

  func isComplete(_ text: String) -> Bool { sqlite3_complete(text) == 1 }

  /// The effects that statements would have.
  final class Effects: CustomStringConvertible {
    fileprivate(set) var statements = 0
    /// The actions that a cluster must refuse.
    fileprivate(set) var refused: [String] = []
    fileprivate(set) var isReadOnly = true
    fileprivate(set) var declaredTypes: Set<String> = []

    var description: String { "\(statements) statements, \(refused), read-only: \(isReadOnly), \(declaredTypes)" }

    private static let allowedPragmas: Set = ["user_version", "table_info", "application_id"]

    fileprivate func note(_ action: Int32, _ name: UnsafePointer<CChar>?, _ argument: UnsafePointer<CChar>?) -> Int32 {
      switch action {
      case SQLITE_TRANSACTION, SQLITE_SAVEPOINT, SQLITE_ATTACH, SQLITE_DETACH, SQLITE_CREATE_TEMP_INDEX,
        SQLITE_CREATE_TEMP_TABLE, SQLITE_CREATE_TEMP_TRIGGER, SQLITE_CREATE_TEMP_VIEW:
        refused.append("\(action)")
      case SQLITE_PRAGMA:
        let name = name.map { String(cString: $0).lowercased() } ?? ""
        if name == "page_size" && argument == nil || Effects.allowedPragmas.contains(name) { return SQLITE_OK }
        refused.append("PRAGMA \(name)")
        return SQLITE_DENY
      default: break
      }
      return SQLITE_OK
    }
  }

  /// Compiles the statements of a text up to the first that does not compile. Statements that define tables run in a
  /// separate database.
  func effects(of text: String) -> Effects {
    let effects = Effects()
    let parser = try? SQLiteParser()
    guard let parser else { return effects }
    for sql in ["CREATE TABLE t (a, b)", "CREATE TABLE u (a)"] { sqlite3_exec(parser.db, sql, nil, nil, nil) }
    sqlite3_set_authorizer(
      parser.db,
      { context, action, name, argument, _, _ in
        guard let context else { return SQLITE_OK }
        return Unmanaged<Effects>.fromOpaque(context).takeUnretainedValue().note(action, name, argument)
      }, Unmanaged.passUnretained(effects).toOpaque())
    let bytes = Array(text.utf8)
    var start = 0
    while start < bytes.count {
      let (code, end, _) = parser.prepare(Array(bytes[start...]) + [0]) { statement in
        effects.statements += 1
        // An EXPLAIN has no effect, except for pragmas, which run while they are compiled.
        if sqlite3_stmt_isexplain(statement) != 0 { effects.refused.removeAll { !$0.hasPrefix("PRAGMA") } }
        // SQLite reports the EXPLAIN of a write as a write.
        if sqlite3_stmt_readonly(statement) == 0, sqlite3_stmt_isexplain(statement) == 0 {
          effects.isReadOnly = false
          sqlite3_step(statement)
        }
      }
      guard code == SQLITE_OK else { break }
      start += end
    }
    sqlite3_set_authorizer(parser.db, nil, nil)
    for table in ["t", "made"] {
      _ = parser.prepare(Array("SELECT * FROM \(table)".utf8) + [0]) { statement in
        for column in 0..<sqlite3_column_count(statement) {
          guard let type = sqlite3_column_decltype(statement, column) else { continue }
          effects.declaredTypes.insert(String(cString: type).uppercased())
        }
      }
    }
    return effects
  }
}

/// Generated SQL texts.
enum SQLTexts {
  private static let pieces: [String] = {
    let words = ["a", "E", "x", "X", "e", "SELECT", "end", "é", "_a", "select1"]
    let signs = [
      "(", ")", ";", ",", ".", "+", "-", "*", "/", "%", "=", "<", ">", "|", "||", "&", "~", "!", "->", "->>", "^", "\\",
      "{", "<>", "==", "!=",
    ]
    let quotes = ["'", "\"", "`", "[", "]", "''", "'a'", "x'", "X'ab'", "x'1'", "\"b\"", "[c]"]
    let comments = ["--", "\n", "/*", "*/", "/", "*"]
    let blanks = [" ", "\t", "\u{0B}", "\u{0C}", "\r", "\u{FEFF}", "\u{A0}", "\u{1}", "  "]
    let numbers = ["1", "0", "0x", "0xF", "12", "e+", "e-1", ".5", "1e", "_", "_1"]
    let parameters = ["?", "?1", "$", "$a", ":", "::", "@", "#", "@a(", "$a(b)", ":a"]
    return words + signs + quotes + comments + blanks + numbers + parameters
  }()

  /// A hexadecimal number with letters behind the digits. Only SQLite 3.46 and later refuse it.
  private static var joinedHex: Regex<Substring> {
    /0[xX][0-9a-fA-F][0-9a-fA-F_]*[g-zG-Z$\u{80}-\u{10FFFF}]/.matchingSemantics(.unicodeScalar)
  }
  /// A number with a digit separator. Only SQLite 3.46 and later accept it.
  private static var separatedDigits: Regex<Substring> { /[0-9a-fA-F.]_/ }

  /// Pieces of tokens in any order.
  static func soup(_ generator: inout SeededGenerator) -> String {
    while true {
      let count = Int.random(in: 1...12, using: &generator)
      let text = (0..<count).map { _ in generator.pick(pieces) }.joined()
      // Versions of SQLite read these tokens differently.
      if !SQLiteLibrary.isAtLeast(38), text.contains("->") { continue }
      if SQLiteLibrary.isAtLeast(46) ? text.contains(joinedHex) : text.contains(separatedDigits) { continue }
      return text
    }
  }

  private static let trigger = [
    "CREATE", "TRIGGER", "IF", "NOT", "EXISTS", "g", "AFTER", "INSERT", "ON", "t", "BEGIN", "SELECT", "1", ";",
    "SELECT",
    "CASE", "1", "WHEN", "2", "THEN", "3", "END", ";", "END",
  ]

  /// Statements that compile on a connection with the table t, as tokens, and whether `sqlite3_complete` knows their
  /// tokens.
  private static let statements: [(tokens: [String], isKnown: Bool)] = [
    (["CREATE", "TABLE", "IF", "NOT", "EXISTS", "t", "(", "a", ",", "b", ")"], true),
    (["CREATE", "TABLE", "IF", "NOT", "EXISTS", "trigger", "(", "a", ")"], true),
    (["CREATE", "INDEX", "IF", "NOT", "EXISTS", "trigger2", "ON", "t", "(", "a", ")"], true),
    (trigger, true),
    (["EXPLAIN"] + trigger, true),
    (["EXPLAIN", "QUERY", "PLAN"] + trigger, true),
    (
      [
        "CREATE", "TEMP", "TRIGGER", "IF", "NOT", "EXISTS", "h", "DELETE", "ON", "t", "BEGIN", "SELECT", "1", ";",
        "END",
      ], true
    ),
    (["CREATE", "VIRTUAL", "TABLE", "v", "USING", "nosuch", "(", "a", ";", "(", "b", ";", ")", ")"], false),
    (["SELECT", "CASE", "WHEN", "1", "THEN", "2", "END"], true),
    (["SELECT", "';'", ",", "\";a\"", "AS", "[;]"], true),
    (["SELECT", "$a(;)"], false),
    (["INSERT", "INTO", "t", "VALUES", "(", "1", ",", "x'00'", ")"], true),
    (["WITH", "trigger", "AS", "(", "SELECT", "1", ")", "SELECT", "*", "FROM", "trigger"], true),
    (["DROP", "TRIGGER", "IF", "EXISTS", "g"], true),
    (["PRAGMA", "user_version"], true),
    ([], true),
  ]

  private static let blanks = [" ", " ", " ", "\n", "\t\u{0B}", "\u{0C}", "/* ; */", "-- ;\n", " /*'*/ ", "\r"]

  private static func written(_ tokens: [String], _ generator: inout SeededGenerator) -> String {
    tokens.map { token in
      var blank = generator.pick(blanks)
      if generator.chance(5) { blank += "\u{FEFF}" }
      return blank + token
    }.joined()
  }

  /// Statements with semicolons between them, and whether `sqlite3_complete` reads them like SQLite. It takes U+FEFF
  /// and a vertical tab for letters.
  static func script(_ generator: inout SeededGenerator) -> (text: String, isKnownToComplete: Bool) {
    let first = statements[0].tokens
    let rest = (0..<Int.random(in: 1...5, using: &generator)).map { _ in generator.pick(statements) }
    let all = [first] + rest.map(\.tokens)
    let text = all.map { written($0, &generator) }.joined(separator: ";")
    return (text, rest.allSatisfy(\.isKnown) && text.utf8.allSatisfy { $0 != 0x0B && $0 != 0xEF })
  }

  private static let others: [[String]] = [
    ["COMMIT"], ["BEGIN"], ["SAVEPOINT", "a"], ["ATTACH", "':memory:'", "AS", "other"],
    ["PRAGMA", "foreign_keys", "=", "0"],
    ["PRAGMA", "main", ".", "page_size", "(", "512", ")"], ["PRAGMA", "user_version", "(", "10", ")"],
    ["PRAGMA", "'table_info'", "(", "t", ")"], ["EXPLAIN", "PRAGMA", "journal_mode"],
    ["CREATE", "TEMPORARY", "VIEW", "w", "AS", "SELECT", "1"],
    ["CREATE", "TABLE", "'temp'", ".", "made", "(", "a", ")"],
    [
      "CREATE", "TABLE", "made", "(", "a", "'DATETIME'", ",", "b", "\"DATE\"", "long", ",", "c", "BOOLEAN", "NOT",
      "NULL", ")",
    ],
    [
      "CREATE", "TABLE", "made", "(", "'a'", "[TIMESTAMP]", ",", "b", "DATE", "(", "3", ")", "CHECK", "(", "a", ",",
      "b", ")", ")",
    ],
    ["ALTER", "TABLE", "t", "ADD", "COLUMN", "c", "'DATE'"],
    ["ALTER", "TABLE", "main", ".", "t", "ADD", "c", "DATETIME"],
    ["WITH", "replace", "AS", "(", "SELECT", "1", ")", "SELECT", "*", "FROM", "replace"],
    ["WITH", "\"select\"", "(", "x", ")", "AS", "(", "SELECT", "1", ")", "DELETE", "FROM", "t"],
    [
      "WITH", "a", "AS", "(", "SELECT", "1", ")", ",", "b", "AS", "(", "SELECT", "2", ")", "INSERT", "INTO", "t",
      "SELECT", "1", ",", "2",
    ],
    ["UPDATE", "t", "SET", "a", "=", "1", "RETURNING", "a"], ["VALUES", "(", "1", ")"], ["DELETE", "FROM", "t"],
  ]

  /// One or two statements in which a token may be left out, doubled, or quoted.
  static func mutated(_ generator: inout SeededGenerator) -> String {
    var tokens = generator.pick(others + statements.map(\.tokens))
    if generator.chance(40) { tokens += [";"] + generator.pick(others) }
    if generator.chance(30), !tokens.isEmpty {
      let place = Int.random(in: 0..<tokens.count, using: &generator)
      switch Int.random(in: 0..<5, using: &generator) {
      case 0: tokens.remove(at: place)
      case 1: tokens.insert(tokens[place], at: place)
      case 2: tokens[place] = "'\(tokens[place])'"
      case 3: tokens[place] = "[\(tokens[place])]"
      default:
        tokens.insert(generator.pick(["\u{FEFF}", ";", "trigger", "temp", "(", ")", "$a(", "'", "/*"]), at: place)
      }
    }
    return written(tokens, &generator)
  }
}
