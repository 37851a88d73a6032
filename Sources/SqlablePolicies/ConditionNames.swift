import SqlableCore
import SqlableDocuments

/// The folded names in the conditions of a policy: the tables in the conditions' queries, and all words of the
/// conditions' SQL texts.
///
/// SQLite first looks up a name among the queries and aliases of the statement. If a document named a query of its own
/// like one of these tables, the condition would read that query instead of the table.
struct ConditionNames: Sendable {
  private var words: Set<[UInt8]> = []
  private var hasText = false

  init(_ conditions: [SqlExpression]) {
    for condition in conditions {
      condition.visit(
        { term in
          guard case .special(let special) = term.node, case .fragment(let fragment) = special.form else { return }
          hasText = true
          // A name never spans a term inside the SQL text, so each text between terms contains only complete names.
          for text in fragment.texts { words.formUnion(ConditionNames.words(in: text)) }
        },
        { source in
          words.insert(source.name.foldedName)
          words.insert(source.table.name.foldedName)
        })
    }
  }

  /// Returns true if a condition contains the name. If the conditions contain SQL text, also returns true for every
  /// name that needs quotes.
  func contains(_ name: String) -> Bool {
    let folded = name.foldedName
    return words.contains(folded) || hasText && !folded.allSatisfy(\.isWordByte)
  }

  private static func words(in text: [UInt8]) -> [[UInt8]] {
    let names = text.withUnsafeBufferPointer { SQLTokenizer($0).compactMap(\.name) }
    return (names + text.split { !$0.isWordByte }.map(Array.init)).map { $0.map(\.foldedLetter) }
  }
}
