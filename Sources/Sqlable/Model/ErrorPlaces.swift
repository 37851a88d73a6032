extension SqlError {
  /// The error with table and column as the model knows them.
  ///
  /// SQLite names them in its message only, unquoted, so that dots and commas in a name lead astray; for a CHECK it
  /// names the condition, for a foreign key nothing.
  func placed(in info: TableInfo) -> SqlError {
    var error = self
    switch kind {
    case _ where isTakenRowid(in: info):
      error.kind = .constraint(.primaryKey)
      error.message = "the full-text table \(info.name) has a row of that id already"
      (error.table, error.column) = (info.name, FullTextTable.rowid)
    case .constraint(let constraint):
      switch constraint {
      case .unique, .primaryKey, .notNull, .rowId:
        guard let place = message.suffix(after: "constraint failed: \(info.name).") else { return self }
        let next = ", \(info.name)."
        let columns = info.columns.map(\.name).filter { place.isExactly($0) || place.begins(with: $0 + next) }
        guard let column = columns.max(by: { $0.utf8.count < $1.utf8.count }) else { return self }
        (error.table, error.column) = (info.name, column)
      case .dataType:
        guard let column = info.columns.first(where: { message.ends(with: " column \(info.name).\($0.name)") }) else {
          return at(table: info.name)
        }
        (error.table, error.column) = (info.name, column.name)
      case .check:
        guard let condition = message.suffix(after: "constraint failed: ") else { return self }
        func isSame(_ check: String) -> Bool { check.utf8[...].trimmed.elementsEqual(condition.utf8[...].trimmed) }
        if let column = info.columns.first(where: { $0.definition.options.check.map(isSame) == true }) {
          (error.table, error.column) = (info.name, column.name)
        } else if info.constraints.checks.contains(where: isSame) {
          error.table = info.name
        }
      case .foreignKey, .trigger, .other: return at(table: info.name)
      }
    case .schema(.missingColumn(let name)):
      error.table = table ?? info.name
      if name.begins(with: "excluded."), let column = name.suffix(after: ".") {
        error.kind = .schema(.missingColumn(column))
        error.column = column
      }
    default: return self
    }
    return error
  }

  /// Whether it is all that FTS5 says of a row whose id is taken; see the insert into a table that stores no texts.
  private func isTakenRowid(in info: TableInfo) -> Bool {
    switch info.fullText?.content {
    // SQLITE_CONSTRAINT, the only constraint that it has.
    case .stored: code == 19
    // SQLITE_MISMATCH
    case .none?: code == 20
    case .external, nil: false
    }
  }
}
