/// Tells whether a row meets a statement's filter, as SQLite decides it: in a table in memory whose columns compare as those of
/// the real one do.
final class RowFilter: Sendable {
  typealias Column = (name: String, type: String, collation: String)

  private let query: Query
  private let table: TableInfo
  private let columns: [Column]
  private let root: SqliteDatabase
  private let scratch = Guarded<SqliteDatabase?>(nil)

  /// Nil for a statement without a filter, and for one that a row alone can't decide: with subqueries, functions, chance.
  init?(_ query: Query, of table: TableInfo, _ columns: [Column], root: SqliteDatabase) {
    // What ANY means depends on the table's being STRICT. What the order depends on beside the rows themselves may be changed by
    // rows that are not among them. A column that the table does not have is its rowid, which is another one in the copy.
    let names = Set(columns.map(\.name.foldedName))
    guard let filter = query.filter, filter.isOfOneRow, query.order.allSatisfy(\.expression.isOfOneRow),
      filter.columns.allSatisfy({ names.contains($0.foldedName) }), table.fullText == nil,
      !columns.contains(where: { $0.type.isSameName(as: "ANY") })
    else { return nil }
    var question = Query(.exists)
    question.filter = filter
    question.tableName = query.tableName
    self.query = question
    self.table = table
    self.columns = columns
    self.root = root
  }

  /// Whether one of the rows met the filter before its change, or meets it now.
  func concerns(_ rows: [RowImages]) throws -> Bool {
    let images = rows.flatMap { [$0.old, $0.new].compactMap { $0 } }
    guard images.allSatisfy({ $0.count == columns.count }) else { return true }
    return try database().transaction { db in
      for image in images { try db.execute("INSERT INTO \(table: table.name) VALUES (\(image))") }
      let isMet = try db.integer(of: query, table) != 0
      try db.execute("DELETE FROM \(table: table.name)")
      return isMet
    }
  }

  private func database() throws -> SqliteDatabase {
    try scratch.withLock { scratch in
      if let scratch { return scratch }
      let db = try root.scratch()
      let definitions = columns.map { column in
        let type = column.type.isEmpty ? "" : column.type.quotedName
        return "\(column.name.quotedName) \(type) COLLATE \(column.collation.quotedName)"
      }
      try db.execute(
        SQL(verbatim: "CREATE TABLE \(table.name.quotedName) (\(definitions.joined(separator: ", ")))"))
      scratch = db
      return db
    }
  }
}

extension SqlExpression {
  /// Whether it depends on the values of one row and nothing else.
  fileprivate var isOfOneRow: Bool {
    switch node {
    case .column, .value: true
    case .all, .any, .not, .negative, .binary, .isNull, .isNotNull, .between, .isIn, .like, .function, .collate:
      node.terms.allSatisfy(\.isOfOneRow)
    case .parameter, .qualified, .call, .special, .query, .invalid: false
    }
  }

  /// The names of its columns, when it is of one row.
  fileprivate var columns: [String] {
    if case .column(let column) = node { return [column.name] }
    return node.terms.flatMap(\.columns)
  }
}
