extension Sqlable {
  /// Reads all rows: `SELECT "id", "name", "color" FROM "bicycle"`.
  @inlinable
  public static func read() -> Statement<Self, [Self]> {
    Statement(.select(SelectQuery(of: TableInfo.unchecked(Self.self))))
  }

  /// Reads the rows that match a condition: `read().filter(condition)`.
  @inlinable
  public static func read(_ condition: some SqlCondition) -> Statement<Self, [Self]> { read().filter(condition) }

  /// Counts the rows: `SELECT count(*) FROM "bicycle"`.
  @inlinable
  public static func count() -> Statement<Self, Int> {
    Statement(.select(SelectQuery(.count, of: TableInfo.unchecked(Self.self))))
  }

  /// Counts the rows that match a condition: `count().filter(condition)`.
  @inlinable
  public static func count(_ condition: some SqlCondition) -> Statement<Self, Int> { count().filter(condition) }

  /// Tests whether the table has a row: `SELECT EXISTS (SELECT 1 FROM "bicycle")`.
  @inlinable
  public static func exists() -> Statement<Self, Bool> {
    Statement(.select(SelectQuery(.exists, of: TableInfo.unchecked(Self.self))))
  }

  /// Tests whether a row matches a condition: `exists().filter(condition)`.
  @inlinable
  public static func exists(_ condition: some SqlCondition) -> Statement<Self, Bool> { exists().filter(condition) }

  /// Reads the row with this primary key; nil if no row has the key: `SELECT … WHERE "id" = ? LIMIT ?`.
  ///
  /// Running the statement throws `.misuse` if the model has no primary key, or a key of several columns.
  @inlinable
  public static func byId(_ key: some SqlValue) -> Statement<Self, Self?> {
    Statement(.select(SelectQuery(of: TableInfo.reference(Self.self), key: key)))
  }

  /// Reads the row with this primary key of several columns; nil if no row has the key. Pass the values in the order of
  /// the key's columns.
  ///
  /// ```swift
  /// Seat.byId(12, "A")     // SELECT … FROM "seat" WHERE "row" = ? AND "letter" = ? LIMIT ?
  /// ```
  ///
  /// Running the statement throws `.misuse` if the model's key has a different number of columns.
  @inlinable
  public static func byId(
    _ first: any SqlValue, _ second: any SqlValue, _ others: any SqlValue...
  ) -> Statement<Self, Self?> {
    let table = TableInfo.unchecked(Self.self)
    var query = SelectQuery(of: table)
    query.filter(SqlExpression(key: [first, second] + others, of: table))
    query.limit = 1
    return Statement(.select(query))
  }

  /// Inserts the struct as a new row and returns the row's id: `INSERT INTO "bicycle" ("name", "color") VALUES (?, ?)`.
  ///
  /// If you pass columns, the statement writes only these columns. A column that the struct leaves out gets the
  /// column's default. The id is the integer key or rowid. The id is 0 if nothing was inserted or the table has no
  /// integer id. Running the statement throws `.constraint` when the row violates a constraint.
  @inlinable
  public func insert(_ columns: any ColumnConvertible...) -> Statement<Self, Int> {
    let table = TableInfo.reference(Self.self)
    guard columns.isEmpty else {
      return Statement(
        .insert(InsertQuery(.row, into: table.takeUnretainedValue(), writing: columns)), rows: .model(self))
    }
    return Statement(.insert(InsertQuery(.row, into: table)), rows: .model(self))
  }

  /// Inserts a row with the default of every column, and returns the row's id.
  ///
  /// ```swift
  /// let id = try Ticket.insertDefaults().run(db)     // INSERT INTO "ticket" DEFAULT VALUES
  /// ```
  ///
  /// A column without a default becomes NULL, and an integer primary key gets an unused id. Running the statement
  /// throws `.constraint` if any other column without a default is NOT NULL. The statement accepts `returning()` and
  /// `ignoreOnConflict()` like any insert. The statement rejects an upsert, because an upsert needs a column.
  public static func insertDefaults() -> Statement<Self, Int> {
    Statement(.insert(InsertQuery(.row, into: TableInfo.unchecked(Self.self))), rows: .stored([StoredRow()]))
  }

  /// Inserts structs that are passed when the statement runs: `Bicycle.insert().run(db, streaming: rows)`.
  @inlinable
  public static func insert() -> Statement<Self, [Int]> {
    Statement(.insert(InsertQuery(.rows, into: TableInfo.unchecked(Self.self))), rows: .models([]))
  }

  /// Inserts all structs in one transaction and returns the ids in the same order. If one insert fails, no struct is
  /// stored.
  ///
  /// ```swift
  /// Bicycle.insert(bikes)                    // INSERT INTO "bicycle" ("name", "color") VALUES (?, ?)
  /// Bicycle.insert(bikes, Bicycle.name)      // INSERT INTO "bicycle" ("name") VALUES (?)
  /// ```
  ///
  /// If you pass columns, the statement writes only these columns, and other columns get their defaults. The statement
  /// keeps all structs in memory. To insert a large number of structs, stream the structs with ``insert()``.
  @inlinable
  public static func insert(
    _ rows: some Sequence<Self>, _ columns: any ColumnConvertible...
  ) -> Statement<Self, [Int]> {
    Statement(
      .insert(InsertQuery(.rows, into: TableInfo.unchecked(Self.self), writing: columns)), rows: .models(Array(rows)))
  }

  /// Inserts the rows of a query and returns the number of rows inserted. Generated columns are not inserted.
  ///
  /// ```swift
  /// Bicycle.insert(from: Bicycle.read().filter(Bicycle.color == "red")).in("archive")
  /// // INSERT INTO "archive" ("id", "name", "color") SELECT "id", "name", "color" FROM "bicycle" WHERE "color" = ?
  /// ```
  @inlinable
  public static func insert(from query: some SelectStatement<Self>) -> Statement<Self, Int> {
    insert([], query.asSelect().query)
  }

  /// Inserts a query's values into one typed column; the other columns get their defaults.
  @inlinable
  public static func insert<Value>(
    _ column: TypedColumn<Self, Value>, from query: Select<Value>
  ) -> Statement<Self, Int> { insert([column], query.query) }

  /// Inserts a query's values into these typed columns; the other columns get their defaults.
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

  /// Inserts a query's values into these untyped columns; the other columns get their defaults.
  ///
  /// Running the statement throws `.invalidStatement` if the query has a different number of columns. Running the
  /// statement throws `.encoding` if the type of a query's column does not fit the target column.
  public static func insert(
    _ first: Column, _ others: Column..., from query: some SelectStatement
  ) -> Statement<Self, Int> { insert([first] + others, query.asSelect().query) }

  @usableFromInline
  static func insert(_ columns: [any ColumnConvertible], _ source: SelectQuery) -> Statement<Self, Int> {
    Statement(.insert(InsertQuery(.query, into: TableInfo.unchecked(Self.self), writing: columns, of: source)))
  }

  /// Inserts the struct, or updates the row with the struct's primary key, and returns the row's id.
  ///
  /// ```swift
  /// bike.save()
  /// // INSERT INTO "bicycle" (…) VALUES (…) ON CONFLICT ("id") DO UPDATE SET "name" = excluded."name", …
  /// ```
  ///
  /// In an existing row, columns that the struct leaves out keep their values. Running the statement throws `.misuse`
  /// if the model has no primary key.
  @inlinable
  public func save() -> Statement<Self, Int> {
    Statement(.insert(InsertQuery(.save, into: TableInfo.reference(Self.self))), rows: .model(self))
  }

  /// Updates the row with the struct's primary key and returns the number of rows changed (0 or 1).
  ///
  /// ```swift
  /// bike.update()                     // UPDATE "bicycle" SET "name" = ?, "color" = ? WHERE "id" = ?
  /// bike.update(Bicycle.ownerId)      // UPDATE "bicycle" SET "owner_id" = ? WHERE "id" = ?
  /// ```
  ///
  /// If you pass columns, the statement writes only these columns, and a column that the struct leaves out becomes
  /// NULL. If you pass no columns, a column that the struct leaves out keeps its value. Running the statement throws
  /// `.misuse` if the model or struct has no primary key.
  @inlinable
  public func update(_ columns: any ColumnConvertible...) -> Statement<Self, Int> {
    let table = TableInfo.reference(Self.self)
    guard columns.isEmpty else {
      return Statement(.update(UpdateQuery(ofRowIn: table.takeUnretainedValue(), writing: columns)), rows: .model(self))
    }
    return Statement(.update(UpdateQuery(ofRowIn: table)), rows: .model(self))
  }

  /// Deletes the row with the struct's primary key and returns the number of rows deleted (0 or 1).
  ///
  /// ```swift
  /// bike.delete()     // DELETE FROM "bicycle" WHERE "id" = ?
  /// ```
  @inlinable
  public func delete() -> Statement<Self, Int> {
    Statement(.delete(DeleteQuery(ofRowIn: TableInfo.reference(Self.self))), rows: .model(self))
  }

  /// Updates columns of the rows that a filter or limit selects, and returns the number of rows changed.
  ///
  /// ```swift
  /// Bicycle.update(Bicycle.color.set(to: "red")).filter(Bicycle.id > 3)
  /// // UPDATE "bicycle" SET "color" = ? WHERE "id" > ?
  /// ```
  ///
  /// Running the statement without a filter or limit throws `.misuse`. To update every row, use ``updateAll(_:)``.
  public static func update(_ assignments: Assignment...) -> Statement<Self, Int> {
    Statement(.update(UpdateQuery(TableInfo.unchecked(Self.self), assignments)))
  }

  /// Sets columns to a struct's values in the rows that a filter or limit selects, and returns the number of rows
  /// changed.
  ///
  /// ```swift
  /// Bicycle.update(Bicycle.color, Bicycle.ownerId, from: bike).filter(Bicycle.id > 3)
  /// // UPDATE "bicycle" SET "color" = ?, "owner_id" = ? WHERE "id" > ?
  /// ```
  ///
  /// A column that the struct leaves out is set to NULL. Running the statement without a filter or limit throws
  /// `.misuse`.
  public static func update(
    _ first: any ColumnConvertible, _ others: any ColumnConvertible..., from row: Self
  ) -> Statement<Self, Int> {
    let table = TableInfo.unchecked(Self.self)
    let insert = Statement<Self, Int>(.insert(InsertQuery(.row, into: table)), rows: .model(row))
    let columns = [first] + others
    // Convert only the values that the statement writes, because any other value must not cause an error.
    let written = WrittenColumns.positions(columns.compactMap { table.position(named: $0.column.name) })
    let values = Result { try StoredRow.rows(of: [row], in: insert.tree.table, written: written).first }
    let assignments = columns.map { column in
      let value: SqlExpression
      switch values {
      case .success(let values): value = SqlExpression(values?[column.column.name] ?? .null)
      case .failure(let error): value = SqlExpression(invalid: error, column: column.column)
      }
      return Assignment(column: ColumnReference(column.column), value: value)
    }
    return Statement(.update(UpdateQuery(table, assignments)))
  }

  /// Updates columns of every row and returns the number of rows changed.
  ///
  /// ```swift
  /// Bicycle.updateAll(Bicycle.color.set(to: "red"))     // UPDATE "bicycle" SET "color" = ?
  /// ```
  ///
  /// Running the statement with a filter, order or limit throws `.misuse`.
  public static func updateAll(_ assignments: Assignment...) -> Statement<Self, Int> {
    Statement(.update(UpdateQuery(TableInfo.unchecked(Self.self), assignments, .all)))
  }

  /// Deletes the rows that a filter or limit selects, and returns the number of rows deleted.
  ///
  /// ```swift
  /// Bicycle.delete().orderBy(Bicycle.id).limit(100)
  /// ```
  ///
  /// Running the statement without a filter or limit throws `.misuse`. To delete every row, use ``deleteAll()``.
  @inlinable
  public static func delete() -> Statement<Self, Int> {
    Statement(.delete(DeleteQuery(TableInfo.unchecked(Self.self), .selected)))
  }

  /// Deletes every row and returns the number of rows deleted: `DELETE FROM "bicycle"`.
  ///
  /// Running the statement with a filter, order or limit throws `.misuse`.
  @inlinable
  public static func deleteAll() -> Statement<Self, Int> {
    Statement(.delete(DeleteQuery(TableInfo.unchecked(Self.self), .all)))
  }

  /// Deletes the rows that match a condition and returns the number of rows deleted:
  /// `DELETE FROM "bicycle" WHERE "color" = ?`.
  @inlinable
  public static func delete(_ condition: some SqlCondition) -> Statement<Self, Int> { delete().filter(condition) }
}

extension SelectQuery {
  @inlinable
  init(of reference: Unmanaged<TableInfo>, key value: some SqlValue) {
    if let integer = value as? Int, reference._withUnsafeGuaranteedRef({ $0.keyPlaces.isInteger }) {
      self.init(of: reference, integerKey: Int64(integer))
      return
    }
    let table = reference.takeUnretainedValue()
    if let type = table.typeOfKey, let stored = try? value.databaseValue(in: type), type.comparesKey(with: stored) {
      self.init(of: table, storedKey: stored)
    } else {
      self.init(of: table)
      filter(SqlExpression(key: [value], of: table))
      limit = 1
    }
  }
}

extension ColumnType {
  @usableFromInline
  func comparesKey(with value: DatabaseValue) -> Bool {
    (try? value.checked()) != nil && compares(with: value.storageClass)
  }
}

extension SqlExpression {
  private func combined(_ comparison: BinaryOperator, with value: any SqlValue, for column: Column) -> SqlExpression {
    SqlExpression(.binary(comparison, self, SqlExpression(value, for: column, comparison.side)))
  }

  @usableFromInline
  init(key values: [any SqlValue], of table: TableInfo) {
    do {
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
  /// The type of the primary key's only column. Nil for a key of no or several columns, and for a column of decimals or
  /// whole seconds, because such a column can be compared with values that the column can't store.
  @usableFromInline
  var typeOfKey: ColumnType? {
    guard key.count == 1, case let type = cells[key[0]].type, !type.comparesInAnotherForm else { return nil }
    return type
  }

  fileprivate func checkKey(count: Int) throws {
    guard count != key.count else { return }
    throw SqlError.misuse(
      key.isEmpty
        ? "table \(name) has no primary key to identify a row"
        : "the primary key of table \(name) has \(key.count) columns, but \(count) values were given"
    ).at(table: name)
  }
}
