/// An iterator over the byte ranges of the statements in SQL text, without the semicolons between statements.
///
/// Semicolons inside the body of a trigger, up to `; END`, and inside the arguments of a virtual table do not end the
/// statement.
struct SQLStatements: Sequence, IteratorProtocol {
  private var tokens: SQLTokenizer

  init(_ text: UnsafeBufferPointer<UInt8>) { tokens = SQLTokenizer(text) }

  mutating func next() -> Range<Int>? {
    var head = Head.start
    var range: Range<Int>?
    // `depth` counts open parentheses. `isAfterSemicolon` is true after the token `;`. `isAfterEnd` is true after the
    // tokens `;` and `END`.
    var (depth, isAfterSemicolon, isAfterEnd) = (0, false, false)
    while let token = tokens.next() {
      if token.isSymbol(";") {
        if range == nil { continue }
        let isInside = head == .trigger && !isAfterEnd || head == .virtualTable && depth > 0
        if !isInside { break }
      }
      head.add(token)
      if token.isSymbol("(") { depth += 1 } else if token.isSymbol(")") { depth -= 1 }
      isAfterEnd = isAfterSemicolon && token.isWord("end")
      isAfterSemicolon = token.isSymbol(";")
      range = (range?.lowerBound ?? token.bytes.startIndex)..<token.bytes.endIndex
    }
    return range
  }

  /// The kind of a statement, derived from its first words. The kind determines which semicolon ends the statement.
  private enum Head {
    case start, explain, query, create, createTemporary, other
    case trigger, virtualTable

    mutating func add(_ token: SQLToken) {
      switch self {
      case .start where token.isWord("explain"): self = .explain
      case .explain where token.isWord("query"): self = .query
      case .query where token.isWord("plan"): self = .start
      case .start where token.isWord("create"), .explain where token.isWord("create"): self = .create
      case .create where token.isWord("temp") || token.isWord("temporary"): self = .createTemporary
      case .create where token.isWord("trigger"), .createTemporary where token.isWord("trigger"): self = .trigger
      case .create where token.isWord("virtual"): self = .virtualTable
      case .trigger, .virtualTable: break
      default: self = .other
      }
    }
  }
}

extension String {
  package var statementTexts: [String] {
    var text = self
    return text.withUTF8 { bytes in
      SQLStatements(bytes).map { String(decoding: bytes[$0], as: UTF8.self) }
    }
  }

  package var statementRanges: [Range<Int>] {
    var text = self
    return text.withUTF8 { Array(SQLStatements($0)) }
  }

  /// True if text appended to this SQL would be inside quotes or a comment.
  package var endsInQuotes: Bool {
    var text = self
    return text.withUTF8(SQLTokenizer.endsOpen)
  }
}

extension Collection<UInt8> where SubSequence == Self {
  /// Returns the first words of this SQL in upper case, without comments and semicolons.
  // Processes bytes, because this function runs for every raw statement, and processing characters takes ten times as
  // long.
  package func firstKeywords(_ count: Int) -> [String] {
    withContiguousStorageIfAvailable { $0.keywords(count) }
      ?? Array(self).withUnsafeBufferPointer { $0.keywords(count) }
  }
}

extension UnsafeBufferPointer<UInt8> {
  fileprivate func keywords(_ count: Int) -> [String] {
    var words: [String] = []
    var tokens = SQLTokenizer(self)
    while words.count < count, let token = tokens.next() {
      if token.isSymbol(";") { continue }
      guard token.kind == .word else { break }
      words.append(token.keyword)
    }
    return words
  }

  /// True if this SQL contains anything except whitespace, comments and semicolons.
  var holdsStatement: Bool { SQLTokenizer(self).contains { !$0.isSymbol(";") } }

  /// The first statement's verb in upper case: the first word, or for WITH, the first word after the common table
  /// expressions. Nil if there is no verb.
  package var verb: String? {
    var tokens = SQLTokenizer(self)
    var first = tokens.next()
    while first?.isSymbol(";") == true { first = tokens.next() }
    guard let first, first.kind == .word else { return nil }
    guard first.isWord("with") else { return first.keyword }
    // After WITH, the verb is the first word that directly follows a closing parenthesis and is not AS. The other words
    // outside the parentheses belong to the common table expressions.
    var (depth, isAfterParentheses) = (0, false)
    while let token = tokens.next(), !token.isSymbol(";") {
      if depth == 0, isAfterParentheses, token.kind == .word, !token.isWord("as") { return token.keyword }
      if token.isSymbol("(") { depth += 1 } else if token.isSymbol(")") { depth -= 1 }
      isAfterParentheses = token.isSymbol(")")
    }
    return nil
  }
}
