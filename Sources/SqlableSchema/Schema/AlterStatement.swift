import SqlableCore

/// A statement that renames a table or a column, or drops a column.
///
/// ```swift
/// try AlterStatement.renameTable("bike", to: "bicycle").run(db)     // ALTER TABLE main."bike" RENAME TO "bicycle"
/// try AlterStatement.renameColumn("colour", to: "color", inTable: "bicycle").run(db)
/// // ALTER TABLE main."bicycle" RENAME COLUMN "colour" TO "color"
/// try AlterStatement.dropColumn("note", ofTable: "bicycle").run(db)
/// // ALTER TABLE main."bicycle" DROP COLUMN "note"
/// ```
///
/// SQLite renames the table or column in indexes, triggers and views too. Only tables in the database's own file are
/// changed. A missing table or column throws. Dropping a column throws if a key, an index, a constraint, a trigger or a
/// view uses the column. Before SQLite 3.35, dropping a column throws `.misuse`. For the changes that SQLite can't
/// make, such as another type, use a ``SchemaPlan``. `Bicycle.addColumn(_:)` adds a column. On a handle or pool of a
/// program that links `SqlableChanges`, the change log of the table stays up to date.
public struct AlterStatement: Sendable, Hashable, Codable {
  enum Change: Sendable, Hashable, Codable {
    case renameTable(to: String)
    case renameColumn(String, to: String)
    case dropColumn(String)
  }

  let table: String
  let change: Change

  public static func renameTable(_ table: String, to name: String) -> AlterStatement {
    AlterStatement(table: table, change: .renameTable(to: name))
  }

  public static func renameColumn(_ column: String, to name: String, inTable table: String) -> AlterStatement {
    AlterStatement(table: table, change: .renameColumn(column, to: name))
  }

  /// Drops a column with its values.
  public static func dropColumn(_ column: String, ofTable table: String) -> AlterStatement {
    AlterStatement(table: table, change: .dropColumn(column))
  }
}

extension AlterStatement: DefinitionStatement, WrittenDefinition {
  package func texts(for db: SqliteDatabase?) throws -> [String] {
    try SqlError.checkName(table, of: "table to change")
    let text: String
    switch change {
    case .renameTable(let name):
      try SqlError.checkName(name, of: "renamed table")
      text = "RENAME TO \(name.quotedName)"
    case .renameColumn(let column, let name):
      for name in [column, name] { try SqlError.checkName(name, of: "renamed column") }
      text = "RENAME COLUMN \(column.quotedName) TO \(name.quotedName)"
    case .dropColumn(let column):
      try SqlError.checkName(column, of: "column to drop")
      guard db == nil || Library.versionNumber >= 3_035_000 else {
        throw SqlError.misuse("DROP COLUMN needs SQLite 3.35 or later; use a plan with dropping: .columns")
      }
      text = "DROP COLUMN \(column.quotedName)"
    }
    let statement = "ALTER TABLE main.\(table.quotedName) \(text)"
    guard let db, let log = ChangeLogHook.updates else { return [statement] }
    return try db.running { try texts(statement, log, on: $0, db.functions) }
  }

  /// Returns the statement, and the further statements that keep the table's change log up to date. These further
  /// statements are planned on a copy of the schema.
  private func texts(
    _ statement: String, _ log: any ChangeLogUpdates, on connection: Connection, _ functions: FunctionRegistry?
  ) throws -> [String] {
    let isRenamed = try log.renames(on: connection).contains { table.isSameName(as: $0.table) }
    guard try isRenamed || log.loggedTables(on: connection).contains(where: table.isSameName) else {
      return [statement]
    }
    let copy = try SchemaCopy(of: connection, functions: functions, isFileOnly: true).connection
    try log.copyEntries(from: connection, to: copy)
    var renames: [String] = []
    func rename(_ texts: [String]) throws {
      for text in texts { try copy.pragma(text) }
      renames += texts
    }
    if isRenamed {
      // SQL text has renamed the table, possibly in exchange for another one, without renaming it in the log.
      let tables = try log.renames(on: copy)
      try rename(log.losses(of: tables.map(\.table), on: copy) + tables.flatMap(\.updates))
      for (table, _) in tables { try rename(log.updates(of: table, on: copy)) }
    }
    try rename(log.columnRenames(of: table, on: copy))
    var (texts, name) = ([statement], table)
    switch change {
    case .renameTable(let new):
      texts += log.renaming(table: table, to: new)
      name = new
    case .renameColumn(let column, let new):
      texts += try log.renaming(column: column, to: new, of: table, on: copy)
    case .dropColumn:
      // SQLite can't drop a column that one of the log's triggers uses.
      texts = try log.triggers(of: table, on: copy).map { "DROP TRIGGER main.\($0.quotedName)" } + texts
    }
    // Don't replace lost triggers here. Code that replaces them must also invalidate the table's earlier positions, as
    // `ChangeLog.create`, a plan or a migration does.
    guard try log.hasAllTriggers(of: table, on: copy) else { return renames + texts }
    texts = try log.losses(of: [table], on: copy) + texts
    for text in texts { try copy.pragma(text) }
    return renames + texts + (try log.updates(of: name, on: copy))
  }
}
