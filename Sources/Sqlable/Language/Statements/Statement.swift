/// Something to be asked of, or done to, the table of `Model`: a value that touches nothing until it is run.
///
/// ```swift
/// let reds = Bicycle.read().filter(Bicycle.color == "red").orderBy(Bicycle.name).limit(10)
/// reds.sql
/// // SELECT "id", "name", "color" FROM "bicycle" WHERE "color" = ? ORDER BY "name" LIMIT ?
/// let bikes = try reds.run(db)   // [Bicycle]
/// ```
///
/// It is immutable: every modifier returns another statement. It is `Sendable`, `Hashable` and `Codable`; decoding
/// checks the table and the columns against the model.
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
  /// Bicycle.delete().orderBy(Bicycle.id).limit(100)
  /// // DELETE … WHERE "id" IN (SELECT "id" … LIMIT ?)
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
