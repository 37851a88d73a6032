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

  /// The words of which the name of an index is made: names of columns and functions.
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

/// A term in a declaration. It is made when it is needed: it may be of a column whose own declaration has it.
package protocol DeclaredTerm: Sendable {
  /// The SQL, with literals in place of values. Throws for a term that can't stand in a declaration of the table.
  func sql(for table: TableInfo, real: (Double) throws -> String) throws -> String

  /// The names of its columns and functions.
  var words: [String] { get }

  /// What two equal terms have in common.
  var content: AnyHashable { get }
}
