import FoundationEssentials
import SqlableCore

/// An entry for a logged table: the names of the columns that the log keeps. A table whose columns change gets another
/// entry.
struct LogEntry: Sendable, Hashable {
  let id: Int
  let table: String
  let kept: ChangeLog.Values
  /// The names of the table's columns that the log keeps, in the order of the log's columns. The last can be a rowid.
  let columns: [String]
  /// True if the last of the columns is a rowid that the table has besides its key. Readers of the log do not get this
  /// rowid.
  let hidesRowid: Bool
  /// The names of the columns that identify a row.
  let key: [String]
  /// False if the log of the table was dropped.
  let isLogged: Bool

  static func all(in db: SqliteDatabase) throws -> [LogEntry] { try db.running { try all(on: $0) } }

  /// Returns the entries of all tables, oldest first.
  static func all(on connection: Connection) throws -> [LogEntry] {
    try connection.rows(
      """
      SELECT "id", "name", "kept", "columns", "key", "isLogged", "hidesRowid"
      FROM main."sqlable_change_tables" ORDER BY "id"
      """
    ).map { row in
      guard let id = Int(row[0]), let kept = ChangeLog.Values(rawValue: row[2]), let columns = try? names(row[3]),
        let key = try? names(row[4])
      else { throw unreadable(row[1]) }
      return LogEntry(
        id: id, table: row[1], kept: kept, columns: columns, hidesRowid: row[6] != "0", key: key,
        isLogged: row[5] != "0")
    }
  }

  /// The names of the columns that readers of the log get.
  var visibleColumns: ArraySlice<String> { hidesRowid ? columns.dropLast() : columns[...] }

  /// Returns the id of a table's entry, and the statements that add the entry if the table has none with these columns.
  static func current(
    of table: LoggedTable, _ kept: ChangeLog.Values, among all: [LogEntry]
  ) throws -> (id: Int, updates: [String]) {
    let (columns, key) = (table.images(kept), table.identity)
    let latest = all.last { $0.table.isSameName(as: table.name) }
    if let latest, latest.kept == kept, latest.columns.areExactly(columns), latest.key.areExactly(key),
      latest.hidesRowid == (table.hiddenRowid != nil)
    {
      let log = "UPDATE main.\"sqlable_change_tables\" SET \"isLogged\" = 1 WHERE \"id\" = \(latest.id)"
      return (latest.id, latest.isLogged ? [] : [log])
    }
    let (id, isTooLarge) = (all.last?.id ?? 0).addingReportingOverflow(1)
    guard !isTooLarge else {
      throw SqlError.misuse("table \(ChangeTables.tables) has no id left: its largest id is 2^63 - 1")
        .at(table: ChangeTables.tables)
    }
    let values = [table.name, kept.rawValue, try text(columns), try text(key)].map(\.quotedText)
    return (
      id,
      [
        "INSERT INTO main.\"sqlable_change_tables\" (\"id\", \"name\", \"kept\", \"columns\", \"key\", "
          + "\"hidesRowid\") VALUES (\(id), \(values.joined(separator: ", ")), \(table.hiddenRowid == nil ? 0 : 1))"
      ]
    )
  }

  /// Returns the entry with renamed columns; nil if the entry has none of the renamed columns.
  func renaming(_ renames: [(old: String, new: String)]) -> LogEntry? {
    guard renames.contains(where: { rename in columns.contains(where: rename.old.isSameName) }) else { return nil }
    func renamed(_ name: String) -> String {
      if let rename = renames.first(where: { $0.old.isSameName(as: name) }) { return rename.new }
      // A column with the new name was dropped before the rename.
      return renames.contains { $0.new.isSameName(as: name) } ? "\(name) (dropped)" : name
    }
    return LogEntry(
      id: id, table: table, kept: kept, columns: columns.map(renamed), hidesRowid: hidesRowid, key: key.map(renamed),
      isLogged: isLogged)
  }

  var update: String {
    get throws {
      let (columns, key) = (try LogEntry.text(columns), try LogEntry.text(key))
      return "UPDATE main.\"sqlable_change_tables\" SET \"columns\" = \(columns.quotedText), "
        + "\"key\" = \(key.quotedText) WHERE \"id\" = \(id)"
    }
  }

  private static func names(_ text: String) throws -> [String] {
    try JSONDecoder().decode([String].self, from: Data(text.utf8))
  }

  private static func text(_ names: [String]) throws -> String {
    String(decoding: try JSONEncoder().encode(names), as: UTF8.self)
  }

  private static func unreadable(_ table: String) -> SqlError {
    let message = "can't read the entry of table \(table) in \(ChangeTables.tables)"
    return SqlError(.schema(.mismatch(message)), message: message, table: ChangeTables.tables)
  }
}

extension [String] {
  func areExactly(_ other: [String]) -> Bool { elementsEqual(other) { $0.isExactly($1) } }

  func areSameNames(as other: [String]) -> Bool { elementsEqual(other) { $0.isSameName(as: $1) } }
}
