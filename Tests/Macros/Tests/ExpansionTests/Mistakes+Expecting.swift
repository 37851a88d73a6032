import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxMacroExpansion
import Testing

@testable import MacrosUnderTest

/// Expects exactly one mistake: its message, the marked text, and the source after each fix-it, by the fix-it's
/// message.
func expectMistake(
  _ source: String, _ message: String, at marked: String, _ fixed: KeyValuePairs<String, String> = [:],
  sourceLocation: Testing.SourceLocation = #_sourceLocation
) {
  let mistakes = mistakes(in: source)
  #expect(mistakes.map(\.message) == [message], sourceLocation: sourceLocation)
  guard let mistake = mistakes.first else { return }
  #expect(mistake.node.trimmedDescription == marked, sourceLocation: sourceLocation)
  #expect(mistake.fixIts.map(\.message.message) == fixed.map(\.key), sourceLocation: sourceLocation)
  for (fixIt, expected) in zip(mistake.fixIts, fixed) {
    #expect(fixIt.applied(to: source) == expected.value, sourceLocation: sourceLocation)
    let filled = expected.value.replacing(/<#\w+#>/, with: "Value")
    #expect(!Parser.parse(source: filled).hasError, sourceLocation: sourceLocation)
  }
}

/// Returns the mistakes of the first type that uses one of the macros.
private func mistakes(in source: String) -> [Diagnostic] {
  let finder = Finder(viewMode: .sourceAccurate)
  finder.walk(Parser.parse(source: source))
  guard let (declaration, node, role) = finder.found else { return [] }
  let context = BasicMacroExpansionContext(lexicalContext: declaration.allMacroLexicalContexts())
  return ModelDeclaration(role, node, declaration, context).mistakes.all
}

private final class Finder: SyntaxAnyVisitor {
  var found: (any DeclGroupSyntax, AttributeSyntax, ModelDeclaration.Role)?

  override func visitAny(_ node: Syntax) -> SyntaxVisitorContinueKind {
    guard found == nil, let declaration = node.asProtocol(DeclGroupSyntax.self) else { return .visitChildren }
    for case .attribute(let attribute) in declaration.attributes {
      switch attribute.attributeName.trimmedDescription {
      case "Sqlable": found = (declaration, attribute, .model)
      case "SqlEmbedded": found = (declaration, attribute, .embedded)
      default: continue
      }
      return .skipChildren
    }
    return .visitChildren
  }
}

extension FixIt {
  /// Returns the source with the changes.
  fileprivate func applied(to source: String) -> String {
    var bytes = Array(source.utf8)
    for edit in edits.sorted(by: { $0.range.lowerBound > $1.range.lowerBound }) {
      let range = edit.range.lowerBound.utf8Offset..<edit.range.upperBound.utf8Offset
      bytes.replaceSubrange(range, with: Array(edit.replacement.utf8))
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
