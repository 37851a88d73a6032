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
