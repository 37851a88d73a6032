extension StatementWriter {
  /// Writes an update that joins other tables. Join conditions go into WHERE, because the first table after FROM has no
  /// ON.
  func writeJoinedAssign(_ query: UpdateQuery) throws {
    try query.checkJoins()
    let clauses = SelectQuery.Clauses(sources: query.tables, results: [])
    let writer = SelectWriter(sql: sql, parameters: parameters, isInText: renderer.scope.isInText)
    let all = try writer.beginTables(clauses)
    sql.append("UPDATE ")
    writeConflict(query.conflict)
    sql.append(table)
    if let hint = query.rest.value.indexHint { try sql.append(hint: hint) }
    sql.append(" SET ")
    try write(query.rest.value.assignments, with: all)
    try writer.writeOtherTables(clauses, all)
    var condition: SqlExpression?
    for source in clauses.sources { if let joinCondition = source.condition { condition.and(joinCondition) } }
    if let filter = query.selection.filter { condition.and(filter) }
    guard let condition else { return }
    sql.append(" WHERE ")
    try all.write(condition)
  }
}

extension UpdateQuery {
  fileprivate func checkJoins() throws {
    guard selection.rest.isDefault else {
      throw SqlError.invalidStatement("an update that joins other tables can't have an order or limit").at(
        table: table.name)
    }
    guard extent != .all else {
      throw SqlError.misuse("updateAll(_:) changes every row of table \(table.name), and can't join other tables")
        .at(table: table.name)
    }
  }
}
