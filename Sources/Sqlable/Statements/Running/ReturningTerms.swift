// Changes that give columns and terms of the rows that they changed.

/// A change that gives columns and terms of the rows that it changed, a tuple for each; see `returning(_:)`.
public struct Returning<Model: Sqlable, each Output: SelectOutput>: Sendable, Hashable {
  fileprivate let change: Statement<Model, [Model]>
}

/// A change that gives one column or term of the rows that it changed; see `returning(_:)`.
public struct SingleReturning<Model: Sqlable, Output: SelectOutput>: Sendable, Hashable {
  fileprivate let change: Statement<Model, [Model]>
}

extension Statement {
  /// Gives typed columns and terms of the rows that an insert, update or delete changed, instead of an id or a number.
  ///
  /// ```swift
  /// let gone = try Car.delete(Car.price > 50_000).returning(Car.id, Car.name).run(db)     // [(Int?, String)]
  /// // DELETE FROM "car" WHERE "price" > ? RETURNING "id", "name"
  /// ```
  ///
  /// The rows are as they are stored; those that were deleted as they were. Their order is SQLite's. Running it on a read
  /// throws `.invalidStatement`.
  public func returning<each Term: TypedTerm>(_ term: repeat each Term) -> Returning<Model, repeat (each Term).Value> {
    var terms: [SqlExpression] = []
    for term in repeat each term { terms.append(term.expression) }
    return Returning(change: giving(terms))
  }

  /// Gives a typed column or term of the rows that an insert, update or delete changed.
  public func returning<Term: TypedTerm>(_ term: Term) -> SingleReturning<Model, Term.Value> {
    SingleReturning(change: giving([term.expression]))
  }

  /// Gives untyped columns and terms of the rows that an insert, update or delete changed.
  public func returning(_ first: any SqlTerm, _ others: any SqlTerm...) -> SingleReturning<Model, DynamicRow> {
    SingleReturning(change: giving([first.expression] + others.map(\.expression)))
  }

  private func giving(_ terms: [SqlExpression]) -> Statement<Model, [Model]> {
    var query = query
    query.returns = true
    query.returned = terms
    return Statement<Model, [Model]>(query, rows: rows)
  }
}

extension Returning {
  /// The SQL, with `?` for every value.
  public var sql: String { change.sql }

  /// Runs the change as one: when a value does not fit its type nothing is changed.
  @discardableResult
  public func run(_ db: SqliteDatabase) throws -> [(repeat each Output)] {
    var rows: [(repeat each Output)] = []
    try change.returnTerms(db) { row in rows.append((repeat try (each Output).next(of: &row))) }
    return rows
  }
}

extension SingleReturning {
  /// The SQL, with `?` for every value.
  public var sql: String { change.sql }

  /// Runs the change as one: when a value does not fit its type nothing is changed.
  @discardableResult
  public func run(_ db: SqliteDatabase) throws -> [Output] {
    var rows: [Output] = []
    try change.returnTerms(db) { row in rows.append(try Output.next(of: &row)) }
    return rows
  }
}

extension Statement where Output == [Model] {
  fileprivate func returnTerms(_ db: SqliteDatabase, _ body: (inout ResultRow) throws -> Void) throws {
    let table = try query.table(of: Model.self)
    let layout = ResultLayout(
      query.returned.map { _ in Column.unknown.identity }, types: query.returned.map { $0.columnDefinition?.type })
    var index = 0
    let count = rows.count
    try db.change(query, of: table) { statement in
      statement.expect(layout)
    } read: { statement in
      var row = ResultRow(ReadRow(statement), types: layout.types)
      try body(&row)
    } take: { writer in
      guard index < count else { return false }
      index += 1
      return try rows.take(index - 1, into: &writer)
    }
  }
}
