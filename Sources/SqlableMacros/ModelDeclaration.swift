#if Macros
import SwiftSyntax
import SwiftSyntaxMacros

struct ModelDeclaration {
  enum Role {
    case model
    case embedded

    var name: String { self == .model ? "Sqlable" : "SqlEmbedded" }
  }

  let role: Role
  let name: TokenSyntax
  let access: Access
  let isClass: Bool
  let isFinal: Bool
  /// True if the declaration is nested in another type. An extension does not see the types of the enclosing type.
  let isNested: Bool
  let syntax: DeclSyntax
  let memberBlock: MemberBlockSyntax
  let arguments: [LabeledExprSyntax]
  private(set) var properties: [ModelProperty] = []
  /// The static properties that are declared by hand, by name.
  private(set) var declared: [String: VariableDeclSyntax] = [:]
  private(set) var readsItself = false
  private(set) var writesItself = false
  /// True if the type has initializers besides `init(row:)`.
  private(set) var hasInitializers = false
  /// False if the type can't be a model, for example an enum.
  private(set) var isModel = false
  var mistakes = Mistakes()

  var stored: [ModelProperty] { properties.filter { !$0.has(.transient) } }

  /// The properties whose columns the macro declares.
  var columns: [ModelProperty] {
    stored.filter { !isDeclared($0) && !isMember($0) && !(role == .embedded && $0.has(.embedded)) }
  }

  init(
    _ role: Role, _ node: AttributeSyntax, _ declaration: some DeclGroupSyntax, _ context: some MacroExpansionContext
  ) {
    self.role = role
    syntax = DeclSyntax(declaration)
    memberBlock = declaration.memberBlock
    access = Access(declaration.modifiers)
    isClass = declaration.is(ClassDeclSyntax.self)
    isFinal = declaration.modifiers.contains { $0.name.text == "final" }
    isNested = context.lexicalContext.contains { $0.asProtocol(DeclGroupSyntax.self) != nil }
    name = declaration.asProtocol(NamedDeclSyntax.self)?.name ?? .identifier("")
    arguments = node.labeledArguments
    isModel = checkType(node, context)
    guard isModel else { return }
    for member in memberBlock.members { read(member.decl) }
    check()
  }

  func argument(_ label: String?) -> LabeledExprSyntax? { arguments.first { $0.label?.text == label } }

  private mutating func read(_ member: DeclSyntax) {
    if let variable = member.as(VariableDeclSyntax.self) {
      read(variable)
    } else if let initializer = member.as(InitializerDeclSyntax.self) {
      let parameters = initializer.signature.parameterClause.parameters
      if parameters.count == 1, parameters.first?.firstName.text == "row" {
        readsItself = true
      } else {
        hasInitializers = true
      }
    } else if let function = member.as(FunctionDeclSyntax.self) {
      let first = function.signature.parameterClause.parameters.first?.firstName.text
      let isWriting = function.name.text == "write" && first == "to"
      if isWriting || function.name.text == "valueForColumn" { writesItself = true }
    } else if let block = member.as(IfConfigDeclSyntax.self) {
      checkConditional(block)
    }
  }

  private mutating func read(_ variable: VariableDeclSyntax) {
    let words = variable.modifiers.map(\.name.text)
    let isStatic = words.contains("static") || words.contains("class")
    let isLazy = words.contains("lazy")
    let bindings = Array(variable.bindings)
    for (index, binding) in bindings.enumerated() {
      guard let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text else {
        if !isStatic { refuseTuple(variable, binding) }
        continue
      }
      if isStatic { declared[name] = variable }
      guard !isStatic, !isLazy, binding.isStored else {
        refuseAttributes(variable, isStatic ? "a static" : isLazy ? "a lazy" : "a computed")
        continue
      }
      // In `var a, b: Int`, only the last name is followed by the type.
      let annotation =
        binding.initializer == nil
        ? bindings[index...].lazy.compactMap { $0.typeAnnotation?.type }.first : binding.typeAnnotation?.type
      properties.append(ModelProperty(variable, binding, named: name, annotation))
    }
  }

  // MARK: Names

  /// Returns the name of a column as a literal; for an embedded struct, the prefix of its columns.
  func columnLiteral(_ property: ModelProperty) -> String {
    (property.columnArguments.name ?? property.attribute(.embedded)?.arguments.first)?.expression.trimmedDescription
      ?? "\"\(usualName(property))\""
  }

  func columnName(_ property: ModelProperty) -> String {
    property.columnArguments.name.flatMap(\.expression.literalText) ?? usualName(property)
  }

  private func usualName(_ property: ModelProperty) -> String {
    isVerbatim ? property.plainName : snakeCase(property.plainName)
  }

  /// True if columns have the names of their properties.
  private var isVerbatim: Bool { argument("naming")?.expression.memberName == "verbatim" }

  func isDeclared(_ property: ModelProperty) -> Bool { declared[property.name] != nil }
}

extension ExprSyntax {
  /// The name of the member: `snakeCase` for `.snakeCase` and `ColumnNaming.snakeCase`.
  var memberName: String? { self.as(MemberAccessExprSyntax.self)?.declName.baseName.text }
}
#endif
