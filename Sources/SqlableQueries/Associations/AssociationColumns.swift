import SqlableCore

extension TableInfo {
  func requiredPosition(of column: ColumnReference) throws -> Int {
    guard let position = position(of: column) else { throw SqlError.missing(column, in: [self]) }
    return position
  }

  package func requiredColumn(_ column: ColumnReference) throws -> Column { columns[try requiredPosition(of: column)] }

  /// Returns the columns of a foreign key. Throws if `foreignKey` is empty, or if the table lacks a column.
  func requiredColumns(_ foreignKey: [ColumnReference]) throws -> [Column] {
    guard !foreignKey.isEmpty else {
      throw SqlError.misuse("the foreign key of an association needs at least one column").at(table: name)
    }
    return try foreignKey.map(requiredColumn)
  }

  /// Returns the positions in `other` of the columns that `foreignKey` references. Throws if the model declares that
  /// `foreignKey` references a table other than `other`, or columns other than `key`. Also throws if no reference is
  /// declared and `key` is nil, because the referenced columns are then unknown.
  package func positions(
    referredToBy foreignKey: [ColumnReference], in other: TableInfo, expecting key: [ColumnReference]?,
    canPassKey: Bool = true
  ) throws -> [Int] {
    let columns = try requiredColumns(foreignKey).map(\.name)
    let expected = try key?.map(other.requiredPosition(of:))
    if let expected, expected.count != columns.count {
      let (names, others) = (columns.joined(separator: ", "), expected.map { other.columns[$0].name })
      let key = "the key (\(others.joined(separator: ", "))) of \(other.name)"
      throw SqlError.misuse("the foreign key (\(names)) and \(key) must have the same number of columns")
        .at(table: name)
    }
    let references = references(of: columns)
    guard !references.isEmpty else {
      if let expected { return expected }
      let (isDeclared, remedy) =
        columns.count == 1
        ? ("is not declared as a ForeignKey", "pass the referenced column as `of`")
        : ("are not declared as ForeignKeys", "pass the referenced columns as `of`")
      let ofLink = "declare the foreign key of the link table, or use toMany(_:through:using:)"
      throw misuse(of: columns, "\(isDeclared); \(canPassKey ? remedy : ofLink)")
    }
    for reference in references {
      let referred = reference.table()
      guard referred.isSameName(as: other.modelName) || referred.isSameName(as: other.name) else { continue }
      let positions = reference.columns.compactMap { name in
        other.columns.firstIndex { $0.name.isSameName(as: name) }
      }
      if positions.count == columns.count, expected == nil || expected == positions { return positions }
    }
    let names = expected?.map { other.columns[$0].name } ?? []
    let verb = columns.count == 1 ? "does" : "do"
    let place = names.isEmpty ? "" : names.count == 1 ? ".\(names[0])" : " (\(names.joined(separator: ", ")))"
    throw misuse(of: columns, "\(verb) not reference \(other.name)" + place)
  }

  private func misuse(of columns: [String], _ problem: String) -> SqlError {
    let subject = columns.count == 1 ? "column" : "columns"
    return .misuse("\(subject) \(columns.joined(separator: ", ")) \(problem)").at(
      table: name, column: columns.count == 1 ? columns[0] : nil)
  }

  /// Returns the declared references of exactly these columns, with the referenced columns in the order of `columns`.
  private func references(of columns: [String]) -> [(table: () -> String, columns: [String])] {
    var references: [(table: () -> String, columns: [String])] = []
    if columns.count == 1, let column = self.columns.first(where: { $0.name.isExactly(columns[0]) }) {
      references += column.definition.options.foreignKeys.map { ($0.table, $0.columns) }
    }
    for (declared, reference) in constraints.foreignKeys {
      let order = columns.compactMap { name in declared.firstIndex { $0.isExactly(name) } }
      guard order.count == columns.count, Set(order).count == declared.count else { continue }
      let referred = reference.columns
      guard referred.count == declared.count else { continue }
      references.append((reference.table, order.map { referred[$0] }))
    }
    return references
  }
}

extension Column {
  /// Throws if this column stores text and the referenced `key` stores numbers, or the reverse: the text '1' and the
  /// integer 1 would be different group keys.
  func checkRefers(to key: Column, from table: TableInfo) throws {
    let classes = [self, key].map { $0.type.storageClass == .real ? .integer : $0.type.storageClass }
    // A column of type BLOB can store values of any storage class.
    guard classes[0] != classes[1], !classes.contains(.blob) else { return }
    throw SqlError.misuse(
      "a foreign key of type \(type.name) can't match a referenced column of type \(key.type.name); use the same type"
    ).at(
      table: table.name, column: name)
  }

  /// Returns the collation with which SQLite compares this column of `table`. Throws if the collation is user-defined.
  func groupingCollation(in table: TableInfo) throws -> Collate {
    guard let collation = definition.options.collation else { return .binary }
    guard case .named(let collationName) = collation else { return collation }
    throw SqlError.misuse(
      "an association can't use a foreign key with the registered collation \(collationName); use a built-in collation"
    ).at(table: table.name, column: name)
  }
}
