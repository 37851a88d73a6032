#if Macros
import SwiftSyntax

struct PropertyAttribute {
  enum Kind: String, CaseIterable {
    case check = "Check"
    case collate = "Collate"
    case column = "Column"
    case defaultValue = "Default"
    case embedded = "Embedded"
    case foreignKey = "ForeignKey"
    case fullText = "FullText"
    case generated = "Generated"
    case index = "Index"
    case notNull = "NotNull"
    case primaryKey = "PrimaryKey"
    case transient = "Transient"
    case unindexed = "Unindexed"
    case unique = "Unique"
  }

  let kind: Kind
  let syntax: AttributeSyntax

  init?(_ element: AttributeListSyntax.Element) {
    guard case .attribute(let attribute) = element,
      let name = attribute.attributeName.as(IdentifierTypeSyntax.self), let kind = Kind(rawValue: name.name.text)
    else { return nil }
    self.kind = kind
    syntax = attribute
  }

  var name: String { "@" + kind.rawValue }

  var arguments: [LabeledExprSyntax] { syntax.labeledArguments }

  /// True if a property can't have both this attribute and `other`. Two `@Index` attributes are allowed if their names
  /// differ.
  func repeats(_ other: PropertyAttribute) -> Bool {
    let names = [self, other].map { $0.kind == .index ? $0.argument("name")?.expression.trimmedDescription : nil }
    return kind == other.kind && names[0] == names[1]
  }

  func argument(_ label: String) -> LabeledExprSyntax? { arguments.first { $0.label?.text == label } }
}

extension AttributeSyntax {
  var labeledArguments: [LabeledExprSyntax] {
    if case .argumentList(let list) = arguments { Array(list) } else { [] }
  }
}

extension LabeledExprSyntax {
  var text: String { (label.map { "\($0.text): " } ?? "") + expression.trimmedDescription }
}

extension ExprSyntax {
  /// The text of a string literal without interpolation; nil for any other expression.
  var literalText: String? { self.as(StringLiteralExprSyntax.self)?.representedLiteralValue }

  var isNil: Bool { self.is(NilLiteralExprSyntax.self) }
}

extension PropertyAttribute {
  /// The arguments of `@Column`, named like those of `column(_:_:as:_:)`. Each argument is optional.
  struct ColumnArguments {
    var name: LabeledExprSyntax?
    var type: ExprSyntax?
    var columnType: ExprSyntax?
    var options: [ExprSyntax] = []

    init(_ arguments: [LabeledExprSyntax]) {
      for argument in arguments {
        if argument.label?.text == "as" {
          columnType = argument.expression
        } else if name == nil, type == nil, options.isEmpty, argument.expression.is(StringLiteralExprSyntax.self) {
          name = argument
        } else if type == nil, options.isEmpty, argument.expression.isMetatype {
          type = argument.expression
        } else {
          options.append(argument.expression)
        }
      }
    }
  }

  var columnArguments: ColumnArguments { ColumnArguments(kind == .column ? arguments : []) }

  /// Returns the column options that correspond to the attribute, as source text for `column(_:_:_:)`.
  func options(of property: ModelProperty) -> [String] {
    switch kind {
    case .column: return columnArguments.options.map(\.trimmedDescription)
    case .embedded, .fullText, .index, .transient: return []
    case .collate: return arguments.first.map { [$0.expression.qualified(by: "Collate")] } ?? []
    case .defaultValue:
      if let argument = arguments.first { return ["Default(\(argument.text))"] }
      guard let value = property.initialValue else { return [] }
      return ["Default(\(value.qualified(by: property.wrappedType ?? "")))"]
    case .foreignKey:
      let target = (syntax.attributeName.as(IdentifierTypeSyntax.self)?.genericArgumentClause?.arguments)?
        .trimmedDescription
      let parts = arguments.map { argument in
        guard argument.label?.text == "column", let path = argument.expression.as(KeyPathExprSyntax.self) else {
          return argument.text
        }
        return "column: \(path.root?.trimmedDescription ?? target ?? "")\(path.components.trimmedDescription)"
      }
      let type = syntax.attributeName.trimmedDescription
      return ["\(type)(\(parts.joined(separator: ", ")))"]
    case .check, .generated, .notNull, .primaryKey, .unindexed, .unique:
      return ["\(kind.rawValue)(\(arguments.map(\.text).joined(separator: ", ")))"]
    }
  }
}

extension ExprSyntax {
  fileprivate var isMetatype: Bool {
    self.as(MemberAccessExprSyntax.self)?.declName.baseName.tokenKind == .keyword(.self)
  }

  /// `Collate.nocase` for `.nocase`: Swift can't infer the type of an implicit member in an argument of type `any
  /// ColumnOption`.
  fileprivate func qualified(by type: String) -> String {
    let start = firstToken(viewMode: .sourceAccurate)
    return (start?.tokenKind == .period ? type : "") + trimmedDescription
  }
}
#endif
