import SqlableCore

package struct TableDefinition {
  private let table: TableInfo

  package init(_ table: TableInfo) { self.table = table }

  /// Returns the CREATE TABLE statement. `connection` formats numbers as literals that its SQLite reads exactly; nil
  /// stands for the shortest literals.
  ///
  /// - Parameters:
  ///   - name: The table's name; nil for the model's own name.
  ///   - additions: The declarations of additional columns, and additional constraints.
  ///   - defaults: The SQL of defaults for columns without a declared default, keyed by folded name.
  package func createTable(
    for connection: Connection?, named name: String? = nil,
    with additions: (columns: [String], constraints: [String]) = ([], []), defaults: [[UInt8]: String] = [:]
  ) throws -> String {
    var parts = try table.columns.map { column in
      try definition(of: column, for: connection, isAdded: false, defaults[column.name.foldedName])
    }
    parts += additions.columns
    let constraints = table.constraints
    for key in constraints.primaryKeys { parts.append(key.clauses.around("PRIMARY KEY (\(list(key.columns)))")) }
    for unique in constraints.uniques { parts.append(unique.clauses.around("UNIQUE (\(list(unique.columns)))")) }
    parts += try constraints.checks.map { try text(of: $0, for: connection) }
    for (columns, reference) in constraints.foreignKeys {
      let names = columns.map(\.quotedName).joined(separator: ", ")
      parts.append(reference.clauses.around("FOREIGN KEY (\(names)) \(references(reference))"))
    }
    parts += additions.constraints
    var options: [String] = []
    if table.options.contains(.strict) { options.append("STRICT") }
    if table.options.contains(.withoutRowid) { options.append("WITHOUT ROWID") }
    let tail = options.isEmpty ? "" : " " + options.joined(separator: ", ")
    return "CREATE TABLE \((name ?? table.name).quotedName) (\(parts.joined(separator: ", ")))\(tail)"
  }

  package func createTableWithoutConstraints(for connection: Connection?) throws -> String {
    let columns = try table.columns.map {
      try definition(of: $0, for: connection, isAdded: false, hasConstraints: false)
    }
    return "CREATE TABLE \(table.name.quotedName) (\(columns.joined(separator: ", ")))"
  }

  func create(_ view: View, for connection: Connection?) throws -> String {
    let columns = table.columns.map(\.name.quotedName).joined(separator: ", ")
    let query = try view.sql(for: table) { try connection.literal($0) }
    return "CREATE VIEW \(table.name.quotedName) (\(columns)) AS \(query)"
  }

  package func create(_ index: Index, for connection: Connection?) throws -> String {
    let name = index.name(in: table).quotedName
    let kind = index.isUnique ? "UNIQUE INDEX" : "INDEX"
    let terms = try index.columns.map { column in
      let term = try column.term.map { try text(of: $0, for: connection) } ?? column.name.quotedName
      return term + (column.isDescending ? " DESC" : "")
    }
    let condition = try index.condition.map { " WHERE \(try text(of: $0, for: connection))" } ?? ""
    return "CREATE \(kind) \(name) ON \(table.name.quotedName) (\(terms.joined(separator: ", ")))\(condition)"
  }

  func checks(of column: Column, for connection: Connection?) throws -> [String] {
    try column.definition.options.checks.map { try text(of: $0.expression, for: connection) }
  }

  private func text(of check: Check, for connection: Connection?) throws -> String {
    check.clauses.around("CHECK (\(try text(of: check.expression, for: connection)))")
  }

  private func text(of expression: DeclaredExpression, for connection: Connection?) throws -> String {
    try expression.sql(for: table) { try connection.literal($0) }
  }

  /// Returns ALTER TABLE … ADD COLUMN. Throws `.schema(.mismatch)` for a column that can't be added to a table with
  /// rows.
  package func addColumn(_ column: Column, for connection: Connection?) throws -> String {
    let options = column.definition.options
    let hasDefault = try options.defaultValue.map { try $0.constant(in: column.type) != .null } ?? false
    let reason: String? =
      if isKey(column) { "it is part of the primary key" } else if options.isUnique {
        "it is unique"
      } else if options.generated?.isStored == true {
        "it is generated and stored"
      } else if try options.defaultValue?.expression(in: column.type) != nil {
        "SQLite adds only columns with constant defaults"
      } else if !column.type.isNullable, !hasDefault, options.generated == nil {
        "it can't be NULL and has no default for existing rows"
      } else if !options.foreignKeys.isEmpty, hasDefault {
        "its default would reference a parent row that might not exist"
      } else { nil }
    if let reason {
      let message = "column \(table.name).\(column.name) can't be added to the existing table: \(reason)"
      throw SqlError(.schema(.mismatch(message)), message: message, table: table.name, column: column.name)
    }
    return "ALTER TABLE \(table.name.quotedName) ADD COLUMN "
      + (try definition(of: column, for: connection, isAdded: true))
  }

  private func isKey(_ column: Column) -> Bool {
    table.key.contains { table.columns[$0].name.isExactly(column.name) }
  }

  /// - Parameter isAdded: True for ALTER TABLE, which accepts only plain literals as defaults.
  private func definition(
    of column: Column, for connection: Connection?, isAdded: Bool, _ foreignDefault: String? = nil,
    hasConstraints: Bool = true
  ) throws -> String {
    var options = column.definition.options
    if !hasConstraints {
      (options.primaryKey, options.unique, options.checks, options.foreignKeys) = (nil, nil, [], [])
    }
    let type = options.declaredType?.sql ?? "\(column.type.sqlName)"
    var text = column.name.quotedName + (type.isEmpty ? "" : " \(type)")
    if let key = options.primaryKey {
      text += " " + key.clauses.around("PRIMARY KEY" + (key.isDescending ? " DESC" : ""))
      if key.autoincrement { text += " AUTOINCREMENT" }
    }
    // In ordinary rowid tables, SQLite allows NULL in every primary key except an INTEGER key, because of an old bug
    // that is kept for compatibility. The library could not find a struct's row by a NULL key, so key columns are NOT
    // NULL even if the model declares them nullable.
    if let clauses = options.notNull {
      text += " " + clauses.around("NOT NULL")
    } else if isKey(column) ? !table.keyIsRowid : !column.type.isNullable {
      text += " NOT NULL"
    }
    if let clauses = options.unique { text += " " + clauses.around("UNIQUE") }
    if let value = options.defaultValue {
      do {
        let literal = try value.constant(in: column.type)?.literal { try connection.literal($0, isConstant: isAdded) }
        text += try " DEFAULT \(literal ?? "(\(value.expression(in: column.type) ?? "NULL"))")"
      } catch {
        throw Default.located(error, table: table.name, column: column)
      }
    } else if let foreignDefault {
      text += " DEFAULT \(foreignDefault)"
    }
    if let collation = options.collation { text += " COLLATE \(String(decoding: collation.sql, as: UTF8.self))" }
    for check in options.checks { text += " " + (try self.text(of: check, for: connection)) }
    if let generated = options.generated {
      let expression = try self.text(of: generated.expression, for: connection)
      text += " GENERATED ALWAYS AS (\(expression)) \(generated.isStored ? "STORED" : "VIRTUAL")"
    }
    for reference in options.foreignKeys { text += " " + reference.clauses.around(references(reference)) }
    return text
  }

  private func references(_ reference: ForeignKeyReference) -> String {
    let columns = reference.columns.map(\.quotedName).joined(separator: ", ")
    var text = "REFERENCES \(reference.table().quotedName) (\(columns))"
    if reference.onDelete != .noAction { text += " ON DELETE \(reference.onDelete.rawValue)" }
    if reference.onUpdate != .noAction { text += " ON UPDATE \(reference.onUpdate.rawValue)" }
    if reference.isDeferred { text += " DEFERRABLE INITIALLY DEFERRED" }
    return text
  }

  private func list(_ columns: [IndexColumn]) -> String {
    columns.map { $0.name.quotedName + ($0.isDescending ? " DESC" : "") }.joined(separator: ", ")
  }
}

extension Connection? {
  fileprivate func literal(_ real: Double, isConstant: Bool = false) throws -> String {
    try self?.literal(real, isConstant: isConstant) ?? real.literal
  }
}
