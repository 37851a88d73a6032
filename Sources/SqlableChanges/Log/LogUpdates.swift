import SqlableCore
import SqlableSchema

extension LoggedTable {
  /// Returns the statements that bring the log's triggers of the table up to date. The statements also add the columns
  /// and the entry that the triggers need. Empty if everything is up to date. Throws `.misuse` if the triggers can't
  /// record all changes.
  ///
  /// - Parameter kept: The columns that the log keeps from now on; nil to continue with the present columns, even if
  ///   ALTER TABLE has renamed them.
  func updates(_ kept: KeptColumns? = nil, on connection: Connection) throws -> [String] {
    try checkConflicts()
    let existing = try connection.triggers(of: name)
    var (entries, additions) = (try LogEntry.all(on: connection), [String]())
    let renames = entries.last { $0.table.isSameName(as: name) }.map { $0.renames(in: existing) } ?? []
    // Another program can have changed the case of the name, by two renames.
    if entries.contains(where: { $0.table.isSameName(as: name) && !$0.table.isExactly(name) }) {
      additions += ChangeTables.renaming(table: name, to: name)
    }
    func update(_ change: (LogEntry) -> LogEntry?) throws {
      for (position, entry) in entries.enumerated() where entry.table.isSameName(as: name) {
        guard let changed = change(entry) else { continue }
        entries[position] = changed
        additions.append(try changed.update)
      }
    }
    try update { $0.renaming(renames) }
    let (latest, names) = (entries.last { $0.table.isSameName(as: name) }, columns.map(\.name))
    if let doubtful = latest?.doubtfulColumns(among: names), !doubtful.isEmpty {
      try update { $0.omitting(doubtful) }
    }
    guard let kept = kept ?? latest?.kept else { return [] }
    additions += try connection.missingValueColumns(images(kept).count)
    let entry = try LogEntry.current(of: self, kept, among: entries)
    let triggers = ChangeTriggers(table: self, entry: entry.id, kept: kept).all
    let isUpToDate =
      existing.suffix(triggers.count).elementsEqual(
        triggers, by: { $0.name.isExactly($1.name) && $0.sql.isExactly($1.sql) })
      && !existing.dropLast(triggers.count).contains(where: \.isOfLog)
    guard !isUpToDate else { return additions + entry.updates }
    let drops = existing.filter(\.isOfLog).map { "DROP TRIGGER main.\($0.name.quotedName)" }
    // Delete the candidates: they identify rows by rowid, and a rebuild can change the rowids.
    let ids = entries.filter { $0.table.isSameName(as: name) }.map(\.id) + [entry.id]
    let forget =
      "DELETE FROM main.\(ChangeTables.candidates.quotedName) WHERE abs(\"table\") IN "
      + "(\(ids.map(String.init).joined(separator: ", ")))"
    return additions + entry.updates + drops + [forget] + triggers.map(\.sql)
  }
}

extension LogEntry {
  /// Returns the columns that ALTER TABLE has renamed since the triggers were created. The triggers show the new names,
  /// because SQLite has renamed the columns there, too.
  fileprivate func renames(in triggers: [(name: String, sql: String, isOfLog: Bool)]) -> [(old: String, new: String)] {
    guard
      let trigger = triggers.first(where: {
        $0.isOfLog && $0.sql.contains(" AFTER INSERT ON ") && !$0.sql.contains(" WHEN ")
      })
    else { return [] }
    let tokens = SQLTokenList(trigger.sql)
    let names = (0..<tokens.count).compactMap { position in
      tokens.name(position)?.isSameName(as: "new") == true && tokens.isSign(position + 1, UInt8(ascii: "."))
        ? tokens.name(position + 2) : nil
    }
    guard names.count == columns.count else { return [] }
    return zip(columns, names).filter { !$0.isExactly($1) }.map { (old: $0, new: $1) }
  }
}

/// The work of a plan, a migration or `createTable` on the change log of a database.
extension ChangeLogHook: ChangeLogUpdates {
  package func copyEntries(from original: Connection, to copy: Connection) throws {
    guard try original.hasTable(named: ChangeTables.tables) else { return }
    let columns = ["id", "name", "kept", "columns", "omitted", "key", "isLogged", "hidesRowid"].map(\.quotedName)
      .joined(separator: ", ")
    for row in try original.rows("SELECT \(columns) FROM main.\(ChangeTables.tables.quotedName)") {
      let values = row.map(\.quotedText).joined(separator: ", ")
      try copy.pragma("INSERT INTO main.\(ChangeTables.tables.quotedName) (\(columns)) VALUES (\(values))")
    }
  }

  package func loggedTables(on connection: Connection) throws -> [String] {
    guard try connection.hasTable(named: ChangeTables.tables) else { return [] }
    return try LogEntry.all(on: connection).current.filter(\.isLogged).map(\.table)
      .filter { try connection.hasTable(named: $0) }
  }

  package func triggers(of table: String, on connection: Connection) throws -> [String] {
    try connection.triggers(of: table).filter(\.isOfLog).map(\.name)
  }

  package func updates(of table: String, on connection: Connection) throws -> [String] {
    try connection.logUpdates(of: table)
  }

  package func renames(on connection: Connection) throws -> [(table: String, updates: [String])] {
    try connection.logRenames()
  }

  package func losses(of tables: [String]?, on connection: Connection) throws -> [String] {
    try connection.lossUpdates(of: tables)
  }

  package func hasAllTriggers(of table: String, on connection: Connection) throws -> Bool {
    try connection.triggers(of: table).filter(\.isOfLog).count >= ChangeTriggers.count
  }

  package func renaming(table old: String, to new: String) -> [String] { ChangeTables.renaming(table: old, to: new) }

  package func columnRenames(of table: String, on connection: Connection) throws -> [String] {
    try connection.columnRenames(of: table)
  }

  package func renaming(
    column old: String, to new: String, of table: String, on connection: Connection
  ) throws -> [String] {
    try LogEntry.all(on: connection).filter { $0.table.isSameName(as: table) }
      .compactMap { try $0.renaming([(old, new)])?.update }
  }
}

extension Connection {
  /// Returns the statements that bring the log's triggers of a logged table up to date; empty if the triggers are up to
  /// date.
  func logUpdates(of table: String) throws -> [String] {
    let entries = try LogEntry.all(on: self)
    guard let entry = entries.last(where: { $0.table.isSameName(as: table) }) else { return [] }
    return try LoggedTable(named: entry.table, on: self).updates(on: self)
  }

  /// Returns the statements that bring column names in the log up to date, after ALTER TABLE has renamed columns.
  /// Ignores triggers whose names contain another table's name; see ``renamedTables(_:)``.
  func columnRenames(of table: String) throws -> [String] {
    guard try hasTable(named: ChangeTables.tables) else { return [] }
    let entries = try LogEntry.all(on: self).filter { $0.table.isSameName(as: table) }
    let triggers = try triggers(of: table).filter { $0.name.tableOfChangeTrigger?.isSameName(as: table) == true }
    let renames = entries.last?.renames(in: triggers) ?? []
    return try entries.compactMap { try $0.renaming(renames)?.update }
  }

  /// Returns the logged tables that ALTER TABLE has renamed since the log's triggers were created. SQLite attaches the
  /// triggers to the renamed table, but the triggers' names still contain the old table name.
  func renamedTables(_ entries: [LogEntry]) throws -> [(old: String, new: String)] {
    var renamed: [(old: String, new: String)] = []
    for row in try rows("SELECT name, tbl_name FROM main.sqlite_schema WHERE type = 'trigger'") {
      guard let old = row[0].tableOfChangeTrigger else { continue }
      guard !old.isSameName(as: row[1]), !renamed.contains(where: { $0.old.isSameName(as: old) }),
        entries.contains(where: { $0.isLogged && $0.table.isSameName(as: old) })
      else { continue }
      renamed.append((old, row[1]))
    }
    return renamed
  }

  /// Returns the new name of each renamed table, with the statements that rename the table in the log and drop its
  /// triggers.
  func logRenames() throws -> [(table: String, updates: [String])] {
    guard try hasTable(named: ChangeTables.tables) else { return [] }
    let entries = try LogEntry.all(on: self)
    let renamed = try renamedTables(entries)
    var result = try renamed.map { old, new in
      let (triggers, own) = (try triggers(of: new), entries.filter { $0.table.isSameName(as: old) })
      let columns = own.last?.renames(in: triggers) ?? []
      let drops = triggers.filter(\.isOfLog).map { "DROP TRIGGER main.\($0.name.quotedName)" }
      return (table: new, updates: try own.compactMap { try $0.renaming(columns)?.update } + drops)
    }
    guard !result.isEmpty else { return [] }
    // Use one statement for all tables, because two tables might have exchanged their names.
    result[0].updates += ChangeTables.namesOfTables.map { table, column in
      let (name, renames) = (column.quotedName, renamed.map { old, new in (old.quotedText, new.quotedText) })
      let cases = renames.map { "WHEN \(name) = \($0) COLLATE NOCASE THEN \($1)" }.joined(separator: " ")
      return "UPDATE main.\(table.quotedName) SET \(name) = CASE \(cases) ELSE \(name) END"
    }
    return result
  }

  /// Returns the statements that mark the earlier positions of a table as trimmed, for each table whose log might lack
  /// changes. Such a table has lost a trigger of the log, or has a unique index that the triggers do not consider.
  ///
  /// - Parameters:
  ///   - tables: The present names of the tables; nil for all logged tables.
  ///   - includingDropped: True to include tables whose log was dropped and whose triggers are created again.
  func lossUpdates(of tables: [String]? = nil, includingDropped: Bool = false) throws -> [String] {
    guard try hasTable(named: ChangeTables.tables) else { return [] }
    let entries = try LogEntry.all(on: self)
    let renamed = try renamedTables(entries)
    let lossy = try entries.current.filter { entry in
      let table = renamed.first { entry.table.isSameName(as: $0.old) }?.new ?? entry.table
      guard entry.isLogged || includingDropped, tables?.contains(where: table.isSameName) != false else { return false }
      return try lacksChanges(of: table, entry)
    }
    // The row of kind 0 becomes the new end of the log. A consumer at the previous end then also finds out about the
    // loss.
    return lossy.flatMap { entry in
      [
        "INSERT INTO main.\(ChangeTables.log.quotedName) (\"table\", \"kind\", \"at\") "
          + "VALUES (\(entry.id), 0, \(ChangeTables.time))",
        "INSERT OR REPLACE INTO main.\(ChangeTables.missing.quotedName) (\"table\", \"seq\", \"at\") "
          + "SELECT \"table\", \"seq\", \"at\" FROM main.\(ChangeTables.log.quotedName) "
          + "ORDER BY \"seq\" DESC LIMIT 1",
      ]
    }
  }

  private func lacksChanges(of table: String, _ entry: LogEntry) throws -> Bool {
    guard try hasTable(named: table) else { return false }
    let triggers = try triggers(of: table).filter(\.isOfLog)
    guard triggers.count >= ChangeTriggers.count,
      let beforeInsert = triggers.first(where: { $0.sql.contains(" BEFORE INSERT ON ") })
    else { return true }
    let shape = try LoggedTable(named: table, on: self)
    return !ChangeTriggers(table: shape, entry: entry.id, kept: entry.kept).findsAllConflicts(beforeInsert.sql)
  }

  /// Returns the triggers of a table in the order of their creation. Leaves out the triggers of a cluster's
  /// `ChangeTable`, which change no row of the table.
  func triggers(of table: String) throws -> [(name: String, sql: String, isOfLog: Bool)] {
    try rows("SELECT name, sql, tbl_name FROM main.sqlite_schema WHERE type = 'trigger' ORDER BY rowid")
      .filter { $0[2].isSameName(as: table) && !$0[0].isClusterTrigger }
      .map { ($0[0], $0[1], $0[0].isChangeTrigger) }
  }

  /// True if `main` has a table with the name.
  func hasTable(named name: String) throws -> Bool {
    try rows("SELECT name FROM main.sqlite_schema WHERE type = 'table'").contains { $0[0].isSameName(as: name) }
  }
}

extension String {
  fileprivate var isClusterTrigger: Bool { foldedName.starts(with: "sqlable_change_".utf8) }

  /// The name that the table of one of the log's triggers had when the trigger was created; nil for other triggers.
  fileprivate var tableOfChangeTrigger: String? {
    // A trigger's name ends with an underscore and a suffix that contains no underscore.
    guard isChangeTrigger, let end = utf8.lastIndex(of: UInt8(ascii: "_")) else { return nil }
    return String(decoding: utf8[..<end].dropFirst(ChangeTables.triggerPrefix.utf8.count), as: UTF8.self)
  }

  var isChangeTrigger: Bool { foldedName.starts(with: ChangeTables.triggerPrefix.utf8) }
}
