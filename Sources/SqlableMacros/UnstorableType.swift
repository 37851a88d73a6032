#if Macros
import SwiftSyntax

/// A kind of type that can't conform to `SqlValue`. The macro recognizes the type without its declaration.
enum UnstorableKind {
  case tuple, function, existential, metatype, nestedOptional
}

extension TypeSyntax {
  /// The part of the type that no column can store, such as `Any` in `[String: Any]`.
  var unstorablePart: (type: TypeSyntax, kind: UnstorableKind)? {
    if let kind = unstorableKind { return (self, kind) }
    return parts.lazy.compactMap(\.unstorablePart).first
  }

  private var unstorableKind: UnstorableKind? {
    if let tuple = self.as(TupleTypeSyntax.self) { return tuple.elements.count == 1 ? nil : .tuple }
    if self.is(FunctionTypeSyntax.self) { return .function }
    if self.is(SomeOrAnyTypeSyntax.self) || self.is(CompositionTypeSyntax.self) { return .existential }
    if self.is(MetatypeTypeSyntax.self) { return .metatype }
    if let wrapped = wrappedType { return wrapped.unparenthesized.wrappedType == nil ? nil : .nestedOptional }
    switch self.as(IdentifierTypeSyntax.self)?.name.text {
    case "Any", "AnyObject": return .existential
    case "AnyClass": return .metatype
    case "Void": return .tuple
    default: return nil
    }
  }

  /// The types inside an optional, tuple, array, dictionary or set; empty for other types.
  private var parts: [TypeSyntax] {
    if let wrapped = wrappedType { return [wrapped] }
    if let type = self.as(AttributedTypeSyntax.self) { return [type.baseType] }
    if let type = self.as(TupleTypeSyntax.self) { return type.elements.map(\.type) }
    if let type = self.as(ArrayTypeSyntax.self) { return [type.element] }
    if let type = self.as(DictionaryTypeSyntax.self) { return [type.key, type.value] }
    guard let type = self.as(IdentifierTypeSyntax.self), ["Array", "Dictionary", "Set"].contains(type.name.text)
    else { return [] }
    return type.typeArguments
  }

  /// The type inside an optional: `Int` for `Int?`, `Int!` and `Optional<Int>`.
  var wrappedType: TypeSyntax? {
    if let type = self.as(OptionalTypeSyntax.self) { return type.wrappedType }
    if let type = self.as(ImplicitlyUnwrappedOptionalTypeSyntax.self) { return type.wrappedType }
    guard let type = self.as(IdentifierTypeSyntax.self), type.name.text == "Optional" else { return nil }
    return type.typeArguments.first
  }

  var unparenthesized: TypeSyntax {
    guard let tuple = self.as(TupleTypeSyntax.self), tuple.elements.count == 1 else { return self }
    return tuple.elements.first?.type.unparenthesized ?? self
  }
}

extension IdentifierTypeSyntax {
  fileprivate var typeArguments: [TypeSyntax] {
    genericArgumentClause?.arguments.compactMap { $0.argument.as(TypeSyntax.self) } ?? []
  }
}

extension UnstorableKind {
  func message(_ property: String) -> String {
    switch self {
    case .tuple:
      "a column can't store a tuple; declare a struct that conforms to SqlJSON, or mark \(property) @Transient"
    case .function: "a column can't store a function; mark \(property) @Transient"
    case .existential:
      "a column can't store values of different types; give \(property) a concrete type, or mark \(property) @Transient"
    case .metatype: "a column can't store a metatype; mark \(property) @Transient"
    case .nestedOptional: "a column has one NULL, but \(property) has two kinds of nil; remove one of the optionals"
    }
  }
}
#endif
