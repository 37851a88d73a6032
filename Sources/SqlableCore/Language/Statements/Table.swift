/// A table without a model. The columns have names but no types, and accept any value.
///
/// ```swift
/// let people = Table("person", "id", "full_name", "born_at")
/// let old = try people.read(people["born_at"] < Date.distantPast).run(db)      // [TableRow]
/// // SELECT "id", "full_name", "born_at" FROM "person" WHERE "born_at" < ?
/// try people.update(people["full_name"].set(to: "unknown")).filter(people["id"] == 5).run(db)
/// // UPDATE "person" SET "full_name" = ? WHERE "id" = ?
/// ```
///
/// Use a `Table` in migrations, where tables have older versions, and for tables that are known only at run time. The
/// initializer does not access the database. `db.table("person")` returns a `Table` with all columns of the database's
/// table. Running a statement throws `.schema` for a column that the `Table` does not list, and for a missing table.
///
/// Values are stored and compared without conversion to a column's type; a date becomes seconds since 1970. Never take
/// names from untrusted input. Quoted names can't inject SQL, but could refer to any table. Names that the program has
/// used are never freed. After 20,000 tables or 200,000 columns, statements throw `.misuse`.
public struct Table: Sendable {
  unowned(unsafe) let info: TableInfo

  package init(_ table: UntypedTable) { info = table.info }

  /// Makes a table with these columns. `count()`, `exists()` and `deleteAll()` need no columns.
  public init(_ name: String, _ columns: String...) { self.init(name, columns: columns) }

  /// Makes a table with these columns.
  public init(_ name: String, columns: [String]) {
    self.init(UntypedTable(name: name, columns: columns.map { UntypedColumn(name: $0) }))
  }

  public var name: String { info.name }

  /// The names of the table's columns.
  public var columns: [String] { info.columnNames }

  /// Returns a column, for conditions, terms and assignments. If the table does not list the column, running the
  /// statement throws `.schema`.
  public subscript(_ column: String) -> Column {
    if let position = info.position(named: column) { return info.columns[position] }
    return Column(column, .any)
  }
}

extension Table {
  /// Reads all rows: `SELECT "id", "full_name" FROM "person"`.
  public func read() -> Statement<TableRow, [TableRow]> {
    var query = SelectQuery(of: info)
    if info.columns.isEmpty {
      query.clauses.defect = .misuse("table \(name) lists no columns to read; name them: Table(\"…\", \"column\")")
        .at(table: name)
    }
    return Statement(.select(query))
  }

  /// Reads the rows that match a condition: `read().filter(condition)`.
  public func read(_ condition: some SqlCondition) -> Statement<TableRow, [TableRow]> { read().filter(condition) }

  /// Reads the row with this primary key; nil if no row has the key. Running the statement throws `.misuse` unless
  /// `db.table(_:)` returned the table and the key has exactly one column. Only `db.table(_:)` reads the key from the
  /// database.
  public func byId(_ key: some SqlValue) -> Statement<TableRow, TableRow?> {
    read().filter(SqlExpression(key: [key], of: info)).first()
  }

  /// Selects columns and terms, and returns a ``DynamicRow`` for each row.
  ///
  /// ```swift
  /// people.select(people["full_name"], people["id"].count()).groupBy(people["full_name"])
  /// // SELECT "full_name", count("id") FROM "person" GROUP BY "full_name"
  /// ```
  public func select(_ terms: any SqlTerm...) -> Select<DynamicRow> {
    var query = SelectQuery(SelectQuery.Source(table: info), results: [])
    query.give(terms.map { Selected($0.expression) })
    return Select(query)
  }

  /// Selects a term with a type: `people.select(people["id"].typed(as: Int.self))`.
  public func select<A: Selectable>(_ a: A) -> Select<A.Value> {
    var query = SelectQuery(SelectQuery.Source(table: info), results: [])
    query.give([a.selected])
    return Select(query)
  }

  /// Counts the rows: `SELECT count(*) FROM "person"`.
  public func count() -> Statement<TableRow, Int> { Statement(.select(SelectQuery(.count, of: info))) }

  /// Counts the rows that match a condition: `count().filter(condition)`.
  public func count(_ condition: some SqlCondition) -> Statement<TableRow, Int> { count().filter(condition) }

  /// Tests whether the table has a row: `SELECT EXISTS (SELECT 1 FROM "person")`.
  public func exists() -> Statement<TableRow, Bool> { Statement(.select(SelectQuery(.exists, of: info))) }

  /// Tests whether a row matches a condition: `exists().filter(condition)`.
  public func exists(_ condition: some SqlCondition) -> Statement<TableRow, Bool> { exists().filter(condition) }
}

extension Table {
  /// Inserts a row and returns the row's id. The id is 0 if the table has no integer ids.
  ///
  /// ```swift
  /// people.insert(["full_name": "Ann Smith"])     // INSERT INTO "person" ("full_name") VALUES (?)
  /// ```
  ///
  /// Columns that the row leaves out get their defaults.
  public func insert(_ row: TableRow) -> Statement<TableRow, Int> {
    Statement(.insert(InsertQuery(.row, into: info)), rows: .model(row))
  }

  /// Inserts a row with the default of every column, and returns the row's id: `INSERT INTO "person" DEFAULT VALUES`.
  public func insertDefaults() -> Statement<TableRow, Int> {
    Statement(.insert(InsertQuery(.row, into: info)), rows: .stored([StoredRow()]))
  }

  /// Inserts rows in one transaction and returns the ids in the same order. If one insert fails, no row is stored.
  public func insert(_ rows: [TableRow]) -> Statement<TableRow, [Int]> {
    Statement(.insert(InsertQuery(.rows, into: info)), rows: .models(rows))
  }

  /// Inserts rows that are passed when the statement runs: `people.insert().run(db, streaming: rows)`.
  public func insert() -> Statement<TableRow, [Int]> {
    Statement(.insert(InsertQuery(.rows, into: info)), rows: .models([]))
  }

  /// Inserts the rows of a query into these columns, and returns the number of rows inserted.
  ///
  /// ```swift
  /// people.insert(people["full_name"], from: Customer.select(Customer.name))
  /// // INSERT INTO "person" ("full_name") SELECT "name" FROM "customer"
  /// ```
  public func insert(
    _ first: Column, _ others: Column..., from query: some SelectStatement
  ) -> Statement<TableRow, Int> {
    Statement(
      .insert(InsertQuery(.query, into: info, writing: [first] + others, of: query.asSelect().query)))
  }

  /// Inserts the row, or updates the existing row with the same primary key; see ``Sqlable/save()``. Only a table that
  /// `db.table(_:)` returned knows its primary key. For any other table, running the statement throws `.misuse`.
  public func save(_ row: TableRow) -> Statement<TableRow, Int> {
    Statement(.insert(InsertQuery(.save, into: info)), rows: .model(row))
  }

  /// Updates the stored row with the same primary key, and returns the number of rows changed (0 or 1). Only a table
  /// that `db.table(_:)` returned knows its primary key. For any other table, running the statement throws `.misuse`.
  public func update(_ row: TableRow) -> Statement<TableRow, Int> {
    Statement(.update(UpdateQuery(ofRowIn: info, writing: [])), rows: .model(row))
  }

  /// Deletes the stored row with the same primary key, and returns the number of rows deleted (0 or 1). Only a table
  /// that `db.table(_:)` returned knows its primary key. For any other table, running the statement throws `.misuse`.
  public func delete(_ row: TableRow) -> Statement<TableRow, Int> {
    Statement(.delete(DeleteQuery(info, .row)), rows: .model(row))
  }

  /// Updates columns of the rows that a filter or limit selects, and returns the number of rows changed. Running the
  /// statement without a filter or limit throws `.misuse`.
  public func update(_ assignments: Assignment...) -> Statement<TableRow, Int> {
    Statement(.update(UpdateQuery(info, assignments)))
  }

  /// Updates columns of every row: `UPDATE "person" SET "full_name" = ?`.
  public func updateAll(_ assignments: Assignment...) -> Statement<TableRow, Int> {
    Statement(.update(UpdateQuery(info, assignments, .all)))
  }

  /// Deletes the rows that a filter or limit selects, and returns the number of rows deleted. Running the statement
  /// without a filter or limit throws `.misuse`.
  public func delete() -> Statement<TableRow, Int> { Statement(.delete(DeleteQuery(info, .selected))) }

  /// Deletes the rows that match a condition: `DELETE FROM "person" WHERE "id" = ?`.
  public func delete(_ condition: some SqlCondition) -> Statement<TableRow, Int> { delete().filter(condition) }

  /// Deletes every row and returns the number of rows deleted: `DELETE FROM "person"`.
  public func deleteAll() -> Statement<TableRow, Int> { Statement(.delete(DeleteQuery(info, .all))) }
}

extension SelectStatement {
  /// Joins a table without a model. Conditions and terms can then refer to the table's columns.
  ///
  /// ```swift
  /// Bicycle.read().joining(people, on: people["id"] == Bicycle.ownerId).filter(people["full_name"] == "Ann Smith")
  /// ```
  public consuming func joining(_ other: Table, on condition: any SqlCondition) -> Select<Row> {
    joined(SelectQuery.Source(table: other.info), .inner, on: condition)
  }
}

/// Two tables are equal if they have the same name, database and columns, and if the same is known about their key,
/// generated columns and WITHOUT ROWID. The initializers know only names; `db.table` also reads the other properties.
extension Table: Hashable {
  public static func == (left: Table, right: Table) -> Bool { left.info === right.info }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
