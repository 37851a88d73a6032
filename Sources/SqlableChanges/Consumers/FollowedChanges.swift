import SqlableCore
import SqlablePool

/// The changes that a consumer follows, as elements of one type.
struct FollowedChanges<Element: Sendable>: Sendable {
  /// The followed table; nil for all logged tables.
  let table: String?
  let source: LogSource<Element>
  let position: @Sendable (Element) -> ChangePosition
  /// Calls a closure with each row of the followed tables, as an insert at a position.
  let forEachRow: RowReading<Element>
}

typealias RowReading<Element: Sendable> =
  @Sendable (
    SqliteDatabase, ChangePosition, (SnapshotRow<Element>) throws -> Void
  ) throws -> Void

/// A row of the snapshot that a new consumer receives first.
struct SnapshotRow<Element: Sendable>: Sendable {
  /// The row as an insert, or the error of decoding the row.
  let change: Result<Element, any Error>
  /// The values for the quarantine.
  let values: KeptValues
}

/// The values of a row that the log would store.
struct KeptValues: Sendable, Hashable {
  let entry: Int
  let values: [LoggedValue]
}

extension FollowedChanges where Element == LoggedChange {
  static var ofAllTables: FollowedChanges {
    FollowedChanges(table: nil, source: LogSource(), position: \.position) { db, position, body in
      for entry in try LogEntry.all(in: db).current where entry.isLogged {
        guard try db.running({ try $0.hasTable(named: entry.table) }) else { continue }
        try entry.checkIsCurrent(in: db)
        let columns = Array(entry.visibleColumns)
        try db.query(entry.rows()) { row in
          let values = try row.loggedValues(at: entry.columns.indices)
          let visible = DynamicRow(columns: columns, values: values.prefix(columns.count).map(\.databaseValue))
          let change = LoggedChange(
            position: position, time: position.date, table: entry.table, change: .insert, old: nil, new: visible,
            key: entry.key)
          try body(SnapshotRow(change: .success(change), values: KeptValues(entry: entry.id, values: values)))
        }
      }
    }
  }
}

extension FollowedChanges {
  static func of<Model: Sqlable & Sendable>(_ model: Model.Type, in tableName: String?) -> FollowedChanges
  where Element == LoggedModelChange<Model> {
    let info = TableInfo.unchecked(model)
    let table = tableName.map(info.named) ?? info
    return FollowedChanges(table: table.name, source: LogSource(table), position: \.position) {
      db, position, body in
      let entry = try LogEntry.current(of: table.name, in: db)
      let rows = try entry.rows(of: Model.self, table).cursor(db)
      while let (model, values) = try rows.next() {
        let change = model.map { model in
          LoggedModelChange(position: position, time: position.date, row: LoggedRow.insert(model))
        }
        try body(SnapshotRow(change: change, values: KeptValues(entry: entry.id, values: values)))
      }
    }
  }
}

extension LogEntry {
  /// The query of all rows of the table: the model's columns, then the columns that the log keeps. The log keeps
  /// columns that the model does not read.
  fileprivate func rows<Model: Sqlable>(
    of model: Model.Type, _ table: TableInfo
  ) -> SqlRows<(Result<Model, any Error>, [LoggedValue])> {
    let names = table.columns.map(\.name)
    let kept = names.count..<names.count + columns.count
    return SqlRows(rows(after: names)) {
      var description = ResultDescription()
      try Model.describe(in: &description)
      let layout = ResultLayout(description.columns, models: description.modelColumns, takesRest: true)
      return RowReader(.positioned(layout)) { row in
        var result = ResultRow(row, types: layout.types)
        return (Result { try Model.next(of: &result) }, try row.loggedValues(at: kept))
      }
    }
  }

  /// The query of all rows of the table: the columns `names`, then the columns that the log keeps.
  fileprivate func rows(after names: [String] = []) -> SQL {
    let columns = (names + columns).map(\.quotedName).joined(separator: ", ")
    return SQL(verbatim: "SELECT \(columns) FROM main.\(table.quotedName)")
  }
}
