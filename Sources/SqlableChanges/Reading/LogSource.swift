import SqlableCore
import SqlableSchema

/// A row of the log as an element, or the error of decoding the row.
package struct LogItem<Element: Sendable>: Sendable {
  /// The position of the change in the log.
  package let position: ChangePosition
  package let result: Result<Element, any Error>
  /// True if the log lacks a column that the model reads. No retry can decode such a change.
  let lacksColumn: Bool
}

/// A part of the log, read in one snapshot.
package struct LogPage<Element: Sendable>: Sendable {
  package var items: [LogItem<Element>] = []
  /// The position up to which the log was read.
  package var end: ChangePosition
  /// True if the snapshot has no more changes.
  package var isLast: Bool
  /// The end of the log in the snapshot.
  package var snapshotEnd: ChangePosition
  /// The position of the last row that was read; nil if no row was read.
  var last: ChangePosition?

  /// The elements. Throws the first error of decoding.
  var elements: [Element] {
    get throws { try items.map { try $0.result.get() } }
  }
}

/// A row of the log's table.
package struct LogRow<Element: Sendable>: Sendable {
  let position: ChangePosition
  /// The change, or the error of decoding it; nil for a kind of change that this version of the library does not know.
  let result: Result<Element, any Error>?
  var lacksColumn = false

  var item: LogItem<Element>? {
    result.map { LogItem(position: position, result: $0, lacksColumn: lacksColumn) }
  }
}

/// A query that reads one page of the log. The query must run in the snapshot in which its start position was checked.
///
/// A handle runs the query itself. A cluster sends the query to its leader.
package struct LogQuery<Element: Sendable>: Sendable {
  /// The maximum number of changes that one query returns.
  static var pageLength: Int { 1_000 }

  let start: ChangePosition
  let end: ChangePosition
  let snapshotEnd: ChangePosition
  /// The query; nil if the log has no changes between `start` and `end`.
  package let rows: SqlRows<LogRow<Element>>?

  /// Makes a page of the query's rows.
  package func page(of rows: [LogRow<Element>]) -> LogPage<Element> {
    guard self.rows != nil else { return LogPage(end: start, isLast: true, snapshotEnd: snapshotEnd) }
    let (isLast, last) = (rows.count < Self.pageLength, rows.last?.position)
    return LogPage(
      items: rows.compactMap(\.item), end: isLast ? end : last ?? end, isLast: isLast, snapshotEnd: snapshotEnd,
      last: last)
  }

  func page(in db: SqliteDatabase) throws -> LogPage<Element> { page(of: try rows?.run(db) ?? []) }
}

/// The origin of a position after which a page of the log is read.
package enum PositionOrigin {
  /// The position comes from a loop or from the program. A restore might have undone its change since.
  case caller
  /// The position is the consumer's stored position, or was read earlier in this transaction. The transaction might
  /// have trimmed the log after that read.
  case consumer
  /// The position was read in the same transaction.
  case transaction
}

/// A reader that decodes logged changes to elements of one type.
package final class LogSource<Element: Sendable>: Sendable {
  /// A query of the log: the tables whose changes it reads, and the values that it selects. Valid for one version of
  /// the schema.
  struct Query: Sendable {
    /// The SQL of the selected values.
    let values: String
    let entries: [LogEntry]
  }

  /// The table; nil for all logged tables.
  private let table: String?
  private let query: @Sendable (SqliteDatabase) throws -> Query
  private let decoding: @Sendable (SQL, Query, _ history: String) -> SqlRows<LogRow<Element>>
  private let known = LockedValue<(version: Int64, query: Query)?>(nil)

  /// - Parameter decoding: Returns a query that runs the given SQL text and decodes each row to a change.
  init(
    of table: String?, query: @escaping @Sendable (SqliteDatabase) throws -> Query,
    decoding: @escaping @Sendable (SQL, Query, _ history: String) -> SqlRows<LogRow<Element>>
  ) {
    (self.table, self.query, self.decoding) = (table, query, decoding)
  }

  /// Returns the query of the changes after a position. Call this method in a transaction.
  ///
  /// - Parameters:
  ///   - origin: The origin of the position, which decides how the position is checked.
  ///   - last: The number of the last change to read; nil for all changes of the snapshot.
  package func query(
    after position: ChangePosition, _ origin: PositionOrigin = .caller, upTo last: ChangePosition? = nil,
    in db: SqliteDatabase
  ) throws -> LogQuery<Element> {
    let state = try LogState(db)
    if origin != .transaction { try state.check(position, of: table, isStored: origin == .consumer, in: db) }
    let query = try currentQuery(db)
    let end = last ?? state.end
    guard position.number < end.number else {
      return LogQuery(start: position, end: end, snapshotEnd: state.end, rows: nil)
    }
    let entries = query.entries.map { "\($0.id)" }.joined(separator: ", ")
    let sql: SQL = """
      SELECT "seq", "at", "kind", \(sql: SQL(verbatim: query.values)) FROM main."sqlable_changes"
      WHERE "seq" > \(position.number) AND "seq" <= \(end.number) AND "table" IN (\(sql: SQL(verbatim: entries)))
      ORDER BY "seq" LIMIT \(LogQuery<Element>.pageLength)
      """
    return LogQuery(
      start: position, end: end, snapshotEnd: state.end, rows: decoding(sql, query, state.end.history))
  }

  /// Reads the changes after a position; see ``query(after:_:upTo:in:)``.
  func page(
    after position: ChangePosition, _ origin: PositionOrigin = .caller, upTo last: ChangePosition? = nil,
    in db: SqliteDatabase
  ) throws -> LogPage<Element> {
    try query(after: position, origin, upTo: last, in: db).page(in: db)
  }

  /// Returns a query for the number and the time of the last logged change of the followed tables.
  package func lastQuery(in db: SqliteDatabase) throws -> SqlRows<(Int, Int)> {
    let entries = try currentQuery(db).entries.map { "\($0.id)" }.joined(separator: ", ")
    let sql: SQL = """
      SELECT "seq", "at" FROM main."sqlable_changes" WHERE "table" IN (\(sql: SQL(verbatim: entries)))
      ORDER BY "seq" DESC LIMIT 1
      """
    return sql.rows(as: Int.self, Int.self)
  }

  /// Returns the position of the last change of the followed tables, even if the change was deleted; nil if the log
  /// never had such a change.
  ///
  /// - Parameter rows: The rows of ``lastQuery(in:)``.
  package func last(_ rows: [(Int, Int)], in db: SqliteDatabase) throws -> ChangePosition? {
    let state = try LogState(db)
    return try rows.first.map { ChangePosition(history: state.end.history, number: $0, time: $1) }
      ?? state.missing(of: table, in: db)
  }

  /// Reads a consumer's quarantined changes up to the consumer's position.
  func quarantined(of consumer: String, in db: SqliteDatabase) throws -> [LogItem<Element>] {
    let (state, query) = (try LogState(db), try currentQuery(db))
    let entries = query.entries.map { "\($0.id)" }.joined(separator: ", ")
    let sql: SQL = """
      SELECT "seq", "at", "kind", \(sql: SQL(verbatim: query.values)) FROM main."sqlable_change_quarantine"
      WHERE "consumer" = \(consumer) AND "isQuarantined" = 1 AND "table" IN (\(sql: SQL(verbatim: entries)))
      AND "seq" <= (SELECT "seq" FROM main."sqlable_change_consumers" WHERE "name" = \(consumer) AND "isNew" = 0)
      ORDER BY "seq" > 0, abs("seq")
      """
    return try decoding(sql, query, state.end.history).run(db).compactMap(\.item)
  }

  /// Throws if the log is not up to date, or does not keep a column that the model reads.
  func checkTables(in db: SqliteDatabase) throws { _ = try currentQuery(db) }

  private func currentQuery(_ db: SqliteDatabase) throws -> Query {
    // Cache no query for a copy of a remote schema: two different copies can have the same version.
    guard !db.filepath.isEmpty else { return try query(db) }
    let version = try db.running { try $0.schemaVersion() }
    if let known = known.withLock({ $0 }), known.version == version { return known.query }
    let query = try query(db)
    known.withLock { $0 = (version, query) }
    return query
  }
}

extension LogSource<LoggedChange> {
  /// Makes a reader of the changes of all logged tables.
  package convenience init() {
    self.init(of: nil) { db in
      let entries = try LogEntry.all(in: db)
      for entry in entries.current { try entry.checkIsCurrent(in: db) }
      let positions = 0..<(entries.map(\.columns.count).max() ?? 0)
      let columns = positions.map(ChangeTables.value) + positions.map(ChangeTables.oldValue)
      return Query(values: (["table"] + columns).map(\.quotedName).joined(separator: ", "), entries: entries)
    } decoding: { sql, query, history in
      let entries = Dictionary(query.entries.map { ($0.id, (entry: $0, columns: Array($0.visibleColumns))) }) { $1 }
      let valueCount = query.entries.map(\.columns.count).max() ?? 0
      return SqlRows(sql) {
        RowReader(.unknown) { row in
          let position = ChangePosition(history: history, number: try row.get(at: 0), time: try row.get(at: 1))
          guard let kind = LoggedKind(rawValue: try row.get(at: 2)), let (entry, columns) = entries[try row.get(at: 3)]
          else { return LogRow(position: position, result: nil) }
          func image(from first: Int) throws -> DynamicRow {
            let values = try row.loggedValues(at: first..<first + columns.count)
            return DynamicRow(columns: columns, values: values.map(\.databaseValue))
          }
          let (changed, before) = (try image(from: 4), kind == .updated ? try image(from: 4 + valueCount) : nil)
          let change = LoggedChange(
            position: position, time: position.date, table: entry.table, change: kind.change,
            old: kind == .deleted ? changed : before, new: kind == .deleted ? nil : changed, key: entry.key)
          return LogRow(position: position, result: .success(change))
        }
      }
    }
  }
}

extension LoggedKind {
  fileprivate var change: Change {
    switch self {
    case .inserted: .insert
    case .deleted: .delete
    case .updated: .update
    }
  }
}

extension LogSource {
  /// Makes a reader of the changes of a model's table.
  package convenience init<Model: Sqlable & Sendable>(_ table: TableInfo) where Element == LoggedModelChange<Model> {
    self.init(of: table.name) { db in
      try Query(of: table, in: db)
    } decoding: { sql, _, history in
      SqlRows(sql) {
        var description = ResultDescription()
        for _ in 0..<2 { try Int.describe(in: &description) }
        try ModelImages<Model>.describe(in: &description)
        // A layout without models reads the columns by position, whatever their names in the result.
        let layout = ResultLayout(description.columns)
        return RowReader(.positioned(layout)) { row in
          var row = ResultRow(row, types: layout.types)
          let position = ChangePosition(
            history: history, number: try Int.next(of: &row), time: try Int.next(of: &row))
          switch Result(catching: { try ModelImages<Model>.next(of: &row) }) {
          case .success(let images):
            if let column = images.omitted {
              return LogRow(position: position, result: .failure(table.omitted(column)), lacksColumn: true)
            }
            let change = images.row.map { LoggedModelChange(position: position, time: position.date, row: $0) }
            return LogRow(position: position, result: change.map { .success($0) })
          case .failure(let error):
            return LogRow(position: position, result: .failure(ModelImages<Model>.withRemedy(error)))
          }
        }
      }
    }
  }
}

/// The result columns of one logged change: the kind, the name of a column that the log did not keep, the columns of
/// the changed row, and the columns of the row before an update.
private struct ModelImages<Model: Sqlable & Sendable>: SelectOutput {
  /// The change; nil if `omitted` names a column, or if this version of the library does not know the kind of change.
  let row: LoggedRow<Model>?
  /// The name of a model column that the log did not keep; nil if the log kept all columns of the model.
  var omitted: String?

  static func next(of row: inout ResultRow) throws -> Self {
    let kind = LoggedKind(rawValue: try Int.next(of: &row))
    if let column = try String?.next(of: &row) { return Self(row: nil, omitted: column) }
    switch kind {
    case .inserted: return Self(row: .insert(try Model.next(of: &row)))
    case .deleted: return Self(row: .delete(try Model.next(of: &row)))
    case .updated:
      let new = try Model.next(of: &row)
      return Self(row: .update(old: try Model.next(of: &row), new: new))
    case nil: return Self(row: nil)
    }
  }

  /// Returns the error of a change that the model can't decode, with the remedy in its message.
  static func withRemedy(_ error: any Error) -> any Error {
    guard var error = error as? SqlError, case .decoding = error.kind else { return error }
    error.message +=
      "; to get past this logged change, read with changes(since:), or on a pool consume or deliver with then: "
      + ".quarantine; a "
      + "column that the log did not have yet needs a default"
    return error
  }

  static func isAbsent(in row: inout ResultRow) throws -> Bool { false }

  static func describe(in description: inout ResultDescription) throws {
    try Int.describe(in: &description)
    try String?.describe(in: &description)
    try Model.describe(in: &description)
    try Model.describe(in: &description)
  }
}

extension LogSource.Query {
  /// Creates the query of a model's columns. Columns of older log entries are found by name. For a column that the
  /// table did not have at that time, the query returns the declared default. The first value of a
  /// row is NULL if the log kept all columns of the model when the change was logged; otherwise, the name of one of the
  /// missing columns.
  fileprivate init(of table: TableInfo, in db: SqliteDatabase) throws {
    let entries = try LogEntry.all(in: db).filter { $0.table.isSameName(as: table.name) }
    try LogEntry.current(of: table.name, in: db).checkKeepsColumns(of: table)
    let declared = try db.running { connection in
      var reader = SchemaReader(try TableDefinition(table).createTable(for: connection))
      return try reader.table()
    }
    /// Returns the SQL that selects a term by the log entry of each change:
    /// `CASE "table" WHEN 1 THEN "v0" WHEN 2 THEN "v1" END`.
    func choice(named name: String, _ term: (LogEntry) -> String) -> String {
      let terms = entries.map(term)
      guard let last = terms.last, terms.contains(where: { $0 != last }) else { return terms.last ?? "NULL" }
      let cases = zip(entries, terms).map { "WHEN \($0.id) THEN \($1)" }.joined(separator: " ")
      // A short alias, because a node of a cluster can't send long column names.
      return "CASE \"table\" \(cases) END AS \(name.quotedName)"
    }
    func values(_ name: (Int) -> String) -> [String] {
      table.columns.enumerated().map { index, column in
        let missing = declared[column: column.name]?.defaultValue.map { "(\($0.text))" } ?? "NULL"
        return choice(named: "c\(index)") { entry in
          entry.visibleColumns.firstIndex { $0.isSameName(as: column.name) }.map { name($0).quotedName } ?? missing
        }
      }
    }
    let omitted = choice(named: "omitted") { entry in
      table.columns.first { entry.omits($0.name) }?.name.quotedText ?? "NULL"
    }
    let values = [omitted] + values(ChangeTables.value) + values(ChangeTables.oldValue)
    self.init(values: values.joined(separator: ", "), entries: entries)
  }
}

extension [LogEntry] {
  /// The latest entry of each table.
  var current: [LogEntry] {
    Dictionary(map { ($0.table.foldedName, $0) }) { $1 }.values.sorted { $0.id < $1.id }
  }
}

extension LogEntry {
  /// Returns the latest entry of a table. Throws if the table has no log, or if its log is not up to date.
  static func current(of table: String, in db: SqliteDatabase) throws -> LogEntry {
    let entries = try all(in: db)
    if let entry = entries.last(where: { $0.table.isSameName(as: table) }) {
      try entry.checkIsCurrent(in: db)
      return entry
    }
    let renames = try db.running { try $0.renamedTables(entries) }
    if let (old, new) = renames.first(where: { $0.new.isSameName(as: table) }) { throw mismatch(old, renamedTo: new) }
    throw SqlError.misuse("table \(table) has no change log; create one with ChangeLog(…).create(db)").at(table: table)
  }

  /// True if the table has the same unlogged columns as this entry. A log that keeps only keys fits any columns.
  private func hasSameOmitted(as table: LoggedTable) -> Bool {
    kept == .keys || table.omitted(kept).areSameNames(as: omitted)
  }

  private static func mismatch(_ old: String, renamedTo new: String) -> SqlError {
    let message = "table \(old) was renamed to \(new), but not in its change log; run ChangeLog(…).create(db) again"
    return SqlError(.schema(.mismatch(message)), message: message, table: new)
  }

  /// Throws as `checkIsCurrent(on:)` does.
  ///
  /// Does not throw for a table that was dropped or whose log was dropped: its earlier changes can still be read.
  /// Throws for a table that was dropped and created again, because the new table lacks the triggers.
  func checkIsCurrent(in db: SqliteDatabase) throws { try db.running { try checkIsCurrent(on: $0) } }

  /// Throws `.schema(.mismatch)` if the table's name, columns, unique indexes or triggers have changed since the log's
  /// triggers were created.
  func checkIsCurrent(on connection: Connection) throws {
    guard isLogged else { return }
    if let (old, new) = try connection.renamedTables([self]).first { throw LogEntry.mismatch(old, renamedTo: new) }
    guard try connection.hasTable(named: table) else { return }
    let triggers = try connection.triggers(of: table)
    let shape = try LoggedTable(named: table, on: connection)
    let expected = ChangeTriggers(table: shape, entry: id, kept: kept).all
    let newest = triggers.suffix(expected.count)
    let reason: String
    if triggers.filter(\.isOfLog).count < expected.count {
      reason = "has lost triggers of its change log"
    } else if !shape.images(kept).areSameNames(as: columns) || !hasSameOmitted(as: shape) {
      reason = "has other columns than its change log"
    } else if newest.contains(where: { !$0.isOfLog }) {
      reason = "has a trigger that is newer than its change log"
    } else if !newest.elementsEqual(expected, by: { $0.name.isSameName(as: $1.name) }) {
      reason = "has the triggers of its change log in another order"
    } else if !newest.elementsEqual(expected, by: { $0.sql.isSameSQL(as: $1.sql) }) {
      reason = "has other unique indexes, keys or triggers than its change log"
    } else {
      return
    }
    let message = "table \(table) \(reason); run ChangeLog(…).create(db) again"
    throw SqlError(.schema(.mismatch(message)), message: message, table: table)
  }
}
