import SqlableCore
import SqlableSchema

/// The parts of a table's definition that the log's triggers depend on.
struct LoggedTable {
  struct Column {
    let name: String
    /// The SQL of the default by which OR REPLACE replaces NULL; nil if the column can be NULL or has no default.
    let replacement: String?
    let isGenerated: Bool
  }

  /// A term of a unique index: a column, or an expression.
  struct Term {
    let column: String?
    let expression: String
    let collation: String
  }

  struct UniqueIndex {
    var terms: [Term]
    /// The condition of a partial index.
    var condition: String?

    /// True if the columns of the terms alone decide whether two rows conflict.
    var isPlain: Bool { condition == nil && terms.allSatisfy { $0.column != nil } }
  }

  let name: String
  var columns: [Column] = []
  /// The name of the rowid; nil for a table without a rowid.
  var rowid: String?
  /// The terms of the key of a table without a rowid.
  var rowKey: [Term] = []
  /// The columns of the primary key; empty for a table without a primary key.
  var primaryKey: [String] = []
  /// True if the primary key is not the rowid.
  private var hasKeyIndex = false
  var uniques: [UniqueIndex] = []
  /// True if a changed key can change other columns of the same row, because the table references itself.
  var updatesItself = false
  /// True if a deleted row can delete other rows of the table, because the table references itself.
  var deletesItself = false

  /// - Parameter name: The name of an ordinary table of the database's own file, in the spelling of the schema.
  init(named name: String, on connection: Connection) throws {
    self.name = name
    let rows = try connection.rows("PRAGMA main.table_xinfo(\(name.quotedName))")
    columns = rows.map { row in
      // `notnull` is 1 for a NOT NULL column; the default is empty for a column without a default.
      Column(
        name: row[1], replacement: row[3] == "1" && !row[4].isEmpty ? row[4] : nil,
        isGenerated: row[6] == "2" || row[6] == "3")
    }
    let keyRows = rows.filter { $0[5] != "0" }.sorted { (Int($0[5]) ?? 0) < (Int($1[5]) ?? 0) }
    primaryKey = keyRows.map { $0[1] }
    rowid = String.rowidName(avoiding: columns.map(\.name))
    for index in try connection.rows("PRAGMA main.index_list(\(name.quotedName))") where index[2] == "1" {
      try add(indexNamed: index[1], isKey: index[3] == "pk", isPartial: index[4] == "1", on: connection)
    }
    for key in try connection.rows("PRAGMA main.foreign_key_list(\(name.quotedName))")
    where key[2].isSameName(as: name) {
      if !["NO ACTION", "RESTRICT"].contains(key[5]) { updatesItself = true }
      if key[6] == "CASCADE" { deletesItself = true }
    }
  }

  private mutating func add(
    indexNamed index: String, isKey: Bool, isPartial: Bool, on connection: Connection
  ) throws {
    let rows = try connection.rows("PRAGMA main.index_xinfo(\(index.quotedName))")
    let text =
      try connection.rows("SELECT sql FROM main.sqlite_schema WHERE name = \(index.quotedText)").first?.first ?? ""
    var parsed: DatabaseSchema.Index?
    if isPartial || rows.contains(where: { $0[1] == "-2" }) {
      var reader = SchemaReader(text)
      parsed = try reader.index().index
    }
    var terms: [Term] = []
    for (position, row) in rows.enumerated() where row[5] == "1" {
      let isExpression = row[1] == "-2"
      let expression = isExpression ? parsed?.terms[position].expression.text ?? "NULL" : row[2].quotedName
      terms.append(Term(column: isExpression ? nil : row[2], expression: expression, collation: row[4]))
    }
    uniques.append(UniqueIndex(terms: terms, condition: parsed?.condition?.text))
    if isKey { hasKeyIndex = true }
    // The index of a key ends with the rowid, column -1, unless the table has no rowid.
    if isKey, !rows.contains(where: { $0[1] == "-1" }) { (rowid, rowKey) = (nil, terms) }
  }

  /// The name of the rowid if the table has another key; nil otherwise. The log keeps this rowid for the ids of
  /// ``RowChange``.
  var hiddenRowid: String? { hasKeyIndex ? rowid : nil }

  /// The columns whose values the log keeps. A row without a declared key is identified by its rowid.
  func images(_ kept: ChangeLog.Values) -> [String] {
    let key = primaryKey.isEmpty ? [rowid].compactMap(\.self) : []
    let hidden = [hiddenRowid].compactMap(\.self)
    switch kept {
    case .rows: return key + columns.map(\.name) + hidden
    case .keys: return key + primaryKey + hidden
    }
  }

  /// The names of the columns that identify a row in the log.
  var identity: [String] { primaryKey.isEmpty ? [rowid].compactMap(\.self) : primaryKey }

  /// True if the log's triggers can identify the rows.
  var isIdentifiable: Bool { rowid != nil || !rowKey.isEmpty }
}
