// Lookups of tables and columns by name.

extension TableInfo {
  /// Returns a table with a model's layout. Throws `.misuse` if the model's declarations are inconsistent.
  package static func of(_ model: (some Sqlable).Type, named name: String) throws -> TableInfo {
    let info = unchecked(model).named(name)
    try info.checkDeclarations()
    return info
  }

  /// True if the model declares this table's name, and the table is not in an attached database.
  package var isNamedByModel: Bool { database == nil && name.isExactly(modelName) }

  /// Returns the position of a column in this table; nil for a column of another table.
  package func position(of definition: ColumnDefinition) -> Int? { columns.position(of: definition) }

  @inline(never)
  package func position(named name: String) -> Int? { columns.firstIndex { $0.name.isExactly(name) } }
}
