/// How a full-text index cuts texts into words: one of FTS5's own tokenizers, or one that the program writes.
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
/// Two are equal when SQL names them alike.
public struct Tokenizer: Sendable {
  /// The name and the arguments, as FTS5 takes them.
  let arguments: [String]
  let own: UserTokenizer?

  private init(_ arguments: [String]) {
    self.arguments = arguments
    own = nil
  }

  // MARK: FTS5's own

  /// Words of letters and numbers, in any script; case and diacritics make no difference.
  public static let unicode61 = Tokenizer(["unicode61", "remove_diacritics", "2"])

  /// Words of letters and numbers, in any script; case makes no difference.
  ///
  /// - Parameters:
  ///   - removeDiacritics: Whether a letter and the same with marks, e and é, are one.
  ///   - tokenCharacters: Further characters that words are made of.
  ///   - separators: Characters that are to end words.
  public static func unicode61(
    removeDiacritics: Bool, tokenCharacters: String = "", separators: String = ""
  ) -> Tokenizer {
    Tokenizer(
      ["unicode61", "remove_diacritics", removeDiacritics ? "2" : "0"] + characters(tokenCharacters, separators))
  }

  /// As ``unicode61``, with further characters that words are made of, or that end words.
  public static func unicode61(tokenCharacters: String = "", separators: String = "") -> Tokenizer {
    unicode61(removeDiacritics: true, tokenCharacters: tokenCharacters, separators: separators)
  }

  /// Words of the letters A to Z, numbers, and all characters beyond ASCII; the case of A to Z makes no difference.
  public static let ascii = Tokenizer(["ascii"])

  /// As ``ascii``, with further characters that words are made of, or that end words.
  public static func ascii(tokenCharacters: String = "", separators: String = "") -> Tokenizer {
    Tokenizer(["ascii"] + characters(tokenCharacters, separators))
  }

  /// English words without their endings, so that "correction" finds "corrected".
  public static let porter = Tokenizer(["porter"] + unicode61.arguments)

  /// English words without their endings, of the words that another tokenizer finds.
  public static func porter(_ other: Tokenizer) -> Tokenizer { Tokenizer(["porter"] + other.arguments) }

  /// Any three characters that follow one another, so that a part of a word finds it; case makes no difference.
  ///
  /// A word of a query that has fewer than three characters finds nothing.
  public static let trigram = Tokenizer(["trigram", "case_sensitive", "0"])

  /// Any three characters that follow one another.
  public static func trigram(caseSensitive: Bool) -> Tokenizer {
    Tokenizer(["trigram", "case_sensitive", caseSensitive ? "1" : "0"])
  }

  /// One that is registered on the handle, or that an extension of SQLite brings, by its name.
  public static func named(_ name: String, _ arguments: String...) -> Tokenizer { Tokenizer([name] + arguments) }

  private static func characters(_ tokenCharacters: String, _ separators: String) -> [String] {
    (tokenCharacters.isEmpty ? [] : ["tokenchars", tokenCharacters])
      + (separators.isEmpty ? [] : ["separators", separators])
  }

  // MARK: Of one's own

  /// Makes a tokenizer of a closure that gives the words of a text, in their order.
  ///
  /// The closure gives the same words for the same text whenever it is asked: with another answer than at the time when
  /// a row was stored, the index finds the row no more, and is damaged when the row changes. After a change of mind,
  /// `rebuildFullText` makes the index anew.
  ///
  /// It is called on the thread that runs the statement, with the handle's lock held. A write on the handle that calls
  /// it throws `.misuse`. What the closure throws comes out of the statement, which is undone.
  ///
  /// - Parameter name: How SQL calls it; not case-sensitive.
  public init(_ name: String, _ body: @escaping @Sendable (_ text: String, Purpose) throws -> [Token]) {
    arguments = [name]
    own = UserTokenizer(name: name) { text, purpose in
      try body(text, Purpose(purpose)).map { token in try token.checked(in: text, of: name) }
    }
  }

  /// What a text is cut into words for.
  public enum Purpose: Sendable, Hashable {
    /// It is stored, or no longer is.
    case document
    /// It is searched for.
    case query
    /// It is searched for, and its last word may be the beginning of one.
    case prefixQuery
    /// A stored text is marked by `snippet` or `highlight`.
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

  /// A word, and the part of the text that it stands for, which is what `highlight` marks.
  public struct Token: Sendable, Hashable {
    public var text: String
    public var range: Range<String.Index>
    /// Whether it is another word for the one before it, at the same place.
    public var isSynonym: Bool

    /// - Parameters:
    ///   - text: The word as it is searched for; an empty one is passed over.
    ///   - range: Where it stands in the text that was given; a range of another text throws `.misuse`.
    public init(_ text: String, at range: Range<String.Index>, isSynonym: Bool = false) {
      self.text = text
      self.range = range
      self.isSynonym = isSynonym
    }

    fileprivate func checked(in whole: String, of tokenizer: String) throws -> UserTokenizer.Token {
      guard range.lowerBound >= whole.startIndex, range.upperBound <= whole.endIndex else {
        throw RefusedCall(error: .misuse("tokenizer \(tokenizer) gave a word at a place that its text does not have"))
      }
      let start = whole.utf8.distance(from: whole.startIndex, to: range.lowerBound)
      let end = whole.utf8.distance(from: whole.startIndex, to: range.upperBound)
      return UserTokenizer.Token(text: text, bytes: start..<end, isSynonym: isSynonym)
    }
  }
}

extension Tokenizer: Hashable {
  public static func == (left: Tokenizer, right: Tokenizer) -> Bool { left.arguments == right.arguments }
  public func hash(into hasher: inout Hasher) { hasher.combine(arguments) }

  /// As FTS5 reads it. Words of letters and numbers stand as they are, everything else in quotes.
  var sql: String {
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
  static var withoutFullText: SqlError { .misuse(LackingFeature.noFullText) }
}
