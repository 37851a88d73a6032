/// A statement that reads or changes the table of `Model`. Creating a statement does not access the database; `run`
/// executes the statement.
///
/// ```swift
/// let reds = Bicycle.read().filter(Bicycle.color == "red").orderBy(Bicycle.name).limit(10)
/// reds.sql
/// // SELECT "id", "name", "color" FROM "bicycle" WHERE "color" = ? ORDER BY "name" LIMIT ?
/// let bikes = try reds.run(db)   // [Bicycle]
/// ```
///
/// A statement is immutable: every modifier returns a new statement. A statement is `Sendable`, `Hashable` and
/// `Codable`. Decoding checks the table and columns against the model.
public struct Statement<Model: Sqlable, Output>: Sendable {
  @usableFromInline package var tree: StatementTree
  @usableFromInline package var rows: StatementRows<Model>

  @inlinable
  package init(_ tree: consuming StatementTree, rows: consuming StatementRows<Model> = .none) {
    self.tree = tree
    self.rows = rows
  }
}

// MARK: - Modifiers

extension Statement {
  /// Keeps the rows that match a condition. Several filters are combined with AND.
  ///
  /// ```swift
  /// Bicycle.read().filter(Bicycle.color == "red").filter(Bicycle.id > 3)     // … WHERE "color" = ? AND "id" > ?
  /// Car.read().filter(Car.isElectric)                                        // … WHERE "is_electric"
  /// ```
  ///
  /// Reads, counts, updates and deletes accept a filter. A row does not match if the condition is NULL.
  @inlinable
  public consuming func filter(_ condition: some SqlCondition) -> Statement {
    tree.filter(condition.expression)
    return self
  }

  /// Orders the rows. A second call orders rows that are equal by the first order.
  ///
  /// ```swift
  /// Bicycle.read().orderBy(Bicycle.color).orderBy(Bicycle.id, .desc)     // … ORDER BY "color", "id" DESC
  /// ```
  @inlinable
  public consuming func orderBy(_ term: some AnyTerm, _ order: Order) -> Statement {
    tree.order(by: [OrderTerm(expression: term.expression, order: order)])
    return self
  }

  /// Orders the rows by several terms: `ORDER BY "color", "id" DESC`.
  // The parameter is a pack because the compiler can't convert an element of a named query's columns to
  // `any OrderingTerm`.
  public consuming func orderBy<each Item: OrderingTerm>(_ item: repeat each Item) -> Statement {
    tree.order(by: Ordering.list(repeat each item).map(\.term))
    return self
  }

  /// Limits the statement to `limit` rows. Running the statement with a negative limit throws `.invalidStatement`.
  ///
  /// ```swift
  /// Bicycle.read().limit(10, offset: 20)                             // … LIMIT ? OFFSET ?
  /// Bicycle.delete().orderBy(Bicycle.id).limit(100)
  /// // DELETE … WHERE "id" IN (SELECT "id" … LIMIT ?)
  /// ```
  @inlinable
  public consuming func limit(_ limit: Int) -> Statement {
    tree.limit(to: limit)
    return self
  }

  /// Limits the statement to `limit` rows after skipping `offset` rows.
  @inlinable
  public consuming func limit(_ limit: Int, offset: Int) -> Statement {
    tree.limit(to: limit)
    tree.skip(offset)
    return self
  }

  /// Skips `offset` rows. Running the statement with a negative offset throws `.invalidStatement`.
  @inlinable
  public consuming func offset(_ offset: Int) -> Statement {
    tree.skip(offset)
    return self
  }

  /// Limits the number of rows by a term without columns, such as a parameter: `LIMIT max(?, 0)`.
  ///
  /// ```swift
  /// let page = try db.prepare(
  ///   Bicycle.read().orderBy(Bicycle.id).limit(Parameter("count"), offset: Parameter("skipped")))
  /// let bikes = try page.run(["count": 10, "skipped": 20])
  /// let purge = try db.prepare(Bicycle.delete().orderBy(Bicycle.id).limit(Parameter("count")))
  /// // DELETE … WHERE "id" IN (SELECT "id" … LIMIT max(?, 0))
  /// ```
  ///
  /// A negative limit is treated as 0. Running the statement throws if the limit is NULL, and throws
  /// `.invalidStatement` if the term contains a column of the query.
  public consuming func limit(_ limit: some TypedTerm<Int>) -> Statement {
    tree.limit(to: limit.expression, skipping: nil)
    return self
  }

  /// Limits the number of rows after skipping rows. Both numbers are terms without columns.
  public consuming func limit(_ limit: some TypedTerm<Int>, offset: some TypedTerm<Int>) -> Statement {
    tree.limit(to: limit.expression, skipping: offset.expression)
    return self
  }

  /// Skips a number of rows, given by a term without columns.
  public consuming func offset(_ offset: some TypedTerm<Int>) -> Statement {
    tree.limit(to: nil, skipping: offset.expression)
    return self
  }

  /// Sets the policy for rows that violate a uniqueness or NOT NULL constraint: `INSERT OR IGNORE`,
  /// `UPDATE OR REPLACE`. The policy `.ignore` also applies to CHECK constraints.
  @inlinable
  public consuming func onConflict(_ policy: ConflictPolicy) -> Statement {
    tree.onConflict(policy)
    return self
  }

  /// Skips rows that violate a uniqueness, NOT NULL or CHECK constraint; a skipped insert returns the id 0.
  @inlinable
  public consuming func ignoreOnConflict() -> Statement { onConflict(.ignore) }

  /// Deletes existing rows that conflict with a new row. Observers are notified of these deletions.
  @inlinable
  public consuming func replaceOnConflict() -> Statement { onConflict(.replace) }

  /// Updates the existing row that has the same value in a unique column, instead of inserting a new row.
  ///
  /// ```swift
  /// bike.insert().onConflict(Bicycle.name, update: Bicycle.color)
  /// // INSERT … ON CONFLICT ("name") DO UPDATE SET "color" = excluded."color"
  /// ```
  ///
  /// If you call this method several times, SQLite applies the first call whose columns conflict. A call that names no
  /// columns must be the last, and skips a row that conflicts in any other column. Running several upserts before
  /// SQLite 3.35 throws `.misuse`.
  ///
  /// ```swift
  /// user.insert().onConflict(User.id, update: User.name).onConflict(User.email).onConflict()
  /// // INSERT … ON CONFLICT ("id") DO UPDATE SET "name" = excluded."name"
  /// //   ON CONFLICT ("email") DO NOTHING ON CONFLICT DO NOTHING
  /// ```
  ///
  /// Without columns to update, the existing row does not change. With a condition, SQLite updates the row only if the
  /// condition is true. The condition can refer to columns of the existing row, and to columns of the new row by
  /// `excluded`.
  public consuming func onConflict(
    _ target: any ColumnConvertible..., update columns: any ColumnConvertible...,
    where condition: (any SqlCondition)? = nil
  ) -> Statement {
    upserting(target, nil, columns, [], condition)
  }

  /// Updates the existing row that has the same value in the columns of a partial unique index. The model declares this
  /// index as `Index(…, unique: true, where: …)`.
  ///
  /// ```swift
  /// user.insert().onConflict(User.email, where: User.deletedAt.isNull, update: User.name)
  /// // INSERT … ON CONFLICT ("email") WHERE "deleted_at" IS NULL DO UPDATE SET "name" = excluded."name"
  /// ```
  ///
  /// The values of the first `where:` become literals, because SQLite compares this condition with the index's WHERE
  /// clause while compiling the statement. If no unique index has these columns and this condition, running the
  /// statement throws `.schema(.mismatch)`.
  // A separate overload, because Swift refuses a call that leaves out the first of two arguments labelled `where`.
  public consuming func onConflict(
    _ target: any ColumnConvertible..., where index: any SqlCondition, update columns: any ColumnConvertible...,
    where condition: (any SqlCondition)? = nil
  ) -> Statement {
    upserting(target, index, columns, [], condition)
  }

  /// Sets columns of the existing row that has the same value in a unique column, instead of inserting a new row.
  ///
  /// ```swift
  /// visit.insert().onConflict(Visit.page, set: Visit.count.set(to: Visit.count + Visit.count.excluded))
  /// // INSERT … ON CONFLICT ("page") DO UPDATE SET "count" = "visit"."count" + "excluded"."count"
  /// ```
  public consuming func onConflict(
    _ target: any ColumnConvertible..., set assignment: Assignment, _ others: Assignment...,
    where condition: (any SqlCondition)? = nil
  ) -> Statement {
    upserting(target, nil, [], [assignment] + others, condition)
  }

  /// Sets columns of the existing row that has the same value in the columns of a partial unique index.
  public consuming func onConflict(
    _ target: any ColumnConvertible..., where index: any SqlCondition, set assignment: Assignment,
    _ others: Assignment..., where condition: (any SqlCondition)? = nil
  ) -> Statement {
    upserting(target, index, [], [assignment] + others, condition)
  }

  private consuming func upserting(
    _ target: [any ColumnConvertible], _ index: (any SqlCondition)?, _ columns: [any ColumnConvertible],
    _ assignments: [Assignment], _ condition: (any SqlCondition)?
  ) -> Statement {
    tree.onConflict(
      Upsert(
        target: target.map { ColumnReference($0.column) }, index: index?.expression,
        columns: columns.map { ColumnReference($0.column) }, assignments: assignments,
        condition: condition?.expression))
    return self
  }
}

extension Statement {
  /// Applies the statement to another table that has the same layout as the model's table.
  ///
  /// ```swift
  /// try db.createTable(Bicycle.self, named: "archive")
  /// try bike.insert().in("archive").run(db)                  // INSERT INTO "archive" (…) VALUES (…)
  /// try Bicycle.read().in("archive").run(db)                 // SELECT … FROM "archive"
  /// ```
  ///
  /// Never take the name from untrusted input. A quoted name can't inject SQL, but could refer to any table.
  @inlinable
  public consuming func `in`(_ table: String) -> Statement {
    tree.name(table)
    return self
  }

  /// Applies the statement to the table of an attached database.
  ///
  /// ```swift
  /// let db = try SqliteDatabase(filepath: path, configuration: .init(attached: ["archive": old]))
  /// try Bicycle.read().in(database: "archive").run(db)       // SELECT … FROM "archive"."bicycle"
  /// try Bicycle.insert(from: Bicycle.read()).in(database: "archive").run(db)
  /// // INSERT INTO "archive"."bicycle" (…) SELECT … FROM "bicycle"
  /// ```
  ///
  /// Without this modifier SQLite searches the handle's own database first, then the attached databases.
  /// `in(database: "main")` restricts the statement to the handle's own database.
  ///
  /// Changes in an attached database do not notify observers. A statement on an attached database can't be encoded,
  /// because each program attaches its own databases. Running the statement throws `.schema(.missingTable)` if the
  /// database is not attached or does not have the table.
  @inlinable
  public consuming func `in`(database: String) -> Statement {
    tree.name(inDatabase: database)
    return self
  }
}

extension Statement where Output == [Model] {
  /// Returns only the first row; nil if no row matches.
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
