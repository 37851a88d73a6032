#if Macros
import SwiftSyntax

enum Access: Int {
  case `private`, `fileprivate`, `internal`, package, `public`

  init(_ modifiers: DeclModifierListSyntax) {
    // `private(set)` applies to the setter only, so modifiers with a detail are ignored.
    let words = modifiers.filter { $0.detail == nil }.map(\.name.text)
    self =
      words.contains("public") || words.contains("open")
      ? .public
      : words.contains("package")
        ? .package
        : words.contains("fileprivate") ? .fileprivate : words.contains("private") ? .private : .internal
  }

  /// The access modifier of a declaration and a blank: `public `. Empty for `internal`.
  var text: String {
    switch self {
    case .private: "private "
    case .fileprivate: "fileprivate "
    case .internal: ""
    case .package: "package "
    case .public: "public "
    }
  }
}

struct ModelProperty {
  let variable: VariableDeclSyntax
  let binding: PatternBindingSyntax
  /// The name as written, including backticks.
  let name: String
  let annotation: TypeSyntax?
  /// The type annotation, or the type that the initial value implies; nil if there is neither.
  let type: String?
  let attributes: [PropertyAttribute]

  init(_ variable: VariableDeclSyntax, _ binding: PatternBindingSyntax, named name: String, _ annotation: TypeSyntax?) {
    self.variable = variable
    self.binding = binding
    self.name = name
    self.annotation = annotation
    type = annotation.map(\.storedText) ?? binding.initializer?.value.literalType
    attributes = variable.propertyAttributes
  }

  var isLet: Bool { variable.bindingSpecifier.tokenKind == .keyword(.let) }
  var initialValue: ExprSyntax? { binding.initializer?.value }
  var access: Access { Access(variable.modifiers) }
  var isOptional: Bool { type?.isOptionalType == true }
  var wrappedType: String? { type.map { $0.hasSuffix("?") ? String($0.dropLast()) : $0 } }
  var plainName: String { name.filter { $0 != "`" } }
  /// The reference to the property in a method with a parameter named `row`.
  var reference: String { name == "row" ? "self.row" : name }

  func attribute(_ kind: PropertyAttribute.Kind) -> PropertyAttribute? { attributes.first { $0.kind == kind } }
  func has(_ kind: PropertyAttribute.Kind) -> Bool { attribute(kind) != nil }

  var columnArguments: PropertyAttribute.ColumnArguments {
    attribute(.column)?.columnArguments ?? PropertyAttribute.ColumnArguments([])
  }

  var options: [String] { attributes.flatMap { $0.options(of: self) } }

  var isKey: Bool { options.contains { $0.hasPrefix("PrimaryKey(") } }
  var isGenerated: Bool { options.contains { $0.hasPrefix("Generated(") } }

  /// The column's type. An integer key is nil only until the row is stored, so its column is not optional.
  var valueType: String {
    if let type = columnArguments.type { return String(type.trimmedDescription.dropLast(".self".count)) }
    if isKey, let wrapped = wrappedType, String.integerTypes.contains(wrapped) { return wrapped }
    return type ?? ""
  }
}

extension String {
  static let integerTypes: Set<String> = [
    "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8", "UInt16", "UInt32", "UInt64",
  ]

  /// The storable types of the standard library and Foundation that are not integer types.
  static let otherTypes: Set<String> = ["Bool", "Data", "Date", "Decimal", "Double", "Float", "String", "URL", "UUID"]

  /// The types of the standard library and Foundation that no column stores as text.
  static let typesWithoutText = integerTypes.union(["Bool", "Data", "Double", "Float"])

  /// True for a type of the standard library or Foundation that a column stores, optional or not.
  var isStorable: Bool {
    let wrapped = hasSuffix("?") ? String(dropLast()) : self
    return Self.integerTypes.contains(wrapped) || Self.otherTypes.contains(wrapped)
  }

  fileprivate var isOptionalType: Bool { hasSuffix("?") || hasPrefix("Optional<") }
}

extension VariableDeclSyntax {
  var propertyAttributes: [PropertyAttribute] { attributes.compactMap { PropertyAttribute($0) } }
}

extension PatternBindingSyntax {
  /// True if the property is stored. A property with a getter is computed. A property with observers is stored.
  var isStored: Bool {
    switch accessorBlock?.accessors {
    case nil: true
    case .getter: false
    case .accessors(let list):
      list.allSatisfy { [.keyword(.willSet), .keyword(.didSet)].contains($0.accessorSpecifier.tokenKind) }
    }
  }
}

extension TypeSyntax {
  /// The source text of the type. Every optional is written with a question mark: `Int?` for `Int!` and
  /// `Optional<Int>`.
  fileprivate var storedText: String {
    if let type = self.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) {
      return type.wrappedType.trimmedDescription + "?"
    }
    if let type = self.as(IdentifierTypeSyntax.self), type.name.text == "Optional",
      let argument = type.genericArgumentClause?.arguments.first
    {
      return argument.argument.trimmedDescription + "?"
    }
    return trimmedDescription
  }

  /// True if the type is a function, so that a parameter of the type escapes only with `@escaping`.
  var isFunction: Bool {
    self.is(FunctionTypeSyntax.self) || self.as(AttributedTypeSyntax.self)?.baseType.isFunction == true
  }
}

extension ExprSyntax {
  /// The type of a literal, or of a call like `Date()`.
  var literalType: String? {
    if self.is(IntegerLiteralExprSyntax.self) { return "Int" }
    if self.is(FloatLiteralExprSyntax.self) { return "Double" }
    if self.is(StringLiteralExprSyntax.self) { return "String" }
    if self.is(BooleanLiteralExprSyntax.self) { return "Bool" }
    if self.as(FunctionCallExprSyntax.self)?.hasArguments == false { return probableType }
    if let sign = self.as(PrefixOperatorExprSyntax.self), ["-", "+"].contains(sign.operator.text) {
      return sign.expression.literalType
    }
    return nil
  }

  /// The type that the value probably has: `URL` for `URL(filePath: "/")`, `Rig` for `Rig.sloop`.
  var probableType: String? {
    let name =
      self.as(FunctionCallExprSyntax.self)?.calledExpression.as(DeclReferenceExprSyntax.self)?.baseName.text
      ?? self.as(MemberAccessExprSyntax.self)?.base?.as(DeclReferenceExprSyntax.self)?.baseName.text
    return name.flatMap { $0.first?.isUppercase == true ? $0 : nil }
  }
}

extension FunctionCallExprSyntax {
  fileprivate var hasArguments: Bool { !arguments.isEmpty || trailingClosure != nil }
}
#endif
