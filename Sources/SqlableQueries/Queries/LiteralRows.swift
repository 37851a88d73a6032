// Queries of literal rows, and reads that return a term in place of a model's column.

import SqlableCore

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
// Disfavored, so that the compiler does not treat single values as one-element tuples.
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

/// A query of rows of terms: `VALUES (?, ? + ?), (…)`.
///
/// ```swift
/// let rates = values([
///   rowValue(TypedExpression("EUR"), Parameter<Double>("eur")),
///   rowValue(TypedExpression("USD"), TypedExpression(1.08)),
/// ]).named("rate")
/// // WITH RECURSIVE "rate" ("c1", "c2") AS (VALUES (?, ?), (?, ?)) …
/// ```
///
/// A term can be a constant, a parameter, a subquery, or a function of other terms. Inside another query, a term can
/// also refer to that query's columns. Running the query throws `.schema` for any other column, and `.invalidStatement`
/// if the query has no rows.
// The function uses a closure, because Swift's runtime can't make a key path of a type with a parameter pack.
@_disfavoredOverload
public func values<each Value: SqlValue>(_ rows: [TermRow<repeat each Value>]) -> Select<(repeat each Value)> {
  Select(tuples: SelectQuery(rows: rows.map { $0.terms }))
}

/// A query of terms in one column: `VALUES (?), (? + ?)`.
public func values<Term: TypedTerm>(_ terms: some Sequence<Term>) -> Select<Term.Value> {
  Select(SelectQuery(rows: terms.map { [$0.expression] }))
}

// MARK: - Reads that replace a column with a term

extension Sqlable {
  /// Reads structs with a term instead of a column: `SELECT max("id"), "name" FROM "bicycle"`.
  ///
  /// ```swift
  /// let dearest = Car.read(replacing: Car.price, with: Car.price.max()).groupBy(Car.name)
  /// // SELECT "id", "name", max("price"), … FROM "car" GROUP BY "name"
  /// ```
  ///
  /// With a single `min` or `max`, SQLite reads the other columns from the row with the least or greatest value. With
  /// any other aggregate, SQLite reads the other columns from an arbitrary row of the group.
  public static func read<Term: TypedTerm>(
    replacing column: TypedColumn<Self, Term.Value>, with term: Term
  ) -> Select<Self> { read([(column.column, term.expression)]) }

  /// Reads structs, with a nullable term in the place of one column. NULL throws `.decoding` unless the property is
  /// optional.
  public static func read<Value, Term: TypedTerm>(
    replacing column: TypedColumn<Self, Value>, with term: Term
  ) -> Select<Self> where Term.Value == Value? { read([(column.column, term.expression)]) }

  /// Reads structs with an untyped term instead of a column: `SELECT max("id"), "name" FROM "bicycle"`.
  public static func read(replacing column: Column, with term: some SqlTerm) -> Select<Self> {
    read([(column, term.expression)])
  }

  /// Reads structs with terms instead of several columns.
  ///
  /// ```swift
  /// let totals = Car.read(replacing: [Car.price: Car.price.max(), Car.soldAt: Car.soldAt.max()]).groupBy(Car.name)
  /// // SELECT "id", "name", max("price"), "is_electric", max("sold_at") FROM "car" GROUP BY "name"
  /// ```
  ///
  /// The compiler does not compare the types of columns and terms: reading a value that does not fit the property
  /// throws `.decoding`. Running the query throws `.invalidStatement` if a column occurs twice.
  public static func read(replacing terms: KeyValuePairs<any ColumnConvertible, any AnyTerm>) -> Select<Self> {
    read(terms.map { ($0.key.column, $0.value.expression) })
  }

  /// Reads structs with only some columns. For every other column, the struct gets the column's default, or NULL.
  ///
  /// ```swift
  /// let bikes = try Bicycle.read(only: Bicycle.id, Bicycle.name).run(db)
  /// // SELECT "id", "name", 'black', NULL FROM "bicycle"
  /// ```
  ///
  /// Use this method to leave out large columns, such as a photo. Never save these structs, because an update would
  /// overwrite the columns that were not read. Running the query throws `.invalidStatement` if a left-out column
  /// outside the key can't be NULL and has no default.
  public static func read(only first: any ColumnConvertible, _ others: any ColumnConvertible...) -> Select<Self> {
    let readColumns = ([first] + others).map { ColumnReference($0.column) }
    return read(naming: readColumns) { !readColumns.contains($0) }
  }

  /// Reads structs without some columns. For these columns, the struct gets the column's default, or NULL.
  ///
  /// ```swift
  /// let photos = try Photo.read(without: Photo.image).run(db)     // SELECT "id", "title", NULL FROM "photo"
  /// ```
  ///
  /// As with ``read(only:_:)``, a left-out column outside the key must be nullable or have a default.
  public static func read(without first: any ColumnConvertible, _ others: any ColumnConvertible...) -> Select<Self> {
    let unread = ([first] + others).map { ColumnReference($0.column) }
    return read(naming: unread) { unread.contains($0) }
  }

  private static func read(
    naming references: [ColumnReference], without isUnread: (ColumnReference) -> Bool
  ) -> Select<Self> {
    let table = TableInfo.unchecked(Self.self)
    var replaced = table.columns.filter { isUnread(ColumnReference($0)) }.map { column in
      SelectQuery.Replacement(column: ColumnReference(column), term: column.valueIfUnread(in: table))
    }
    for reference in references where table.position(of: reference) == nil {
      // This replacement makes the query throw an error that names the missing column.
      replaced.append(SelectQuery.Replacement(column: reference, term: SqlExpression(.column(reference))))
    }
    return Select(SelectQuery(source(), results: [.model(0, replaced: replaced)]))
  }

  private static func read(_ terms: [(column: Column, term: SqlExpression)]) -> Select<Self> {
    let replaced = terms.map { SelectQuery.Replacement(column: ColumnReference($0.column), term: $0.term) }
    return Select(SelectQuery(source(), results: [.model(0, replaced: replaced)]))
  }
}

extension Column {
  /// Returns the value that a struct gets if the query does not read the column: the column's constant default, or
  /// NULL. The term is invalid if the column can't store the default. The term is also invalid if a column outside the
  /// key has no constant default and can't be NULL.
  fileprivate func valueIfUnread(in table: TableInfo) -> SqlExpression {
    let options = definition.options
    do {
      if let value = try options.defaultValue?.constant(in: type) { return SqlExpression(value) }
    } catch { return SqlExpression(invalid: error, column: self) }
    guard type.isNullable || options.primaryKey != nil else {
      return SqlExpression(
        invalid: SqlError.invalidStatement(
          "column \(name) can't be left out: it can't be NULL, and has no constant default"
        ).at(table: table.name, column: name))
    }
    return SqlExpression(DatabaseValue.null)
  }
}

@_disfavoredOverload
@available(
  *, unavailable,
  message: "the rows of values(_:) must have equal types, and each type must conform to SqlValue"
)
public func values(_ rows: [Any]) -> Select<DynamicRow> { Select(SelectQuery(rows: [])) }
