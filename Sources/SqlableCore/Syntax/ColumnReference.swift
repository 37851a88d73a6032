/// A column in an expression. Declared references are compared by declaration, decoded references by name.
package enum ColumnReference: Sendable, Hashable {
  case declared(ColumnDefinition)
  /// A column in a decoded statement.
  case decoded(Name)

  /// An object that contains a column name. Each case of ``ColumnReference`` then has one object reference, so that
  /// copying a term needs less code.
  package final class Name: Sendable {
    fileprivate let text: String

    fileprivate init(_ text: String) { self.text = text }
  }

  package static func named(_ name: String) -> ColumnReference { .decoded(Name(name)) }

  package init(_ column: Column) { self = .declared(column.definition) }

  package var name: String {
    switch self {
    case .declared(let definition): definition.name
    case .decoded(let name): name.text
    }
  }

  package var definition: ColumnDefinition? {
    switch self {
    case .declared(let definition): definition
    case .decoded: nil
    }
  }

  package static func == (left: ColumnReference, right: ColumnReference) -> Bool {
    guard let leftDefinition = left.definition, let rightDefinition = right.definition else {
      return left.name.isExactly(right.name)
    }
    return leftDefinition.isSame(as: rightDefinition)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

extension SqlError {
  package static func missing(_ reference: ColumnReference, in tables: [TableInfo], named tableNames: [String]? = nil)
    -> SqlError
  {
    let names = (tableNames ?? tables.map(\.name)).reduce(into: [String]()) { names, name in
      if !names.contains(where: name.isExactly) { names.append(name) }
    }
    return SqlError(
      .schema(.missingColumn(reference.name)),
      message: "column \(reference.name) is not in the layout of table \(names.joined(separator: ", "))"
        + (reference.definition?.origin ?? "; columns must be static lets of the model"),
      table: names.count == 1 ? names[0] : nil, column: reference.name)
  }
}
