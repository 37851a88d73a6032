/// Something to be asked of, or done to, the table of `Model`: a value that touches nothing until it is run.
///
/// ```swift
/// let reds = Bicycle.read().filter(Bicycle.color == "red").orderBy(Bicycle.name).limit(10)
/// reds.sql                       // SELECT "id", "name", "color" FROM "bicycle" WHERE "color" = ? ORDER BY "name" LIMIT ?
/// let bikes = try reds.run(db)   // [Bicycle]
/// ```
///
/// It is immutable: every modifier returns another statement. It is `Sendable`, `Hashable` and `Codable`; decoding checks
/// the table and the columns against the model.
public struct Statement<Model: Sqlable, Output>: Sendable {
  @usableFromInline var tree: StatementTree
  /// The structs that are inserted, updated or deleted.
  @usableFromInline var rows: StatementRows<Model>

  @inlinable
  init(_ tree: consuming StatementTree, rows: consuming StatementRows<Model> = .none) {
    self.tree = tree
    self.rows = rows
  }
}

// MARK: - Modifiers

extension Statement {
  /// Keeps the rows that meet a condition; a second filter is AND-ed.
  ///
  /// ```swift
  /// Bicycle.read().filter(Bicycle.color == "red").filter(Bicycle.id > 3)     // … WHERE "color" = ? AND "id" > ?
  /// ```
  ///
  /// For reads, counts, updates and deletes. A row for which the condition is NULL is dropped.
  @inlinable
  public consuming func filter(_ condition: SqlExpression) -> Statement {
    tree.filter(condition)
    return self
  }

  /// Orders the rows; a second call orders those that are equal by the first.
  ///
  /// ```swift
  /// Bicycle.read().orderBy(Bicycle.color).orderBy(Bicycle.id, .desc)     // … ORDER BY "color", "id" DESC
  /// ```
  @inlinable
  public consuming func orderBy(_ term: some SqlTerm, _ order: Order = .asc) -> Statement {
    tree.order(by: [OrderTerm(expression: term.expression, order: order)])
    return self
  }

  /// Orders the rows by a typed column or expression.
  @inlinable
  public consuming func orderBy(_ term: some TypedTerm, _ order: Order = .asc) -> Statement {
    tree.order(by: [OrderTerm(expression: term.expression, order: order)])
    return self
  }

  /// Orders the rows by several terms: `ORDER BY "color", "id" DESC`.
  public consuming func orderBy(_ orderings: Ordering...) -> Statement {
    tree.order(by: orderings.map(\.term))
    return self
  }

  /// Takes at most `limit` rows. Running it with a limit below zero throws `.invalidStatement`.
  ///
  /// ```swift
  /// Bicycle.read().limit(10, offset: 20)                             // … LIMIT ? OFFSET ?
  /// Bicycle.delete().orderBy(Bicycle.id).limit(100)                  // DELETE … WHERE "id" IN (SELECT "id" … LIMIT ?)
  /// ```
  @inlinable
  public consuming func limit(_ limit: Int) -> Statement {
    tree.limit(to: limit)
    return self
  }

  /// Takes at most `limit` rows after skipping `offset`.
  @inlinable
  public consuming func limit(_ limit: Int, offset: Int) -> Statement {
    tree.limit(to: limit)
    tree.skip(offset)
    return self
  }

  /// Skips `offset` rows. Running it with an offset below zero throws `.invalidStatement`.
  @inlinable
  public consuming func offset(_ offset: Int) -> Statement {
    tree.skip(offset)
    return self
  }

  /// Says what happens to a row that breaks a uniqueness rule: `INSERT OR IGNORE`, `UPDATE OR REPLACE`.
  @inlinable
  public consuming func onConflict(_ policy: ConflictPolicy) -> Statement {
    tree.onConflict(policy)
    return self
  }

  /// Skips rows that break a uniqueness rule; an insert that was skipped gives the id 0.
  @inlinable
  public consuming func ignoreOnConflict() -> Statement { onConflict(.ignore) }

  /// Deletes the rows that are in the way first; observers hear of them.
  @inlinable
  public consuming func replaceOnConflict() -> Statement { onConflict(.replace) }

  /// Updates the row that has the same value in a unique column instead of inserting another.
  ///
  /// ```swift
  /// bike.insert().onConflict(Bicycle.name, update: Bicycle.color)
  /// // INSERT … ON CONFLICT ("name") DO UPDATE SET "color" = excluded."color"
  /// ```
  ///
  /// Without columns to update the row is left as it is. With a condition it is updated only where that is true; it may
  /// name the columns of the row that is there, and by `excluded` those of the new one.
  public consuming func onConflict(
    _ target: any ColumnConvertible..., update columns: any ColumnConvertible..., where condition: SqlExpression? = nil
  ) -> Statement {
    tree.onConflict(
      Upsert(
        target: target.map { ColumnReference($0.column) }, columns: columns.map { ColumnReference($0.column) },
        condition: condition))
    return self
  }

  /// Sets columns of the row that has the same value in a unique column instead of inserting another.
  ///
  /// ```swift
  /// visit.insert().onConflict(Visit.page, set: Visit.count.set(to: Visit.count + Visit.count.excluded))
  /// // INSERT … ON CONFLICT ("page") DO UPDATE SET "count" = "visit"."count" + "excluded"."count"
  /// ```
  public consuming func onConflict(
    _ target: any ColumnConvertible..., set assignment: Assignment, _ others: Assignment...,
    where condition: SqlExpression? = nil
  ) -> Statement {
    tree.onConflict(
      Upsert(
        target: target.map { ColumnReference($0.column) }, columns: [], assignments: [assignment] + others,
        condition: condition))
    return self
  }
}

extension Statement {
  /// Is about another table of the same layout, instead of the model's own.
  ///
  /// ```swift
  /// try db.createTable(Bicycle.self, named: "archive")
  /// try bike.insert().in("archive").run(db)                  // INSERT INTO "archive" (…) VALUES (…)
  /// try Bicycle.read().in("archive").run(db)                 // SELECT … FROM "archive"
  /// ```
  ///
  /// Never take the name from outside: it is quoted, so that it can't change the SQL, but it may be that of any table.
  @inlinable
  public consuming func `in`(_ table: String) -> Statement {
    tree.name(table)
    return self
  }
}

extension Statement where Output == [Model] {
  /// Takes the first row only, or nil when there is none.
  ///
  /// ```swift
  /// Bicycle.read().orderBy(Bicycle.id, .desc).first()     // … ORDER BY "id" DESC LIMIT ?
  /// ```
  @inlinable
  public consuming func first() -> Statement<Model, Model?> {
    tree.takeFirst()
    return Statement<Model, Model?>(tree, rows: rows)
  }
}

// MARK: - Statements of a model

extension Sqlable {
  /// All rows: `SELECT "id", "name", "color" FROM "bicycle"`.
  @inlinable
  public static func read() -> Statement<Self, [Self]> {
    Statement(.select(SelectQuery(of: TableInfo.unchecked(Self.self))))
  }

  /// How many rows there are: `SELECT count(*) FROM "bicycle"`.
  @inlinable
  public static func count() -> Statement<Self, Int> {
    Statement(.select(SelectQuery(.count, of: TableInfo.unchecked(Self.self))))
  }

  /// Whether there is a row: `SELECT EXISTS (SELECT 1 FROM "bicycle")`.
  @inlinable
  public static func exists() -> Statement<Self, Bool> {
    Statement(.select(SelectQuery(.exists, of: TableInfo.unchecked(Self.self))))
  }

  /// The row with that primary key, the values in the order of the key: `SELECT … WHERE "id" = ? LIMIT ?`.
  ///
  /// Running it throws `.misuse` when the model has no primary key, or one of another number of columns.
  @inlinable
  public static func byId(_ key: some SqlValue) -> Statement<Self, Self?> {
    var query = SelectQuery(of: TableInfo.unchecked(Self.self))
    query.filter(SqlExpression(key: key) { try TableInfo.of(Self.self) })
    query.limit = 1
    return Statement(.select(query))
  }

  /// The row with that primary key of several columns, the values in the order of the key.
  ///
  /// ```swift
  /// Seat.byId(12, "A")     // SELECT … FROM "seat" WHERE "row" = ? AND "letter" = ? LIMIT ?
  /// ```
  ///
  /// Running it throws `.misuse` when the model's key has another number of columns.
  @inlinable
  public static func byId(
    _ first: any SqlValue, _ second: any SqlValue, _ others: any SqlValue...
  ) -> Statement<Self, Self?> {
    var query = SelectQuery(of: TableInfo.unchecked(Self.self))
    query.filter(SqlExpression(key: [first, second] + others) { try TableInfo.of(Self.self) })
    query.limit = 1
    return Statement(.select(query))
  }

  /// Stores the struct as a new row and gives its id: `INSERT INTO "bicycle" ("name", "color") VALUES (?, ?)`.
  ///
  /// With columns, only those are written; one whose value is `nil` gets its default. The id is the integer key or rowid,
  /// and 0 when nothing was inserted or the table has no integer id. Running it throws `.constraint` when a rule is broken.
  @inlinable
  public func insert(_ columns: any ColumnConvertible...) -> Statement<Self, Int> {
    Statement(.insert(InsertQuery(.row, into: TableInfo.unchecked(Self.self), writing: columns)), rows: .model(self))
  }

  /// Stores structs that are given when it is run: `Bicycle.insert().run(db, streaming: rows)`.
  @inlinable
  public static func insert() -> Statement<Self, [Int]> {
    Statement(.insert(InsertQuery(.rows, into: TableInfo.unchecked(Self.self))), rows: .models([]))
  }

  /// Stores all structs, in one transaction, and gives their ids in order. When one of them fails none is stored.
  ///
  /// The statement holds them all; more than fit into memory are streamed, see ``insert()``.
  @inlinable
  public static func insert(_ rows: some Sequence<Self>) -> Statement<Self, [Int]> {
    Statement(.insert(InsertQuery(.rows, into: TableInfo.unchecked(Self.self))), rows: .models(Array(rows)))
  }

  /// Stores what a query gives, and gives the number of rows inserted.
  ///
  /// ```swift
  /// Bicycle.insert(from: Bicycle.read().filter(Bicycle.color == "red")).in("archive")
  /// // INSERT INTO "archive" ("id", "name", "color") SELECT "id", "name", "color" FROM "bicycle" WHERE "color" = ?
  /// ```
  @inlinable
  public static func insert(from query: some SelectStatement<Self>) -> Statement<Self, Int> {
    insert([], query.asSelect().query)
  }

  /// Stores what a query of one typed column gives in that column; the others get their defaults.
  @inlinable
  public static func insert<Value>(
    _ column: TypedColumn<Self, Value>, from query: Select<Value>
  ) -> Statement<Self, Int> { insert([column], query.query) }

  /// Stores what a query of typed columns gives in these columns; the others get their defaults.
  ///
  /// ```swift
  /// Car.insert(Car.name, Car.price, from: Boat.select(Boat.name, Boat.price * 2))
  /// // INSERT INTO "car" ("name", "price") SELECT "name", "price" * ? FROM "boat"
  /// ```
  @inlinable
  public static func insert<each Value>(
    _ column: repeat TypedColumn<Self, each Value>, from query: Select<(repeat each Value)>
  ) -> Statement<Self, Int> {
    var columns: [any ColumnConvertible] = []
    repeat columns.append(each column)
    return insert(columns, query.query)
  }

  /// Stores what a query gives in these untyped columns.
  ///
  /// Running it throws `.invalidStatement` when there are more or fewer columns than the query has, and `.encoding` when a
  /// column of another type is stored in one.
  public static func insert(
    _ first: Column, _ others: Column..., from query: some SelectStatement
  ) -> Statement<Self, Int> { insert([first] + others, query.asSelect().query) }

  @usableFromInline
  static func insert(_ columns: [any ColumnConvertible], _ source: SelectQuery) -> Statement<Self, Int> {
    Statement(.insert(InsertQuery(.query, into: TableInfo.unchecked(Self.self), writing: columns, of: source)))
  }

  /// Stores the struct, or updates the row that has its primary key; gives the row's id.
  ///
  /// ```swift
  /// bike.save()     // INSERT INTO "bicycle" (…) VALUES (…) ON CONFLICT ("id") DO UPDATE SET "name" = excluded."name", …
  /// ```
  ///
  /// Columns that the struct leaves out keep what they hold. Running it throws `.misuse` without a primary key.
  @inlinable
  public func save() -> Statement<Self, Int> {
    Statement(.insert(InsertQuery(.save, into: TableInfo.unchecked(Self.self))), rows: .model(self))
  }

  /// Writes the struct to the row that has its primary key, and gives the number of rows changed (0 or 1).
  ///
  /// ```swift
  /// bike.update()                     // UPDATE "bicycle" SET "name" = ?, "color" = ? WHERE "id" = ?
  /// bike.update(Bicycle.ownerId)      // UPDATE "bicycle" SET "owner_id" = ? WHERE "id" = ?
  /// ```
  ///
  /// With columns, only those are written, and one whose value is `nil` is set to NULL; without, columns whose value is
  /// `nil` are left as they are. Running it throws `.misuse` when model or struct has no primary key.
  @inlinable
  public func update(_ columns: any ColumnConvertible...) -> Statement<Self, Int> {
    Statement(.update(UpdateQuery(ofRowIn: TableInfo.unchecked(Self.self), writing: columns)), rows: .model(self))
  }

  /// Deletes the row that has the struct's primary key, and gives the number of rows deleted (0 or 1).
  ///
  /// ```swift
  /// bike.delete()     // DELETE FROM "bicycle" WHERE "id" = ?
  /// ```
  @inlinable
  public func delete() -> Statement<Self, Int> {
    Statement(.delete(DeleteQuery(TableInfo.unchecked(Self.self), isOfRow: true)), rows: .model(self))
  }

  /// Sets columns of all rows, or of those that meet the filter, and gives the number of rows changed.
  ///
  /// ```swift
  /// Bicycle.update(Bicycle.color.set(to: "red")).filter(Bicycle.id > 3)     // UPDATE "bicycle" SET "color" = ? WHERE "id" > ?
  /// ```
  public static func update(_ assignments: Assignment...) -> Statement<Self, Int> {
    Statement(.update(UpdateQuery(TableInfo.unchecked(Self.self), assignments)))
  }

  /// Deletes all rows, and gives their number: `DELETE FROM "bicycle"`.
  @inlinable
  public static func delete() -> Statement<Self, Int> {
    Statement(.delete(DeleteQuery(TableInfo.unchecked(Self.self), isOfRow: false)))
  }

  /// Deletes the rows that meet a condition, and gives their number: `DELETE FROM "bicycle" WHERE "color" = ?`.
  @inlinable
  public static func delete(_ condition: SqlExpression) -> Statement<Self, Int> { delete().filter(condition) }
}

extension SqlExpression {
  /// The condition that a row has this value as its primary key.
  @inlinable
  init(key value: some SqlValue, of table: () throws -> TableInfo) {
    do {
      let column = try table().keyColumn
      let term = column.expression
      guard let type = term.typeOfValues else {
        self = term.combined(.equal, with: value, for: column)
        return
      }
      do { self = term.combined(.equal, in: try value.sqlStorage(in: type)) } catch {
        self.init(invalid: error, of: term)
      }
    } catch { self.init(invalid: error) }
  }

  @usableFromInline
  func combined(_ comparison: BinaryOperator, with value: any SqlValue, for column: Column) -> SqlExpression {
    SqlExpression(.binary(comparison, self, SqlExpression(value, for: column)))
  }

  /// The condition that a row has these values in its primary key.
  @usableFromInline
  init(key values: [any SqlValue], of table: () throws -> TableInfo) {
    do {
      let table = try table()
      try table.checkKey(count: values.count)
      self = .all(
        values.indices.map { index in
          let column = table.columns[table.key[index]]
          return column.expression.combined(.equal, with: values[index], for: column)
        })
    } catch {
      self.init(invalid: error)
    }
  }
}

extension TableInfo {
  /// The column that is the primary key. Throws `.misuse` when it is none, or several.
  @usableFromInline
  var keyColumn: Column {
    get throws {
      try checkKey(count: 1)
      return columns[key[0]]
    }
  }

  fileprivate func checkKey(count: Int) throws {
    guard count != key.count else { return }
    throw SqlError.misuse(
      key.isEmpty
        ? "table \(name) has no primary key to find a row by"
        : "the primary key of table \(name) has \(key.count) columns, not \(count)"
    ).at(table: name)
  }
}
