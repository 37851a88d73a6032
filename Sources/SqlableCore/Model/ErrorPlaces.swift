extension SqlError {
  /// Returns the error with the model's table and column added.
  ///
  /// SQLite writes table and column only to the message, without quotes. A name with a dot or comma makes the message
  /// ambiguous, so the message is compared with the model's columns. For a CHECK, SQLite's message contains the
  /// constraint's name or the condition. For a foreign key, the message contains no name.
  func withLocation(in info: TableInfo) -> SqlError {
    var error = self
    switch kind {
    case _ where isTakenRowid(in: info):
      error.kind = .constraint(.primaryKey)
      error.message = "full-text table \(info.name) already has a row with this rowid"
      (error.table, error.column) = (info.name, FullTextTable.rowid)
    case .constraint(let constraint):
      switch constraint {
      case .unique, .primaryKey, .notNull, .rowId:
        guard let columnNames = message.suffix(after: "constraint failed: \(info.name).") else { return self }
        let next = ", \(info.name)."
        let columns = info.columns.map(\.name).filter {
          columnNames.isExactly($0) || columnNames.begins(with: $0 + next)
        }
        guard let column = columns.max(by: { $0.utf8.count < $1.utf8.count }) else { return self }
        (error.table, error.column) = (info.name, column)
      case .dataType:
        guard let column = info.columns.first(where: { message.ends(with: " column \(info.name).\($0.name)") }) else {
          return at(table: info.name)
        }
        (error.table, error.column) = (info.name, column.name)
      case .check:
        guard let condition = message.suffix(after: "constraint failed: ") else { return self }
        let columns = info.columns.filter { column in
          column.definition.options.checks.contains { $0.isReported(as: condition, in: info) }
        }
        let isTableCheck = info.constraints.checks.contains { $0.isReported(as: condition, in: info) }
        if isTableCheck || !columns.isEmpty { error.table = info.name }
        if !isTableCheck, columns.count == 1 { error.column = columns[0].name }
      case .foreignKey, .trigger, .other: return at(table: info.name)
      }
    case .schema(.missingColumn(let name)):
      error.table = table ?? info.name
      guard !info.columns.contains(where: { $0.name.isExactly(name) }) else { break }
      if let column = name.qualified(by: "excluded") ?? name.qualified(by: info.name) {
        (error.kind, error.column) = (.schema(.missingColumn(column)), column)
      } else if let dot = name.lastIndex(of: ".") {
        // The name is qualified with a table. The statement does not read this table here, or the table has no such
        // column.
        let (other, column) = (String(name[..<dot]), String(name[name.index(after: dot)...]))
        (error.kind, error.table, error.column) = (.schema(.missingColumn(column)), other, column)
        error.message += "; the statement does not read \(other) here, or \(other) has no such column"
      }
    default: return self
    }
    return error
  }

  /// True if the error has FTS5's code for an insert with an existing rowid. For a contentless table, FTS5 uses another
  /// code.
  private func isTakenRowid(in info: TableInfo) -> Bool {
    switch info.fullText?.content {
    // SQLITE_CONSTRAINT: the rowid is the table's only constraint.
    case .stored: code == 19
    // SQLITE_MISMATCH
    case .none?: code == 20
    case .external, nil: false
    }
  }
}

extension Check {
  /// True if `words`, from SQLite's error message, identify this check. SQLite reports the constraint's name, or the
  /// condition if the constraint has no name. If the condition starts with a quoted name, SQLite reports only that
  /// name.
  fileprivate func isReported(as words: some StringProtocol, in info: TableInfo) -> Bool {
    let words = Substring(words).utf8.trimmed
    if let name = clauses.name { return name.utf8[...].trimmed.elementsEqual(words) }
    guard let sql = try? expression.sql(for: info, real: { "\($0)" }).utf8[...].trimmed else { return false }
    guard let quote = sql.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
      return sql.elementsEqual(words)
    }
    var (name, isOpen): ([UInt8], Bool) = ([], true)
    for byte in sql.dropFirst() {
      if byte == quote, isOpen {
        isOpen = false
      } else if byte == quote || isOpen {
        isOpen = true
        name.append(byte)
      } else {
        break
      }
    }
    return name.elementsEqual(words)
  }
}

extension String {
  fileprivate func qualified(by table: String) -> String? {
    begins(with: table + ".") ? suffix(after: table + ".") : nil
  }
}
