import FoundationEssentials
import SqlableCore

/// An entry for a logged table: the names of the columns that the log keeps. A table whose columns change gets another
/// entry.
struct LogEntry: Sendable, Hashable {
  let id: Int
  let table: String
  let kept: KeptColumns
  /// The names of the table's columns that the log keeps, in the order of the log's columns. The last name can be the
  /// rowid.
  let columns: [String]
  /// The names of the columns whose values a model can't read from the changes: the columns that the log does not keep,
  /// and columns that might have had other names.
  let omitted: [String]
  /// True if the last name in `columns` is the rowid of a table whose primary key is not the rowid. Readers of the log
  /// do not get this rowid.
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
      SELECT "id", "name", "kept", "columns", "key", "isLogged", "hidesRowid", "omitted"
      FROM main."sqlable_change_tables" ORDER BY "id"
      """
    ).map { row in
      let hidesRowid = row[6] != "0"
      guard let id = Int(row[0]), let columns = try? names(row[3]), let key = try? names(row[4]),
        let omitted = try? names(row[7]),
        let kept = KeptColumns(text: row[2], columns: hidesRowid ? columns.dropLast() : columns, key: key)
      else { throw unreadable(row[1]) }
      return LogEntry(
        id: id, table: row[1], kept: kept, columns: columns, omitted: omitted, hidesRowid: hidesRowid, key: key,
        isLogged: row[5] != "0")
    }
  }

  /// The names of the columns that readers of the log get.
  var visibleColumns: ArraySlice<String> { hidesRowid ? columns.dropLast() : columns[...] }

  /// Returns the id of a table's entry, and the statements that add the entry if the table has none with these columns.
  static func current(
    of table: LoggedTable, _ kept: KeptColumns, among all: [LogEntry]
  ) throws -> (id: Int, updates: [String]) {
    let (columns, omitted, key) = (table.images(kept), table.omitted(kept), table.identity)
    let latest = all.last { $0.table.isSameName(as: table.name) }
    if let latest, latest.kept.text == kept.text, latest.columns.areExactly(columns), latest.key.areExactly(key),
      latest.omitted.areSameNames(as: omitted), latest.hidesRowid == (table.hiddenRowid != nil)
    {
      let log = "UPDATE main.\"sqlable_change_tables\" SET \"isLogged\" = 1 WHERE \"id\" = \(latest.id)"
      return (latest.id, latest.isLogged ? [] : [log])
    }
    let (id, isTooLarge) = (all.last?.id ?? 0).addingReportingOverflow(1)
    guard !isTooLarge else {
      throw SqlError.misuse("table \(ChangeTables.tables) has no id left: its largest id is 2^63 - 1")
        .at(table: ChangeTables.tables)
    }
    let values = [table.name, kept.text, try text(columns), try text(omitted), try text(key)].map(\.quotedText)
    return (
      id,
      [
        "INSERT INTO main.\"sqlable_change_tables\" (\"id\", \"name\", \"kept\", \"columns\", \"omitted\", \"key\", "
          + "\"hidesRowid\") VALUES (\(id), \(values.joined(separator: ", ")), \(table.hiddenRowid == nil ? 0 : 1))"
      ]
    )
  }

  /// True if the table might have had this column when the changes were logged, but the log did not keep its values.
  func omits(_ column: String) -> Bool {
    omitted.contains(where: column.isSameName)
      || kept == .keys && !visibleColumns.contains(where: column.isSameName)
  }

  /// Throws `.misuse` if a model reads a column that the log does not keep.
  func checkKeepsColumns(of model: TableInfo) throws {
    guard let column = model.columns.first(where: { omits($0.name) })?.name else { return }
    throw SqlError.misuse(
      "the change log of table \(table) does not keep column \(column), which the model reads; read the log with "
        + "changes(since:), or run ChangeLog(…).create(db) with a `keeping` that includes the column"
    ).at(table: table, column: column)
  }

  /// Returns the entry with renamed columns; nil if the entry has none of the renamed columns.
  func renaming(_ renames: [(old: String, new: String)]) -> LogEntry? {
    guard
      renames.contains(where: { rename in (columns + omitted).contains(where: rename.old.isSameName) })
    else { return nil }
    func renamed(_ name: String) -> String {
      if let rename = renames.first(where: { $0.old.isSameName(as: name) }) { return rename.new }
      // If another column now has this name, the column of the log was dropped before the rename.
      return renames.contains { $0.new.isSameName(as: name) } ? "\(name) (dropped)" : name
    }
    return with(columns: columns.map(renamed), omitted: omitted.map(renamed), key: key.map(renamed))
  }

  /// Returns the old and new names of columns that might have been renamed and that the log does not keep. The triggers
  /// do not name these columns, so their text does not show the rename. Returns an empty array if columns were only
  /// added, because ADD COLUMN appends a column after all others.
  ///
  /// - Parameter names: The present columns of the table.
  func doubtfulColumns(among names: [String]) -> [String] {
    let present = names.filter { name in !visibleColumns.contains(where: name.isSameName) }
    let hasSameColumns = Array(present.prefix(omitted.count)).areSameNames(as: omitted)
    return hasSameColumns ? [] : omitted + present
  }

  /// Returns the entry without the values of columns that might have had other names; nil if the entry omits them
  /// already. Readers without a model still get the values, by the names of that time.
  func omitting(_ names: [String]) -> LogEntry? {
    let others = names.filter { name in !omitted.contains(where: name.isSameName) }
    return others.isEmpty ? nil : with(columns: columns, omitted: omitted + others, key: key)
  }

  private func with(columns: [String], omitted: [String], key: [String]) -> LogEntry {
    let visible = hidesRowid ? columns.dropLast() : columns
    return LogEntry(
      id: id, table: table, kept: KeptColumns(text: kept.text, columns: visible, key: key) ?? kept,
      columns: columns, omitted: omitted, hidesRowid: hidesRowid, key: key, isLogged: isLogged)
  }

  var update: String {
    get throws {
      let values = [("columns", columns), ("omitted", omitted), ("key", key)]
      let terms = try values.map { "\($0.quotedName) = \(try LogEntry.text($1).quotedText)" }
      return "UPDATE main.\"sqlable_change_tables\" SET \(terms.joined(separator: ", ")) WHERE \"id\" = \(id)"
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

extension TableInfo {
  /// The error for a logged change without a column of the model.
  func omitted(_ column: String) -> SqlError {
    SqlError.misuse(
      "the change log of table \(name) did not keep column \(column) of a change, which the model reads; read the "
        + "change with a model without the column, or with changes(since:)"
    ).at(table: name, column: column)
  }
}

extension [String] {
  func areExactly(_ other: [String]) -> Bool { elementsEqual(other) { $0.isExactly($1) } }

  func areSameNames(as other: [String]) -> Bool { elementsEqual(other) { $0.isSameName(as: $1) } }
}
