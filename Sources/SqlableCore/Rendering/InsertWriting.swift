extension StatementWriter {
  func writeInsert(_ query: InsertQuery, _ row: RowValues) throws {
    let chosen = try query.rest.value.columns.map { try chosenColumns($0) }
    // A chosen column without a value gets the column's default.
    let positions = (chosen ?? Array(row.indices)).filter { row[$0].isSet }
    let replaces = query.form == .save && table.fullText?.isExternal == false
    writeInto(query, conflict: replaces ? .replace : query.conflict)
    if positions.isEmpty {
      sql.append(" DEFAULT VALUES")
    } else {
      sql.append(" (")
      renderer.writeColumns(positions)
      sql.append(") VALUES (")
      for (index, position) in positions.enumerated() {
        if index > 0 { sql.append(", ") }
        writePlaceholder(of: position, at: index)
        parameters.append(written(row[position]))
      }
      sql.append(")")
    }
    let returnsRows = query.rest.value.returned != nil
    if query.form == .save {
      try requireKey()
      if replaces { return try checkReplaces(positions) }
      try write([Upsert()], positions, returnsId: !returnsRows)
    } else {
      let upserts = query.rest.value.upserts
      try write(upserts, positions, returnsId: !returnsRows)
      // If the key comes from a default, the rowid does not show the key.
      let isKeyKnown = table.keyIsRowid || table.key.contains(where: positions.contains)
      if upserts.isEmpty, !isKeyKnown, table.hasIntegerKey { try writeId(isWanted: !returnsRows) }
    }
  }

  func omittedKey(of query: InsertQuery, _ row: RowValues) throws -> [Column] {
    guard query.form != .query, !table.key.isEmpty else { return [] }
    let chosen = try query.rest.value.columns.map { try chosenColumns($0) }
    return table.key.filter { !row[$0].isSet || chosen?.contains($0) == false }.map { table.columns[$0] }
  }

  /// Writes an insert of a query's rows. If the query returns whole rows, generated columns are omitted.
  func writeInsertOfQuery(_ query: InsertQuery) throws {
    let rest = query.rest.value
    guard let source = rest.source else { throw SqlError.invalidStatement("the insert has no query") }
    let given = try rest.columns.map { try chosenColumns($0) } ?? Array(table.columns.indices)
    let positions = rest.columns == nil ? given.filter { !table.cells[$0].isGenerated } : given
    if !sql.isKey { try check(source, fits: given) }
    writeInto(query, conflict: query.conflict)
    sql.append(" (")
    renderer.writeColumns(positions)
    sql.append(") ")
    let writer = SelectWriter(
      sql: sql, parameters: parameters, outer: sql.isKey ? nil : renderer.scope.outer,
      isInText: renderer.scope.isInText)
    let isWhole = positions.count == given.count
    guard !rest.upserts.isEmpty || !isWhole else { return try writer.write(source) }
    sql.append("SELECT ")
    if isWhole { sql.append("*") } else { renderer.writeColumns(positions) }
    sql.append(" FROM (")
    try writer.write(source)
    sql.append(")")
    guard !rest.upserts.isEmpty else { return }
    // The WHERE is needed because the parser would otherwise treat ON CONFLICT after a table as the join's ON.
    sql.append(" WHERE 1")
    try write(rest.upserts, positions, returnsId: false)
  }

  /// Throws if the query and the insert have different numbers of columns, or if a column can't store the type of the
  /// query's column.
  private func check(_ source: SelectQuery, fits positions: [Int]) throws {
    let given = source.clauses.columns
    guard given.count == positions.count else {
      throw SqlError.invalidStatement(
        "the insert and the query have different numbers of columns: \(positions.count) and \(given.count)"
      ).at(table: table.name)
    }
    for (format, position) in zip(source.clauses.dateFormats, positions) {
      let column = table.columns[position]
      guard let format, column.type.dateFormat?.canMix(with: format) == false else { continue }
      let found = ColumnType.date(format).name
      throw SqlExpression.located(SqlError.encoding(expected: column.type.name, found: found), column: column)
    }
    for (given, position) in zip(given, positions) {
      let column = table.columns[position]
      // For a decimal column, a value of unknown type is treated as an integer and rejected, because its scale is
      // unknown.
      guard let type = given.type ?? column.type.scale.map({ _ in .integer }) else { continue }
      guard !column.type.takesValues(of: type) else { continue }
      throw SqlExpression.located(SqlError.encoding(expected: column.type.name, found: type.name), column: column)
    }
  }

  private func writeInto(_ query: InsertQuery, conflict: ConflictPolicy?) {
    sql.append("INSERT ")
    writeConflict(conflict)
    sql.append("INTO ")
    sql.append(table)
    // If the table is named "excluded", `excluded."a"` would refer to the existing row, and the upsert would change
    // nothing.
    if isNamedAsNewRow { sql.append(" AS \"own\"") }
  }

  private var isNamedAsNewRow: Bool { table.name.isSameName(as: Upsert.newRow) }

  /// Writes the conflict clauses. SQLite applies the first clause whose columns conflict.
  private func write(_ upserts: [Upsert], _ written: [Int], returnsId: Bool) throws {
    guard !upserts.isEmpty else { return }
    guard !written.isEmpty else { throw SqlError.invalidStatement("an insert without columns can't be an upsert") }
    if upserts.count > 1 { try check(upserts) }
    for upsert in upserts { try write(upsert, written, returnsId: returnsId) }
    try writeId(isWanted: returnsId)
  }

  /// Throws if one of several conflict clauses can never apply.
  private func check(_ upserts: [Upsert]) throws {
    guard Library.hasReturning else {
      throw SqlError.misuse(Library.needed(for: "an insert with several conflict clauses", since: 35))
    }
    let targets = try upserts.map { Set(try $0.target?.map(renderer.position(of:)) ?? table.key) }
    guard targets.dropLast().allSatisfy({ !$0.isEmpty }) else {
      throw SqlError.invalidStatement("only the last of several conflict clauses can omit its columns")
        .at(table: table.name)
    }
    let isRepeated = targets.indices.contains { index in
      (0..<index).contains { targets[$0] == targets[index] && upserts[$0].index == upserts[index].index }
    }
    guard !isRepeated else {
      throw SqlError.invalidStatement("an insert has two conflict clauses for the same columns").at(table: table.name)
    }
  }

  private func write(_ upsert: Upsert, _ written: [Int], returnsId: Bool) throws {
    let target = try upsert.target?.map(renderer.position(of:)) ?? table.key
    let columns = try upsert.columns?.map(renderer.position(of:)) ?? written.filter { !target.contains($0) }
    if !target.isEmpty {
      sql.append(" ON CONFLICT (")
      renderer.writeColumns(target)
      sql.append(")")
      if let condition = upsert.index { try write(conditionOfIndex: condition, target) }
      sql.append(" DO ")
    } else {
      sql.append(" ON CONFLICT DO ")
      guard columns.isEmpty, upsert.index == nil else {
        throw SqlError.invalidStatement(
          "an upsert that changes the existing row must name the conflict columns: onConflict(column, update: …)")
      }
    }
    guard !columns.isEmpty || !upsert.assignments.isEmpty else {
      guard upsert.condition == nil else {
        throw SqlError.invalidStatement("an upsert that updates nothing can't have a condition").at(table: table.name)
      }
      return sql.append("NOTHING")
    }
    if returnsId { try checkCanBeFound(upsert, target, written) }
    sql.append("UPDATE SET ")
    for (index, position) in columns.enumerated() {
      try checkWritable(position)
      if index > 0 { sql.append(", ") }
      renderer.writeColumn(position)
      sql.append(" = excluded.")
      renderer.writeColumn(position)
    }
    if !upsert.assignments.isEmpty || upsert.condition != nil { try writeTerms(of: upsert, after: columns) }
  }

  /// Writes the condition of a partial unique index, with literals in place of values: SQLite finds the index by the
  /// text of its condition.
  private func write(conditionOfIndex condition: SqlExpression, _ target: [Int]) throws {
    // Refuse the condition: for a key that is the rowid, SQLite would ignore it.
    guard !table.keyIsRowid || target != table.key else {
      throw SqlError.invalidStatement(
        "the first `where:` of onConflict is for a partial index, but the primary key of table \(table.name) "
          + "has no partial index; use the last `where:` for a condition of the update"
      ).at(table: table.name)
    }
    sql.append(" WHERE ")
    // A cache key can't contain the literals.
    guard !sql.isKey else { return sql.refuseKey() }
    sql.append(text: try condition.declaredSQL(for: table) { $0.literal })
  }

  private func writeId(isWanted: Bool) throws {
    guard isWanted, Library.hasReturning, !table.isWithoutRowid || table.hasIntegerKey else { return }
    sql.append(" RETURNING ")
    try writeReturnedId()
  }

  /// Writes the term that RETURNING uses for the row's id: the key if the key is one integer, or else the rowid.
  private func writeReturnedId() throws {
    guard table.key.count == 1, !table.keyIsRowid else { return writeList(try rowIdentity()) }
    let key = table.columns[table.key[0]]
    guard case .any = key.type.base, !table.isWithoutRowid else {
      return writeList(table.hasIntegerKey ? [key.definition.quotedName] : try rowIdentity())
    }
    sql.append("CASE typeof(")
    writeList([key.definition.quotedName])
    sql.append(") WHEN 'integer' THEN ")
    writeList([key.definition.quotedName])
    sql.append(" ELSE ")
    writeList(try rowIdentity())
    sql.append(" END")
  }

  /// Throws if the conflict columns can't identify the updated row. In an SQLite without RETURNING, a second query
  /// finds the row by these columns.
  private func checkCanBeFound(_ upsert: Upsert, _ target: [Int], _ written: [Int]) throws {
    guard !Library.hasReturning, !table.isWithoutRowid else { return }
    guard upsert.index == nil else {
      throw SqlError.misuse(Library.needed(for: "returning the id of an upsert on a partial index", since: 35))
        .at(table: table.name)
    }
    let isNewRow = table.keyIsRowid && target == table.key && !written.contains { table.key.contains($0) }
    guard !isNewRow else { return }
    let isKept = try upsert.assignments.allSatisfy { !target.contains(try renderer.position(of: $0.column)) }
    guard isKept, target.allSatisfy(written.contains) else {
      let feature = "returning the id of an upsert that sets or leaves out one of its conflict columns"
      throw SqlError.misuse(Library.needed(for: feature, since: 35)).at(table: table.name)
    }
  }

  /// Writes a query for the id of the row that has these values in the upsert's conflict columns.
  func writeLookup(_ query: InsertQuery, _ row: RowValues) throws {
    sql.append("SELECT ")
    try writeReturnedId()
    sql.append(" FROM ")
    sql.append(table)
    let target = try query.rest.value.upserts.first?.target?.map(renderer.position(of:)) ?? table.key
    for (index, position) in target.enumerated() {
      if index == 0 { sql.append(" WHERE ") } else { sql.append(" AND ") }
      renderer.writeColumn(position)
      sql.append(" = ?")
      parameters.append(written(row[position]))
    }
  }

  /// Writes the assignments and the condition of an upsert, whose terms can use the existing row and the new row.
  private func writeTerms(of upsert: Upsert, after columns: [Int]) throws {
    guard !isNamedAsNewRow else {
      throw SqlError.invalidStatement(
        "an upsert into table \(table.name) can't have assignments or a condition: "
          + "SQLite gives the new row this name; rename the table"
      )
      .at(table: table.name)
    }
    let scope = sql.isKey ? nil : try Scope(upsertingInto: table)
    let both = Renderer(table: table, scope, sql: sql, parameters: parameters)
    for assignment in upsert.assignments where columns.contains(try renderer.position(of: assignment.column)) {
      throw SqlError.invalidStatement("column \(assignment.column.name) is set twice").at(table: table.name)
    }
    if !columns.isEmpty, !upsert.assignments.isEmpty { sql.append(", ") }
    try write(upsert.assignments, with: both)
    guard let condition = upsert.condition else { return }
    sql.append(" WHERE ")
    try both.write(condition)
  }
}
