// Inserts, updates and deletes that return columns and terms of the changed rows.

/// An insert, update or delete that returns columns and terms of each changed row; see `returning(_:)`.
public struct Returning<Model: Sqlable, Row>: Sendable, Hashable {
  package let change: Statement<Model, [Model]>
  let read: @Sendable (inout ResultRow) throws -> Row

  public static func == (left: Returning, right: Returning) -> Bool { left.change == right.change }

  public func hash(into hasher: inout Hasher) { hasher.combine(change) }
}

extension Returning {
  var terms: [SqlExpression] { if case .terms(let terms) = change.tree.returned { terms } else { [] } }

  private init<Output>(
    _ change: consuming Statement<Model, Output>, _ terms: [SqlExpression],
    _ read: @escaping @Sendable (inout ResultRow) throws -> Row
  ) {
    change.tree.give(.terms(terms))
    self.change = Statement<Model, [Model]>(change.tree, rows: change.rows)
    self.read = read
  }

  package init(decoded change: Statement<Model, [Model]>, _ read: @escaping @Sendable (inout ResultRow) throws -> Row) {
    self.change = change
    self.read = read
  }

  fileprivate init<Output>(_ change: consuming Statement<Model, Output>, _ terms: [SqlExpression])
  where Row: SelectOutput {
    self.init(change, terms) { try Row.next(of: &$0) }
  }

  @usableFromInline
  init<Output, each Value: SelectOutput>(tuples change: consuming Statement<Model, Output>, _ terms: [SqlExpression])
  where Row == (repeat each Value) {
    self.init(change, terms) { (repeat try (each Value).next(of: &$0)) }
  }
}

extension Statement {
  /// Returns a typed column or term of the rows that an insert, update or delete changed.
  public consuming func returning<Term: TypedTerm>(_ term: Term) -> Returning<Model, Term.Value> {
    Returning(self, [term.expression])
  }

  /// Returns untyped columns and terms of the rows that an insert, update or delete changed.
  public consuming func returning(_ first: any SqlTerm, _ others: any SqlTerm...) -> Returning<Model, DynamicRow> {
    Returning(self, [first.expression] + others.map(\.expression))
  }
}

extension Statement {
  /// Returns typed columns and terms of the rows that an insert, update or delete changed, instead of an id or a count.
  ///
  /// ```swift
  /// let gone = try Car.delete(Car.price > 50_000).returning(Car.id, Car.name).run(db)     // [(Int?, String)]
  /// // DELETE FROM "car" WHERE "price" > ? RETURNING "id", "name"
  /// ```
  ///
  /// An insert or update returns the stored values. A delete returns the values before the delete. The order of the
  /// rows is undefined. Running a read with `returning` throws `.invalidStatement`.
  @inlinable
  public consuming func returning<A: TypedTerm, B: TypedTerm>(_ a: A, _ b: B) -> Returning<Model, (A.Value, B.Value)> {
    Returning(tuples: self, [a.expression, b.expression])
  }

  /// Returns any number of typed columns and terms of the changed rows.
  @_disfavoredOverload
  @inlinable
  public consuming func returning<First: TypedTerm, Second: TypedTerm, each Term: TypedTerm>(
    _ first: First, _ second: Second, _ term: repeat each Term
  ) -> Returning<Model, (First.Value, Second.Value, repeat (each Term).Value)> {
    var terms = [first.expression, second.expression]
    for term in repeat each term { terms.append(term.expression) }
    return Returning(tuples: self, terms)
  }
}

extension Statement where Output == Int {
  /// Returns the rows that an insert, update or delete changed, instead of an id or a count.
  ///
  /// ```swift
  /// let stored = try bike.insert().returning().first().run(db)                   // Bicycle?
  /// let gone = try Bicycle.delete(Bicycle.color == "red").returning().run(db)    // [Bicycle]
  /// // DELETE FROM "bicycle" WHERE "color" = ? RETURNING "id", "name", "color"
  /// ```
  ///
  /// An insert or update returns the stored rows, with defaults and generated columns. A delete returns the rows before
  /// the delete. The rows do not contain later changes by triggers. Rows that were skipped because of a conflict are
  /// not returned. The order of the rows is undefined.
  ///
  /// If a row can't be decoded, SQLite rolls the statement back. Running a count with `returning` throws
  /// `.invalidStatement`.
  @inlinable
  public consuming func returning() -> Statement<Model, [Model]> {
    tree.giveRows()
    return Statement<Model, [Model]>(tree, rows: rows)
  }
}

extension Statement where Output == [Int] {
  /// Returns the inserted rows as stored, instead of ids.
  @inlinable
  public consuming func returning() -> Statement<Model, [Model]> {
    tree.giveRows()
    return Statement<Model, [Model]>(tree, rows: rows)
  }
}
