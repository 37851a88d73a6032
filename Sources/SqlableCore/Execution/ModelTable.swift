/// A table of a model in a database. Its methods return statements on this table, so that a program does not name the
/// table and the database in each statement.
///
/// ```swift
/// let archive = pool.table(Bicycle.self, named: "archive")
/// try await archive.insert(bikes).run(archive)     // INSERT INTO "archive" (…) VALUES (…)
/// let red = try await archive.read(Bicycle.color == "red").run(archive)
/// // SELECT … FROM "archive" WHERE "color" = ?
/// ```
///
/// The methods return the same statements as the model's methods, but with the name of this table. A statement is a
/// value that can be changed further. Run the statement on the `ModelTable`, which passes the statement to its
/// database. Or run the statement on any handle, for example in a transaction:
/// `try pool.transaction { db in try archive.deleteAll().run(db) }`. For other statements, use `in(archive.name)`.
///
/// The table must have the columns of the model; `createTable(Bicycle.self, named: "archive")` creates such a table.
/// Never take the table's name from untrusted input.
public struct ModelTable<Model: Sqlable, Database: Sendable>: Sendable {
  let database: Database
  package let name: String

  fileprivate init(_ name: String, in database: Database) { (self.name, self.database) = (name, database) }

  private func named<Output>(_ statement: consuming Statement<Model, Output>) -> Statement<Model, Output> {
    name.isExactly(Model.tableName) ? statement : statement.in(name)
  }

  private var info: TableInfo { TableInfo.unchecked(Model.self) }
}

extension ObservedDatabase {
  /// Returns a table of a model in this database. Without a name, returns the model's own table.
  ///
  /// ```swift
  /// let archive = db.table(Bicycle.self, named: "archive")
  /// let count = try archive.count().run(archive)     // SELECT count(*) FROM "archive"
  /// ```
  ///
  /// Does not access the database: a statement on a missing table throws `.schema(.missingTable)`.
  public func table<Model: Sqlable>(_ model: Model.Type, named name: String? = nil) -> ModelTable<Model, Self> {
    ModelTable(name ?? Model.tableName, in: self)
  }
}

extension ModelTable: SqlExecutor where Database: SqlExecutor {
  public func run<Work: Runnable>(_ work: Work, file: StaticString, line: UInt) throws -> Work.Output {
    try database.run(work, file: file, line: line)
  }
}

extension ModelTable: AsyncSqlExecutor where Database: AsyncSqlExecutor {
  public func run<Work: Runnable>(_ work: Work, file: StaticString, line: UInt) async throws -> Work.Output
  where Work.Output: Sendable {
    try await database.run(work, file: file, line: line)
  }
}

extension ModelTable {
  /// Reads all rows; see ``Sqlable/read()``.
  public func read() -> Statement<Model, [Model]> { named(Model.read()) }

  /// Reads the rows that match a condition: `read().filter(condition)`.
  public func read(_ condition: some SqlCondition) -> Statement<Model, [Model]> { read().filter(condition) }

  /// Counts the rows; see ``Sqlable/count()``.
  public func count() -> Statement<Model, Int> { named(Model.count()) }

  /// Counts the rows that match a condition: `count().filter(condition)`.
  public func count(_ condition: some SqlCondition) -> Statement<Model, Int> { count().filter(condition) }

  /// Tests whether the table has a row; see ``Sqlable/exists()``.
  public func exists() -> Statement<Model, Bool> { named(Model.exists()) }

  /// Tests whether a row matches a condition: `exists().filter(condition)`.
  public func exists(_ condition: some SqlCondition) -> Statement<Model, Bool> { exists().filter(condition) }

  /// Reads the row with this primary key; nil if no row has the key. See ``Sqlable/byId(_:)``.
  public func byId(_ key: some SqlValue) -> Statement<Model, Model?> { named(Model.byId(key)) }

  /// Inserts a struct and returns its id; see ``Sqlable/insert(_:)``. If you pass columns, writes only these columns.
  public func insert(_ row: Model, _ columns: any ColumnConvertible...) -> Statement<Model, Int> {
    named(Statement(.insert(InsertQuery(.row, into: info, writing: columns)), rows: .model(row)))
  }

  /// Inserts structs in one transaction and returns the ids in the same order. If you pass columns, writes only these
  /// columns.
  public func insert(_ rows: some Sequence<Model>, _ columns: any ColumnConvertible...) -> Statement<Model, [Int]> {
    named(Statement(.insert(InsertQuery(.rows, into: info, writing: columns)), rows: .models(Array(rows))))
  }

  /// Inserts the rows of a query, and returns the number of rows inserted.
  ///
  /// ```swift
  /// archive.insert(from: Bicycle.read(Bicycle.color == "red"))
  /// // INSERT INTO "archive" (…) SELECT … FROM "bicycle" WHERE "color" = ?
  /// ```
  public func insert(from query: some SelectStatement<Model>) -> Statement<Model, Int> {
    named(Model.insert(from: query))
  }

  /// Inserts the struct, or updates the row with the struct's primary key; see ``Sqlable/save()``.
  public func save(_ row: Model) -> Statement<Model, Int> { named(row.save()) }

  /// Updates the row with the struct's primary key, and returns the number of rows changed (0 or 1). If you pass
  /// columns, writes only these columns.
  public func update(_ row: Model, _ columns: any ColumnConvertible...) -> Statement<Model, Int> {
    named(Statement(.update(UpdateQuery(ofRowIn: info, writing: columns)), rows: .model(row)))
  }

  /// Updates columns of the rows that a filter or limit selects; see ``Sqlable/update(_:)-type.method``.
  public func update(_ assignments: Assignment...) -> Statement<Model, Int> {
    named(Statement(.update(UpdateQuery(info, assignments))))
  }

  /// Updates columns of every row.
  public func updateAll(_ assignments: Assignment...) -> Statement<Model, Int> {
    named(Statement(.update(UpdateQuery(info, assignments, .all))))
  }

  /// Deletes the row with the struct's primary key, and returns the number of rows deleted (0 or 1).
  public func delete(_ row: Model) -> Statement<Model, Int> { named(row.delete()) }

  /// Deletes the rows that a filter or limit selects; see ``Sqlable/delete()-type.method``.
  public func delete() -> Statement<Model, Int> { named(Model.delete()) }

  /// Deletes the rows that match a condition: `delete().filter(condition)`.
  public func delete(_ condition: some SqlCondition) -> Statement<Model, Int> { delete().filter(condition) }

  /// Deletes every row, and returns the number of rows deleted.
  public func deleteAll() -> Statement<Model, Int> { named(Model.deleteAll()) }
}
