import SqlableCore
import SqlableSchema

/// A row of the log as an element, or the error of decoding the row.
struct LogItem<Element: Sendable>: Sendable {
  /// The position of the change in the log.
  let position: ChangePosition
  let result: Result<Element, any Error>
}

/// A part of the log, read in one snapshot.
struct LogPage<Element: Sendable>: Sendable {
  var items: [LogItem<Element>] = []
  /// The position up to which the log was read.
  var end: ChangePosition
  /// True if the snapshot has no more changes.
  var isLast: Bool
  /// The end of the log in the snapshot.
  var snapshotEnd: ChangePosition
  /// The position of the last row that was read; nil if no row was read.
  var last: ChangePosition?

  /// The elements. Throws the first error of decoding.
  var elements: [Element] {
    get throws { try items.map { try $0.result.get() } }
  }
}

/// The origin of a position after which a page of the log is read.
enum PositionOrigin {
  /// A loop or the program has kept the position.
  case caller
  /// The position is stored as the consumer's position, or was read in a transaction that might have trimmed the log.
  case consumer
  /// The position was read in the same transaction.
  case transaction
}

/// A reader that decodes logged changes to elements of one type.
final class LogSource<Element: Sendable>: Sendable {
  /// The query of some tables' changes in the log, for one version of the schema.
  struct Query: Sendable {
    /// The SQL of the selected values.
    let values: String
    let entries: [LogEntry]
  }

  /// The result of a query of the log.
  struct Decoded: Sendable {
    /// The changes. A row whose kind this version of the library does not know has no item.
    var items: [LogItem<Element>] = []
    var count = 0
    /// The position of the last row.
    var end: ChangePosition?

    mutating func add(_ result: Result<Element, any Error>, at position: ChangePosition) {
      items.append(LogItem(position: position, result: result))
    }
  }

  /// The table; nil for all logged tables.
  private let table: String?
  private let query: @Sendable (SqliteDatabase) throws -> Query
  private let decode: @Sendable (SqliteDatabase, SQL, Query, String) throws -> Decoded
  private let known = LockedValue<(version: Int64, query: Query)?>(nil)

  /// - Parameter decode: Runs the query, and returns an element for each change.
  init(
    of table: String?, query: @escaping @Sendable (SqliteDatabase) throws -> Query,
    decode: @escaping @Sendable (SqliteDatabase, SQL, Query, String) throws -> Decoded
  ) {
    (self.table, self.query, self.decode) = (table, query, decode)
  }

  /// The maximum number of changes that one read returns.
  static var pageLength: Int { 1_000 }

  /// Reads the changes after a position. Call this method in a transaction.
  ///
  /// - Parameters:
  ///   - origin: The origin of the position, which decides how the position is checked.
  ///   - last: The number of the last change to read; nil for all changes of the snapshot.
  func page(
    after position: ChangePosition, _ origin: PositionOrigin = .caller, upTo last: ChangePosition? = nil,
    in db: SqliteDatabase
  ) throws -> LogPage<Element> {
    let state = try LogState(db)
    if origin != .transaction { try state.check(position, of: table, isStored: origin == .consumer, in: db) }
    let query = try currentQuery(db)
    let end = last ?? state.end
    guard position.number < end.number else { return LogPage(end: position, isLast: true, snapshotEnd: state.end) }
    let entries = query.entries.map { "\($0.id)" }.joined(separator: ", ")
    let sql: SQL = """
      SELECT "seq", "at", "kind", \(sql: SQL(verbatim: query.values)) FROM main."sqlable_changes"
      WHERE "seq" > \(position.number) AND "seq" <= \(end.number) AND "table" IN (\(sql: SQL(verbatim: entries)))
      ORDER BY "seq" LIMIT \(Self.pageLength)
      """
    let decoded = try decode(db, sql, query, state.end.history)
    let isLast = decoded.count < Self.pageLength
    return LogPage(
      items: decoded.items, end: isLast ? end : decoded.end ?? end, isLast: isLast, snapshotEnd: state.end,
      last: decoded.end)
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
    return try decode(db, sql, query, state.end.history).items
  }

  private func currentQuery(_ db: SqliteDatabase) throws -> Query {
    let version = try db.running { try $0.schemaVersion() }
    if let known = known.withLock({ $0 }), known.version == version { return known.query }
    let query = try query(db)
    known.withLock { $0 = (version, query) }
    return query
  }
}

extension LogSource<LoggedChange> {
  /// Makes a reader of the changes of all logged tables.
  convenience init() {
    self.init(of: nil) { db in
      let entries = try LogEntry.all(in: db)
      for entry in entries.current { try entry.checkIsCurrent(in: db) }
      let positions = 0..<(entries.map(\.columns.count).max() ?? 0)
      let columns = positions.map(ChangeTables.value) + positions.map(ChangeTables.oldValue)
      return Query(values: (["table"] + columns).map(\.quotedName).joined(separator: ", "), entries: entries)
    } decode: { db, sql, query, history in
      let entries = Dictionary(query.entries.map { ($0.id, (entry: $0, columns: Array($0.visibleColumns))) }) { $1 }
      let valueCount = query.entries.map(\.columns.count).max() ?? 0
      var decoded = Decoded()
      try db.query(sql) { row in
        let position = ChangePosition(history: history, number: try row.get(at: 0), time: try row.get(at: 1))
        decoded.count += 1
        decoded.end = position
        guard let kind = LoggedKind(rawValue: try row.get(at: 2)), let (entry, columns) = entries[try row.get(at: 3)]
        else { return }
        func image(from first: Int) throws -> DynamicRow {
          let values = try row.loggedValues(at: first..<first + columns.count)
          return DynamicRow(columns: columns, values: values.map(\.databaseValue))
        }
        let (changed, before) = (try image(from: 4), kind == .updated ? try image(from: 4 + valueCount) : nil)
        let change = LoggedChange(
          position: position, time: position.date, table: entry.table, change: kind.change,
          old: kind == .deleted ? changed : before, new: kind == .deleted ? nil : changed, key: entry.key)
        decoded.add(.success(change), at: position)
      }
      return decoded
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
  convenience init<Model: Sqlable & Sendable>(_ table: TableInfo) where Element == LoggedModelChange<Model> {
    self.init(of: table.name) { db in
      try Query(of: table, in: db)
    } decode: { db, sql, _, history in
      let rows = try db.query(sql, as: Int.self, Int.self, Attempted<ModelImages<Model>>.self)
      var decoded = Decoded(count: rows.count)
      decoded.items.reserveCapacity(rows.count)
      for (number, time, images) in rows {
        let position = ChangePosition(history: history, number: number, time: time)
        switch images.result {
        case .success(let images):
          guard let row = images.row else { continue }
          decoded.add(.success(LoggedModelChange(position: position, time: position.date, row: row)), at: position)
        case .failure(let error): decoded.add(.failure(ModelImages<Model>.withRemedy(error)), at: position)
        }
      }
      decoded.end = rows.last.map { ChangePosition(history: history, number: $0.0, time: $0.1) }
      return decoded
    }
  }
}

/// An output that keeps the error of decoding, so that the other rows can be read.
struct Attempted<Output: SelectOutput & Sendable>: SelectOutput, Sendable {
  let result: Result<Output, any Error>

  static func next(of row: inout ResultRow) throws -> Self { Self(result: Result { try Output.next(of: &row) }) }

  static func isAbsent(in row: inout ResultRow) throws -> Bool { try Output.isAbsent(in: &row) }

  static func describe(in description: inout ResultDescription) throws { try Output.describe(in: &description) }
}

/// The result columns of one logged change: its kind, whether the log has only the key, the columns of the changed row,
/// and the columns of the row before an update.
private struct ModelImages<Model: Sqlable & Sendable>: SelectOutput {
  /// The change; nil for a kind that this version of the library does not know.
  let row: LoggedRow<Model>?

  static func next(of row: inout ResultRow) throws -> Self {
    let kind = LoggedKind(rawValue: try Int.next(of: &row))
    guard try !Bool.next(of: &row) else {
      throw SqlError.misuse("the log has only the key of the changed row; read the change with changes(since:)")
    }
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
      "; to get past this logged change, read with changes(since:), or consume or deliver with then: .quarantine; a "
      + "column that the log did not have yet needs a default"
    return error
  }

  static func isAbsent(in row: inout ResultRow) throws -> Bool { false }

  static func describe(in description: inout ResultDescription) throws {
    try Int.describe(in: &description)
    try Bool.describe(in: &description)
    try Model.describe(in: &description)
    try Model.describe(in: &description)
  }
}

extension LogSource.Query {
  /// Makes the query of a model's columns. Values of an older entry are read by name. A column that the entry lacks has
  /// its declared default. The first value is true for a change of which the log has only the key.
  fileprivate init(of table: TableInfo, in db: SqliteDatabase) throws {
    let entries = try LogEntry.all(in: db).filter { $0.table.isSameName(as: table.name) }
    guard try LogEntry.current(of: table.name, in: db).kept == .rows else {
      throw SqlError.misuse(
        "the change log of table \(table.name) keeps only keys; read it with changes(since:)"
      ).at(table: table.name)
    }
    let declared = try db.running { connection in
      var reader = SchemaReader(try TableDefinition(table).createTable(for: connection))
      return try reader.table()
    }
    func values(_ name: (Int) -> String) -> [String] {
      table.columns.map { column in
        let missing = declared[column: column.name]?.defaultValue.map { "(\($0.text))" } ?? "NULL"
        let terms = entries.map { entry in
          entry.visibleColumns.firstIndex { $0.isSameName(as: column.name) }.map { name($0).quotedName } ?? missing
        }
        guard let last = terms.last, terms.contains(where: { $0 != last }) else { return terms.last ?? missing }
        let cases = zip(entries, terms).map { "WHEN \($0.id) THEN \($1)" }.joined(separator: " ")
        return "CASE \"table\" \(cases) END"
      }
    }
    let keys = entries.filter { $0.kept == .keys }.map { "\($0.id)" }.joined(separator: ", ")
    let isKey = keys.isEmpty ? "0" : "\"table\" IN (\(keys))"
    let values = [isKey] + values(ChangeTables.value) + values(ChangeTables.oldValue)
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

  private static func mismatch(_ old: String, renamedTo new: String) -> SqlError {
    let message = "table \(old) was renamed to \(new), but not in its change log; run ChangeLog(…).create(db) again"
    return SqlError(.schema(.mismatch(message)), message: message, table: new)
  }

  /// Throws as `checkIsCurrent(on:)` does.
  ///
  /// A table that was dropped, or whose log was dropped, records nothing more; its old changes can be read. A table
  /// that was dropped and created again has lost its triggers.
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
    } else if !shape.images(kept).areSameNames(as: columns) {
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
