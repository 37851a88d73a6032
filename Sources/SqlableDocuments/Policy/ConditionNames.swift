import SqlableCore

/// The names in conditions of a policy, folded: of tables in their queries, and all words of their SQL texts.
///
/// SQLite looks up a name first among the queries and aliases of the statement. A document that gives one of these
/// names to a query of its own would change the meaning of the condition.
struct ConditionNames: Sendable {
  private var words: Set<[UInt8]> = []
  private var hasText = false

  init(_ conditions: [SqlExpression]) {
    for condition in conditions {
      condition.visit(
        { term in
          guard case .special(let special) = term.node, case .fragment(let fragment) = special.form else { return }
          hasText = true
          // A term never stands inside a name, so each text has whole names.
          for text in fragment.texts { words.formUnion(ConditionNames.words(in: text)) }
        },
        { source in
          words.insert(source.name.foldedName)
          words.insert(source.table.name.foldedName)
        })
    }
  }

  /// Returns whether a name stands in a condition. For a name that must be quoted the answer is true wherever a
  /// condition has SQL text: a text can quote it in several ways.
  func contains(_ name: String) -> Bool {
    let folded = name.foldedName
    return words.contains(folded) || hasText && !folded.allSatisfy(\.isWordByte)
  }

  /// The names in a text, and all words inside its quotes and comments.
  private static func words(in text: [UInt8]) -> [[UInt8]] {
    let names = text.withUnsafeBufferPointer { SQLTokenizer($0).compactMap(\.name) }
    return (names + text.split { !$0.isWordByte }.map(Array.init)).map { $0.map(\.foldedLetter) }
  }
}
