#if Macros
import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

extension ModelDeclaration {
  /// Checks the kind of the type. Returns false if the type can't be a model.
  mutating func checkType(_ node: AttributeSyntax, _ context: some MacroExpansionContext) -> Bool {
    let macro = "@\(role.name)"
    if let declaration = syntax.as(EnumDeclSyntax.self) {
      mistakes.add(
        "\(macro) needs a struct\(orClass), not an enum; conform an enum with raw values to SqlValue", "type",
        at: declaration.enumKeyword, valueOfColumn(declaration, node))
      return false
    }
    if let declaration = syntax.as(ActorDeclSyntax.self) {
      mistakes.add("\(macro) needs a struct\(orClass), not an actor", "type", at: declaration.actorKeyword)
      return false
    }
    if let declaration = syntax.as(ProtocolDeclSyntax.self) {
      mistakes.add("\(macro) needs a struct\(orClass), not a protocol", "type", at: declaration.protocolKeyword)
      return false
    }
    let roleAttributes = (syntax.asProtocol(WithAttributesSyntax.self)?.attributes ?? []).compactMap { element in
      element.as(AttributeSyntax.self).flatMap { $0.attributeName.trimmedDescription == role.name ? $0 : nil }
    }
    if roleAttributes.count > 1 {
      // Swift calls the macro once for each of the attributes. Only the call for the first attribute writes the code.
      if let place = context.location(of: node), let first = context.location(of: roleAttributes[0]),
        place.line.trimmedDescription == first.line.trimmedDescription,
        place.column.trimmedDescription == first.column.trimmedDescription
      {
        return true
      }
      mistakes.add("the type has \(macro) twice", "twice", at: roleAttributes[1])
      return false
    }
    if let parameters = syntax.asProtocol(WithGenericParametersSyntax.self)?.genericParameterClause {
      mistakes.add(
        "\(macro) can't write the columns of a generic type; write the conformance by hand, with static computed "
          + "properties",
        "generic", at: parameters)
    }
    checkVisibility(context)
    let isVisible = mistakes.all.isEmpty
    if let declaration = syntax.as(ClassDeclSyntax.self) { checkClass(declaration) }
    // For a class that is not final, the macro generates a conformance without bodies, so that the missing `final` is
    // the only error.
    return isVisible && (role == .model || !isClass)
  }

  private var orClass: String { role == .model ? " or a final class" : "" }

  private func valueOfColumn(_ declaration: EnumDeclSyntax, _ node: AttributeSyntax) -> [FixIt] {
    guard let types = declaration.inheritanceClause?.inheritedTypes,
      types.first.map({ String.rawTypes.contains($0.type.trimmedDescription) }) == true
    else { return [] }
    var value = declaration
    value.attributes = declaration.attributes.filter { $0.id != node.id }
    let names = (types.map(\.type.trimmedDescription) + ["SqlValue"]).joined(separator: ", ")
    value.inheritanceClause = InheritanceClauseSyntax(
      inheritedTypes: [InheritedTypeSyntax(type: TypeSyntax(" \(raw: names)"), trailingTrivia: .space)])
    value.inheritanceClause?.colon = .colonToken()
    return [.replace("conform to SqlValue", declaration, with: value.with(\.leadingTrivia, declaration.leadingTrivia))]
  }

  private mutating func checkClass(_ declaration: ClassDeclSyntax) {
    guard role == .model else {
      return mistakes.add("@SqlEmbedded needs a struct, not a class", "type", at: declaration.classKeyword)
    }
    guard !isFinal else { return }
    let keyword = declaration.classKeyword
    let final = keyword.with(\.tokenKind, .identifier("final class"))
    mistakes.add(
      "@Sqlable needs a final class: init(row:) must create the same type", "final", at: keyword,
      .replace("add final", keyword, with: final))
  }

  /// Reports private types that the extension can't see: the nested type itself and the enclosing types.
  private mutating func checkVisibility(_ context: some MacroExpansionContext) {
    let around = context.lexicalContext.filter { $0.asProtocol(DeclGroupSyntax.self) != nil }
    if access == .private, !around.isEmpty,
      let modifier = syntax.asProtocol(WithModifiersSyntax.self)?.modifiers.first(where: { $0.name.text == "private" })
    {
      mistakes.add(
        "the macro's extension can't access the private type \(name.text); make \(name.text) fileprivate", "private",
        at: modifier,
        .replace("make it fileprivate", modifier, with: modifier.with(\.name, .identifier("fileprivate"))))
    }
    for type in around.dropLast() {
      guard let group = type.asProtocol(DeclGroupSyntax.self), Access(group.modifiers) == .private else { continue }
      let outer = group.asProtocol(NamedDeclSyntax.self)?.name.text ?? ""
      mistakes.add(
        "the macro's extension can't access \(name.text) in the private type \(outer); make \(outer) fileprivate",
        "private", at: name)
    }
  }

  // MARK: All properties together

  mutating func check() {
    for property in properties { check(property) }
    checkColumnNames()
    checkKeys()
    checkArguments()
    checkIndexes()
    checkFullText()
    checkDeclared()
    if stored.isEmpty { mistakes.add("\(name.text) has no stored properties, and so no columns", "empty", at: name) }
  }

  private mutating func checkColumnNames() {
    var names: [String: String] = [:]
    for property in stored where !property.has(.embedded) && !isDeclared(property) {
      let column = columnName(property)
      // Fold ASCII letters, as SQLite does when it compares names.
      let folded = String(
        String.UnicodeScalarView(
          column.unicodeScalars.map { ("A"..."Z").contains($0) ? Unicode.Scalar(UInt8($0.value + 32)) : $0 }))
      if let other = names[folded] {
        let variable = property.variable
        let fixIts: [FixIt] =
          property.has(.column)
          ? [] : [.replace("give the column a name", variable, with: variable.with(attribute: #"@Column("<#name#>")"#))]
        mistakes.add(
          "\(property.plainName) and \(other) have the same column \(column)", "column", at: property.binding,
          fixIts)
      }
      names[folded] = property.plainName
    }
  }

  private mutating func checkKeys() {
    let keys = stored.filter { $0.attribute(.primaryKey) != nil }
    guard keys.count > 1, let second = keys[1].attribute(.primaryKey) else { return }
    let terms = keys.map { key in
      key.name + (key.attribute(.primaryKey)?.isDescending == true ? ".desc" : "")
    }.joined(separator: ", ")
    let declaration = "static let tableConstraints = [PrimaryKeys(\(terms))]"
    guard declared["tableConstraints"] == nil else {
      return mistakes.add(
        "a table can't have two primary keys; replace the attributes by PrimaryKeys(\(terms)) in tableConstraints",
        "keys",
        at: second.syntax)
    }
    mistakes.add(
      "a table can't have two primary keys; declare a key of several columns in tableConstraints", "keys",
      at: second.syntax,
      .replace("declare a compound key", memberBlock, with: members(without: keys, adding: access.text + declaration)))
  }

  /// Returns the type's members without the attributes of these keys, and with an additional declaration of the
  /// compound key.
  private func members(without keys: [ModelProperty], adding declaration: String) -> MemberBlockSyntax {
    var members = Array(memberBlock.members)
    for index in members.indices {
      guard let variable = members[index].decl.as(VariableDeclSyntax.self),
        keys.contains(where: { $0.variable.id == variable.id })
      else { continue }
      let attributes = variable.propertyAttributes.filter { $0.kind == .primaryKey }.map(\.syntax)
      members[index].decl = DeclSyntax(variable.without(attributes))
    }
    let last = members[members.count - 1]
    // The line break and indentation before the first member, without the member's comment.
    let before = members[0].leadingTrivia.pieces
    var start = before.lastIndex(where: \.isNewline).map { Trivia(pieces: before[$0...]) } ?? []
    var end = Trivia()
    if start.isEmpty {
      // Without a line break before its first member, the type is on one line.
      members[members.count - 1] = last.with(\.trailingTrivia, []).with(\.semicolon, .semicolonToken())
      (start, end) = (.space, .space)
    }
    let added = DeclSyntax("\(raw: declaration)").with(\.leadingTrivia, start).with(\.trailingTrivia, end)
    members.append(MemberBlockItemSyntax(decl: added))
    var block = memberBlock
    block.members = MemberBlockItemListSyntax(members)
    return block
  }

  private mutating func checkArguments() {
    if let naming = argument("naming"), !["snakeCase", "verbatim"].contains(naming.expression.memberName) {
      mistakes.add("naming must be the literal .snakeCase or .verbatim", "naming", at: naming.expression)
    }
    if let table = argument(nil), !table.expression.isNil { checkName(table.expression, of: "table") }
    for (label, member) in [(nil, "tableName"), ("options", "tableOptions")] {
      guard let argument = argument(label), declared[member] != nil, !argument.expression.isNil else { continue }
      mistakes.add("\(name.text) already declares \(member); remove one of the two", "declared", at: argument)
    }
  }

  mutating func checkName(_ literal: ExprSyntax, of what: String) {
    guard let text = literal.literalText, text.isEmpty || text.utf8.contains(0) else { return }
    mistakes.add("the name of a \(what) can't be empty or contain a NUL byte", "name", at: literal)
  }

  private mutating func checkFullText() {
    let searched = stored.filter { $0.has(.fullText) }
    for property in searched where declared["tableFullText"] != nil {
      guard let attribute = property.attribute(.fullText) else { continue }
      mistakes.add(
        "\(name.text) already declares tableFullText; add \(property.name) there", "declared", at: attribute.syntax)
    }
    let telling = searched.filter { $0.attribute(.fullText)?.arguments.isEmpty == false }
    guard telling.count > 1, let second = telling[1].attribute(.fullText) else { return }
    var plain = second.syntax
    (plain.leftParen, plain.arguments, plain.rightParen) = (nil, nil, nil)
    mistakes.add(
      "only one @FullText of a table can have arguments, and \(telling[0].plainName) already has arguments; remove the "
        + "arguments here",
      "fullText",
      at: second.syntax, .replace("remove the arguments", second.syntax, with: plain))
  }
}

extension ModelDeclaration {
  /// Reports members that the protocol requires and that are less visible than the type. Without this check, the
  /// compiler would report them in the macro's expansion.
  private mutating func checkDeclared() {
    for required in String.required {
      guard let variable = declared[required], access.rawValue > Access.internal.rawValue,
        Access(variable.modifiers).rawValue < access.rawValue
      else { continue }
      var visible = variable
      visible.modifiers = variable.modifiers.filter { Access([$0]) == .internal && $0.name.text != "internal" }
      visible = visible.with(\.leadingTrivia, [])
      let modifier = DeclModifierSyntax(name: .identifier(access.text, trailingTrivia: []))
      visible.modifiers = [modifier] + visible.modifiers
      mistakes.add(
        "\(required) must be \(access.text)like \(name.text)", "access", at: variable.bindings,
        .replace("make it \(access.text)".trimmed, variable, with: visible))
    }
  }
}

extension String {
  /// The members that the protocols require of a type, and that the type may declare itself.
  fileprivate static let required = [
    "fields", "tableConstraints", "tableFullText", "tableIndexes", "tableLayout", "tableName", "tableOptions",
  ]

  fileprivate static let rawTypes = integerTypes.union(["String", "Double", "Float"])
}
#endif
