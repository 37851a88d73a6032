import SqlableCore

/// A statement that drops a table, an index, a view or a trigger.
///
/// ```swift
/// try Bicycle.dropTable().run(db)                      // DROP TABLE main."bicycle"
/// try DropStatement.view("names").ifExists().run(db)   // DROP VIEW IF EXISTS main."names"
/// ```
///
/// A `DropStatement` is a value like other statements, but clients can't send it as data. The statement runs on a
/// handle, a pool or a remote database. Names are quoted. Only objects in the database's own file are dropped; objects
/// in attached files stay.
///
/// Dropping a missing object throws an error, unless the statement uses ``ifExists()``. If foreign keys are enforced,
/// SQLite first deletes the table's rows, with all ON DELETE actions: CASCADE also deletes the rows that refer to the
/// deleted rows. Without an action, rows that refer to deleted rows throw `.constraint(.foreignKey)`. Observers are not
/// notified of the rows that are deleted with a table. A rollback of the transaction restores the table.
public struct DropStatement: Sendable, Hashable, Codable {
  package enum Kind: String, Sendable, Hashable, Codable, CaseIterable {
    case table, index, view, trigger
  }

  package let kind: Kind
  package let name: String
  private var isLenient = false
  /// The full-text index to drop together with the table; nil for a table without a full-text index.
  private var fullText: String?

  /// Drops a table with its rows, indexes and triggers.
  public static func table(_ name: String) -> DropStatement { DropStatement(.table, name) }

  public static func index(_ name: String) -> DropStatement { DropStatement(.index, name) }

  public static func view(_ name: String) -> DropStatement { DropStatement(.view, name) }

  public static func trigger(_ name: String) -> DropStatement { DropStatement(.trigger, name) }

  fileprivate init(_ kind: Kind, _ name: String, fullText: String? = nil) {
    (self.kind, self.name, self.fullText) = (kind, name, fullText)
  }

  /// Returns the statement with IF EXISTS, which ignores a missing object: `DROP TABLE IF EXISTS`.
  public func ifExists() -> DropStatement {
    var drop = self
    drop.isLenient = true
    return drop
  }
}

extension DropStatement: DefinitionStatement, WrittenDefinition {
  package func texts(for db: SqliteDatabase?) throws -> [String] {
    try SqlError.checkName(name, of: "\(kind) to drop")
    func drop(_ kind: Kind, _ name: String) -> String {
      "DROP \(kind.rawValue.uppercased()) \(isLenient ? "IF EXISTS " : "")main.\(name.quotedName)"
    }
    return (fullText.map { [drop(.table, $0)] } ?? []) + [drop(kind, name)]
  }
}

extension Sqlable {
  /// Drops the model's table with its rows, indexes, triggers and full-text index, or drops the model's view.
  ///
  /// ```swift
  /// try Bicycle.dropTable().run(db)                          // DROP TABLE main."bicycle"
  /// try Bicycle.dropTable(named: "archive").ifExists().run(db)
  /// ```
  ///
  /// - Parameter name: Another table with the model's layout; nil for the model's own table.
  public static func dropTable(named name: String? = nil) -> DropStatement {
    let modelTable = TableInfo.unchecked(Self.self)
    let table = name.map(modelTable.named) ?? modelTable
    guard table.view == nil else { return DropStatement(.view, table.name) }
    return DropStatement(.table, table.name, fullText: table.fullText?.isExternal == true ? table.fullText?.name : nil)
  }

  /// Drops an index of the model's table, as declared in the model.
  ///
  /// ```swift
  /// try Bicycle.dropIndex(Index(Bicycle.color)).run(db)      // DROP INDEX main."bicycle_color"
  /// ```
  ///
  /// `ofTable` names another table with the model's layout.
  public static func dropIndex(_ index: Index, ofTable table: String? = nil) -> DropStatement {
    let modelTable = TableInfo.unchecked(Self.self)
    return DropStatement(.index, index.name(in: table.map(modelTable.named) ?? modelTable))
  }
}
