import SqlableCore
import SqlablePool

/// The changes that a consumer follows, as elements of one type.
package struct FollowedChanges<Element: Sendable>: Sendable {
  /// The followed table; nil for all logged tables.
  package let table: String?
  package let source: LogSource<Element>
  let position: @Sendable (Element) -> ChangePosition
  /// Returns queries that read all rows of the followed tables. The result of a query contains each row as an insert at
  /// the given position.
  package let rows: @Sendable (SqliteDatabase, ChangePosition) throws -> [SqlRows<SnapshotRow<Element>>]

  /// Calls a closure with each row of the followed tables. Each row is an insert at the given position.
  func forEachRow(
    _ db: SqliteDatabase, _ position: ChangePosition, _ body: (SnapshotRow<Element>) throws -> Void
  ) throws {
    for rows in try rows(db, position) {
      let cursor = try rows.cursor(db)
      while let row = try cursor.next() { try body(row) }
    }
  }
}

/// A row of the snapshot that a new consumer receives first.
package struct SnapshotRow<Element: Sendable>: Sendable {
  /// The row as an insert, or the error of decoding the row.
  package let change: Result<Element, any Error>
  /// The values by which the quarantine identifies the row.
  let values: KeptValues
}

/// The values of a row that the log would store.
struct KeptValues: Sendable, Hashable {
  let entry: Int
  let values: [LoggedValue]
}

extension FollowedChanges where Element == LoggedChange {
  package static var ofAllTables: FollowedChanges {
    FollowedChanges(table: nil, source: LogSource(), position: \.position) { db, position in
      try LogEntry.all(in: db).current.filter(\.isLogged).filter { entry in
        try db.running { try $0.hasTable(named: entry.table) }
      }.map { entry in
        try entry.checkIsCurrent(in: db)
        let columns = Array(entry.visibleColumns)
        return SqlRows(entry.rows()) {
          RowReader(.unknown) { row in
            let values = try row.loggedValues(at: entry.columns.indices)
            let visible = DynamicRow(columns: columns, values: values.prefix(columns.count).map(\.databaseValue))
            let change = LoggedChange(
              position: position, time: position.date, table: entry.table, change: .insert, old: nil, new: visible,
              key: entry.key)
            return SnapshotRow(change: .success(change), values: KeptValues(entry: entry.id, values: values))
          }
        }
      }
    }
  }
}

extension FollowedChanges {
  package static func of<Model: Sqlable & Sendable>(_ model: Model.Type, in tableName: String?) -> FollowedChanges
  where Element == LoggedModelChange<Model> {
    let info = TableInfo.unchecked(model)
    let table = tableName.map(info.named) ?? info
    return FollowedChanges(table: table.name, source: LogSource(table), position: \.position) { db, position in
      let entry = try LogEntry.current(of: table.name, in: db)
      try entry.checkKeepsColumns(of: table)
      return [entry.rows(of: model, table, at: position)]
    }
  }
}

extension LogEntry {
  /// Returns the query of all rows of the table: the model's columns, then the columns that the log keeps. The second
  /// list is needed because the log can keep columns that the model does not have.
  fileprivate func rows<Model: Sqlable & Sendable>(
    of model: Model.Type, _ table: TableInfo, at position: ChangePosition
  ) -> SqlRows<SnapshotRow<LoggedModelChange<Model>>> {
    let names = table.columns.map(\.name)
    let kept = names.count..<names.count + columns.count
    return SqlRows(rows(after: names)) {
      var description = ResultDescription()
      try Model.describe(in: &description)
      let layout = ResultLayout(description.columns, models: description.modelColumns, takesRest: true)
      return RowReader(.positioned(layout)) { row in
        var result = ResultRow(row, types: layout.types)
        let change = Result {
          LoggedModelChange(position: position, time: position.date, row: .insert(try Model.next(of: &result)))
        }
        return SnapshotRow(change: change, values: KeptValues(entry: id, values: try row.loggedValues(at: kept)))
      }
    }
  }

  /// Returns the query of all rows of the table: the columns `names`, then the columns that the log keeps.
  fileprivate func rows(after names: [String] = []) -> SQL {
    let columns = (names + columns).map(\.quotedName).joined(separator: ", ")
    return SQL(verbatim: "SELECT \(columns) FROM main.\(table.quotedName)")
  }
}
