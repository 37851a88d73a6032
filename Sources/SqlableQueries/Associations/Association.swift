import SqlableCore

/// A path from rows of one model to associated rows of another model, for reads, counts and filters.
///
/// ```swift
/// extension Person {
///   static let bikes = toMany(Bicycle.self, by: Bicycle.ownerId)
/// }
/// extension Bicycle {
///   static let owner = toOne(Person.self, by: ownerId)
/// }
/// Person.read().including(Person.bikes.orderBy(Bicycle.name).limit(3))     // (Person, [Bicycle])
/// Bicycle.read().including(Bicycle.owner)                                  // (Bicycle, Person?)
/// Person.read().whereAny(Person.bikes.filter(Bicycle.color == "red"))      // Person
/// ```
///
/// `Output` is the type of the associated value that a read returns with each row of `Origin`. An association is
/// immutable, `Sendable` and `Hashable`: every modifier returns a new association. If model declarations contradict the
/// association, running the read throws `.misuse`.
public struct Association<Origin: Sqlable, Target: Sqlable, Output: Sendable>: Sendable, Hashable {
  var part: AssociatedPart<Output>
}

/// An association without the types of the models that it connects.
package struct AssociatedPart<Output: Sendable>: Sendable, Hashable {
  package var level: AssociationLevel
  /// Creates the row buffer of a level from the level and the parent's table. `==` ignores this closure: associations
  /// with equal levels and types have equal closures.
  let gathering: @Sendable (AssociationLevel, TableInfo) throws -> GatheredPart<Output>

  /// Creates the buffer for the associated rows of a parent table. If the association names no database, the rows are
  /// read from the parent table's database, because a foreign key can't reference another database.
  func gathering(under table: TableInfo) throws -> GatheredPart<Output> {
    var level = level
    if let database = table.database { level.inherit(database: database) }
    return try gathering(level, table)
  }

  /// Removes the first of `levels`, and returns this part with that level.
  package func taking(_ levels: inout ArraySlice<AssociationLevel>) -> AssociatedPart {
    var part = self
    if let level = levels.popFirst() { part.level = level }
    return part
  }

  package static func == (left: AssociatedPart, right: AssociatedPart) -> Bool { left.level == right.level }
  package func hash(into hasher: inout Hasher) { hasher.combine(level) }
}

extension Association where Output == [Target] {
  static func toMany(_ level: AssociationLevel) -> Association {
    Association(
      part: AssociatedPart(level: level) { level, table in
        let rows = try GatheredRows<Target>(level, under: table)
        return GatheredPart(level: rows, output: rows.models(of:))
      })
  }
}

extension Association where Output == Target? {
  static func toOne(_ level: AssociationLevel) -> Association {
    Association(
      part: AssociatedPart(level: level) { level, table in
        let rows = try GatheredRows<Target>(level, under: table)
        return GatheredPart(level: rows, output: rows.first(of:))
      })
  }
}

extension Association where Output: SqlValue {
  static func value(_ level: AssociationLevel) -> Association {
    Association(
      part: AssociatedPart(level: level) { level, table in
        let values = try GatheredValues<Output>(level, under: table)
        return GatheredPart(level: values, output: values.value(of:))
      })
  }
}

// MARK: - Terms

/// A count or another aggregate of associated rows is also a term in queries of `Origin`.
extension Association: AnyTerm, OrderingTerm where Output: SqlValue {
  /// `(SELECT count(*) FROM "bicycle" WHERE "bicycle"."owner_id" = "person"."id")`
  public var expression: SqlExpression { part.level.value(under: Origin.self) }
}

extension Association: Selectable where Output: SqlValue {
  public typealias Value = Output
}

extension Association: TypedTerm where Output: SqlValue {}
extension Association: FunctionTerm where Output: SqlValue {}
extension Association: NumberTerm where Output: SqlNumber {}
extension Association: IntegerTerm where Output: SqlInteger {}
extension Association: TextTerm where Output: SqlText {}
extension Association: DateTerm where Output: SqlDate {}
extension Association: SqlCondition where Output: SqlBoolean {}

// MARK: - Modifiers

extension Association {
  /// Keeps the associated rows that match a condition on the columns of `Target`. Several filters are combined with
  /// AND.
  public consuming func filter(_ condition: some SqlCondition) -> Association {
    part.level.query.filter(condition.expression)
    return self
  }
}

extension Association {
  /// Reads the associated rows from the tables of an attached database.
  ///
  /// ```swift
  /// Person.read().in(database: "archive").whereAny(Person.bikes.in(database: "archive"))
  /// ```
  ///
  /// Without this call, included rows come from the database of their parent rows, and a condition such as `whereAny`
  /// reads from the first database that contains the table.
  public consuming func `in`(database: String) -> Association {
    part.level.read(fromDatabase: database)
    return self
  }
}

/// The output of an association with many rows: an array, in the association's order.
public protocol AssociatedRows {}

extension Array: AssociatedRows {}

extension Association where Output: AssociatedRows {
  /// Orders the associated rows of each row. A further call adds a term at the end of the order.
  public consuming func orderBy(_ term: some AnyTerm, _ order: Order) -> Association {
    ordered(by: [OrderTerm(expression: term.expression, order: order)])
  }

  /// Orders the associated rows by one or several terms.
  public consuming func orderBy<each Item: OrderingTerm>(_ item: repeat each Item) -> Association {
    ordered(by: Ordering.list(repeat each item).map(\.term))
  }

  /// Limits the number of associated rows for each row.
  ///
  /// ```swift
  /// Person.read().including(Person.bikes.orderBy(Bicycle.name).limit(3))
  /// // WITH RECURSIVE "ranked" AS (
  /// //   SELECT …, row_number() OVER (PARTITION BY "owner_id" ORDER BY "name") FROM "bicycle" WHERE …)
  /// // SELECT … FROM "ranked" WHERE "c5" <= ? ORDER BY "c5"
  /// ```
  ///
  /// A negative limit or offset throws `.invalidStatement` when the read runs.
  public consuming func limit(_ limit: Int, offset: Int? = nil) -> Association {
    part.level.query.limit = limit
    if let offset { part.level.query.clauses.offset = .number(offset) }
    return self
  }

  private consuming func ordered(by terms: [OrderTerm]) -> Association {
    part.level.query.clauses.order += terms
    return self
  }
}

extension Association where Output == [Target] {
  /// The first associated row in the association's order; nil if there is no associated row.
  public consuming func first() -> Association<Origin, Target, Target?> {
    part.level.query.takeFirst()
    return .toOne(part.level)
  }

  /// The number of associated rows of each row. The number is also a term in queries of `Origin`.
  ///
  /// ```swift
  /// Person.read().including(Person.bikes.count())     // (Person, Int)
  /// // SELECT "owner_id", count(*) FROM "bicycle" WHERE "owner_id" IN (?, ?, …) GROUP BY "owner_id"
  /// Person.read().filter(Person.bikes.count() > 2).orderBy(Person.bikes.count(), .desc)     // Person
  /// // … WHERE (SELECT count(*) FROM "bicycle" WHERE "bicycle"."owner_id" = "person"."id") > ? ORDER BY …
  /// ```
  ///
  /// Running the statement throws `.invalidStatement` if the association has a limit.
  public consuming func count() -> Association<Origin, Target, Int> {
    part.level.form = .count
    return .value(part.level)
  }

  /// An aggregate of the associated rows of each row. The aggregate is also a term in queries of `Origin`.
  ///
  /// ```swift
  /// Person.read().including(Person.bikes.aggregate(Bicycle.price.max()))     // (Person, Int?)
  /// // SELECT "owner_id", max("price") FROM "bicycle" WHERE "owner_id" IN (?, ?, …) GROUP BY "owner_id"
  /// //   UNION ALL SELECT NULL, max("price") FROM "bicycle" WHERE "owner_id" = NULL
  /// Person.select(Person.name, Person.bikes.aggregate(Bicycle.price.sum()))     // (String, Int?)
  /// // SELECT "name", (SELECT sum("price") FROM "bicycle" WHERE "bicycle"."owner_id" = "person"."id") FROM "person"
  /// ```
  ///
  /// If a row has no associated rows, the value is NULL, or 0 for a count or a total. The term can use columns of
  /// `Target` and of the link table. If the term calls a function that the program registers, that function must be an
  /// aggregate.
  ///
  /// Running the statement throws `.invalidStatement` if the association has an order or a limit, or if the term is not
  /// an aggregate. If the association reads the table of `Origin` itself, an aggregate that is used as a term can't
  /// contain SQL text.
  public consuming func aggregate<Term: TypedTerm>(_ term: Term) -> Association<Origin, Target, Term.Value> {
    part.level.form = .value(term.expression)
    return .value(part.level)
  }

  /// Includes the associated rows of each associated row. Each further association runs one statement.
  ///
  /// ```swift
  /// Person.read().including(Person.bikes.including(Bicycle.repairs, Bicycle.frame))
  /// // (Person, [(Bicycle, [Repair], Frame?)])
  /// ```
  public consuming func including<each Next: Sqlable, each Part: Sendable>(
    _ associations: repeat Association<Target, each Next, each Part>
  ) -> Association<Origin, Target, [(Target, repeat each Part)]> {
    let parts = (repeat (each associations).part)
    repeat part.level.childLevels.append((each parts).level)
    return Association<Origin, Target, [(Target, repeat each Part)]>(
      part: AssociatedPart(level: part.level) { level, table in
        let rows = try GatheredRows<Target>(level, under: table)
        var levels = level.childLevels[...]
        let childParts = (repeat try rows.gathering((each parts).taking(&levels)))
        return GatheredPart(level: rows) { key in
          try rows.indexes(of: key).map { try rows.row($0, repeat each childParts) }
        }
      })
  }
}

extension Association where Output == Target? {
  /// Includes the rows that are associated with the associated row. Each further association runs one more statement.
  ///
  /// ```swift
  /// Repair.read().including(Repair.bike.including(Bicycle.owner))     // (Repair, (Bicycle, Person?)?)
  /// ```
  public consuming func including<each Next: Sqlable, each Part: Sendable>(
    _ associations: repeat Association<Target, each Next, each Part>
  ) -> Association<Origin, Target, (Target, repeat each Part)?> {
    let parts = (repeat (each associations).part)
    repeat part.level.childLevels.append((each parts).level)
    return Association<Origin, Target, (Target, repeat each Part)?>(
      part: AssociatedPart(level: part.level) { level, table in
        let rows = try GatheredRows<Target>(level, under: table)
        var levels = level.childLevels[...]
        let childParts = (repeat try rows.gathering((each parts).taking(&levels)))
        return GatheredPart(level: rows) { key in
          try rows.firstIndex(of: key).map { try rows.row($0, repeat each childParts) }
        }
      })
  }
}

// MARK: - Filters

/// True if a row has associated rows: `"id" IN (SELECT "owner_id" FROM "bicycle" WHERE …)`.
///
/// ```swift
/// Person.read().filter(exists(Person.bikes) || Person.name == "Anna")
/// ```
///
/// The condition is never NULL, so `!` negates the condition. Running a statement with the condition throws
/// `.invalidStatement` if the association has a limit.
public func exists<Origin, Target>(_ association: Association<Origin, Target, [Target]>) -> SqlExpression {
  association.part.level.existence(under: Origin.self)
}

/// True if the row that an association references exists: `"owner_id" IN (SELECT "id" FROM "person" WHERE …)`.
public func exists<Origin, Target>(_ association: Association<Origin, Target, Target?>) -> SqlExpression {
  association.part.level.existence(under: Origin.self)
}

extension Statement {
  /// Keeps the rows that have at least one associated row.
  ///
  /// ```swift
  /// Person.read().whereAny(Person.bikes.filter(Bicycle.color == "red"))
  /// // … WHERE "id" IN (SELECT "owner_id" FROM "bicycle" WHERE "color" = ? AND "owner_id" IS NOT NULL)
  /// ```
  ///
  /// The condition applies to reads, counts, updates and deletes, as `filter` does.
  public consuming func whereAny<Target>(_ association: Association<Model, Target, [Target]>) -> Statement {
    filter(association.part.level.existence(under: Model.self))
  }

  /// Keeps the rows whose referenced row exists.
  public consuming func whereAny<Target>(_ association: Association<Model, Target, Target?>) -> Statement {
    filter(association.part.level.existence(under: Model.self))
  }

  /// Keeps the rows that have no associated row: `… WHERE NOT "id" IN (SELECT …)`.
  public consuming func whereNone<Target>(_ association: Association<Model, Target, [Target]>) -> Statement {
    filter(!association.part.level.existence(under: Model.self))
  }

  /// Keeps the rows without a referenced row, including rows whose foreign key is NULL.
  public consuming func whereNone<Target>(_ association: Association<Model, Target, Target?>) -> Statement {
    filter(!association.part.level.existence(under: Model.self))
  }
}

// MARK: - Refusals

extension Sqlable {
  @available(*, unavailable, message: "use read().including(_:), or join(_:on:) with a condition")
  public static func join<Output>(_ association: Association<Self, some Sqlable, Output>) -> Select<Self> {
    read().asSelect()
  }
}

extension SelectStatement {
  @available(*, unavailable, message: "use read().including(_:), or join(_:on:) with a condition")
  public consuming func join<Output>(_ association: Association<some Sqlable, some Sqlable, Output>) -> Select<Row> {
    asSelect()
  }
}
