// The columns that connect the rows of two tables.

import SqlableCore

extension TableInfo {
  func requiredPosition(of column: ColumnReference) throws -> Int {
    guard let position = position(of: column) else { throw SqlError.missing(column, in: [self]) }
    return position
  }

  package func requiredColumn(_ column: ColumnReference) throws -> Column { columns[try requiredPosition(of: column)] }

  /// Returns the position in `other` of the column that `foreignKey` references. Throws if `foreignKey` references
  /// another table or column. Also throws if no reference is declared and `key` is nil, because rows would match only
  /// by chance.
  func position(
    referredToBy foreignKey: ColumnReference, in other: TableInfo, expecting key: ColumnReference?,
    hint: String? = "pass the referenced column as `of`"
  ) throws -> Int {
    let column = try requiredColumn(foreignKey)
    let expected = try key.map(other.requiredPosition(of:))
    let references = references(of: column)
    guard !references.isEmpty else {
      if let expected { return expected }
      throw SqlError.misuse(
        "column \(column.name) is not declared as a ForeignKey" + (hint.map { "; \($0)" } ?? "")
      ).at(table: name, column: column.name)
    }
    for reference in references {
      let referred = reference.table()
      guard referred.isSameName(as: other.modelName) || referred.isSameName(as: other.name) else { continue }
      let names = reference.columns
      guard names.count == 1, let position = other.columns.firstIndex(where: { $0.name.isSameName(as: names[0]) })
      else { continue }
      if expected == nil || expected == position { return position }
    }
    throw SqlError.misuse(
      "column \(column.name) does not reference \(other.name)" + (expected.map { ".\(other.columns[$0].name)" } ?? "")
    ).at(table: name, column: column.name)
  }

  /// The foreign keys that consist of this column only.
  private func references(of column: Column) -> [ForeignKeyReference] {
    column.definition.options.foreignKeys
      + constraints.foreignKeys.filter { $0.columns.count == 1 && $0.columns[0].isExactly(column.name) }
      .map(\.reference)
  }
}

extension Column {
  /// Throws if this column and the referenced `key` have different storage classes: as group keys, '1' and 1 differ.
  func checkRefers(to key: Column, from table: TableInfo) throws {
    let classes = [self, key].map { $0.type.storageClass == .real ? .integer : $0.type.storageClass }
    // A column of type BLOB can store values of any storage class.
    guard classes[0] != classes[1], !classes.contains(.blob) else { return }
    throw SqlError.misuse(
      "can't group rows by a foreign key of type \(type.name) that references a column of type \(key.type.name)"
    ).at(
      table: table.name, column: name)
  }

  /// Returns the collation with which SQLite compares this column of `table`. Throws if the collation is user-defined.
  func groupingCollation(in table: TableInfo) throws -> Collate {
    guard let collation = definition.options.collation else { return .binary }
    guard case .named(let collationName) = collation else { return collation }
    throw SqlError.misuse("can't group rows by a foreign key with collation \(collationName)").at(
      table: table.name, column: name)
  }
}
