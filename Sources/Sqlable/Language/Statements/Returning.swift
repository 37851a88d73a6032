// Changes that give columns and terms of the rows that they changed.

/// A change that gives columns and terms of the rows that it changed, a row of them for each; see `returning(_:)`.
public struct Returning<Model: Sqlable, Row>: Sendable, Hashable {
  fileprivate let change: Statement<Model, [Model]>
  fileprivate let read: @Sendable (inout ResultRow) throws -> Row

  public static func == (left: Returning, right: Returning) -> Bool { left.change == right.change }

  public func hash(into hasher: inout Hasher) { hasher.combine(change) }
}

extension Returning {
  /// The change, giving these terms.
  private init<Output>(
    _ change: consuming Statement<Model, Output>, _ terms: [SqlExpression],
    _ read: @escaping @Sendable (inout ResultRow) throws -> Row
  ) {
    change.query.returns = true
    change.query.returned = terms
    self.change = Statement<Model, [Model]>(change.query, rows: change.rows)
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
  /// Gives a typed column or term of the rows that an insert, update or delete changed.
  public consuming func returning<Term: TypedTerm>(_ term: Term) -> Returning<Model, Term.Value> {
    Returning(self, [term.expression])
  }

  /// Gives untyped columns and terms of the rows that an insert, update or delete changed.
  public consuming func returning(_ first: any SqlTerm, _ others: any SqlTerm...) -> Returning<Model, DynamicRow> {
    Returning(self, [first.expression] + others.map(\.expression))
  }
}

extension Returning {
  /// The SQL, with `?` for every value.
  public var sql: String { change.sql }

  /// Runs the change as one: when a value does not fit its type nothing is changed.
  @discardableResult
  public func run(_ db: SqliteDatabase) throws -> [Row] {
    let layout = ResultLayout(change.query.returned.map { ResultColumn(type: $0.columnDefinition?.type) })
    var rows: [Row] = []
    try change.returned(db, change.query.table(of: Model.self)) { statement in
      statement.expect(layout)
    } read: { statement in
      var row = ResultRow(ReadRow(statement), types: layout.types)
      rows.append(try read(&row))
    }
    return rows
  }
}
