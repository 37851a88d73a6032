/// Where a table's primary key is found among the values that the pre-update hook tells.
struct KeyShape {
  /// The positions of the key's columns; none where the rowid is the key, or where there is no key.
  var columns: [Int] = []
  /// Which of them hold reals: SQLite keeps 2.0 as the integer 2, and tells it so when it is inserted.
  var areReal: [Bool] = []
  var isWithoutRowid = false
  /// The names, as SQL spells them, by which a row is found: those of the key's columns, or one of the rowid's own.
  var names: [String] = []
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
    var isReal: [Int: Bool] = [:]
    var names: [Int: String] = [:]
    try eachRow("PRAGMA main.table_xinfo(\(quoted(name)))") { row in
      guard let column = Int(row[0]) else { return }
      names[column] = row[1]
      let type = row[2].uppercased()
      // SQLite's rules of affinity, in their order.
      isReal[column] =
        !["INT", "CHAR", "CLOB", "TEXT", "BLOB"].contains { type.suffix(after: $0) != nil }
        && ["REAL", "FLOA", "DOUB"].contains { type.suffix(after: $0) != nil }
    }
    guard let index else {
      // A column of that name hides the rowid.
      let taken = Set(names.values.map { $0.lowercased() })
      shape.names = ["rowid", "_rowid_", "oid"].first { !taken.contains($0) }.map { [$0] } ?? []
      return shape
    }
    shape.isWithoutRowid = true
    try eachRow("PRAGMA main.index_xinfo(\(quoted(index)))") { row in
      guard let column = Int(row[1]) else { return }
      // An index ends in the rowid of its table, column -1.
      if column == -1 { shape.isWithoutRowid = false } else if row[5] == "1" { shape.columns.append(column) }
    }
    shape.areReal = shape.columns.map { isReal[$0] ?? false }
    shape.names = shape.columns.map { quoted(names[$0] ?? "") }
    return shape
  }

  /// Whether the table has a row of that key, or of that rowid where the key is none of its own.
  func hasRow(_ key: [SqlStorage], inTable name: String, _ shape: KeyShape) throws -> Bool {
    guard key.count == shape.names.count else { throw SqlError.misuse("the row has no key to be found by") }
    let mark = parameters.mark
    let statement = try prepared(since: mark) {
      let condition = shape.names.map { "\($0) COLLATE BINARY IS ?" }.joined(separator: " AND ")
      sql.truncate()
      sql.append("SELECT 1 FROM main.\(quoted(name)) WHERE \(condition)")
      for value in key { parameters.append(value) }
    }
    defer { finish(statement) }
    return try statement.step()
  }

  private func quoted(_ name: String) -> String { String(decoding: SqlBuffer.quoted(name), as: UTF8.self) }
}
