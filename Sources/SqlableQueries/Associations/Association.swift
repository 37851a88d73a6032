import SqlableCore

/// A path from the rows of one model to rows of another, to be included in a read, counted, or required by a filter.
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
/// `Output` is what a row of `Origin` comes with. The value is immutable, `Sendable` and `Hashable`: every modifier
/// returns a new association. Declarations that contradict each other throw `.misuse` when the read runs.
public struct Association<Origin: Sqlable, Target: Sqlable, Output: Sendable>: Sendable {
  var part: AssociatedPart<Output>
}

extension Association: Hashable {
  public static func == (left: Association, right: Association) -> Bool { left.part == right.part }
  public func hash(into hasher: inout Hasher) { hasher.combine(part) }
}

/// An association without the models that it connects.
package struct AssociatedPart<Output: Sendable>: Sendable, Hashable {
  package var level: AssociationLevel
  /// Makes the part that gathers the level's rows below those of a table. The types determine the closure, so two parts
  /// with the same level and output are the same.
  let gathering: @Sendable (AssociationLevel, TableInfo) throws -> GatheredPart<Output>

  /// Makes the part that gathers the rows below those of a table. The rows come from the table's database, which no
  /// foreign key leaves, unless the association names a database itself.
  func gathering(under table: TableInfo) throws -> GatheredPart<Output> {
    var level = level
    if let database = table.database, level.query.table.database == nil { level.read(fromDatabase: database) }
    return try gathering(level, table)
  }

  /// Returns this part with the first of `levels`, which is removed from them. The levels were taken from the parts, in
  /// the same order.
  package func taking(_ levels: inout ArraySlice<AssociationLevel>) -> AssociatedPart {
    var part = self
    if let level = levels.popFirst() { part.level = level }
    return part
  }

  package static func == (left: AssociatedPart, right: AssociatedPart) -> Bool { left.level == right.level }
  package func hash(into hasher: inout Hasher) { hasher.combine(level) }
}

// MARK: - Declarations

extension Sqlable {
  /// The rows of another model that refer to a row by a column.
  ///
  /// ```swift
  /// static let bikes = toMany(Bicycle.self, by: Bicycle.ownerId)
  /// // SELECT … FROM "bicycle" WHERE "owner_id" IN (?, ?, …)
  /// ```
  ///
  /// - Parameters:
  ///   - target: The other model.
  ///   - foreignKey: Its column that refers to this table.
  ///   - key: The column that it refers to. It is required unless `foreignKey` is declared as a ``ForeignKey``.
  public static func toMany<Target: Sqlable>(
    _ target: Target.Type, by foreignKey: any ColumnConvertible, of key: (any ColumnConvertible)? = nil
  ) -> Association<Self, Target, [Target]> {
    .toMany(AssociationLevel(SelectQuery(of: TableInfo.unchecked(target)), .referring(foreignKey, to: key)))
  }

  /// The row of another model to which a column of this one refers. Nil if that is NULL or no row has its value.
  ///
  /// ```swift
  /// static let owner = toOne(Person.self, by: ownerId)
  /// // SELECT … FROM "person" WHERE "id" IN (?, ?, …)
  /// ```
  ///
  /// - Parameters:
  ///   - target: The other model.
  ///   - foreignKey: The column of this model.
  ///   - key: The other model's column that it refers to. It is required unless `foreignKey` is declared as a
  ///     ``ForeignKey``.
  public static func toOne<Target: Sqlable>(
    _ target: Target.Type, by foreignKey: any ColumnConvertible, of key: (any ColumnConvertible)? = nil
  ) -> Association<Self, Target, Target?> {
    .toOne(AssociationLevel(SelectQuery(of: TableInfo.unchecked(target)), .referred(foreignKey, to: key)))
  }

  /// The rows of another model that the rows of a third connect with a row: many to many.
  ///
  /// ```swift
  /// static let courses = toMany(
  ///   Course.self, through: Enrolment.self, from: Enrolment.studentId, to: Enrolment.courseId)
  /// // SELECT …, "enrolment"."student_id" FROM "course" JOIN "enrolment" ON "course"."id" = "enrolment"."course_id"
  /// //   WHERE "enrolment"."student_id" IN (?, ?, …)
  /// ```
  ///
  /// A row that is connected twice comes twice. Both columns must be declared as a ``ForeignKey``.
  ///
  /// - Parameters:
  ///   - target: The other model.
  ///   - link: The model that connects both.
  ///   - origin: The column of `link` that refers to this table.
  ///   - destination: The column of `link` that refers to the table of `target`.
  public static func toMany<Target: Sqlable, Link: Sqlable>(
    _ target: Target.Type, through link: Link.Type, from origin: any ColumnConvertible,
    to destination: any ColumnConvertible
  ) -> Association<Self, Target, [Target]> {
    let path = AssociationPath.linked(
      TableInfo.unchecked(link), from: ColumnReference(origin.column), to: ColumnReference(destination.column))
    return .toMany(AssociationLevel(SelectQuery(of: TableInfo.unchecked(target)), path))
  }
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

/// A count or another aggregate of associated rows is a term of queries for the rows that they belong to.
extension Association: AnyTerm where Output: SqlValue {
  /// `(SELECT count(*) FROM "bicycle" WHERE "bicycle"."owner_id" = "person"."id")`
  public var expression: SqlExpression { part.level.value(under: Origin.self) }
}

extension Association: Selectable where Output: SqlValue {
  public typealias Value = Output
}

extension Association: TypedTerm where Output: SqlValue {}
extension Association: SqlCondition where Output: SqlBoolean {}

// MARK: - Modifiers

extension Association {
  /// Keeps the rows that match a condition on the columns of `Target`. Several filters are combined with AND.
  public consuming func filter(_ condition: some SqlCondition) -> Association {
    part.level.query.filter(condition.expression)
    return self
  }
}

extension Association {
  /// Takes the rows from the tables of an attached database.
  ///
  /// ```swift
  /// Person.read().in(database: "archive").whereAny(Person.bikes.in(database: "archive"))
  /// ```
  ///
  /// Rows that are included come from the database of the rows above them; in a condition SQLite takes the first
  /// database that has the table.
  public consuming func `in`(database: String) -> Association {
    part.level.read(fromDatabase: database)
    return self
  }
}

/// The rows that an association to many adds to a row: an array, in the order of the association.
public protocol AssociatedRows {}

extension Array: AssociatedRows {}

extension Association where Output: AssociatedRows {
  /// Orders the rows that each row comes with. A further call orders those that compare as equal so far.
  public consuming func orderBy(_ term: some SqlTerm, _ order: Order = .asc) -> Association {
    ordered(by: [OrderTerm(expression: term.expression, order: order)])
  }

  /// Orders the rows by a typed column or expression.
  public consuming func orderBy(_ term: some TypedTerm, _ order: Order = .asc) -> Association {
    ordered(by: [OrderTerm(expression: term.expression, order: order)])
  }

  /// Orders the rows by several terms.
  public consuming func orderBy(_ orderings: Ordering...) -> Association { ordered(by: orderings.map(\.term)) }

  /// Limits the rows that each row comes with.
  ///
  /// ```swift
  /// Person.read().including(Person.bikes.orderBy(Bicycle.name).limit(3))
  /// // WITH RECURSIVE "ranked" AS (
  /// //   SELECT …, row_number() OVER (PARTITION BY "owner_id" ORDER BY "name") FROM "bicycle" WHERE …)
  /// // SELECT … FROM "ranked" WHERE "c5" <= ? ORDER BY "c5"
  /// ```
  ///
  /// Running it with a negative limit or offset throws `.invalidStatement`.
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
  /// The first of the rows that a row comes with, by their order; nil if there is none.
  public consuming func first() -> Association<Origin, Target, Target?> {
    part.level.query.takeFirst()
    return .toOne(part.level)
  }

  /// The number of rows that refer to a row, 0 if there are none; also a term of queries for that row.
  ///
  /// ```swift
  /// Person.read().including(Person.bikes.count())     // (Person, Int)
  /// // SELECT "owner_id", count(*) FROM "bicycle" WHERE "owner_id" IN (?, ?, …) GROUP BY "owner_id"
  /// Person.read().filter(Person.bikes.count() > 2).orderBy(Person.bikes.count(), .desc)     // Person
  /// // … WHERE (SELECT count(*) FROM "bicycle" WHERE "bicycle"."owner_id" = "person"."id") > ? ORDER BY …
  /// ```
  ///
  /// Running it throws `.invalidStatement` after a limit.
  public consuming func count() -> Association<Origin, Target, Int> {
    part.level.form = .count
    return .value(part.level)
  }

  /// An aggregate of the rows that refer to a row; also a term of queries for that row.
  ///
  /// ```swift
  /// Person.read().including(Person.bikes.aggregate(Bicycle.price.max()))     // (Person, Int?)
  /// // SELECT "owner_id", max("price") FROM "bicycle" WHERE "owner_id" IN (?, ?, …) GROUP BY "owner_id"
  /// //   UNION ALL SELECT NULL, max("price") FROM "bicycle" WHERE "owner_id" = NULL
  /// Person.select(Person.name, Person.bikes.aggregate(Bicycle.price.sum()))     // (String, Int?)
  /// // SELECT "name", (SELECT sum("price") FROM "bicycle" WHERE "bicycle"."owner_id" = "person"."id") FROM "person"
  /// ```
  ///
  /// Without rows the value is the one that SQLite computes for no rows: NULL, but 0 for a count or a total. The term
  /// has columns of `Target` and of the link table. A function of the program in the term must be an aggregate. Running
  /// the statement throws `.invalidStatement` after an order or a limit, and if the term is no aggregate. The statement
  /// also throws as a term for SQL text in an aggregate of rows that refer to their own table.
  public consuming func aggregate<Term: TypedTerm>(_ term: Term) -> Association<Origin, Target, Term.Value> {
    part.level.form = .value(term.expression)
    return .value(part.level)
  }

  /// Includes with each row the rows that belong to it by further associations, one statement for each association.
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
  /// Includes with the row the rows that belong to it by further associations, one statement for each association.
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

/// Whether rows belong to a row by an association: `"id" IN (SELECT "owner_id" FROM "bicycle" WHERE …)`.
///
/// ```swift
/// Person.read().filter(exists(Person.bikes) || Person.name == "Anna")
/// ```
///
/// The condition is never NULL, so that `!` is its opposite. Running a statement with the condition throws
/// `.invalidStatement` if the association has a limit.
public func exists<Origin, Target>(_ association: Association<Origin, Target, [Target]>) -> SqlExpression {
  association.part.level.existence(under: Origin.self)
}

/// Whether a row has the other row of an association: `"owner_id" IN (SELECT "id" FROM "person" WHERE …)`.
public func exists<Origin, Target>(_ association: Association<Origin, Target, Target?>) -> SqlExpression {
  association.part.level.existence(under: Origin.self)
}

extension Statement {
  /// Keeps the rows to which at least one row belongs by an association.
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

  /// Keeps the rows that have the other row of an association.
  public consuming func whereAny<Target>(_ association: Association<Model, Target, Target?>) -> Statement {
    filter(association.part.level.existence(under: Model.self))
  }

  /// Keeps the rows to which no row belongs by an association: `… WHERE NOT "id" IN (SELECT …)`.
  public consuming func whereNone<Target>(_ association: Association<Model, Target, [Target]>) -> Statement {
    filter(!association.part.level.existence(under: Model.self))
  }

  /// Keeps the rows that lack the other row of an association; also those whose foreign key is NULL.
  public consuming func whereNone<Target>(_ association: Association<Model, Target, Target?>) -> Statement {
    filter(!association.part.level.existence(under: Model.self))
  }
}
