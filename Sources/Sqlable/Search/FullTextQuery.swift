/// What to look for in texts: made of values, so that no input is ever a syntax error or reaches another column.
///
/// ```swift
/// Article.search(.words("swift sqlite"))                         // "swift" "sqlite": both words, anywhere
/// Article.search(.prefix("swift sq"))                            // "swift" "sq" *: as somebody types
/// Article.search(.phrase("not a database") || .words("full", in: Article.title))
/// // "not a database" OR {"title"} : "full"
/// ```
///
/// Input is cut at white space and NUL, and each part stands in quotes. What the tokenizer makes several words of, such
/// as `well-known`, is then searched for as a phrase. A part without any word, such as `--`, is passed over, and a
/// query without any finds nothing.
public struct FullTextQuery: Sendable, Hashable {
  /// The query in FTS5's own syntax, as it is bound.
  public let rawValue: String
  /// The columns that it names.
  let columns: [Column]
  private let kind: Kind
  /// How many symbols FTS5's parser holds at most.
  private let stack: Int
  /// Why it can't be asked.
  let failure: SqlError?

  private enum Kind: Sendable, Hashable {
    /// Something that binds to nothing beside it.
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
      failure ?? (stack > 90 ? .invalidStatement("a full-text query nests deeper than FTS5's parser can follow") : nil)
  }
}

extension FullTextQuery: RawRepresentable {
  /// Takes a query in FTS5's own syntax: `FullTextQuery(rawValue: "swift NOT (grdb OR title : sqlite)")`.
  ///
  /// What is wrong with it throws when it is run, without a part of it in the error. A NUL byte throws
  /// `.invalidStatement`.
  public init(rawValue: String) {
    let failure = SqlError.invalidStatement("a full-text query holds a NUL byte")
    self.init(rawValue, .or, failure: rawValue.utf8.contains(0) ? failure : nil)
  }

  public static func == (left: Self, right: Self) -> Bool {
    left.rawValue.isExactly(right.rawValue) && left.columns == right.columns && left.kind == right.kind
      && left.failure == right.failure
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(rawValue) }
}

// MARK: - Of input

extension FullTextQuery {
  /// All words of a text, in any order: `"swift" "sqlite"`.
  public static func words(_ text: String, in columns: any ColumnConvertible...) -> FullTextQuery {
    words(quotedWords(text)).restricted(to: columns)
  }

  /// Any word of a text: `"swift" OR "sqlite"`.
  public static func anyWord(_ text: String, in columns: any ColumnConvertible...) -> FullTextQuery {
    let words = quotedWords(text)
    let query = words.count == 1 ? FullTextQuery(words[0], .atom) : FullTextQuery(words.joined(separator: " OR "), .or)
    return query.restricted(to: columns)
  }

  /// The words of a text as they follow one another: `"not a database"`.
  public static func phrase(_ text: String, in columns: any ColumnConvertible...) -> FullTextQuery {
    FullTextQuery(quoted(text), .atom).restricted(to: columns)
  }

  /// All words of a text, of which the last may be the beginning of one: `"swift" "sq" *`.
  public static func prefix(_ text: String, in columns: any ColumnConvertible...) -> FullTextQuery {
    var words = quotedWords(text)
    words[words.count - 1] += " *"
    return Self.words(words).restricted(to: columns)
  }

  /// Words or phrases with at most so many other words between the first and the last: `NEAR("swift" "full text", 5)`.
  ///
  /// A distance below zero throws `.invalidStatement` when it is run.
  public static func near(
    _ phrases: String..., within distance: Int = 10, in columns: any ColumnConvertible...
  ) -> FullTextQuery {
    let failure = SqlError.invalidStatement("words can't be nearer than next to one another")
    let text = phrases.isEmpty ? quoted("") : phrases.map(quoted).joined(separator: " ")
    // No text has so many words, and FTS5 does not notice a number that is too large for it.
    return FullTextQuery("NEAR(\(text), \(min(distance, 10_000_000)))", .atom, failure: distance < 0 ? failure : nil)
      .restricted(to: columns)
  }

  private static func words(_ words: [String]) -> FullTextQuery {
    // Not with AND, beside which a part without any word would find nothing.
    FullTextQuery(words.joined(separator: " "), words.count == 1 ? .atom : .words)
  }

  /// The parts of a text between white space, each in quotes; an empty one for a text without any.
  private static func quotedWords(_ text: String) -> [String] {
    let words = text.unicodeScalars.split { $0.properties.isWhitespace || $0 == "\0" }
    return words.isEmpty ? [quoted("")] : words.map { quoted(String($0)) }
  }

  /// A text in quotes, where it is words and nothing else to FTS5.
  private static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": quoted += "\"\""
      // FTS5 would take it for the end of the query.
      case "\0": quoted += " "
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}

// MARK: - Of queries
//
// The path of this file comes after those of the operators of filters: the compiler tries them in that order.

extension FullTextQuery {
  /// The same in these columns only: `{"title" "body"} : (…)`. Without any it is the query itself.
  public func restricted(to columns: [any ColumnConvertible]) -> FullTextQuery {
    guard !columns.isEmpty else { return self }
    let names = columns.map { FullTextQuery.quoted($0.column.name) }.joined(separator: " ")
    return FullTextQuery(
      "{\(names)} : \(operand)", .atom, columns: self.columns + columns.map(\.column), stack: stack + 3,
      failure: failure)
  }

  /// Rows that both find: `"swift" AND "sqlite"`.
  public static func && (left: FullTextQuery, right: FullTextQuery) -> FullTextQuery {
    left.combined(.and, " AND ", right)
  }

  /// Rows that one of them finds: `"swift" OR "sqlite"`.
  public static func || (left: FullTextQuery, right: FullTextQuery) -> FullTextQuery {
    left.combined(.or, " OR ", right)
  }

  /// Rows that it finds and the other does not: `"swift" NOT ("sqlite")`.
  public func excluding(_ other: FullTextQuery) -> FullTextQuery {
    // A chain excludes any of a list: FTS5 nests a chain of NOT, to 256 levels since 3.46, and keeps one of OR flat.
    let isChain = kind == .not
    let start = isChain ? String(decoding: rawValue.utf8.dropLast(), as: UTF8.self) + " OR " : operand + " NOT ("
    return FullTextQuery(
      start + other.operand + ")", .not, columns: columns + other.columns,
      stack: max(stack + (isChain ? 0 : 1), other.stack + 6), failure: failure ?? other.failure)
  }

  private var operand: String { kind == .atom ? rawValue : "(\(rawValue))" }

  private func combined(_ kind: Kind, _ name: String, _ other: FullTextQuery) -> FullTextQuery {
    // A chain of one kind is flat, however long.
    let isChain = self.kind == kind
    let left = isChain ? rawValue : operand
    return FullTextQuery(
      left + name + other.operand, kind, columns: columns + other.columns,
      stack: max(stack + (isChain ? 0 : 1), other.stack + 3), failure: failure ?? other.failure)
  }
}
