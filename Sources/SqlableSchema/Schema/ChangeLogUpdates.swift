import SqlableCore

/// The change log of a database, as plans, migrations and `createTable` see it.
///
/// The module SqlableChanges implements the protocol for ``ChangeLogHook``. In a program without that module, there is
/// no implementation, and these methods are not called.
package protocol ChangeLogUpdates: Sendable {
  /// Copies the log's table entries, which contain the names of the logged columns, to `copy`: a copy of the schema
  /// without rows.
  func copyEntries(from original: Connection, to copy: Connection) throws
  /// Returns the logged tables, including those that have lost the log's triggers.
  func loggedTables(on connection: Connection) throws -> [String]
  func triggers(of table: String, on connection: Connection) throws -> [String]
  /// Returns the statements that bring the log's triggers of a logged table up to date; empty if the triggers are
  /// already up to date.
  func updates(of table: String, on connection: Connection) throws -> [String]
  /// Returns the new names of logged tables that ALTER TABLE has renamed without updating the log. For each table,
  /// returns the statements that rename the table in the log and drop the log's triggers. The caller must create the
  /// triggers again after it has run all these statements.
  func renames(on connection: Connection) throws -> [(table: String, updates: [String])]
  /// Checks the given tables, or all logged tables for nil. If the log might lack changes of a table, the returned
  /// statements invalidate the table's earlier positions. The log might lack changes if the table has lost triggers of
  /// the log, or if the triggers don't fit the table's unique indexes. Call this method before creating the triggers
  /// again, because afterwards nothing shows the loss.
  func losses(of tables: [String]?, on connection: Connection) throws -> [String]
  /// True if the table has lost none of the log's triggers.
  func hasAllTriggers(of table: String, on connection: Connection) throws -> Bool
  func renaming(table old: String, to new: String) -> [String]
  /// Returns the statements that rename the columns in the log that ALTER TABLE has renamed without updating the log.
  /// Only the log's triggers show these renames, so run the statements before dropping the triggers.
  func columnRenames(of table: String, on connection: Connection) throws -> [String]
  /// Returns the statements that rename a column in the changes that are already logged.
  func renaming(column old: String, to new: String, of table: String, on connection: Connection) throws -> [String]
}

/// A type that the module SqlableChanges extends with the conformance to ``ChangeLogUpdates``.
package struct ChangeLogHook: Sendable {
  /// The implementation; nil if the program does not link SqlableChanges. The cast finds the implementation without a
  /// registration that would have to run before the first plan.
  static let updates: (any ChangeLogUpdates)? = (ChangeLogHook() as Any) as? any ChangeLogUpdates
}

extension Connection {
  /// Checks the given tables, or all logged tables for nil. If the change log might lack changes of a table, the
  /// returned statements invalidate the table's earlier positions.
  func changeLogLosses(of tables: [String]? = nil) throws -> [String] {
    guard let log = ChangeLogHook.updates else { return [] }
    // Include the tables that other programs have renamed, because `updateChangeLog` creates their triggers too.
    let renamed = try log.renames(on: self).map(\.table)
    return try log.losses(of: tables.map { $0 + renamed }, on: self)
  }

  /// Returns the statements that invalidate the earlier positions of tables that lack triggers of the change log. A
  /// migration can drop these triggers, for example together with a table that the migration creates again. The log
  /// then lacks later changes of the table by the migration.
  func changeLogLossesByMigration() throws -> [String] {
    guard let log = ChangeLogHook.updates else { return [] }
    let tables = try (log.loggedTables(on: self) + log.renames(on: self).map(\.table)).filter { table in
      try !log.hasAllTriggers(of: table, on: self)
    }
    return tables.isEmpty ? [] : try log.losses(of: tables, on: self)
  }

  /// Brings the change log up to date after changes of the schema.
  ///
  /// - Parameters:
  ///   - tables: The changed tables; nil for all logged tables.
  ///   - losses: The result of ``changeLogLosses(of:)`` before the changes.
  func updateChangeLog(of tables: [String]? = nil, after losses: [String] = []) throws {
    guard let log = ChangeLogHook.updates else { return }
    for statement in losses { try pragma(statement) }
    var tables = tables
    for (table, updates) in try log.renames(on: self) {
      for update in updates { try pragma(update) }
      tables?.append(table)
    }
    for table in try log.loggedTables(on: self) where tables?.contains(where: table.isSameName) != false {
      for update in try log.updates(of: table, on: self) { try pragma(update) }
    }
  }
}
