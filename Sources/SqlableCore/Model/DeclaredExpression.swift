/// The expression of a check, a generated column or an index: SQL text, or a term.
package enum DeclaredExpression: Sendable {
  /// Text that is inserted unchanged.
  case sql(String)
  case term(any DeclaredTerm)

  /// The SQL, with literals in place of values. Throws for a term that can't stand in a declaration of the table.
  ///
  /// - Parameter real: Spells a number so that SQLite reads it exactly.
  package func sql(for table: TableInfo, real: (Double) throws -> String) throws -> String {
    switch self {
    case .sql(let text): text
    case .term(let term): try term.sql(for: table, real: real)
    }
  }

  /// The words that form the name of an index: names of columns and functions.
  var words: [String] {
    switch self {
    case .sql(let text): text.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.map { $0.lowercased() }
    case .term(let term): term.words
    }
  }

  fileprivate var content: AnyHashable {
    switch self {
    case .sql(let text): Array(text.utf8)
    case .term(let term): term.content
    }
  }
}

extension DeclaredExpression: Hashable {
  package static func == (left: DeclaredExpression, right: DeclaredExpression) -> Bool { left.content == right.content }
  package func hash(into hasher: inout Hasher) { hasher.combine(content) }
}

/// A term in a declaration. The term is created when it is needed, because it may refer to a column whose own
/// declaration contains it.
package protocol DeclaredTerm: Sendable {
  /// The SQL, with literals in place of values. Throws for a term that can't stand in a declaration of the table.
  func sql(for table: TableInfo, real: (Double) throws -> String) throws -> String

  /// The names of the term's columns and functions.
  var words: [String] { get }

  /// The value by which terms are compared and hashed.
  var content: AnyHashable { get }
}
