/// Where a table's primary key is found among the values that the pre-update hook tells.
struct KeyShape {
  /// The positions of the key's columns; none where the rowid is the key, or where there is no key.
  var columns: [Int] = []
  /// Which of them hold reals: SQLite keeps 2.0 as the integer 2, and tells it so when it is inserted.
  var areReal: [Bool] = []
  var isWithoutRowid = false
}

extension Connection {
  /// The names of the tables of database "main".
  func tableNames() throws -> [String] {
    var names: [String] = []
    // Virtual tables have no rows of their own. SQLite's own tables are nobody's business.
    try eachRow(
      """
      SELECT name FROM main.sqlite_master
      WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND sql NOT LIKE 'CREATE VIRTUAL%'
      """
    ) { names.append($0[0]) }
    return names
  }

  /// Where the primary key of a table is.
  ///
  /// The index of the key is asked, not the table's declaration: only the rowid needs no index, and `INTEGER PRIMARY KEY
  /// DESC`, by an old quirk, is not the rowid.
  func keyShape(ofTable name: String) throws -> KeyShape {
    var shape = KeyShape()
    var index: String?
    try eachRow("PRAGMA main.index_list(\(quoted(name)))") { row in
      if row[3] == "pk" { index = row[1] }
    }
    guard let index else { return shape }
    shape.isWithoutRowid = true
    try eachRow("PRAGMA main.index_xinfo(\(quoted(index)))") { row in
      guard let column = Int(row[1]) else { return }
      // An index ends in the rowid of its table, column -1.
      if column == -1 { shape.isWithoutRowid = false } else if row[5] == "1" { shape.columns.append(column) }
    }
    var isReal: [Int: Bool] = [:]
    try eachRow("PRAGMA main.table_xinfo(\(quoted(name)))") { row in
      guard let column = Int(row[0]) else { return }
      let type = row[2].uppercased()
      // SQLite's rules of affinity, in their order.
      isReal[column] =
        !["INT", "CHAR", "CLOB", "TEXT", "BLOB"].contains { type.suffix(after: $0) != nil }
        && ["REAL", "FLOA", "DOUB"].contains { type.suffix(after: $0) != nil }
    }
    shape.areReal = shape.columns.map { isReal[$0] ?? false }
    return shape
  }

  private func quoted(_ name: String) -> String { String(decoding: SqlBuffer.quoted(name), as: UTF8.self) }
}
