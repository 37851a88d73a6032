#if Macros
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxMacros

/// The macro of a property's attribute, which writes no code. `@Sqlable` and `@SqlEmbedded` read the attribute.
public enum PropertyMacro: PeerMacro {
  public static func expansion(
    of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
    in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    let name = node.attributeName.as(IdentifierTypeSyntax.self)?.name.text ?? ""
    guard declaration.is(VariableDeclSyntax.self) else {
      context.diagnose(Diagnostic(node: node, message: Mistake(message: "@\(name) needs a property", id: "place")))
      return []
    }
    let attributes = context.lexicalContext.first?.asProtocol(WithAttributesSyntax.self)?.attributes ?? []
    let isRead = attributes.contains { element in
      ["Sqlable", "SqlEmbedded"].contains(element.as(AttributeSyntax.self)?.attributeName.trimmedDescription)
    }
    if !isRead {
      let message = "@\(name) has no effect here: the type has neither @Sqlable nor @SqlEmbedded"
      context.diagnose(Diagnostic(node: node, message: Mistake(message: message, id: "place")))
    }
    return []
  }
}
#endif
