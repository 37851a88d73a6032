import SqlableCore
import SqlablePool

/// The tables of the change log, in the database of the logged tables.
///
/// ```sql
/// CREATE TABLE IF NOT EXISTS "sqlable_changes" (
///   "seq" INTEGER PRIMARY KEY, "table" INTEGER, "kind" INTEGER, "at" INTEGER)
/// ```
///
/// `sqlable_changes` has one row for each change. The columns `v0`, `v1` and so on have the values of the inserted,
/// deleted or updated row. For an update, `o0`, `o1` and so on have the values before the update. These columns have no
/// type, so that each value keeps its storage class.
///
/// `seq` is not AUTOINCREMENT, which would write another page in each transaction. SQLite nevertheless numbers the rows
/// without gaps and without reuse, because `trim` never deletes the last row.
enum ChangeTables {
  static let log = Connection.changeTable
  /// The column lists of the logged tables. When the columns of a table change, the table gets a new entry.
  static let tables = "sqlable_change_tables"
  /// The table of rows that a REPLACE might delete. SQLite calls no trigger for such a row; see ``ChangeTriggers``.
  static let candidates = "sqlable_change_candidates"
  static let history = "sqlable_change_history"
  /// For each table, the last change that the log lacks; see ``LogState/missing(of:in:)``.
  static let missing = "sqlable_change_missing"
  /// The positions and owners of the consumers.
  static let consumers = "sqlable_change_consumers"

  /// The changes that have failed; see ``QuarantineRecord``.
  static let quarantine = "sqlable_change_quarantine"

  static let all = [log, tables, candidates, history, missing, consumers, quarantine]

  /// The columns of the log that contain names of logged tables.
  static let namesOfTables = [(table: tables, column: "name"), (table: consumers, column: "table")]

  static func renaming(table old: String, to new: String) -> [String] {
    namesOfTables.map { table, column in
      "UPDATE main.\(table.quotedName) SET \(column.quotedName) = \(new.quotedText) "
        + "WHERE \(column.quotedName) = \(old.quotedText) COLLATE NOCASE"
    }
  }

  static let triggerPrefix = log + "_"

  static let time = LoggedBlob.time

  static let definitions: [SQL] = [
    """
    CREATE TABLE IF NOT EXISTS "sqlable_changes" (
      "seq" INTEGER PRIMARY KEY, "table" INTEGER, "kind" INTEGER, "at" INTEGER)
    """,
    // `isLogged` is 0 after the log of the table was dropped. `hidesRowid` is 1 if the last name in `columns` is the
    // rowid of a table whose primary key is not the rowid. `omitted` contains the columns whose values are not logged.
    """
    CREATE TABLE IF NOT EXISTS "sqlable_change_tables" (
      "id" INTEGER PRIMARY KEY, "name" TEXT NOT NULL, "kept" TEXT NOT NULL, "columns" TEXT NOT NULL,
      "key" TEXT NOT NULL, "isLogged" INTEGER NOT NULL DEFAULT 1, "hidesRowid" INTEGER NOT NULL DEFAULT 0,
      "omitted" TEXT NOT NULL DEFAULT '[]')
    """,
    """
    CREATE TABLE IF NOT EXISTS "sqlable_change_candidates" ("table" INTEGER, "row" INTEGER)
    """,
    """
    CREATE TABLE IF NOT EXISTS "sqlable_change_history" ("id" TEXT NOT NULL, "trimmed" INTEGER NOT NULL)
    """,
    // A separate table, because stored migration plans become invalid when a row of `sqlable_change_tables` changes;
    // see `schemaFingerprint`.
    """
    CREATE TABLE IF NOT EXISTS "sqlable_change_missing" (
      "table" INTEGER PRIMARY KEY, "seq" INTEGER NOT NULL, "at" INTEGER NOT NULL)
    """,
    // `table` is the name of the followed table. `claimed` is the time at which the owner loses its lease to another
    // loop, unless the owner renews the lease. `startedAt` is the time at which the consumer was added.
    """
    CREATE TABLE IF NOT EXISTS "sqlable_change_consumers" (
      "name" TEXT PRIMARY KEY, "table" TEXT, "history" TEXT NOT NULL, "seq" INTEGER NOT NULL, "at" INTEGER NOT NULL,
      "isNew" INTEGER NOT NULL, "owner" TEXT, "claimed" INTEGER, "startedAt" INTEGER)
    """,
    """
    CREATE TABLE IF NOT EXISTS "sqlable_change_quarantine" (
      "consumer" TEXT NOT NULL, "seq" INTEGER NOT NULL, "attempts" INTEGER NOT NULL, "error" TEXT NOT NULL,
      "failedAt" INTEGER NOT NULL, "isQuarantined" INTEGER NOT NULL, "table" INTEGER, "kind" INTEGER, "at" INTEGER,
      PRIMARY KEY ("consumer", "seq"))
    """,
    """
    INSERT INTO "sqlable_change_history" ("id", "trimmed") SELECT lower(hex(randomblob(16))), 0
    WHERE NOT EXISTS (SELECT 1 FROM "sqlable_change_history")
    """,
  ]

  /// The name of a column that stores a value of the changed row.
  static func value(_ position: Int) -> String { "v\(position)" }

  /// Returns the name of a column that stores a value before an update.
  static func oldValue(_ position: Int) -> String { "o\(position)" }
}

/// The kind of the change in a row of the log. A row of kind 0 has no change: the row records that the log lacks
/// earlier changes of the table.
enum LoggedKind: Int {
  case inserted = 1
  case deleted = 2
  case updated = 3
}

extension Connection {
  /// Returns the columns of the log that have values of changes, such as `v0` and `o0`.
  func valueColumns() throws -> [String] {
    try rows("PRAGMA main.table_info(\(ChangeTables.log.quotedName))").map { $0[1] }
      .filter { !["seq", "table", "kind", "at"].contains($0) }
  }

  /// Returns the statements that add columns for values to the log until it has `count` such columns.
  func missingValueColumns(_ count: Int) throws -> [String] {
    var statements: [String] = []
    let values = (0..<count).map(ChangeTables.value)
    let all = values + (0..<count).map(ChangeTables.oldValue)
    for (table, columns) in [
      (ChangeTables.log, all), (ChangeTables.quarantine, all), (ChangeTables.candidates, values),
    ] {
      let names = Set(try rows("PRAGMA main.table_info(\(table.quotedName))").map { $0[1] })
      for column in columns where !names.contains(column) {
        statements.append("ALTER TABLE main.\(table.quotedName) ADD COLUMN \(column.quotedName)")
      }
    }
    return statements
  }
}
