/// The expression of a check, a generated column or an index: SQL text or a term.
package enum DeclaredExpression: Sendable {
  case sql(String)
  case term(any DeclaredTerm)

  /// Returns the SQL, with literals in place of values. `real` returns a literal from which SQLite reads the exact
  /// number. Throws for a term that a declaration of the table can't contain.
  package func sql(for table: TableInfo, real: (Double) throws -> String) throws -> String {
    switch self {
    case .sql(let text): text
    case .term(let term): try term.sql(for: table, real: real)
    }
  }

  /// The words of an index's automatic name: names of columns and functions.
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

/// A term in a declaration. The term is created on first use, because a column's declaration can contain a term that
/// refers to the column.
package protocol DeclaredTerm: Sendable {
  func sql(for table: TableInfo, real: (Double) throws -> String) throws -> String

  var words: [String] { get }

  var content: AnyHashable { get }
}
