// Tables and columns, written as SQL or as a cache key.

extension SqlBuffer {
  package func append(_ table: TableInfo) { append(table.quotedName, of: table) }

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

  /// Writes a column's key. The statement's tables are part of the key, and determine the column's table.
  func append(key column: ColumnReference) {
    guard case .declared(let definition) = column else { return refuseKey() }
    append(key: definition)
  }

  private func append(key column: ColumnDefinition) {
    // The address of a definition that is not retained forever could be reused for another column.
    guard column.isKept else { return refuseKey() }
    append(address: column)
  }
}
