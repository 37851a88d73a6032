/// SQL without its values. Runs of one statement with different values have the same shape.
///
/// ```swift
/// StatementShape(of: "SELECT * FROM bicycle WHERE id IN (?, ?, ?) AND color = 'red' -- today").sql
/// // SELECT * FROM bicycle WHERE id IN (?…) AND color = ?
/// ```
///
/// A number, text or blob becomes `?`, and several values in a list become `?…`. Only the first row of VALUES is
/// included. Comments are removed, and whitespace is normalized.
package struct StatementShape: Hashable, Sendable {
  package let sql: String
  /// The first table that the statement names; nil if the statement names no table, such as COMMIT.
  package let table: String?
  /// The statement's first word in upper case. For a statement that starts with WITH, the verb after the WITH clause.
  package let verb: String

  package static let maximumLength = 4_096

  package init(of text: String) {
    var text = text
    var writer = ShapeWriter()
    text.withUTF8 { bytes in
      for token in SQLTokenizer(bytes) where !writer.isFull { writer.add(token) }
    }
    writer.end()
    (sql, table, verb) = (String(decoding: writer.bytes, as: UTF8.self), writer.table, writer.verb)
  }
}

private struct ShapeWriter {
  private(set) var bytes: [UInt8] = []
  private(set) var table: String?
  private(set) var verb = ""
  private var depth = 0
  /// The number of values in the current list. `hasComma` is true if a comma follows the last value.
  private var (values, hasComma) = (0, false)
  /// The current rows of VALUES: their nesting depth, whether the first row is complete, and whether more rows follow.
  private var rows: (depth: Int, isFirstComplete: Bool, hasMore: Bool)?
  private var (isTableNext, isSchemaNamed) = (false, false)
  /// `isAfterWith` is true while the verb is WITH. `isAfterParentheses` is true if the last token was a closing
  /// parenthesis, as at the end of a WITH query.
  private var (isAfterWith, isAfterParentheses) = (false, false)
  private var last = Last.none

  private enum Last {
    case none, word, function, open, dot, other
  }

  var isFull: Bool { bytes.count > StatementShape.maximumLength }

  mutating func add(_ token: SQLToken) {
    if skipsRow(token) { return }
    if token.kind.isValue || token.kind == .parameter {
      values += 1
      hasComma = false
      if values == 1 { write("?".utf8, .other) }
    } else if token.isSymbol(","), values > 0 {
      hasComma = true
    } else {
      endValues()
      note(token)
      write(token)
      isAfterParentheses = token.isSymbol(")")
    }
  }

  mutating func end() {
    endValues()
    if rows?.hasMore == true { bytes += Array("…".utf8) }
    while bytes.last == UInt8(ascii: ";") || bytes.last == UInt8(ascii: " ") { bytes.removeLast() }
    if isFull { bytes += Array("…".utf8) }
  }

  private mutating func endValues() {
    if values > 1 { bytes += Array("…".utf8) }
    values = 0
    if hasComma { write(",".utf8, .other) }
    hasComma = false
  }

  // MARK: Rows of VALUES

  /// Returns true if the token belongs to a row after the first row.
  private mutating func skipsRow(_ token: SQLToken) -> Bool {
    guard let rows, rows.isFirstComplete else { return false }
    if token.isSymbol("(") { depth += 1 }
    if token.isSymbol(")") { depth -= 1 }
    if depth > rows.depth || token.isSymbol(",") || token.isSymbol(")") && depth == rows.depth {
      self.rows?.hasMore = true
      return true
    }
    if rows.hasMore { bytes += Array("…".utf8) }
    // Undo the change of `depth`, because `note` counts this parenthesis again.
    if token.isSymbol("(") { depth -= 1 }
    if token.isSymbol(")") { depth += 1 }
    self.rows = nil
    return false
  }

  private mutating func note(_ token: SQLToken) {
    switch token.kind {
    case .symbol:
      if token.isSymbol("(") { depth += 1 }
      if token.isSymbol(")") {
        depth -= 1
        if let rows, depth == rows.depth { self.rows?.isFirstComplete = true }
      }
      if token.isSymbol("."), isSchemaNamed { isTableNext = true } else if token.isSymbol("(") { isTableNext = false }
      isSchemaNamed = false
    case .word:
      let word = token.keyword
      noteVerb(word)
      if word == "VALUES" { rows = (depth, false, false) }
      if isTableNext, !ShapeWriter.beforeName.contains(word) {
        noteTable(token)
      } else if table == nil, ShapeWriter.beforeTable.contains(word) {
        isTableNext = true
      }
    case .name:
      if isTableNext { noteTable(token) }
    case .text, .number, .blob, .illegal, .parameter: break
    }
  }

  private mutating func noteTable(_ token: SQLToken) {
    (table, isTableNext, isSchemaNamed) = (String(decoding: token.name ?? [], as: UTF8.self), false, true)
  }

  private mutating func noteVerb(_ word: String) {
    if verb.isEmpty {
      (verb, isAfterWith) = (word, word == "WITH")
    } else if isAfterWith, depth == 0, isAfterParentheses, ShapeWriter.verbs.contains(word) {
      (verb, isAfterWith) = (word, false)
    }
  }

  private static let verbs: Set<String> = ["SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE", "VALUES"]
  private static let beforeTable: Set<String> = ["FROM", "INTO", "UPDATE", "TABLE"]
  /// Words that can be between a word of `beforeTable` and the table's name.
  private static let beforeName = Set(
    words: """
      OR ROLLBACK ABORT REPLACE FAIL IGNORE IF NOT EXISTS
      """)
  private static let notFunctions = Set(
    words: """
      ALL AND AS BETWEEN BY CASE CHECK CONFLICT DISTINCT ELSE EXCEPT EXISTS FROM HAVING IN INTERSECT INTO IS JOIN
      KEY LIKE LIMIT MATCH NOT OFFSET ON OR OVER RETURNING SELECT SET THEN UNION UNIQUE USING VALUES WHEN WHERE
      """)

  // MARK: Text

  private mutating func write(_ token: SQLToken) {
    let next: Last
    switch token.kind {
    case .word where isSchemaNamed: next = .word
    case .word: next = ShapeWriter.notFunctions.contains(token.keyword) ? .word : .function
    case .symbol: next = token.isSymbol("(") ? .open : token.isSymbol(".") ? .dot : .other
    case .name, .text, .number, .blob, .illegal, .parameter: next = .word
    }
    write(token.bytes, next)
  }

  private mutating func write(_ text: some Collection<UInt8>, _ next: Last) {
    let first = text.first ?? 0
    let joins =
      last == .none || last == .open || last == .dot || next == .dot || next == .open && last == .function
      || text.count == 1 && [UInt8(ascii: ","), UInt8(ascii: ")"), UInt8(ascii: ";")].contains(first)
    if !joins { bytes.append(UInt8(ascii: " ")) }
    bytes += Array(text)
    last = next
  }
}
