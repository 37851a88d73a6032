/// A column as an expression names it; two are equal when they are of one declaration, or, where one was decoded, of
/// one name.
enum ColumnReference: Sendable, Hashable {
  case declared(ColumnDefinition)
  /// In a statement that was decoded, until it is checked against its model.
  case named(String)

  init(_ column: Column) { self = .declared(column.definition) }

  var name: String {
    switch self {
    case .declared(let definition): definition.name
    case .named(let name): name
    }
  }

  /// The declaration, where it is known.
  var definition: ColumnDefinition? {
    switch self {
    case .declared(let definition): definition
    case .named: nil
    }
  }

  static func == (left: ColumnReference, right: ColumnReference) -> Bool {
    guard let own = left.definition, let other = right.definition else { return left.name.isExactly(right.name) }
    return own.isSame(as: other)
  }

  func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
