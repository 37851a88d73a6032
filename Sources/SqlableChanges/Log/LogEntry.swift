import FoundationEssentials
import SqlableCore

/// The names of the values that the log keeps of a table's rows, from one change of the table's columns to the next.
struct LogEntry: Sendable, Hashable {
  let id: Int
  /// The table's name.
  let table: String
  let kept: ChangeLog.Values
  /// The names of the values, in the order of the log's columns.
  let columns: [String]
  /// The names of the columns that identify a row.
  let key: [String]

  /// Returns the entries of all tables, oldest first.
  static func all(in db: SqliteDatabase) throws -> [LogEntry] {
    try db.query(
      "SELECT \"id\", \"name\", \"kept\", \"columns\", \"key\" FROM main.\"sqlable_change_tables\" ORDER BY \"id\"",
      as: Int.self, String.self, String.self, String.self, String.self
    ).map { id, table, kept, columns, key in
      guard let kept = ChangeLog.Values(rawValue: kept) else { throw unreadable(table) }
      do {
        return LogEntry(id: id, table: table, kept: kept, columns: try names(columns), key: try names(key))
      } catch { throw unreadable(table) }
    }
  }

  /// Returns the id of the entry of a table, which is added if the table has none with these columns.
  static func current(of table: LoggedTable, _ kept: ChangeLog.Values, in db: SqliteDatabase) throws -> Int {
    let (columns, key) = (table.images(kept), table.identity)
    let latest = try all(in: db).last { $0.table.isExactly(table.name) }
    if let latest, latest.kept == kept, latest.columns.areExactly(columns), latest.key.areExactly(key) {
      return latest.id
    }
    try db.execute(
      """
      INSERT INTO "sqlable_change_tables" ("name", "kept", "columns", "key")
      VALUES (\(table.name), \(kept.rawValue), \(try text(columns)), \(try text(key)))
      """)
    return try db.query("SELECT max(\"id\") FROM main.\"sqlable_change_tables\"", as: Int.self)[0]
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
}
