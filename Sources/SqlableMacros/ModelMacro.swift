#if Macros
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// The macro `@Sqlable`, which writes the conformance of a struct or final class to `Sqlable`.
public enum ModelMacro: ConformanceMacro {
  static var role: ModelDeclaration.Role { .model }
}

/// The macro `@SqlEmbedded`, which writes the conformance of a struct that models embed.
public enum EmbeddedMacro: ConformanceMacro {
  static var role: ModelDeclaration.Role { .embedded }
}

protocol ConformanceMacro: ExtensionMacro, MemberMacro {
  static var role: ModelDeclaration.Role { get }
}

extension ConformanceMacro {
  /// The generated text is already laid out like source code, so no formatting is needed.
  public static var formatMode: FormatMode { .disabled }

  public static func expansion(
    of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
    providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
    in context: some MacroExpansionContext
  ) throws -> [ExtensionDeclSyntax] {
    try ModelDeclaration(role, node, declaration, context)
      .conformance(of: type.trimmedDescription, declares: !protocols.isEmpty, context)
  }

  public static func expansion(
    of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
    conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
  ) throws -> [DeclSyntax] {
    ModelDeclaration(role, node, declaration, context).members
  }
}

extension ModelDeclaration {
  /// Returns the conformance, and reports the mistakes. The macro also has an expansion that adds members. That
  /// expansion reports no mistakes, so each mistake is reported once.
  fileprivate func conformance(
    of type: String, declares: Bool, _ context: some MacroExpansionContext
  ) throws -> [ExtensionDeclSyntax] {
    for mistake in mistakes.all { context.diagnose(mistake) }
    guard isModel else { return [] }
    let text = ModelSource(self, type).conformance(declares: declares)
    return [try ExtensionDeclSyntax("\(raw: text)")]
  }

  /// The members that must be in the type itself. A nested type needs its columns here, because columns can name the
  /// enclosing types. A class needs its initializers here. A type needs a memberwise initializer if Swift synthesizes
  /// none, or none that is visible outside the module.
  fileprivate var members: [DeclSyntax] {
    guard isModel else { return [] }
    let source = ModelSource(self, name.text)
    return ((isNested ? source.columns : []) + source.initializers).map { "\(raw: $0)" }
  }
}
#endif
