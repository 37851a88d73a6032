// Queries of literal rows, and reads of models with a column replaced by a term.

/// A query of literal rows: `VALUES (?, ?), (?, ?)`.
///
/// ```swift
/// let rates = values([("EUR", 1.0), ("USD", 1.08)]).named("rate")
/// let (currency, factor) = rates.columns
/// Car.select(Car.name, currency, Car.price * factor).joining(rates, on: .all([]))
/// // WITH RECURSIVE "rate" ("c1", "c2") AS (VALUES (?, ?), (?, ?)) SELECT "car"."name", "rate"."c1", …
/// ```
///
/// Running a query without rows throws `.invalidStatement`.
// Disfavored: the compiler treats a single value as a one-element tuple.
@_disfavoredOverload
public func values<each Value: SqlValue>(_ rows: [(repeat each Value)]) -> Select<(repeat each Value)> {
  Select(
    tuples: SelectQuery(
      rows: rows.map { row in
        var terms: [SqlExpression] = []
        repeat terms.append(SqlExpression(each row))
        return terms
      }))
}

/// A query of literal values in one column: `VALUES (?), (?), (?)`.
public func values<Value: SqlValue>(_ values: some Sequence<Value>) -> Select<Value> {
  Select(SelectQuery(rows: values.map { [SqlExpression($0)] }))
}

// MARK: - Models with a column replaced by a term

extension Sqlable {
  /// Reads structs with a term instead of a column: `SELECT max("id"), "name" FROM "bicycle"`.
  ///
  /// ```swift
  /// let dearest = Car.read(replacing: Car.price, with: Car.price.max()).groupBy(Car.name)
  /// // SELECT "id", "name", max("price"), … FROM "car" GROUP BY "name"
  /// ```
  ///
  /// With a single `min` or `max`, the other columns are those of its row; with any other aggregate, they come from an
  /// arbitrary row of the group.
  public static func read<Term: TypedTerm>(
    replacing column: TypedColumn<Self, Term.Value>, with term: Term
  ) -> Select<Self> { read(replacing: column.column, term.expression) }

  /// Reads structs with a nullable term instead of a column. NULL throws `.decoding` unless the struct accepts it.
  public static func read<Value, Term: TypedTerm>(
    replacing column: TypedColumn<Self, Value>, with term: Term
  ) -> Select<Self> where Term.Value == Value? { read(replacing: column.column, term.expression) }

  /// Reads structs with an untyped term instead of a column: `SELECT max("id"), "name" FROM "bicycle"`.
  public static func read(replacing column: Column, with term: some SqlTerm) -> Select<Self> {
    read(replacing: column, term.expression)
  }

  private static func read(replacing column: Column, _ term: SqlExpression) -> Select<Self> {
    let replacement = SelectQuery.Replacement(column: ColumnReference(column), term: term)
    return Select(SelectQuery(source(), results: [.model(0, replaced: [replacement])]))
  }
}
