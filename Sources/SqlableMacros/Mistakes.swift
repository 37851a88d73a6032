#if Macros
import SwiftDiagnostics
import SwiftSyntax

struct Mistakes {
  private(set) var all: [Diagnostic] = []

  mutating func add(_ message: String, _ id: String, at node: some SyntaxProtocol, _ fixIts: FixIt...) {
    add(message, id, at: node, fixIts)
  }

  mutating func add(_ message: String, _ id: String, at node: some SyntaxProtocol, _ fixIts: [FixIt]) {
    all.append(Diagnostic(node: node, message: Mistake(message: message, id: id), fixIts: fixIts))
  }
}

struct Mistake: DiagnosticMessage {
  let message: String
  let id: String

  var diagnosticID: MessageID { MessageID(domain: "Sqlable", id: id) }
  var severity: DiagnosticSeverity { .error }
}

private struct Mending: FixItMessage {
  let message: String

  var fixItID: MessageID { MessageID(domain: "Sqlable", id: message) }
}

extension FixIt {
  static func replace(_ message: String, _ old: some SyntaxProtocol, with new: some SyntaxProtocol) -> FixIt {
    FixIt(message: Mending(message: message), changes: [.replace(old, with: new)])
  }

  static func changes(_ message: String, _ changes: [Change]) -> FixIt {
    FixIt(message: Mending(message: message), changes: changes)
  }

  static func remove(_ attribute: AttributeSyntax, of variable: VariableDeclSyntax) -> FixIt {
    .replace("remove @\(attribute.attributeName.trimmedDescription)", variable, with: variable.without([attribute]))
  }
}

extension FixIt.Change {
  /// Replaces a node, and keeps the whitespace and comments around the old node. A plain replacement would also replace
  /// the whitespace and comments.
  static func replace(_ old: some SyntaxProtocol, with new: some SyntaxProtocol) -> FixIt.Change {
    var kept = Syntax(new)
    kept.leadingTrivia = old.leadingTrivia
    kept.trailingTrivia = old.trailingTrivia
    return .replace(oldNode: Syntax(old), newNode: kept)
  }
}

extension VariableDeclSyntax {
  func without(_ attributes: [AttributeSyntax]) -> VariableDeclSyntax {
    let removed = attributes.map(\.id)
    var variable = self
    variable.attributes = self.attributes.filter { !removed.contains($0.id) }
    return variable.with(\.leadingTrivia, leadingTrivia)
  }

  func with(attribute text: String) -> VariableDeclSyntax {
    var variable = with(\.leadingTrivia, [])
    let attribute = AttributeSyntax("\(raw: text)").with(\.trailingTrivia, .space)
    variable.attributes = AttributeListSyntax([.attribute(attribute)] + Array(variable.attributes))
    return variable.with(\.leadingTrivia, leadingTrivia)
  }
}
#endif
