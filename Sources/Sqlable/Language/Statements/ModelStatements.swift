// What a model and its structs give statements by.

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
  /// With columns, only those are written; one whose value is `nil` gets its default. The id is the integer key or
  /// rowid, and 0 when nothing was inserted or the table has no integer id. Running it throws `.constraint` when a rule
  /// is broken.
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
  /// Running it throws `.invalidStatement` when there are more or fewer columns than the query has, and `.encoding`
  /// when a column of another type is stored in one.
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
  /// bike.save()
  /// // INSERT INTO "bicycle" (…) VALUES (…) ON CONFLICT ("id") DO UPDATE SET "name" = excluded."name", …
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
  /// Bicycle.update(Bicycle.color.set(to: "red")).filter(Bicycle.id > 3)
  /// // UPDATE "bicycle" SET "color" = ? WHERE "id" > ?
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
      do { self = term.combined(.equal, in: try value.databaseValue(in: type)) } catch {
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
