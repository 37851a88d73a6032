#if Macros
import SwiftDiagnostics
import SwiftSyntax

extension ModelDeclaration {
  mutating func check(_ property: ModelProperty) {
    checkDuplicates(property)
    checkConstant(property)
    guard !property.has(.transient) else { return checkTransient(property) }
    checkMemberName(property)
    if property.has(.embedded) { checkEmbedded(property) }
    checkType(of: property)
    checkOwnDeclaration(property)
    if role == .embedded {
      for attribute in property.attributes where [.primaryKey, .index, .fullText, .unindexed].contains(attribute.kind) {
        mistakes.add(
          "\(attribute.name) needs a table; an embedded struct has no table", "table",
          at: attribute.syntax, .remove(attribute.syntax, of: property.variable))
      }
    }
    if property.has(.embedded) { return }
    if let name = property.columnArguments.name { checkName(name.expression, of: "column") }
    checkKey(property)
    checkGenerated(property)
    checkDefault(property)
    checkColumnType(property)
    checkFullText(property)
  }

  private mutating func checkDuplicates(_ property: ModelProperty) {
    for (index, attribute) in property.attributes.enumerated()
    where attribute.kind != .check && property.attributes[..<index].contains(where: attribute.repeats) {
      mistakes.add(
        "\(property.plainName) has \(attribute.name) twice", "twice", at: attribute.syntax,
        .remove(attribute.syntax, of: property.variable))
    }
  }

  private mutating func checkConstant(_ property: ModelProperty) {
    guard property.isLet, property.initialValue != nil, !property.has(.transient) else { return }
    let variable = property.variable
    let specifier = variable.bindingSpecifier
    mistakes.add(
      "\(property.plainName) is a let with an initial value, so init(row:) can't set \(property.plainName)", "constant",
      at: property.binding,
      .replace("make it a var", specifier, with: specifier.with(\.tokenKind, .keyword(.var))),
      .replace("mark the property @Transient", variable, with: variable.with(attribute: "@Transient")))
  }

  private mutating func checkTransient(_ property: ModelProperty) {
    let variable = property.variable
    for attribute in property.attributes where attribute.kind != .transient {
      mistakes.add(
        "\(property.plainName) is @Transient, so \(attribute.name) has no effect", "transient", at: attribute.syntax,
        .remove(attribute.syntax, of: variable))
    }
    guard property.initialValue == nil, property.isLet || !property.isOptional else { return }
    let binding = property.binding
    var value = binding
    value.typeAnnotation = binding.typeAnnotation?.with(\.trailingTrivia, [])
    value.initializer = InitializerClauseSyntax(
      equal: .equalToken(leadingTrivia: .space, trailingTrivia: .space), value: ExprSyntax("\(raw: "<#value#>")"),
      trailingTrivia: binding.accessorBlock == nil ? [] : .space)
    mistakes.add(
      "@Transient \(property.plainName) needs an initial value, because a row has no value for \(property.plainName)",
      "transientValue", at: binding,
      .replace("give it a value", binding, with: value.with(\.trailingTrivia, [])))
  }

  /// Refuses a property with the name of a static member of the model, because the property's column would be a static
  /// member with this name.
  private mutating func checkMemberName(_ property: ModelProperty) {
    guard isMember(property), !isDeclared(property) else { return }
    let (variable, pattern) = (property.variable, property.binding.pattern)
    var fixIts: [FixIt] = []
    if !property.has(.column), !property.has(.embedded), variable.bindings.count == 1 {
      var renamed = variable
      var binding = property.binding
      let name = PatternSyntax(IdentifierPatternSyntax(identifier: .identifier(property.plainName + "Value")))
      binding.pattern = name.with(\.trailingTrivia, pattern.trailingTrivia)
      renamed.bindings = [binding]
      let attribute = "@Column(\(columnLiteral(property)))"
      fixIts = [.replace("rename the property, not the column", variable, with: renamed.with(attribute: attribute))]
    }
    mistakes.add(
      "a model already has a member \(property.plainName); rename the property", "member",
      at: pattern, fixIts)
  }

  func isMember(_ property: ModelProperty) -> Bool {
    (role == .model ? String.modelMembers : String.embeddedMembers).contains(property.plainName)
  }

  private mutating func checkEmbedded(_ property: ModelProperty) {
    if role == .embedded, let attribute = property.attribute(.embedded) {
      mistakes.add(
        "an embedded struct can't have an @Embedded property; declare each column as a property", "embedded",
        at: attribute.syntax,
        .remove(attribute.syntax, of: property.variable))
    }
    for attribute in property.attributes where attribute.kind != .embedded {
      mistakes.add(
        "\(property.plainName) is an embedded struct with several columns; write \(attribute.name) at a property "
          + "inside that struct",
        "embedded",
        at: attribute.syntax, .remove(attribute.syntax, of: property.variable))
    }
    if let prefix = property.attribute(.embedded)?.arguments.first { checkName(prefix.expression, of: "prefix") }
  }

  private mutating func checkType(of property: ModelProperty) {
    let binding = property.binding
    if let (type, kind) = binding.typeAnnotation?.type.unstorablePart {
      let variable = property.variable
      let hasValue = property.initialValue != nil || property.isOptional && !property.isLet
      var fixIts: [FixIt] = []
      if kind == .nestedOptional, let wrapped = type.wrappedType {
        fixIts = [.replace("remove one of the optionals", type, with: wrapped.unparenthesized)]
      } else if property.attributes.isEmpty, hasValue {
        fixIts = [.replace("mark the property @Transient", variable, with: variable.with(attribute: "@Transient"))]
      }
      mistakes.add(kind.message(property.plainName), "unstorable", at: type, fixIts)
    }
    guard property.type == nil, property.columnArguments.type == nil, !isDeclared(property) else { return }
    let type = binding.initializer?.value.probableType ?? "<#type#>"
    var typed = binding
    typed.pattern = binding.pattern.with(\.trailingTrivia, [])
    typed.typeAnnotation = TypeAnnotationSyntax(
      colon: .colonToken(trailingTrivia: .space), type: TypeSyntax("\(raw: type)"), trailingTrivia: .space)
    mistakes.add(
      "\(property.plainName) needs a type annotation: a macro can't infer types", "type", at: binding,
      .replace("state the type \(type == "<#type#>" ? "" : type)".trimmed, binding, with: typed))
  }

  private mutating func checkOwnDeclaration(_ property: ModelProperty) {
    guard isDeclared(property) else { return }
    for attribute in property.attributes where ![.index, .fullText, .embedded].contains(attribute.kind) {
      mistakes.add(
        "\(name.text) already declares the column \(property.plainName), so \(attribute.name) has no effect",
        "declared",
        at: attribute.syntax, .remove(attribute.syntax, of: property.variable))
    }
  }

  private mutating func checkKey(_ property: ModelProperty) {
    guard let key = property.attribute(.primaryKey), let argument = key.argument("autoincrement"),
      argument.expression.trimmedDescription != "false"
    else { return }
    let remaining = key.arguments.filter { $0.label?.text != "autoincrement" }
    var plain = key.syntax
    if remaining.isEmpty {
      (plain.leftParen, plain.arguments, plain.rightParen) = (nil, nil, nil)
    } else {
      plain.arguments = .argumentList(
        LabeledExprListSyntax(remaining.map { $0.with(\.trailingComma, nil).with(\.trailingTrivia, []) }))
    }
    let fixIt = FixIt.replace("remove autoincrement", key.syntax, with: plain)
    let type = property.valueType.hasSuffix("?") ? String(property.valueType.dropLast()) : property.valueType
    if String.otherTypes.contains(type) {
      mistakes.add("autoincrement needs an integer key, not \(type)", "autoincrement", at: argument, fixIt)
    } else if key.argument("descending")?.expression.trimmedDescription == "true" {
      mistakes.add("a key with autoincrement can't be descending", "autoincrement", at: argument, fixIt)
    }
  }

  private mutating func checkGenerated(_ property: ModelProperty) {
    guard property.has(.generated) else { return }
    for attribute in property.attributes where [.defaultValue, .primaryKey].contains(attribute.kind) {
      mistakes.add(
        "\(property.plainName) can't have both @Generated and \(attribute.name): SQLite computes the value",
        "generated",
        at: attribute.syntax, .remove(attribute.syntax, of: property.variable))
    }
  }

  private mutating func checkDefault(_ property: ModelProperty) {
    guard let attribute = property.attribute(.defaultValue) else { return }
    checkConstant(attribute, property)
    checkLiteral(attribute, property)
    guard attribute.arguments.isEmpty, property.initialValue == nil else { return }
    var filled = attribute.syntax
    filled.leftParen = .leftParenToken()
    filled.arguments = .argumentList([LabeledExprSyntax(expression: ExprSyntax("\(raw: "<#value#>")"))])
    filled.rightParen = .rightParenToken()
    filled.attributeName = filled.attributeName.trimmed
    mistakes.add(
      "@Default needs a value, or \(property.plainName) needs an initial value", "default", at: attribute.syntax,
      .replace("give it a value", attribute.syntax, with: filled))
  }

  /// Refuses a computed initial value, such as a call, because a column's default is one value that is computed once.
  private mutating func checkConstant(_ attribute: PropertyAttribute, _ property: ModelProperty) {
    guard attribute.arguments.isEmpty, let value = property.initialValue, value.isComputed(property.wrappedType)
    else { return }
    let text = value.trimmedDescription
    let advice =
      ["Date()", "Date.now", ".now"].contains(text)
      ? "for the time of the insert, write @Default(.now)" : "to share the value, write @Default(\(text))"
    mistakes.add(
      "@Default needs a constant: all rows would share one value of \(text); \(advice)",
      "default", at: attribute.syntax, .remove(attribute.syntax, of: property.variable))
  }

  /// Refuses a literal that SQLite would store but the property could not read.
  private mutating func checkLiteral(_ attribute: PropertyAttribute, _ property: ModelProperty) {
    guard property.columnArguments.columnType == nil, let value = attribute.arguments.first?.expression,
      let literal = value.plainLiteralType,
      let type = property.wrappedType, String.integerTypes.union(String.otherTypes).contains(type)
    else { return }
    let isInteger = String.integerTypes.contains(type)
    let isFloating = ["Double", "Float", "Decimal"].contains(type)
    let fits =
      switch literal {
      // A text column stores a number as text.
      case "Int": isInteger || isFloating || ["Bool", "Date", "String"].contains(type)
      case "Double": isFloating || ["Date", "String"].contains(type)
      case "Bool": isInteger || type == "Bool"
      default: !isInteger && !["Bool", "Double", "Float"].contains(type)
      }
    guard !fits else { return }
    mistakes.add(
      "\(property.plainName) of type \(type) can't have the default \(value.trimmedDescription)", "default",
      at: attribute.syntax, .remove(attribute.syntax, of: property.variable))
  }

  /// Refuses a column type that can't store the property's values, because each insert would fail.
  private mutating func checkColumnType(_ property: ModelProperty) {
    guard let columnType = property.columnArguments.columnType, let name = columnType.columnTypeName,
      let type = property.wrappedType, String.integerTypes.union(String.otherTypes).contains(type)
    else { return }
    let isInteger = String.integerTypes.contains(type)
    let fits =
      switch name {
      case "date": type == "Date"
      case "decimal": type == "Decimal"
      case "boolean": type == "Bool" || isInteger
      case "integer": type == "Bool" || isInteger
      case "real": type == "Double" || type == "Float" || isInteger
      case "text": ["Decimal", "String", "URL", "UUID"].contains(type)
      case "blob": ["Data", "UUID"].contains(type)
      default: true
      }
    guard !fits else { return }
    let text = columnType.trimmedDescription
    mistakes.add(
      "a column of type \(text) can't store \(property.plainName) of type \(type)", "columnType", at: columnType)
  }

  private mutating func checkFullText(_ property: ModelProperty) {
    guard let attribute = property.attribute(.fullText), let type = property.wrappedType,
      String.typesWithoutText.contains(type)
    else { return }
    mistakes.add(
      "a full-text index needs text, not \(type)", "fullText", at: attribute.syntax,
      .remove(attribute.syntax, of: property.variable))
  }

  // MARK: Declarations that are not properties of the table

  mutating func refuseAttributes(_ variable: VariableDeclSyntax, _ kind: String) {
    for attribute in variable.propertyAttributes {
      mistakes.add(
        "\(kind) property is not stored, so \(attribute.name) has no effect", "computed", at: attribute.syntax,
        .remove(attribute.syntax, of: variable))
    }
  }

  mutating func refuseTuple(_ variable: VariableDeclSyntax, _ binding: PatternBindingSyntax) {
    mistakes.add("each property of a model needs a separate declaration", "tuple", at: binding.pattern)
  }

  /// Refuses stored properties inside `#if`, because a macro can't evaluate the condition.
  mutating func checkConditional(_ block: IfConfigDeclSyntax) {
    for clause in block.clauses {
      guard case .decls(let members) = clause.elements else { continue }
      for member in members {
        if let block = member.decl.as(IfConfigDeclSyntax.self) { checkConditional(block) }
        guard let variable = member.decl.as(VariableDeclSyntax.self),
          !variable.modifiers.contains(where: { ["static", "lazy"].contains($0.name.text) }),
          let binding = variable.bindings.first(where: \.isStored)
        else { continue }
        if variable.propertyAttributes.contains(where: { $0.kind == .transient }) { continue }
        mistakes.add(
          "a stored property inside #if can't be a column; declare the property outside", "conditional", at: binding,
          .replace("mark the property @Transient", variable, with: variable.with(attribute: "@Transient")))
      }
    }
  }
}

extension ExprSyntax {
  /// `date` for `.date`, `.date(.iso8601)`, `ColumnType.date` and `.nullable(.date)`.
  fileprivate var columnTypeName: String? {
    let call = self.as(FunctionCallExprSyntax.self)
    guard let member = (call?.calledExpression ?? self).as(MemberAccessExprSyntax.self),
      member.base.map({ ["ColumnType", "Sqlable.ColumnType"].contains($0.trimmedDescription) }) ?? true
    else { return nil }
    let name = member.declName.baseName.text
    return name == "nullable" ? call?.arguments.first?.expression.columnTypeName : name
  }

  /// The type of a number, text or Boolean literal.
  fileprivate var plainLiteralType: String? { self.is(FunctionCallExprSyntax.self) ? nil : literalType }

  /// True if the value can differ in each evaluation: a call, a closure, an interpolation, or `.now`.
  ///
  /// - Parameter type: The type of the property. `.now` without a base is a member of this type.
  fileprivate func isComputed(_ type: String?) -> Bool {
    if self.is(FunctionCallExprSyntax.self) || self.is(ClosureExprSyntax.self) || self.is(MacroExpansionExprSyntax.self)
    {
      return true
    }
    if let member = self.as(MemberAccessExprSyntax.self) {
      let isDate = member.base?.trimmedDescription.hasSuffix("Date") ?? (type == "Date")
      return isDate && member.declName.baseName.text == "now" || member.base?.isComputed(type) == true
    }
    return children(viewMode: .sourceAccurate).contains { $0.hasComputedValue }
  }
}

extension Syntax {
  fileprivate var hasComputedValue: Bool {
    if let expression = self.as(ExprSyntax.self) { return expression.isComputed(nil) }
    return self.is(ExpressionSegmentSyntax.self) || children(viewMode: .sourceAccurate).contains { $0.hasComputedValue }
  }
}

extension String {
  /// The static members of a model. A column with the same name would hide the member.
  fileprivate static let modelMembers: Set<String> = [
    "column", "databaseValue", "embedded", "init", "modelOfRow", "self", "tableConstraints", "tableFullText",
    "tableIndexes", "tableLayout", "tableName", "tableOptions", "valueForColumn", "write",
  ]

  fileprivate static let embeddedMembers: Set<String> = ["field", "fields", "init", "self", "write"]

  var trimmed: String { hasSuffix(" ") ? String(dropLast()) : self }
}
#endif
