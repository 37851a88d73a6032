import SqlableCore

/// A full-text query, built from values, so that user input can't cause a syntax error or search other columns.
///
/// ```swift
/// Article.search(.words("swift sqlite"))                         // "swift" "sqlite": both words, anywhere
/// Article.search(.prefix("swift sq"))                            // "swift" "sq" *: while the user types
/// Article.search(.phrase("not a database") || .words("full", in: Article.title))
/// // "not a database" OR {"title"} : "full"
/// ```
///
/// Input is split at white space and NUL, and each part is quoted. A part that the tokenizer splits into several words,
/// such as `well-known`, is searched for as a phrase. A part without words, such as `--`, is ignored, and a query
/// without any words finds nothing.
public struct FullTextQuery: Sendable, Hashable {
  /// The query in FTS5's syntax, as it is bound.
  public let rawValue: String
  /// The columns that it searches by name.
  let columns: [Column]
  private let kind: Kind
  /// The maximum number of symbols on FTS5's parser stack.
  private let stack: Int
  /// The error that running it throws.
  let failure: SqlError?

  private enum Kind: Sendable, Hashable {
    /// A query that needs no parentheses.
    case atom
    case words, and, or, not
  }

  private init(
    _ text: String, _ kind: Kind, columns: [Column] = [], stack: Int = 4, failure: SqlError? = nil
  ) {
    rawValue = text
    self.kind = kind
    self.columns = columns
    self.stack = stack
    self.failure =
      failure ?? (stack > 90 ? .invalidStatement("a full-text query is nested too deeply for FTS5's parser") : nil)
  }
}

extension FullTextQuery: RawRepresentable {
  /// Makes a query from FTS5's syntax: `FullTextQuery(rawValue: "swift NOT (grdb OR title : sqlite)")`.
  ///
  /// Running an invalid query throws an error that does not quote the query. A NUL byte throws `.invalidStatement`.
  public init(rawValue: String) {
    let failure = SqlError.invalidStatement("a full-text query contains a NUL byte")
    self.init(rawValue, .or, failure: rawValue.utf8.contains(0) ? failure : nil)
  }

  public static func == (left: Self, right: Self) -> Bool {
    left.rawValue.isExactly(right.rawValue) && left.columns == right.columns && left.kind == right.kind
      && left.failure == right.failure
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}

// MARK: - Queries from input

extension FullTextQuery {
  /// Finds all words of a text, in any order: `"swift" "sqlite"`.
  public static func words(_ text: String, in columns: any ColumnConvertible...) -> FullTextQuery {
    words(quotedWords(text)).restricted(to: columns)
  }

  /// Finds any word of a text: `"swift" OR "sqlite"`.
  public static func anyWord(_ text: String, in columns: any ColumnConvertible...) -> FullTextQuery {
    let words = quotedWords(text)
    let query = words.count == 1 ? FullTextQuery(words[0], .atom) : FullTextQuery(words.joined(separator: " OR "), .or)
    return query.restricted(to: columns)
  }

  /// Finds the words of a text as a phrase: `"not a database"`.
  public static func phrase(_ text: String, in columns: any ColumnConvertible...) -> FullTextQuery {
    FullTextQuery(quoted(text), .atom).restricted(to: columns)
  }

  /// Finds all words of a text, the last as a prefix: `"swift" "sq" *`.
  public static func prefix(_ text: String, in columns: any ColumnConvertible...) -> FullTextQuery {
    var words = quotedWords(text)
    words[words.count - 1] += " *"
    return Self.words(words).restricted(to: columns)
  }

  /// Finds words or phrases with at most `distance` other words between the first and the last:
  /// `NEAR("swift" "full text", 5)`.
  ///
  /// Running it with a negative distance throws `.invalidStatement`.
  public static func near(
    _ phrases: String..., within distance: Int = 10, in columns: any ColumnConvertible...
  ) -> FullTextQuery {
    let failure = SqlError.invalidStatement("the distance of near(_:within:) can't be negative")
    let text = phrases.isEmpty ? quoted("") : phrases.map(quoted).joined(separator: " ")
    // No text has this many words, and FTS5 does not detect a number that overflows.
    return FullTextQuery("NEAR(\(text), \(min(distance, 10_000_000)))", .atom, failure: distance < 0 ? failure : nil)
      .restricted(to: columns)
  }

  private static func words(_ words: [String]) -> FullTextQuery {
    // Not joined by AND, with which a part without words would match nothing.
    FullTextQuery(words.joined(separator: " "), words.count == 1 ? .atom : .words)
  }

  /// The parts of a text between white space, each quoted; a single empty one for a text without parts.
  private static func quotedWords(_ text: String) -> [String] {
    let words = text.unicodeScalars.split { $0.properties.isWhitespace || $0 == "\0" }
    return words.isEmpty ? [quoted("")] : words.map { quoted(String($0)) }
  }

  /// Returns a text in quotes, so that FTS5 treats it only as words.
  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\"\""
      // FTS5 would treat it as the end of the query.
      case "\0": quoted += " "
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}

// MARK: - Combined queries
//
// The path of this file must come after those of the filter operators: the compiler tries overloads in that order.

extension FullTextQuery {
  /// Restricts the query to columns: `{"title" "body"} : (…)`. Without columns it returns the query itself.
  public func restricted(to columns: [any ColumnConvertible]) -> FullTextQuery {
    guard !columns.isEmpty else { return self }
    let names = columns.map { FullTextQuery.quoted($0.column.name) }.joined(separator: " ")
    return FullTextQuery(
      "{\(names)} : \(operand)", .atom, columns: self.columns + columns.map(\.column), stack: stack + 3,
      failure: failure)
  }

  /// Finds rows that match both queries: `"swift" AND "sqlite"`.
  @_disfavoredOverload
  public static func && (left: FullTextQuery, right: FullTextQuery) -> FullTextQuery {
    left.combined(.and, " AND ", right)
  }

  /// Finds rows that match either query: `"swift" OR "sqlite"`.
  @_disfavoredOverload
  public static func || (left: FullTextQuery, right: FullTextQuery) -> FullTextQuery {
    left.combined(.or, " OR ", right)
  }

  /// Finds rows that match this query but not the other: `"swift" NOT ("sqlite")`.
  public func excluding(_ other: FullTextQuery) -> FullTextQuery {
    // A chain excludes a list of alternatives: FTS5 nests a chain of NOT, up to 256 levels since 3.46, but keeps OR
    // flat.
    let isChain = kind == .not
    let start = isChain ? String(decoding: rawValue.utf8.dropLast(), as: UTF8.self) + " OR " : operand + " NOT ("
    return FullTextQuery(
      start + other.operand + ")", .not, columns: columns + other.columns,
      stack: max(stack + (isChain ? 0 : 1), other.stack + 6), failure: failure ?? other.failure)
  }

  private var operand: String { kind == .atom ? rawValue : "(\(rawValue))" }

  private func combined(_ kind: Kind, _ name: String, _ other: FullTextQuery) -> FullTextQuery {
    // A chain with the same operator is flat.
    let isChain = self.kind == kind
    let left = isChain ? rawValue : operand
    return FullTextQuery(
      left + name + other.operand, kind, columns: columns + other.columns,
      stack: max(stack + (isChain ? 0 : 1), other.stack + 3), failure: failure ?? other.failure)
  }
}
