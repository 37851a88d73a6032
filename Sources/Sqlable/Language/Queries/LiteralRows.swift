// Queries of rows that they bring along.

/// Rows of values as a query: `VALUES (?, ?), (?, ?)`.
///
/// ```swift
/// let rates = values([("EUR", 1.0), ("USD", 1.08)]).named("rate")
/// let (currency, factor) = rates.columns
/// Car.select(Car.name, currency, Car.price * factor).joining(rates, on: .all([]))
/// // WITH RECURSIVE "rate" ("c1", "c2") AS (VALUES (?, ?), (?, ?)) SELECT "car"."name", "rate"."c1", …
/// ```
///
/// Running a query of no rows throws `.invalidStatement`.
// Disfavored: a value is a tuple of one to the compiler.
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

/// Values as a query of one column: `VALUES (?), (?), (?)`.
public func values<Value: SqlValue>(_ values: some Sequence<Value>) -> Select<Value> {
  Select(SelectQuery(rows: values.map { [SqlExpression($0)] }))
}

// MARK: - Models with something else in the place of a column

extension Sqlable {
  /// Reads structs with a term in the place of a column: `SELECT max("id"), "name" FROM "bicycle"`.
  ///
  /// ```swift
  /// let dearest = Car.read(replacing: Car.price, with: Car.price.max()).groupBy(Car.name)
  /// // SELECT "id", "name", max("price"), … FROM "car" GROUP BY "name"
  /// ```
  ///
  /// Beside one `min` or `max` the other columns are those of its row; beside any other aggregate they are of any row of the
  /// group.
  public static func read<Term: TypedTerm>(
    replacing column: TypedColumn<Self, Term.Value>, with term: Term
  ) -> Select<Self> { read(replacing: column.column, term.expression) }

  /// Reads structs with a term that may be NULL in the place of a column; NULL throws `.decoding` where the struct has none.
  public static func read<Value, Term: TypedTerm>(
    replacing column: TypedColumn<Self, Value>, with term: Term
  ) -> Select<Self> where Term.Value == Value? { read(replacing: column.column, term.expression) }

  /// Reads structs with a term in the place of a column: `SELECT max("id"), "name" FROM "bicycle"`.
  public static func read(replacing column: Column, with term: some SqlTerm) -> Select<Self> {
    read(replacing: column, term.expression)
  }

  private static func read(replacing column: Column, _ term: SqlExpression) -> Select<Self> {
    let replacement = SelectQuery.Replacement(column: ColumnReference(column), term: term)
    return Select(SelectQuery(source(), results: [.model(0, replaced: [replacement])]))
  }
}
