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
  let change: Element
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
        try db.query(entry.rows) { row in
          var row = ResultRow(row, types: layout.types)
          let values = try DynamicRow.next(of: &row)
          let change = LoggedChange(
            position: position, time: position.date, table: entry.table, change: .insert, old: nil, new: values,
            key: entry.key)
          try body(SnapshotRow(change: change, values: { KeptValues(entry: entry.id, values: values.values) }))
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
      let entry = try LogEntry.all(in: db).last { $0.table.isSameName(as: table.name) }
      try Model.read().in(table.name).forEach(db) { model in
        let change = LoggedModelChange(position: position, time: position.date, row: LoggedRow.insert(model))
        try body(SnapshotRow(change: change, values: { try KeptValues(of: model, in: table, entry) }))
        return .continue
      }
    }
  }
}

extension KeptValues {
  /// The values that a model writes. Columns that the model does not declare are NULL.
  fileprivate init(of model: some Sqlable, in table: TableInfo, _ entry: LogEntry?) throws {
    let buffer = ParameterBuffer()
    // The writer's values are in the buffer's memory.
    let mark = buffer.mark
    defer { buffer.release(to: mark) }
    var writer = RowWriter(table: table, buffer: buffer)
    try writer.take(model)
    let written = writer.values
    values = (entry?.columns ?? []).map { name in
      table.columns.firstIndex { $0.name.isSameName(as: name) }.flatMap { DatabaseValue(written[$0]) } ?? .null
    }
    self.entry = entry?.id ?? 0
  }
}

extension LogEntry {
  /// The query of the kept values of all rows of the table.
  fileprivate var rows: SQL {
    SQL(verbatim: "SELECT \(columns.map(\.quotedName).joined(separator: ", ")) FROM main.\(table.quotedName)")
  }
}
