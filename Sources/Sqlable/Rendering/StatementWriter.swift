/// Writes whole statements, and the row that they carry, as SQL or as a key.
struct StatementWriter {
  let renderer: Renderer
  var table: TableInfo { renderer.table }
  var sql: SqlBuffer { renderer.sql }
  var parameters: ParameterBuffer { renderer.parameters }

  init(table: TableInfo, sql: SqlBuffer, parameters: ParameterBuffer, isInText: Bool = false) {
    renderer = Renderer(
      table: table, sql.isKey ? nil : Scope(table, isInText: isInText), sql: sql, parameters: parameters)
  }

  /// Writes the statement. `row` holds the values of the struct that it carries.
  func write(_ query: Query, row: RowValues = .none) throws {
    try check(query)
    switch query.kind {
    case .read, .first: try writeRead(query)
    case .count: try writeCount(query)
    case .exists: try writeExists(query)
    case .insert, .insertMany, .save: try writeInsert(query, row)
    case .insertQuery: try writeInsertOfQuery(query)
    case .update: try writeUpdate(query, row)
    case .assign: try writeAssign(query)
    case .deleteRow:
      sql.append("DELETE FROM ")
      sql.append(table)
      try writeKey(of: row, and: query.filter)
    case .delete:
      sql.append("DELETE FROM ")
      sql.append(table)
      try writeSelection(query)
      let isAll = query.filter == nil && !query.isLimited
      if isAll, table.isWithoutRowid, !Library.countsClearedRows { sql.append(" WHERE 1") }
    }
    if query.returns {
      sql.append(" RETURNING ")
      guard !query.returned.isEmpty else { return renderer.writeColumns(table.columns.indices) }
      for (index, term) in query.returned.enumerated() {
        if index > 0 { sql.append(", ") }
        try renderer.write(term)
      }
    }
  }

  // MARK: Rules

  private func check(_ query: Query) throws {
    if query.isPlainRead { return }
    func refuse(_ modifier: String, _ isUsed: Bool) throws {
      if isUsed { throw SqlError.invalidStatement("\(query.kind.name) takes no \(modifier)").at(table: table.name) }
    }
    let takesRows = query.kind.takesRows
    try refuse("order", takesRows && !query.order.isEmpty)
    try refuse("limit", takesRows && query.limit != nil)
    try refuse("offset", takesRows && query.offset != nil)
    switch query.kind {
    case .insertQuery:
      try refuse("filter; its query does", query.filter != nil)
      try refuse("order; its query does", !query.order.isEmpty)
      try refuse("limit; its query does", query.isLimited)
      try refuse("two answers to a conflict", query.conflict != nil && query.upsert != nil)
    case .insert, .insertMany:
      try refuse("filter", query.filter != nil)
      try refuse("two answers to a conflict", query.conflict != nil && query.upsert != nil)
    case .save:
      try refuse("filter", query.filter != nil)
      try refuse("answer to a conflict: it is one", query.conflict != nil || query.upsert != nil)
    case .update, .assign: try refuse("columns to update on conflict", query.upsert != nil)
    case .read, .first, .count, .exists, .delete, .deleteRow:
      try refuse("answer to a conflict", query.conflict != nil || query.upsert != nil)
    }
    try refuse("returning: it gives rows, or a number", query.returns && !query.kind.changesRows)
    try checkFullText(query)
  }

  // MARK: Reads

  private func writeRead(_ query: Query) throws {
    sql.append(selectAllOf: table)
    try writeFilter(query.filter)
    try writeOrderAndLimit(query)
  }

  private func writeCount(_ query: Query) throws {
    guard query.isLimited else {
      try checkOrder(query)
      sql.append("SELECT count(*) FROM ")
      sql.append(table)
      return try writeFilter(query.filter)
    }
    sql.append("SELECT count(*) FROM (SELECT 1")
    try writeFrom(query)
    sql.append(")")
  }

  private func writeExists(_ query: Query) throws {
    sql.append("SELECT EXISTS (SELECT 1")
    try writeFrom(query)
    sql.append(")")
  }

  private func writeFrom(_ query: Query) throws {
    sql.append(" FROM ")
    sql.append(table)
    try writeFilter(query.filter)
    try writeOrderAndLimit(query)
  }

  private func writeFilter(_ filter: SqlExpression?) throws {
    guard let filter else { return }
    sql.append(" WHERE ")
    try renderer.write(filter)
  }

  /// Holds an order against the table that changes nothing of the result, and so is not a part of the text.
  private func checkOrder(_ query: Query) throws {
    guard !query.order.isEmpty else { return }
    let (end, mark) = (sql.count, parameters.mark)
    defer { parameters.release(to: mark) }
    try writeOrderAndLimit(query)
    if !sql.isKey { sql.truncate(to: end) }
  }

  private func writeOrderAndLimit(_ query: Query) throws {
    try renderer.write(query.order)
    try renderer.write(limit: query.limit, offset: query.offset)
  }

  // MARK: Rows to change

  /// Which rows an update or delete is about. UPDATE … LIMIT needs a compile-time option of SQLite, so a limit goes
  /// into a subquery on the rows' identity.
  private func writeSelection(_ query: Query) throws {
    guard query.isLimited else {
      try checkOrder(query)
      return try writeFilter(query.filter)
    }
    let identity = try rowIdentity()
    sql.append(" WHERE ")
    if identity.count > 1 { sql.append("(") }
    writeList(identity)
    if identity.count > 1 { sql.append(")") }
    sql.append(" IN (SELECT ")
    writeList(identity)
    try writeFrom(query)
    sql.append(")")
  }

  /// What tells one row from another: the rowid by one of its names, or the key of a WITHOUT ROWID table.
  func rowIdentity() throws -> [[UInt8]] {
    if table.isWithoutRowid || table.keyIsRowid { return table.key.map { table.columns[$0].definition.quotedName } }
    guard let name = String.rowidName(beside: table.columns.map(\.name)) else {
      throw SqlError.invalidStatement("columns of table \(table.name) hide all names of its rowid")
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
    if let policy, policy != .abort { sql.append(policy.sql) }
  }

  private func writeAssign(_ query: Query) throws {
    guard !query.assignments.isEmpty else { throw SqlError.invalidStatement("the update sets nothing") }
    sql.append("UPDATE ")
    writeConflict(query.conflict)
    sql.append(table)
    sql.append(" SET ")
    try write(query.assignments, with: renderer)
    try writeSelection(query)
  }

  /// Writes what columns are set to.
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

  private func writeUpdate(_ query: Query, _ row: RowValues) throws {
    let positions = try writtenColumns(query, row).filter { !table.key.contains($0) }
    guard !positions.isEmpty else {
      throw SqlError.invalidStatement("the update sets nothing: the struct gives no column beside its key")
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
    try writeKey(of: row, and: query.filter)
  }

  /// The condition that a row is the struct's own.
  private func writeKey(of row: RowValues, and filter: SqlExpression?) throws {
    try requireKey()
    for (index, position) in table.key.enumerated() {
      switch row[position] {
      case .unset, .null:
        let column = table.columns[position].name
        throw SqlError.misuse("the struct has no value for its key \(table.name).\(column), so it is no row yet")
          .at(table: table.name, column: column)
      case let value:
        if index == 0 { sql.append(" WHERE ") } else { sql.append(" AND ") }
        renderer.writeColumn(position)
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
      throw SqlError.misuse("table \(table.name) has no primary key to find a struct's row by").at(table: table.name)
    }
  }

  func checkWritable(_ position: Int) throws {
    guard !table.cells[position].isGenerated else {
      throw SqlError.invalidStatement("column \(table.columns[position].name) is generated, and can't be set")
        .at(table: table.name, column: table.columns[position].name)
    }
  }

  /// What is bound for a column that is written: NULL where it was chosen and the struct has no value for it.
  func written(_ parameter: BoundValue) -> BoundValue { parameter.isSet ? parameter : .null }

  /// The columns that a struct writes: those it has values for, or those that were chosen. Generated ones are computed.
  func writtenColumns(_ query: Query, _ row: RowValues) throws -> [Int] {
    guard let chosen = query.columns else { return row.indices.filter { row[$0].isSet } }
    let positions = try chosen.map { reference in
      let position = try renderer.position(of: reference)
      try checkWritable(position)
      return position
    }
    // A chosen column without a value gets its default in a new row; in an update it was chosen to be cleared.
    return query.kind == .update ? positions : positions.filter { row[$0].isSet }
  }
}

extension Query.Kind {
  fileprivate var name: String {
    switch self {
    case .read, .first: "a read"
    case .count: "a count"
    case .exists: "an exists"
    case .insert, .insertMany, .insertQuery: "an insert"
    case .save: "a save"
    case .update: "an update of a struct"
    case .assign: "an update"
    case .deleteRow: "a delete of a struct"
    case .delete: "a delete"
    }
  }
}
