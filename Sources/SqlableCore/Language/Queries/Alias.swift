/// A table or query under another name. A query that reads the same table twice needs an alias.
///
/// ```swift
/// let boss = Alias(Person.self, "boss")
/// let pairs = Person.join(boss, on: Person.bossId == boss[Person.id])     // [(Person, Person)]
/// // SELECT … FROM "person" JOIN "person" AS "boss" ON "person"."boss_id" = "boss"."id"
/// ```
public struct Alias<Model: Sqlable>: Sendable, Hashable {
  package let name: String
  @usableFromInline package let source: SelectQuery.Source

  /// Returns the same table or query under a further name: `"team" AS "other"`.
  public func alias(_ name: String) -> Alias { Alias(name, source.alias(name)) }

  package func hinted(_ hint: IndexHint) -> Alias {
    var source = source
    source.indexHint = hint
    return Alias(name, source)
  }

  private init(_ name: String, _ source: SelectQuery.Source) { (self.name, self.source) = (name, source) }

  /// Names the table of a model, or another table with the same layout.
  ///
  /// ```swift
  /// let old = Alias(Bicycle.self, "old", in: "archive")     // "archive" AS "old"
  /// let other = Alias(Bicycle.self, "other", database: "b") // "b"."bicycle" AS "other", of an attached database
  /// ```
  public init(_ model: Model.Type, _ name: String, in table: String? = nil, database: String? = nil) {
    self.init(name, .table, in: table, database: database)
  }

  /// Names a query that returns the columns of a model: a common table expression.
  ///
  /// ```swift
  /// let team = Alias(Worker.self, "team") { team in
  ///   Worker.read().filter(Worker.id == 1)
  ///     .unionAll(Worker.read().joining(team, on: Worker.bossId == team[Worker.id]))
  /// }
  /// try team.read().run(db)     // [Worker]
  /// // WITH RECURSIVE "team" ("id", "name", …) AS (
  /// //   SELECT … WHERE "id" = ? UNION ALL SELECT … JOIN "team" ON …)
  /// // SELECT "team"."id", "team"."name", … FROM "team"
  /// ```
  ///
  /// The closure receives the alias itself, for recursive queries. Running the statement throws `.invalidStatement` if
  /// the closure's query has a different number of columns than the model.
  ///
  /// With `materialized: true` (`MATERIALIZED`) SQLite computes the rows once. With `false` (`NOT MATERIALIZED`) SQLite
  /// can compute the rows again at each use of the name. Both values need SQLite 3.35.
  public init<Query: SelectStatement>(
    _ model: Model.Type, _ name: String, materialized: Bool? = nil, as query: (Alias) -> Query
  ) {
    self.init(name, .named, defining: query(Alias(name, .named)).asSelect().query, materialized)
  }

  private init(
    _ name: String, _ kind: SelectQuery.Source.Kind, in table: String? = nil, database: String? = nil,
    defining query: SelectQuery? = nil, _ materialized: Bool? = nil
  ) {
    self.name = name
    var source = Model.source()
    source.table = source.table.named(table ?? source.table.name, in: database)
    source.alias = name
    source.kind = kind
    if let query {
      source.define(query)
      source.materialization = materialized.map { .init($0) }
    }
    self.source = source
  }

  /// Returns a typed column of the table under the alias's name.
  public subscript<Value: SqlValue>(_ column: TypedColumn<Model, Value>) -> TypedExpression<Value> {
    TypedExpression(expression: self[column.column])
  }

  /// Returns an untyped column of the table under the alias's name.
  public subscript(_ column: Column) -> SqlExpression {
    SqlExpression(.qualified(alias: name, ColumnReference(column)))
  }

  /// Returns a query of all rows, which you can join, group and combine.
  public func read() -> Select<Model> { Select(SelectQuery(source, results: [.model(0)])) }
}
