import SqlableCore

/// A statement that creates a model's table, view or index, or adds a column; see ``Sqlable/createTable(named:)``.
///
/// Running the statement throws `.other` if the object exists, unless the statement uses ``ifNotExists()``. To bring
/// existing tables up to date, use `db.createTable(_:)` or a ``SchemaPlan`` instead. Every statement throws `.misuse`
/// if the model's declarations contradict each other.
public struct CreateStatement: Sendable, Hashable {
  fileprivate enum Object: Hashable {
    case table
    case index(Index)
    case column(ColumnReference)
  }

  unowned(unsafe) private let table: TableInfo
  private let object: Object
  private var isLenient = false

  fileprivate init(_ object: Object, of model: TableInfo, named name: String?) {
    self.object = object
    table = (name.map(model.named) ?? model).declared
  }

  /// Returns the statement with IF NOT EXISTS, which ignores an existing object: `CREATE TABLE IF NOT EXISTS`.
  ///
  /// The statement does not compare the existing object with the model. ADD COLUMN has no such form, so running the
  /// statement throws `.misuse`. Creating a table with a separate full-text index also throws `.misuse`, because the
  /// index of an existing table would have to be filled; use `db.createTable(_:)` instead.
  public func ifNotExists() -> CreateStatement {
    var statement = self
    statement.isLenient = true
    return statement
  }

  public static func == (left: CreateStatement, right: CreateStatement) -> Bool {
    left.table === right.table && left.object == right.object && left.isLenient == right.isLenient
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(ObjectIdentifier(table))
    hasher.combine(object)
  }
}

extension CreateStatement: DefinitionStatement, WrittenDefinition {
  package func texts(for db: SqliteDatabase?) throws -> [String] {
    guard let db else { return try texts(nil) }
    return try db.running { try texts($0) }
  }

  private func texts(_ connection: Connection?) throws -> [String] {
    try table.checkDeclarations()
    let definition = TableDefinition(table)
    switch object {
    case .column(let reference):
      guard let position = table.position(of: reference) else { throw Scope(table).missing(reference) }
      guard !isLenient else { throw wrong("ADD COLUMN has no IF NOT EXISTS") }
      return [try definition.addColumn(table.columns[position], for: connection)]
    case .index(let index): return [lenient(try definition.create(index, for: connection))]
    case .table:
      if let view = table.view { return [lenient(try definition.create(view, for: connection))] }
      guard let fullText = table.fullText else {
        return try ([definition.createTable(for: connection)] + indexes(definition, connection)).map(lenient)
      }
      let search = FullTextDefinition(fullText)
      guard fullText.isExternal else { return [lenient(search.createTable())] }
      guard !isLenient else {
        throw wrong("ifNotExists() can't create a table with a full-text index; call db.createTable(_:)")
      }
      return try [definition.createTable(for: connection)] + indexes(definition, connection) + [search.createTable()]
        + search.triggers().map(\.sql)
    }
  }

  private func indexes(_ definition: TableDefinition, _ connection: Connection?) throws -> [String] {
    try table.indexes.map { try definition.create($0, for: connection) }
  }

  private func lenient(_ text: String) -> String {
    guard isLenient else { return text }
    let head = ["CREATE VIRTUAL TABLE", "CREATE UNIQUE INDEX", "CREATE TABLE", "CREATE INDEX", "CREATE VIEW"].first {
      text.begins(with: $0)
    }
    return head.map { "\($0) IF NOT EXISTS\(text.dropFirst($0.count))" } ?? text
  }

  private func wrong(_ message: String) -> SqlError { SqlError.misuse(message).at(table: table.name) }
}

extension Sqlable {
  /// Creates the model's table with its indexes and full-text index, or the model's view.
  ///
  /// ```swift
  /// try Bicycle.createTable().run(db)
  /// // CREATE TABLE "bicycle" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, …); CREATE INDEX "bicycle_color" ON …
  /// try Bicycle.createTable(named: "archive").ifNotExists().run(pool)
  /// ```
  ///
  /// - Parameter name: Another table with the model's layout; nil for the model's own table.
  public static func createTable(named name: String? = nil) -> CreateStatement {
    CreateStatement(.table, of: TableInfo.unchecked(Self.self), named: name)
  }

  /// Creates an index of the model's table.
  ///
  /// ```swift
  /// try Bicycle.createIndex(Index(Bicycle.color)).run(db)      // CREATE INDEX "bicycle_color" ON "bicycle" ("color")
  /// ```
  ///
  /// `table` names another table with the model's layout. The model need not declare the index. Plans drop undeclared
  /// indexes only with `dropping: .indexes`.
  public static func createIndex(_ index: Index, onTable table: String? = nil) -> CreateStatement {
    CreateStatement(.index(index), of: TableInfo.unchecked(Self.self), named: table)
  }

  /// Adds a column of the model to an existing table.
  ///
  /// ```swift
  /// try Bicycle.addColumn(Bicycle.color).run(db)
  /// // ALTER TABLE "bicycle" ADD COLUMN "color" TEXT NOT NULL DEFAULT 'black'
  /// ```
  ///
  /// Existing rows get the column's default, or NULL. Running the statement throws `.schema(.mismatch)` for a column
  /// that SQLite can't add: a key, a unique or stored generated column, a column with a computed default, a NOT NULL
  /// column without a default, and a foreign key with a default. `table` names another table with the model's layout.
  public static func addColumn(_ column: any ColumnConvertible, toTable table: String? = nil) -> CreateStatement {
    CreateStatement(.column(ColumnReference(column.column)), of: TableInfo.unchecked(Self.self), named: table)
  }
}
