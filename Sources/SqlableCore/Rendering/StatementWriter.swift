package struct StatementWriter {
  let renderer: Renderer
  private let isInText: Bool
  var table: TableInfo { renderer.table }
  var sql: SqlBuffer { renderer.sql }
  var parameters: ParameterBuffer { renderer.parameters }

  package init(
    table: TableInfo, sql: SqlBuffer, parameters: ParameterBuffer, isInText: Bool = false, outer: Scope? = nil
  ) {
    self.isInText = isInText
    renderer = Renderer(
      table: table, sql.isKey ? nil : Scope(table, isInText: isInText, outer: outer), sql: sql, parameters: parameters)
  }

  package func write(_ tree: StatementTree, row: RowValues = .none) throws {
    if let defect = tree.defect { throw defect }
    if tree.changesRows { try table.checkIsNoView() }
    switch tree {
    case .select(let query):
      return try SelectWriter(sql: sql, parameters: parameters, isInText: isInText).write(statement: query)
    case .insert(let query):
      try checkFullText(query)
      if query.form == .query { try writeInsertOfQuery(query) } else { try writeInsert(query, row) }
      try write(query.rest.value.returned)
    case .update(let query):
      try checkFullText(changing: query.rest.value.returned, query.conflict)
      if query.isRowLevel { try writeUpdate(query, row) } else { try writeAssign(query) }
      try write(query.rest.value.returned)
    case .delete(let query):
      try checkFullText(changing: query.rest.value.returned, nil)
      try writeDelete(query, row)
      try write(query.rest.value.returned)
    }
  }

  private func write(_ returned: Returned?) throws {
    guard let returned else { return }
    sql.append(" RETURNING ")
    switch returned {
    case .rows: renderer.writeStored(table.columns.indices)
    case .terms(let terms):
      for (index, term) in terms.enumerated() {
        if index > 0 { sql.append(", ") }
        if !sql.isKey { try term.checkUsesOneRow() }
        try renderer.write(term)
      }
    }
  }

  // MARK: Rows to change

  /// Writes the condition of an update or delete. A limit becomes a subquery, because SQLite accepts UPDATE … LIMIT
  /// only with a compile-time option.
  private func write(_ selection: RowSelection, _ hint: IndexHint?) throws {
    guard selection.isLimited else {
      if !selection.rest.isDefault { try renderer.check(selection.rest.value.order) }
      return try writeFilter(selection.filter)
    }
    let identity = try rowIdentity()
    sql.append(" WHERE ")
    if identity.count > 1 { sql.append("(") }
    writeList(identity)
    if identity.count > 1 { sql.append(")") }
    sql.append(" IN (SELECT ")
    writeList(identity)
    sql.append(" FROM ")
    sql.append(table)
    if let hint { try sql.append(hint: hint) }
    try writeFilter(selection.filter)
    let rest = selection.rest.value
    try renderer.write(rest.order)
    try renderer.write(limit: rest.limit, offset: rest.offset)
    sql.append(")")
  }

  private func writeFilter(_ filter: SqlExpression?) throws {
    guard let filter else { return }
    sql.append(" WHERE ")
    try renderer.write(filter)
  }

  /// Returns the columns that identify a row: a name of the rowid, or the key of a WITHOUT ROWID table.
  func rowIdentity() throws -> [[UInt8]] {
    if table.isWithoutRowid || table.keyIsRowid { return table.key.map { table.columns[$0].definition.quotedName } }
    guard let name = String.rowidName(avoiding: table.columns.map(\.name)) else {
      throw SqlError.invalidStatement(
        "table \(table.name) has columns named rowid, oid and _rowid_, so its rowid can't be read")
    }
    return [[UInt8](name.utf8)]
  }

  func writeList(_ names: [[UInt8]]) {
    for (index, name) in names.enumerated() {
      if index > 0 { sql.append(", ") }
      sql.append(name)
    }
  }

  // MARK: Changes

  func writeConflict(_ policy: ConflictPolicy?) {
    guard let policy else { return }
    // ABORT is the default unless a constraint declares another policy.
    if policy != .abort || table.ignoresOrReplaces { sql.append(policy.sql) }
  }

  private func writeDelete(_ query: DeleteQuery, _ row: RowValues) throws {
    try query.selection.check(query.extent, of: table, "a delete", "deleteAll()")
    sql.append("DELETE FROM ")
    sql.append(table)
    if query.isRowLevel { return try writeKey(of: row, and: query.selection.filter) }
    if !query.selection.isLimited, let hint = query.rest.value.indexHint { try sql.append(hint: hint) }
    try write(query.selection, query.rest.value.indexHint)
    let isAll = query.selection.filter == nil && !query.selection.isLimited
    if isAll, table.isWithoutRowid, !Library.countsClearedRows { sql.append(" WHERE 1") }
  }

  private func writeAssign(_ query: UpdateQuery) throws {
    let assignments = query.rest.value.assignments
    guard !assignments.isEmpty else { throw SqlError.invalidStatement("the update sets no column") }
    guard query.rest.value.sources.isEmpty else { return try writeJoinedAssign(query) }
    sql.append("UPDATE ")
    writeConflict(query.conflict)
    sql.append(table)
    // If the statement has a limit, the hint applies to the subquery that finds the rows.
    let hint = query.rest.value.indexHint
    if !query.selection.isLimited, let hint { try sql.append(hint: hint) }
    sql.append(" SET ")
    try write(assignments, with: renderer)
    try query.selection.check(query.extent, of: table, "an update", "updateAll(_:)")
    try write(query.selection, hint)
  }

  func write(_ assignments: [Assignment], with renderer: Renderer) throws {
    for (index, assignment) in assignments.enumerated() {
      if index > 0 { sql.append(", ") }
      let position = try renderer.position(of: assignment.column)
      guard !assignments[..<index].contains(where: { $0.column == assignment.column }) else {
        throw SqlError.invalidStatement("column \(assignment.column.name) is set twice").at(table: table.name)
      }
      try checkWritable(position)
      renderer.writeColumn(position)
      sql.append(" = ")
      try renderer.write(assignment.value, settingColumn: position)
    }
  }

  private func writeUpdate(_ query: UpdateQuery, _ row: RowValues) throws {
    let chosen = try query.rest.value.columns.map { try chosenColumns($0) }
    // A chosen column without a value is set to NULL.
    let positions = (chosen ?? row.indices.filter { row[$0].isSet }).filter { !table.key.contains($0) }
    guard !positions.isEmpty else {
      throw SqlError.invalidStatement("the update sets no column: only the struct's key has a value")
        .at(table: table.name)
    }
    sql.append("UPDATE ")
    writeConflict(query.conflict)
    sql.append(table)
    for (index, position) in positions.enumerated() {
      if index == 0 { sql.append(" SET ") } else { sql.append(", ") }
      renderer.writeColumn(position)
      sql.append(" = ?")
      parameters.append(written(row[position]))
    }
    try writeKey(of: row, and: query.selection.filter)
  }

  private func writeKey(of row: RowValues, and filter: SqlExpression?) throws {
    try requireKey()
    for (index, position) in table.key.enumerated() {
      switch row[position] {
      case .unset, .null:
        let column = table.columns[position].name
        throw SqlError.misuse("the struct has no value for its key \(table.name).\(column); insert the struct first")
          .at(table: table.name, column: column)
      case let value:
        if index == 0 { sql.append(" WHERE ") } else { sql.append(" AND ") }
        renderer.writeStored(position)
        sql.append(" = ?")
        parameters.append(value)
      }
    }
    guard let filter else { return }
    sql.append(" AND (")
    try renderer.write(filter)
    sql.append(")")
  }

  func requireKey() throws {
    guard !table.key.isEmpty else {
      throw SqlError.misuse("table \(table.name) has no primary key to identify a row").at(table: table.name)
    }
  }

  func checkWritable(_ position: Int) throws {
    guard !table.cells[position].isGenerated else {
      throw SqlError.invalidStatement("column \(table.columns[position].name) is generated and can't be set")
        .at(table: table.name, column: table.columns[position].name)
    }
  }

  /// Returns the value to bind for a column that the statement writes: NULL if the struct has no value for the column.
  func written(_ parameter: BoundValue) -> BoundValue { parameter.isSet ? parameter : .null }

  /// Returns the positions of the columns that the caller chose to write. Throws for generated columns.
  func chosenColumns(_ columns: [ColumnReference]) throws -> [Int] {
    try columns.map { reference in
      let position = try renderer.position(of: reference)
      try checkWritable(position)
      return position
    }
  }
}
