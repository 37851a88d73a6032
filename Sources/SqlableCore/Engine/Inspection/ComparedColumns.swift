import CSqlableSQLite

/// The declared type and the collation of a column, which determine how SQLite compares the column's values.
package struct ComparedColumn: Sendable, Hashable {
  package let name: String
  package let type: String
  package let collation: String
}

extension Connection {
  /// Returns the columns of a table of the `main` database, in order.
  package func comparedColumns(ofTable name: String) throws -> [ComparedColumn] {
    let names = try rows("PRAGMA main.table_xinfo(\(name.quotedName))").map { $0[1] }
    return names.map { column in
      var (type, collation): (UnsafePointer<CChar>?, UnsafePointer<CChar>?)
      sqlite3_table_column_metadata(handle, "main", name, column, &type, &collation, nil, nil, nil)
      return ComparedColumn(
        name: column, type: type.map { String(cString: $0) } ?? "",
        collation: collation.map { String(cString: $0) } ?? "BINARY")
    }
  }
}
