import SqlableCore

/// The change log of a database, as plans, migrations and `createTable` see it.
///
/// The module SqlableChanges implements the protocol for ``ChangeLogHook``. In a program without that module, there is
/// no implementation, and these methods are not called.
package protocol ChangeLogUpdates: Sendable {
  /// Copies the names of the logged columns to a copy of the schema, which has no rows.
  func copyEntries(from original: Connection, to copy: Connection) throws
  /// Returns the logged tables, including those that have lost the log's triggers.
  func loggedTables(on connection: Connection) throws -> [String]
  func triggers(of table: String, on connection: Connection) throws -> [String]
  /// Returns the statements that bring the log's triggers of a logged table up to date; empty if the triggers are
  /// already up to date.
  func updates(of table: String, on connection: Connection) throws -> [String]
  /// Returns the new names of logged tables that ALTER TABLE has renamed without updating the log. For each table,
  /// returns the statements that rename the table in the log and drop the log's triggers. The triggers must be created
  /// again after all statements.
  func renames(on connection: Connection) throws -> [(table: String, updates: [String])]
  /// Returns the statements that make all earlier positions of the log invalid if one of the tables is logged, but has
  /// lost the log's triggers.
  func losses(of tables: [String], on connection: Connection) throws -> [String]
  func renaming(table old: String, to new: String) -> [String]
  /// Returns the statements that rename a column in the changes that are already logged.
  func renaming(column old: String, to new: String, of table: String, on connection: Connection) throws -> [String]
}

/// The type for which a program's modules implement ``ChangeLogUpdates``.
package struct ChangeLogHook: Sendable {
  /// The implementation; nil if the program does not link it. The cast finds the implementation without a registration
  /// that would have to run before the first plan.
  static let updates: (any ChangeLogUpdates)? = (ChangeLogHook() as Any) as? any ChangeLogUpdates
}

extension Connection {
  /// Ends the history of the change log if logged tables have lost the log's triggers. A migration can lose triggers
  /// without a gap in the log: call this method before the migration.
  func noteLostTriggers() throws {
    guard let log = ChangeLogHook.updates else { return }
    for statement in try log.losses(of: log.loggedTables(on: self), on: self) { try pragma(statement) }
  }

  /// Brings the change log up to date after changes of the schema.
  ///
  /// - Parameter tables: The changed tables; nil for all logged tables.
  func updateChangeLog(of tables: [String]? = nil) throws {
    guard let log = ChangeLogHook.updates else { return }
    var tables = tables
    for (table, updates) in try log.renames(on: self) {
      for update in updates { try pragma(update) }
      tables?.append(table)
    }
    if let tables {
      for statement in try log.losses(of: tables, on: self) { try pragma(statement) }
    }
    for table in try log.loggedTables(on: self) where tables?.contains(where: table.isSameName) != false {
      for update in try log.updates(of: table, on: self) { try pragma(update) }
    }
  }
}
