import SqlableCore

/// A full-text query built from values, so that user input can't cause a syntax error or search other columns.
///
/// ```swift
/// Article.search(.words("swift sqlite"))                         // "swift" "sqlite": both words, anywhere
/// Article.search(.prefix("swift sq"))                            // "swift" "sq" *: while the user types
/// Article.search(.phrase("not a database") || .words("full", in: Article.title))
/// // "not a database" OR {"title"} : "full"
/// ```
///
/// `words`, `anyWord` and `prefix` split input at white space and NUL, and quote each part. `phrase` and `near` quote
/// each phrase as a whole. If the tokenizer splits a part such as `well-known` into several words, the part is searched
/// for as a phrase. A part without words, such as `--`, is ignored. A query without words matches no row.
public struct FullTextQuery: Sendable, Hashable {
  /// The query in FTS5's syntax, as bound to the statement.
  public let rawValue: String
  let columns: [Column]
  private let kind: Kind
  /// The greatest number of symbols on the stack of FTS5's parser while the parser reads this query.
  private let stack: Int
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
  /// Creates a query from FTS5's syntax: `FullTextQuery(rawValue: "swift NOT (grdb OR title : sqlite)")`.
  ///
  /// A statement with an invalid query throws an error that does not contain the query's text. A NUL byte throws
  /// `.invalidStatement`.
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
  /// Matches rows that contain all words of a text, in any order: `"swift" "sqlite"`.
  public static func words(_ text: String, in columns: any ColumnConvertible...) -> FullTextQuery {
    words(quotedWords(text)).restricted(to: columns)
  }

  /// Matches rows that contain any word of a text: `"swift" OR "sqlite"`.
  public static func anyWord(_ text: String, in columns: any ColumnConvertible...) -> FullTextQuery {
    let words = quotedWords(text)
    let query = words.count == 1 ? FullTextQuery(words[0], .atom) : FullTextQuery(words.joined(separator: " OR "), .or)
    return query.restricted(to: columns)
  }

  /// Matches rows that contain the words of a text as a phrase: `"not a database"`.
  public static func phrase(_ text: String, in columns: any ColumnConvertible...) -> FullTextQuery {
    FullTextQuery(quoted(text), .atom).restricted(to: columns)
  }

  /// Matches rows that contain all words of a text, the last word as a prefix: `"swift" "sq" *`.
  public static func prefix(_ text: String, in columns: any ColumnConvertible...) -> FullTextQuery {
    var words = quotedWords(text)
    words[words.count - 1] += " *"
    return Self.words(words).restricted(to: columns)
  }

  /// Matches rows in which at most `distance` other words separate the first from the last of the given words or
  /// phrases: `NEAR("swift" "full text", 5)`.
  ///
  /// A statement with a negative distance throws `.invalidStatement`.
  public static func near(
    _ phrases: String..., within distance: Int = 10, in columns: any ColumnConvertible...
  ) -> FullTextQuery {
    let failure = SqlError.invalidStatement("the distance of near(_:within:) can't be negative")
    let text = phrases.isEmpty ? quoted("") : phrases.map(quoted).joined(separator: " ")
    // The distance is limited, because FTS5 does not detect an overflow. No text has more words than the limit.
    return FullTextQuery("NEAR(\(text), \(min(distance, 10_000_000)))", .atom, failure: distance < 0 ? failure : nil)
      .restricted(to: columns)
  }

  private static func words(_ words: [String]) -> FullTextQuery {
    // Join the parts by blanks, not by AND. Between blanks, FTS5 ignores a part without letters or digits, such as
    // `"-"`. With AND, such a part would match nothing.
    FullTextQuery(words.joined(separator: " "), words.count == 1 ? .atom : .words)
  }

  /// Splits a text at white space and quotes each part; returns a single empty part for a text without parts.
  private static func quotedWords(_ text: String) -> [String] {
    let words = text.unicodeScalars.split { $0.properties.isWhitespace || $0 == "\0" }
    return words.isEmpty ? [quoted("")] : words.map { quoted(String($0)) }
  }

  /// Returns a quoted text, which FTS5 reads only as words.
  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\"\""
      // FTS5 would end the query at a NUL.
      case "\0": quoted += " "
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}

// MARK: - Combined queries
//
// The path of this file must come after those of the filter operators, because the compiler tries overloads in the
// order of the paths.

extension FullTextQuery {
  /// Restricts the query to columns: `{"title" "body"} : (…)`. Without columns, returns the query unchanged.
  public func restricted(to columns: [any ColumnConvertible]) -> FullTextQuery {
    guard !columns.isEmpty else { return self }
    let names = columns.map { FullTextQuery.quoted($0.column.name) }.joined(separator: " ")
    return FullTextQuery(
      "{\(names)} : \(operand)", .atom, columns: self.columns + columns.map(\.column), stack: stack + 3,
      failure: failure)
  }

  /// Matches rows that match both queries: `"swift" AND "sqlite"`.
  @_disfavoredOverload
  public static func && (left: FullTextQuery, right: FullTextQuery) -> FullTextQuery {
    left.combined(.and, " AND ", right)
  }

  /// Matches rows that match at least one of the queries: `"swift" OR "sqlite"`.
  @_disfavoredOverload
  public static func || (left: FullTextQuery, right: FullTextQuery) -> FullTextQuery {
    left.combined(.or, " OR ", right)
  }

  /// Matches rows that match this query but not `other`: `"swift" NOT ("sqlite")`.
  public func excluding(_ other: FullTextQuery) -> FullTextQuery {
    // A chain of exclusions becomes one NOT with alternatives, `a NOT (b OR c)`. In FTS5, each NOT adds a level of
    // nesting, and since 3.46 there can be at most 256 levels. A chain of OR has one level.
    let isChain = kind == .not
    let start = isChain ? String(decoding: rawValue.utf8.dropLast(), as: UTF8.self) + " OR " : operand + " NOT ("
    return FullTextQuery(
      start + other.operand + ")", .not, columns: columns + other.columns,
      stack: max(stack + (isChain ? 0 : 1), other.stack + 6), failure: failure ?? other.failure)
  }

  private var operand: String { kind == .atom ? rawValue : "(\(rawValue))" }

  private func combined(_ kind: Kind, _ name: String, _ other: FullTextQuery) -> FullTextQuery {
    // Put no parentheses around a chain of the same operator.
    let isChain = self.kind == kind
    let left = isChain ? rawValue : operand
    return FullTextQuery(
      left + name + other.operand, kind, columns: columns + other.columns,
      stack: max(stack + (isChain ? 0 : 1), other.stack + 3), failure: failure ?? other.failure)
  }
}
