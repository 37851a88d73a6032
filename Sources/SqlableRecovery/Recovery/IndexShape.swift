import SqlableSchema

/// The layout of an index's keys: the indexed values, then the key of the row.
struct IndexShape {
  /// The number of values; nil if the number is unknown.
  private let count: Int?
  /// The columns whose values the keys contain; empty if the definition is unknown.
  private let columns: [TableShape.Column]

  /// - Parameter fields: The number of values in the keys of intact pages; nil without such a page. If the number
  ///   differs from the number of values in the definition `sql`, the definition is damaged.
  init(_ sql: String, of table: TableShape?, fields: Int?) {
    let columns = table.flatMap { IndexShape.columns(sql, of: $0) }
    let isDamaged = fields != nil && fields != columns?.count
    self.columns = isDamaged ? [] : columns ?? []
    count = isDamaged ? fields : columns?.count
  }

  /// Returns a score for how well records match the index's keys; nil if a record can't be a key.
  func likelihood(of records: [StoredRecord]) -> Int? {
    let isPossible = records.allSatisfy { record in
      (count == nil || record.count == count)
        && !zip(record.fields, columns).contains { field, column in column.contradicts(field.storage) }
    }
    guard isPossible else { return nil }
    return columns.isEmpty ? .max : records.reduce(0) { $0 + TableShape.likelihood(of: $1, in: columns) }
  }

  private static func columns(_ sql: String, of table: TableShape) -> [TableShape.Column]? {
    guard let index = try? SchemaReader.index(sql) else { return nil }
    func column(_ term: DatabaseSchema.Term) -> TableShape.Column? {
      guard let name = term.expression.name else { return nil }
      return table.columns.first { $0.name.isSameName(as: name) }
    }
    let rowid = TableShape.Column(
      name: "rowid", affinity: .integer, isNotNull: true, isGenerated: false, strict: .integer)
    let any = TableShape.Column(name: "", affinity: .blob, isNotNull: false, isGenerated: false, strict: nil)
    // For a column that is an alias of the rowid, a table stores NULL, and an index stores the rowid.
    let values = index.terms.map { term in column(term).map { $0.isRowid ? rowid : $0 } ?? any }
    guard table.isWithoutRowid else { return values + [rowid] }
    // To each index of a WITHOUT ROWID table, SQLite appends the columns of the primary key, except columns that the
    // index already has with the same collation.
    let keys = table.table.primaryKey?.columns ?? []
    guard (index.terms + keys).allSatisfy({ $0.collation == nil }) else { return nil }
    return values
      + table.columns.prefix(table.keyCount).filter { key in !values.contains { $0.name.isSameName(as: key.name) } }
  }
}
