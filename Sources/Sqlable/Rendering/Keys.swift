// What a statement names, as text and key have it.

extension SqlBuffer {
  func append(_ table: TableInfo) { append(table.quotedName, of: table) }

  /// `SELECT "id", "name" FROM "bicycle"`
  func append(selectAllOf table: TableInfo) {
    if isKey {
      append("SELECT")
      append(address: table)
    } else {
      append(table.selectAll)
    }
  }

  func append(_ column: ColumnDefinition) {
    if isKey { append(key: column) } else { append(column.quotedName) }
  }

  /// Writes a column as a key has it: which table it is found in follows from those of the statement.
  func append(key column: ColumnReference) {
    guard case .declared(let definition) = column else { return refuseKey() }
    append(key: definition)
  }

  private func append(key column: ColumnDefinition) {
    // One that is declared anew for every use may leave its address to another one.
    guard column.isKept else { return refuseKey() }
    append(address: column)
  }
}
