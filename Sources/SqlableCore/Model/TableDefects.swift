// Checks for contradictions in a model's declarations, and between a foreign key and the referenced model.

extension TableInfo {
  func findDefect() -> SqlError? {
    do throws(SqlError) {
      try checkNames()
      if untyped != nil { return nil }
      if view != nil { try checkView() }
      try checkOptions()
      try checkRowId()
      try checkKey()
      try checkIndexes()
      try checkConstraints()
      try checkForeignKeys()
    } catch { return error }
    return fullText?.defect(of: modelType, key: keyIsRowid ? columns[key[0]] : nil, hasKey: !key.isEmpty)
  }

  private func wrong(_ message: String, _ column: String? = nil) -> SqlError {
    SqlError.misuse("the model \(modelType) of table \(name) \(message)").at(table: name, column: column)
  }

  private func checkNames() throws(SqlError) {
    if self === TableInfo.excessive {
      let (tables, columns) = (UntypedTable.maximumCount, UntypedTable.maximumColumns)
      throw .misuse("the program uses more than \(tables) tables without a model, or \(columns) columns of such tables")
    }
    if name.isEmpty || name.utf8.contains(0) { throw wrong("has a name that is empty or contains a NUL byte") }
    if let misnamed = modelType.misnamedList { throw wrong(misnamed) }
    if columns.isEmpty, untyped == nil {
      guard modelType != TableRow.self else {
        throw SqlError.misuse("TableRow has no table; use a Table to create statements")
      }
      throw wrong("has no columns")
    }
    if columns.contains(where: { $0.name.isEmpty || $0.name.utf8.contains(0) }) {
      throw wrong("has a column with a name that is empty or contains a NUL byte")
    }
    if let name = columnNames.firstDoubled { throw wrong("has two columns named \(name)", name) }
  }

  private func checkView() throws(SqlError) {
    if options.count > 1 { throw wrong("is a view, and can't have other table options") }
    if !indexes.isEmpty { throw wrong("is a view, and can't have indexes") }
    let key = constraints.primaryKeys.map(\.clauses)
    if constraints.clauses(with: []).count > key.count { throw wrong("is a view, and can't have constraints") }
    for column in columns where !column.definition.options.standInView {
      throw wrong("is a view, and its column \(column.name) can only have the option PrimaryKey()", column.name)
    }
  }

  private func checkOptions() throws(SqlError) {
    for column in columns {
      let options = column.definition.options
      func wrong(_ message: String) -> SqlError {
        self.wrong("has an invalid column \(column.name): \(message)", column.name)
      }
      if let defect = options.defect { throw wrong("\(defect)") }
      if let type = options.declaredType, !DeclaredType.isType(type.sql) {
        throw wrong("DeclaredType is not the name of a type; use words, and numbers in parentheses: DECIMAL(10, 2)")
      }
      if let scale = column.type.scale, !ColumnType.scales.contains(scale) {
        throw wrong("the scale of a decimal must be from 0 to 18, not \(scale)")
      }
      if let key = options.primaryKey, key.autoincrement, !keyIsRowid || key.isDescending {
        throw wrong("autoincrement needs a single ascending integer key, in a table with rowids")
      }
      let isKey = key.contains { columns[$0].name.isExactly(column.name) }
      if options.notNull != nil, column.type.isNullable, !isKey {
        throw wrong("NotNull() needs a type that is not optional")
      }
      for check in options.checks { try self.check(check.expression, of: "a check of column \(column.name)") }
      if let generated = options.generated {
        try check(generated.expression, of: "the generated column \(column.name)")
        if options.defaultValue != nil { throw wrong("a generated column can't have a default") }
        if options.primaryKey != nil { throw wrong("a generated column can't be the primary key") }
      }
      guard let value = options.defaultValue else { continue }
      do { _ = try (value.constant(in: column.type), value.expression(in: column.type)) } catch {
        throw Default.located(error, table: name, column: column)
      }
    }
    if columns.allSatisfy({ $0.definition.options.generated != nil }) { throw wrong("has only generated columns") }
  }

  private func checkKey() throws(SqlError) {
    let declared = columns.filter { $0.definition.options.primaryKey != nil }.count
    if declared > 1 { throw wrong("has two primary keys; use PrimaryKeys(a, b) for a key of two columns") }
    if declared + constraints.primaryKeys.count > 1 { throw wrong("has two primary keys") }
    for key in constraints.primaryKeys {
      try check(key.columns, of: "a primary key")
      for column in key.columns {
        if let index = position(named: column.name), columns[index].definition.options.generated != nil {
          throw wrong("has a primary key on the generated column \(column.name)", column.name)
        }
      }
    }
    if isWithoutRowid, key.isEmpty { throw wrong("is WITHOUT ROWID, and needs a primary key") }
  }

  private func checkRowId() throws(SqlError) {
    guard let column = columns.first(where: \.definition.options.isRowId) else { return }
    func wrong(_ message: String) -> SqlError {
      self.wrong("has an invalid column \(column.name): \(message)", column.name)
    }
    guard String.rowidNames.contains(where: column.name.isSameName), keyIsRowid else {
      throw wrong("RowId() needs an integer column named rowid, _rowid_ or oid, in a table with rowids")
    }
    // VACUUM can change the rowids of a table without INTEGER PRIMARY KEY, and a full-text index refers to rowids.
    guard column.definition.options.standInView, view == nil, fullText == nil else {
      throw wrong("RowId() can't be combined with other options, and needs a table without a full-text index")
    }
  }

  private func checkIndexes() throws(SqlError) {
    let names = indexes.map { $0.name(in: self) }
    if let name = names.firstDoubled {
      throw wrong("has two indexes named \(name); use Index(…, name: …) for another name")
    }
    for (index, name) in zip(indexes, names) {
      if name.isEmpty || name.utf8.contains(0) {
        throw wrong("has an index with a name that is empty or contains a NUL byte")
      }
      if name.foldedName.starts(with: "sqlite_".utf8) {
        throw wrong("has an index with the reserved name \(name)")
      }
      if name.isSameName(as: self.name) { throw wrong("has an index with the table's own name") }
      try check(index.columns, of: "the index \(name)", canHaveTerms: true)
      if let condition = index.condition { try check(condition, of: "the condition of the index \(name)") }
    }
  }

  private func checkConstraints() throws(SqlError) {
    for unique in constraints.uniques { try check(unique.columns, of: "a Unique constraint") }
    for constraint in constraints.checks { try check(constraint.expression, of: "a check") }
    let names = constraints.clauses(with: columns).compactMap(\.name)
    if names.contains(where: { $0.isEmpty || $0.utf8.contains(0) }) {
      throw wrong("has a constraint with a name that is empty or contains a NUL byte")
    }
    if let name = names.firstDoubled { throw wrong("has two constraints named \(name)") }
  }

  private func check(
    _ columns: [IndexColumn], of declaration: String, canHaveTerms: Bool = false
  ) throws(SqlError) {
    if columns.isEmpty { throw wrong("has \(declaration) without columns") }
    for term in columns.compactMap(\.term) {
      if !canHaveTerms { throw wrong("has \(declaration) with a term that is not a column") }
      try check(term, of: declaration)
    }
    try check(names: columns.filter { $0.term == nil }.map(\.name), of: declaration)
  }

  private func check(_ expression: DeclaredExpression, of declaration: String) throws(SqlError) {
    do { _ = try expression.sql(for: self) { "\($0)" } } catch {
      let error = error as? SqlError
      throw wrong("has an error in \(declaration): \(error?.message ?? "\(error as Any)")", error?.column)
    }
  }

  private func check(names: [String], of declaration: String) throws(SqlError) {
    if let unknown = names.first(where: { position(named: $0) == nil }) {
      throw wrong("has \(declaration) on column \(unknown), which is not in its layout", unknown)
    }
    if let name = names.firstDoubled { throw wrong("has \(declaration) with the column \(name) twice", name) }
    if let index = names.lazy.compactMap(position(named:)).first(where: { columns[$0].definition.options.isRowId }) {
      let name = columns[index].name
      throw wrong("has \(declaration) on the RowId() column \(name); declare the column with PrimaryKey()", name)
    }
  }

  // MARK: Foreign keys

  private func checkForeignKeys() throws(SqlError) {
    for column in columns {
      for reference in column.definition.options.foreignKeys { try check(reference, from: [column.name]) }
    }
    for (columns, reference) in constraints.foreignKeys {
      if columns.isEmpty { throw wrong("has a foreign key without columns") }
      try check(names: columns, of: "a foreign key")
      try check(reference, from: columns)
    }
  }

  private func check(_ reference: ForeignKeyReference, from columns: [String]) throws(SqlError) {
    let (target, referred) = (reference.target(), reference.columns)
    func wrong(_ message: String) -> SqlError {
      self.wrong("has a foreign key on \(columns.joined(separator: ", ")) \(message)", columns[0])
    }
    if referred.isEmpty { throw wrong("to table \(target.name), which has no primary key") }
    if referred.count != columns.count {
      let (count, names) = (referred.count, referred.joined(separator: ", "))
      throw wrong("to \(count) columns of \(target.name): \(names); both sides need the same number of columns")
    }
    if let unknown = referred.first(where: { name in !target.columns.contains { $0.name.isSameName(as: name) } }) {
      throw wrong("to \(target.name).\(unknown), but the model \(target.modelType) has no such column")
    }
    if referred.count == 1, target.key.contains(where: { target.columns[$0].definition.options.isRowId }),
      target.columns[target.key[0]].name.isSameName(as: referred[0])
    {
      throw wrong("to the RowId() column of table \(target.name), which SQLite can't reference; use PrimaryKey()")
    }
    guard target.hasUniqueKey(of: referred) else {
      let names = referred.count == 1 ? "\(target.name).\(referred[0])" : "(\(referred.joined(separator: ", ")))"
      let suffix = referred.count == 1 ? "" : " of table \(target.name)"
      throw wrong("to \(names)\(suffix), which is neither the primary key nor unique")
    }
  }

  /// True if these columns are a primary key or unique, as SQLite requires of referenced columns.
  private func hasUniqueKey(of names: [String]) -> Bool {
    func isSame(_ other: [String]) -> Bool {
      other.count == names.count && other.allSatisfy { name in names.contains(where: name.isSameName) }
    }
    if !key.isEmpty, isSame(key.map { columns[$0].name }) { return true }
    if columns.contains(where: { $0.definition.options.isUnique && isSame([$0.name]) }) { return true }
    return constraints.uniques.contains { isSame($0.columns.map(\.name)) }
      || indexes.contains { $0.isUnique && $0.columnsOfAllRows.map(isSame) == true }
  }
}

extension [String] {
  package var firstDoubled: String? {
    var seen: Set<[UInt8]> = []
    return first { !seen.insert($0.foldedName).inserted }
  }
}
