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

/// A row with which a new consumer starts.
struct SnapshotRow<Element: Sendable>: Sendable {
  /// The row as an insert, or the error of decoding the row.
  let change: Result<Element, any Error>
  /// Returns the values for the quarantine.
  let values: @Sendable () throws -> KeptValues
}

/// The values that the log would keep of a row.
struct KeptValues: Sendable, Hashable {
  let entry: Int
  let values: [DatabaseValue]
}

extension FollowedChanges where Element == LoggedChange {
  /// The changes of all logged tables.
  static var ofAllTables: FollowedChanges {
    FollowedChanges(table: nil, source: LogSource(), position: \.position) { db, position, body in
      for entry in try LogEntry.all(in: db).current where entry.isLogged {
        guard try db.running({ try $0.hasTable(named: entry.table) }) else { continue }
        try entry.checkIsCurrent(in: db)
        let layout = ResultLayout([])
        try db.query(entry.rows()) { row in
          var row = ResultRow(row, types: layout.types)
          let values = try DynamicRow.next(of: &row)
          let columns = Array(entry.visibleColumns)
          let visible = DynamicRow(columns: columns, values: Array(values.values.prefix(columns.count)))
          let change = LoggedChange(
            position: position, time: position.date, table: entry.table, change: .insert, old: nil, new: visible,
            key: entry.key)
          try body(
            SnapshotRow(change: .success(change), values: { KeptValues(entry: entry.id, values: values.values) }))
        }
      }
    }
  }
}

extension FollowedChanges {
  /// The changes of a model's table.
  static func of<Model: Sqlable & Sendable>(_ model: Model.Type, in tableName: String?) -> FollowedChanges
  where Element == LoggedModelChange<Model> {
    let info = TableInfo.unchecked(model)
    let table = tableName.map(info.named) ?? info
    return FollowedChanges(table: table.name, source: LogSource(table), position: \.position) {
      db, position, body in
      let entry = try LogEntry.current(of: table.name, in: db)
      // The log keeps columns that the model does not read.
      let rows = try entry.rows(after: table.columns.map(\.name)).rows(
        as: Attempted<Model>.self, DynamicRow.self
      ).cursor(db)
      while let (model, values) = try rows.next() {
        let change = model.result.map { model in
          LoggedModelChange(position: position, time: position.date, row: LoggedRow.insert(model))
        }
        try body(SnapshotRow(change: change, values: { KeptValues(entry: entry.id, values: values.values) }))
      }
    }
  }
}

extension LogEntry {
  /// The query of all rows of the table: these columns, then the kept values.
  fileprivate func rows(after names: [String] = []) -> SQL {
    let columns = (names + columns).map(\.quotedName).joined(separator: ", ")
    return SQL(verbatim: "SELECT \(columns) FROM main.\(table.quotedName)")
  }
}
