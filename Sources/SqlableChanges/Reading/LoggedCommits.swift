import SqlableCore
import SqlablePool

extension ChangeLogReaderHook: ChangeLogReading {
  package func makeReader() -> any ChangeLogReader { LoggedCommits() }
}

/// A reader that finds the commits of other connections in the change log. A pool delivers these commits to its live
/// results and its loops over changes, in the same form as the commits of its own connections.
final class LoggedCommits: ChangeLogReader {
  /// The tables that the log records completely, in one version of the schema.
  private struct Schema {
    let version: Int64
    /// The name of the log's history; nil without a log.
    var history: String?
    /// The logged tables, by the ids of their rows in ``ChangeTables/tables``.
    var tables: [Int: LoggedRows] = [:]
    /// The number of logged columns of the table that has the most of them.
    var valueCount = 0
  }

  /// A commit with more changes is delivered as unknown, because a writer might be waiting while the log is read.
  private static let maximumChanges: Int64 = 10_000

  private var schema: Schema?

  func forgetSchema() { schema = nil }

  func end(on connection: Connection, schemaVersion: Int64) throws -> ChangeLogEnd? {
    guard try current(on: connection, schemaVersion).history != nil else { return nil }
    let statement = try connection.keptStatement(
      "SELECT \"seq\", \"at\" FROM main.\"sqlable_changes\" ORDER BY \"seq\" DESC LIMIT 1")
    defer { statement.reset() }
    guard try statement.step() else { return ChangeLogEnd(number: 0, time: 0) }
    return ChangeLogEnd(number: statement.integer(at: 0), time: statement.integer(at: 1))
  }

  private func current(on connection: Connection, _ version: Int64) throws -> Schema {
    if let schema, schema.version == version { return schema }
    self.schema = nil
    var schema = Schema(version: version)
    if try connection.hasTable(named: ChangeTables.history) {
      schema.history = try connection.rows("SELECT \"id\" FROM main.\"sqlable_change_history\"").first?.first
      for entry in try LogEntry.all(on: connection).current where entry.isLogged {
        guard try connection.hasTable(named: entry.table), (try? entry.checkIsCurrent(on: connection)) != nil,
          let rows = LoggedRows(entry, try connection.keyShape(ofTable: entry.table))
        else { continue }
        schema.tables[entry.id] = rows
        schema.valueCount = max(schema.valueCount, entry.columns.count)
      }
    }
    self.schema = schema
    return schema
  }

  func changes(
    after start: ChangeLogEnd, upTo end: ChangeLogEnd, for interest: ObservedTables, on connection: Connection
  ) throws -> CommittedChanges? {
    guard let schema, let history = schema.history, try hasAll(after: start, history, on: connection) else {
      return nil
    }
    let tables = schema.tables.mapValues { table in
      (table, ObservedLoggedTable(table, interest))
    }
    let complete = tables.values.filter { $1.isComplete }.map { $0.0.foldedName }
    var commit = CommittedChanges(loggedTables: Set(complete))
    guard start != end else { return commit }
    guard end.number - start.number <= LoggedCommits.maximumChanges else { return nil }
    let values = 0..<schema.valueCount
    let columns = (values.map(ChangeTables.value) + values.map(ChangeTables.oldValue)).map { ", \($0.quotedName)" }
    let statement = try connection.keptStatement(
      """
      SELECT "table", "kind"\(columns.joined()) FROM main."sqlable_changes" WHERE "seq" > ? AND "seq" <= ?
      ORDER BY "seq"
      """)
    defer { statement.reset() }
    try statement.bindCopy(.integer(start.number), at: 1)
    try statement.bindCopy(.integer(end.number), at: 2)
    while try statement.step() {
      // The commit's changes are unknown if the table's log was dropped, if only an earlier schema had the table, or if
      // the row records a loss instead of a change.
      guard let (table, observed) = tables[Int(statement.integer(at: 0))],
        let kind = LoggedKind(rawValue: Int(statement.integer(at: 1)))
      else { return nil }
      guard observed.isComplete, observed.name != nil || observed.reading != nil else { continue }
      let change = table.change(kind, of: statement, valueCount: schema.valueCount)
      if let reading = observed.reading { change.note(in: &commit.tables[table.foldedName, default: .init()], reading) }
      guard let name = observed.name else { continue }
      guard let row = change.row(named: name, withValues: observed.withValues) else { return nil }
      commit.rows.append(row)
    }
    return commit
  }

  /// True if the log has all changes after `start`, an earlier end of the log; see
  /// ``LogState/check(_:of:isStored:in:)``.
  private func hasAll(after start: ChangeLogEnd, _ history: String, on connection: Connection) throws -> Bool {
    let statement = try connection.keptStatement(
      """
      SELECT "trimmed", (SELECT "at" FROM main."sqlable_changes" WHERE "seq" = ?) FROM main."sqlable_change_history"
      WHERE "id" = ?
      """)
    defer { statement.reset() }
    try statement.bindCopy(.integer(start.number), at: 1)
    try statement.bindCopy(.text(history), at: 2)
    guard try statement.step() else { return false }
    let trimmed = statement.integer(at: 0)
    if start.number == 0 { return trimmed == 0 }
    return try start.number > trimmed && statement.value(at: 1) == .integer(start.time)
  }
}

/// The changes of one logged table that a pool's loops and live results observe.
private struct ObservedLoggedTable {
  /// The table's name if loops observe its changed rows; otherwise nil.
  let name: String?
  /// The columns and rows of the table that live results read; nil if no live result reads the table.
  let reading: ObservedTables.TableInterest?
  /// True if loops request the values of changed rows.
  let withValues: Bool
  /// False if the log lacks values that loops request.
  let isComplete: Bool

  init(_ table: LoggedRows, _ interest: ObservedTables) {
    name = interest.name(ofTable: table.entry.table)
    reading = interest.read[table.foldedName]
    withValues = interest.valued.contains(table.foldedName)
    isComplete = table.hasAllColumns || !withValues
  }
}
