/// A built-in or custom tokenizer of FTS5. A tokenizer splits text into the words of a full-text index.
///
/// ```swift
/// static let tableFullText = FullTextIndex(title, body, tokenizer: .porter)     // tokenize = 'porter unicode61 …'
///
/// let commas = Tokenizer("commas") { text, _ in
///   text.split(separator: ",").map { Tokenizer.Token($0.lowercased(), at: $0.startIndex..<$0.endIndex) }
/// }
/// try db.register(commas)
/// static let tableFullText = FullTextIndex(tags, tokenizer: commas)             // tokenize = 'commas'
/// ```
///
/// Two tokenizers are equal when they have the same name and arguments in SQL.
public struct Tokenizer: Sendable {
  /// The name and arguments, as FTS5 expects them.
  let arguments: [String]
  let custom: UserTokenizer?

  private init(_ arguments: [String]) {
    self.arguments = arguments
    custom = nil
  }

  // MARK: Built-in tokenizers

  /// Splits text into words of letters and digits in any script, ignoring case and diacritics.
  public static let unicode61 = Tokenizer(["unicode61", "remove_diacritics", "2"])

  /// Splits text into words of letters and digits in any script, ignoring case.
  ///
  /// - Parameters:
  ///   - removeDiacritics: True if e and é match.
  ///   - tokenCharacters: Additional characters that are part of words.
  ///   - separators: Additional characters that separate words.
  public static func unicode61(
    removeDiacritics: Bool, tokenCharacters: String = "", separators: String = ""
  ) -> Tokenizer {
    Tokenizer(
      ["unicode61", "remove_diacritics", removeDiacritics ? "2" : "0"] + characters(tokenCharacters, separators))
  }

  /// ``unicode61`` with additional characters that are part of words or separate them.
  public static func unicode61(tokenCharacters: String = "", separators: String = "") -> Tokenizer {
    unicode61(removeDiacritics: true, tokenCharacters: tokenCharacters, separators: separators)
  }

  /// Splits text into words of A to Z, digits and all characters beyond ASCII, ignoring the case of A to Z.
  public static let ascii = Tokenizer(["ascii"])

  /// ``ascii`` with additional characters that are part of words or separate them.
  public static func ascii(tokenCharacters: String = "", separators: String = "") -> Tokenizer {
    Tokenizer(["ascii"] + characters(tokenCharacters, separators))
  }

  /// Reduces English words to their stems: "correction" finds "corrected".
  public static let porter = Tokenizer(["porter"] + unicode61.arguments)

  /// Reduces the words of another tokenizer to English stems.
  public static func porter(_ other: Tokenizer) -> Tokenizer { Tokenizer(["porter"] + other.arguments) }

  /// Splits text into all sequences of three characters, ignoring case. A query for a part of a word finds the word.
  ///
  /// A query word of fewer than three characters finds nothing.
  public static let trigram = Tokenizer(["trigram", "case_sensitive", "0"])

  /// Splits text into all sequences of three characters, case-sensitive or not.
  public static func trigram(caseSensitive: Bool) -> Tokenizer {
    Tokenizer(["trigram", "case_sensitive", caseSensitive ? "1" : "0"])
  }

  /// Names a tokenizer that is registered on the handle, or that an SQLite extension provides.
  public static func named(_ name: String, _ arguments: String...) -> Tokenizer { Tokenizer([name] + arguments) }

  private static func characters(_ tokenCharacters: String, _ separators: String) -> [String] {
    (tokenCharacters.isEmpty ? [] : ["tokenchars", tokenCharacters])
      + (separators.isEmpty ? [] : ["separators", separators])
  }

  // MARK: Custom tokenizers

  /// Makes a tokenizer from a closure that returns the words of a text, in order.
  ///
  /// The closure must always return the same words for the same text. If the words differ from the words at the time of
  /// the insert, the index does not find the row. A later change of the row damages the index. After changing a
  /// tokenizer, call `rebuildFullText`.
  ///
  /// The closure runs on the statement's thread while that thread holds the handle's lock. A write to the same handle
  /// inside the closure throws `.misuse`. If the closure throws, SQLite rolls the statement back, and the statement
  /// throws the same error.
  ///
  /// - Parameters:
  ///   - name: The name in SQL, not case-sensitive.
  ///   - body: Returns the words of a text.
  public init(_ name: String, _ body: @escaping @Sendable (_ text: String, Purpose) throws -> [Token]) {
    arguments = [name]
    custom = UserTokenizer(name: name) { text, purpose in
      try body(text, Purpose(purpose)).map { token in try token.checked(in: text, of: name) }
    }
  }

  /// The reason for tokenizing a text.
  public enum Purpose: Sendable, Hashable {
    /// A statement stores or removes the text.
    case document
    /// The text is a query.
    case query
    /// The text is a query whose last word is a prefix.
    case prefixQuery
    /// The text is a stored text in which `snippet` or `highlight` marks matches.
    case excerpt

    fileprivate init(_ purpose: UserTokenizer.Purpose) {
      self =
        switch purpose {
        case .document: .document
        case .query: .query
        case .prefixQuery: .prefixQuery
        case .excerpt: .excerpt
        }
    }
  }

  /// A word, and its range in the text. `highlight` marks the range.
  public struct Token: Sendable, Hashable {
    public var text: String
    public var range: Range<String.Index>
    /// True if the word is a synonym of the preceding word, at the same position.
    public var isSynonym: Bool

    /// - Parameters:
    ///   - text: The word that the index stores and searches. An empty word is ignored.
    ///   - range: The word's range in the text; a range outside the text throws `.misuse`.
    ///   - isSynonym: True if the word is a synonym of the preceding word, at the same position.
    public init(_ text: String, at range: Range<String.Index>, isSynonym: Bool = false) {
      self.text = text
      self.range = range
      self.isSynonym = isSynonym
    }

    fileprivate func checked(in source: String, of tokenizer: String) throws -> UserTokenizer.Token {
      guard range.lowerBound >= source.startIndex, range.upperBound <= source.endIndex else {
        throw RefusedCall(error: .misuse("tokenizer \(tokenizer) returned a word whose range is outside the text"))
      }
      let start = source.utf8.distance(from: source.startIndex, to: range.lowerBound)
      let end = source.utf8.distance(from: source.startIndex, to: range.upperBound)
      return UserTokenizer.Token(text: text, bytes: start..<end, isSynonym: isSynonym)
    }
  }
}

extension Tokenizer: Hashable {
  public static func == (left: Tokenizer, right: Tokenizer) -> Bool { left.arguments == right.arguments }
  public func hash(into hasher: inout Hasher) { hasher.combine(arguments) }

  /// The value of `tokenize = '…'`. Arguments are quoted, except arguments of only letters, digits and underscores.
  package var sql: String {
    arguments.map { argument in
      let isPlain = !argument.isEmpty && argument.utf8.allSatisfy { $0.isLetterOrDigit }
      return isPlain ? argument : argument.quotedText
    }.joined(separator: " ")
  }
}

extension UInt8 {
  fileprivate var isLetterOrDigit: Bool {
    switch self {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
    case UInt8(ascii: "0")...UInt8(ascii: "9"): true
    default: false
    }
  }
}

extension SqlError {
  package static var withoutFullText: SqlError { .misuse(LackingFeature.noFullText) }
}
