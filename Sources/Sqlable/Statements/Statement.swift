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
  @usableFromInline var query: Query
  /// The structs that are inserted, updated or deleted.
  @usableFromInline var rows: StatementRows<Model>

  @inlinable
  init(_ query: consuming Query, rows: consuming StatementRows<Model> = .none) {
    self.query = query
    self.rows = rows
  }
}

/// The rows that a statement carries: as structs, so that running it converts nothing twice, or as they were decoded.
@usableFromInline
enum StatementRows<Model: Sqlable>: Sendable {
  case none
  case model(Model)
  case models([Model])
  case stored([StoredRow])
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
    if let earlier = query.filter { query.filter = earlier && condition } else { query.filter = condition }
    return self
  }

  /// Orders the rows; a second call orders those that are equal by the first.
  ///
  /// ```swift
  /// Bicycle.read().orderBy(Bicycle.color).orderBy(Bicycle.id, .desc)     // … ORDER BY "color", "id" DESC
  /// ```
  @inlinable
  public consuming func orderBy(_ term: some SqlTerm, _ order: Order = .asc) -> Statement {
    query.order.append(OrderTerm(expression: term.expression, order: order))
    return self
  }

  /// Orders the rows by a typed column or expression.
  @inlinable
  public consuming func orderBy(_ term: some TypedTerm, _ order: Order = .asc) -> Statement {
    query.order.append(OrderTerm(expression: term.expression, order: order))
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
    query.limit = limit
    return self
  }

  /// Takes at most `limit` rows after skipping `offset`.
  @inlinable
  public consuming func limit(_ limit: Int, offset: Int) -> Statement {
    query.limit = limit
    query.offset = offset
    return self
  }

  /// Skips `offset` rows. Running it with an offset below zero throws `.invalidStatement`.
  @inlinable
  public consuming func offset(_ offset: Int) -> Statement {
    query.offset = offset
    return self
  }

  /// Says what happens to a row that breaks a uniqueness rule: `INSERT OR IGNORE`, `UPDATE OR REPLACE`.
  @inlinable
  public consuming func onConflict(_ policy: ConflictPolicy) -> Statement {
    query.conflict = policy
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
  /// Without columns to update the row is left as it is.
  public consuming func onConflict(
    _ target: any ColumnConvertible..., update columns: any ColumnConvertible...
  ) -> Statement {
    query.upsert = Upsert(
      target: target.map { ColumnReference($0.column) }, columns: columns.map { ColumnReference($0.column) })
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
    if query.returns { return Statement<Model, Model?>(query, rows: rows) }
    query.kind = .first
    query.limit = query.limit.map { min($0, 1) } ?? 1
    return Statement<Model, Model?>(query)
  }
}

// MARK: - Statements of a model

extension Sqlable {
  /// All rows: `SELECT "id", "name", "color" FROM "bicycle"`.
  @inlinable
  public static func read() -> Statement<Self, [Self]> { Statement(Query(.read)) }

  /// How many rows there are: `SELECT count(*) FROM "bicycle"`.
  @inlinable
  public static func count() -> Statement<Self, Int> { Statement(Query(.count)) }

  /// Whether there is a row: `SELECT EXISTS (SELECT 1 FROM "bicycle")`.
  @inlinable
  public static func exists() -> Statement<Self, Bool> { Statement(Query(.exists)) }

  /// The row with that primary key, the values in the order of the key: `SELECT … WHERE "id" = ? LIMIT ?`.
  ///
  /// Running it throws `.misuse` when the model has no primary key, or one of another number of columns.
  @inlinable
  public static func byId(_ key: any SqlValue...) -> Statement<Self, Self?> {
    var query = Query(.first)
    query.filter = SqlExpression(key: key) { try TableInfo.of(Self.self) }
    query.limit = 1
    return Statement(query)
  }

  /// Stores the struct as a new row and gives its id: `INSERT INTO "bicycle" ("name", "color") VALUES (?, ?)`.
  ///
  /// With columns, only those are written; one whose value is `nil` gets its default. The id is the integer key or rowid,
  /// and 0 when nothing was inserted or the table has no integer id. Running it throws `.constraint` when a rule is broken.
  @inlinable
  public func insert(_ columns: any ColumnConvertible...) -> Statement<Self, Int> {
    Statement(Query(.insert, writing: columns), rows: .model(self))
  }

  /// Stores structs that are given when it is run: `Bicycle.insert().run(db, streaming: rows)`.
  @inlinable
  public static func insert() -> Statement<Self, [Int]> { Statement(Query(.insertMany), rows: .models([])) }

  /// Stores all structs, in one transaction, and gives their ids in order. When one of them fails none is stored.
  ///
  /// The statement holds them all; more than fit into memory are streamed, see ``insert()``.
  @inlinable
  public static func insert(_ rows: some Sequence<Self>) -> Statement<Self, [Int]> {
    Statement(Query(.insertMany), rows: .models(Array(rows)))
  }

  /// Stores the struct, or updates the row that has its primary key; gives the row's id.
  ///
  /// ```swift
  /// bike.save()     // INSERT INTO "bicycle" (…) VALUES (…) ON CONFLICT ("id") DO UPDATE SET "name" = excluded."name", …
  /// ```
  ///
  /// Columns that the struct leaves out keep what they hold. Running it throws `.misuse` without a primary key.
  @inlinable
  public func save() -> Statement<Self, Int> { Statement(Query(.save), rows: .model(self)) }

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
    Statement(Query(.update, writing: columns), rows: .model(self))
  }

  /// Deletes the row that has the struct's primary key, and gives the number of rows deleted (0 or 1).
  ///
  /// ```swift
  /// bike.delete()     // DELETE FROM "bicycle" WHERE "id" = ?
  /// ```
  @inlinable
  public func delete() -> Statement<Self, Int> { Statement(Query(.deleteRow), rows: .model(self)) }

  /// Sets columns of all rows, or of those that meet the filter, and gives the number of rows changed.
  ///
  /// ```swift
  /// Bicycle.update(Bicycle.color.set(to: "red")).filter(Bicycle.id > 3)     // UPDATE "bicycle" SET "color" = ? WHERE "id" > ?
  /// ```
  public static func update(_ assignments: Assignment...) -> Statement<Self, Int> {
    var query = Query(.assign)
    query.assignments = assignments
    return Statement(query)
  }

  /// Deletes all rows, and gives their number: `DELETE FROM "bicycle"`.
  @inlinable
  public static func delete() -> Statement<Self, Int> { Statement(Query(.delete)) }

  /// Deletes the rows that meet a condition, and gives their number: `DELETE FROM "bicycle" WHERE "color" = ?`.
  @inlinable
  public static func delete(_ condition: SqlExpression) -> Statement<Self, Int> { delete().filter(condition) }
}

extension SqlExpression {
  /// The condition that a row has these values in its primary key.
  @usableFromInline
  init(key values: [any SqlValue], of table: () throws -> TableInfo) {
    do {
      let table = try table()
      guard values.count == table.key.count else {
        throw SqlError.misuse(
          table.key.isEmpty
            ? "table \(table.name) has no primary key to find a row by"
            : "the primary key of table \(table.name) has \(table.key.count) columns, not \(values.count)"
        ).at(table: table.name)
      }
      func term(_ index: Int) -> SqlExpression {
        let column = table.columns[table.key[index]]
        return SqlExpression(.binary(.equal, column.expression, SqlExpression(values[index], for: column)))
      }
      self = values.count == 1 ? term(0) : .all(values.indices.map(term))
    } catch {
      self.init(invalid: error)
    }
  }
}
