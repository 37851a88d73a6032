// Declarations of associations, by a foreign key of one column or of several.

import SqlableCore

extension Sqlable {
  /// The rows of another model that reference a row of this model.
  ///
  /// ```swift
  /// static let bikes = toMany(Bicycle.self, by: Bicycle.ownerId)
  /// // SELECT … FROM "bicycle" WHERE "owner_id" IN (?, ?, …)
  /// ```
  ///
  /// - Parameters:
  ///   - target: The other model.
  ///   - foreignKey: The column of `target` that references this table.
  ///   - key: The referenced column of this table. Required unless `foreignKey` is declared as a ``ForeignKey``.
  public static func toMany<Target: Sqlable>(
    _ target: Target.Type, by foreignKey: any ColumnConvertible, of key: (any ColumnConvertible)? = nil
  ) -> Association<Self, Target, [Target]> {
    toMany(target, by: [foreignKey], of: key.map { [$0] })
  }

  /// The row of another model that a column of this model references. Nil if the column is NULL or no row matches.
  ///
  /// ```swift
  /// static let owner = toOne(Person.self, by: ownerId)
  /// // SELECT … FROM "person" WHERE "id" IN (?, ?, …)
  /// ```
  ///
  /// - Parameters:
  ///   - target: The other model.
  ///   - foreignKey: The column of this model that references `target`.
  ///   - key: The referenced column of `target`. Required unless `foreignKey` is declared as a ``ForeignKey``.
  public static func toOne<Target: Sqlable>(
    _ target: Target.Type, by foreignKey: any ColumnConvertible, of key: (any ColumnConvertible)? = nil
  ) -> Association<Self, Target, Target?> {
    toOne(target, by: [foreignKey], of: key.map { [$0] })
  }

  /// The rows of another model that a link table connects with a row of this model: many to many.
  ///
  /// ```swift
  /// static let courses = toMany(
  ///   Course.self, through: Enrolment.self, from: Enrolment.studentId, to: Enrolment.courseId)
  /// // SELECT …, "enrolment"."student_id" FROM "course" JOIN "enrolment" ON "course"."id" = "enrolment"."course_id"
  /// //   WHERE "enrolment"."student_id" IN (?, ?, …)
  /// ```
  ///
  /// If two link rows connect the same pair of rows, the result contains the target row twice. `origin` and
  /// `destination` must each be declared as a ``ForeignKey``.
  ///
  /// - Parameters:
  ///   - target: The other model.
  ///   - link: The model of the link table.
  ///   - origin: The column of `link` that refers to this table.
  ///   - destination: The column of `link` that refers to the table of `target`.
  public static func toMany<Target: Sqlable, Link: Sqlable>(
    _ target: Target.Type, through link: Link.Type, from origin: any ColumnConvertible,
    to destination: any ColumnConvertible
  ) -> Association<Self, Target, [Target]> {
    toMany(target, through: link, from: [origin], to: [destination])
  }
}

// MARK: - Keys of several columns

extension Sqlable {
  /// The rows of another model that reference a row of this model by a key of several columns.
  ///
  /// ```swift
  /// static let lines = toMany(OrderLine.self, by: [OrderLine.shop, OrderLine.order])
  /// // SELECT … FROM "order_line" WHERE ("shop", "order") IN (SELECT value, value2 FROM sqlable_values(?))
  /// ```
  ///
  /// A row with a NULL in a column of the key has no associated rows.
  ///
  /// - Parameters:
  ///   - target: The other model.
  ///   - foreignKey: The columns of `target` that reference this table.
  ///   - key: The referenced columns of this table, in the order of `foreignKey`. Required unless `foreignKey` is
  ///     declared as ``ForeignKeys``.
  public static func toMany<Target: Sqlable>(
    _ target: Target.Type, by foreignKey: [any ColumnConvertible], of key: [any ColumnConvertible]? = nil
  ) -> Association<Self, Target, [Target]> {
    .toMany(AssociationLevel(SelectQuery(of: TableInfo.unchecked(target)), .referring(foreignKey, to: key)))
  }

  /// The row of another model that several columns of this model reference. Nil if a column is NULL or no row matches.
  ///
  /// ```swift
  /// static let order = toOne(Order.self, by: [shop, order])
  /// // SELECT … FROM "order" WHERE ("shop", "number") IN (SELECT value, value2 FROM sqlable_values(?))
  /// ```
  ///
  /// - Parameters:
  ///   - target: The other model.
  ///   - foreignKey: The columns of this model that reference `target`.
  ///   - key: The referenced columns of `target`, in the order of `foreignKey`. Required unless `foreignKey` is
  ///     declared as ``ForeignKeys``.
  public static func toOne<Target: Sqlable>(
    _ target: Target.Type, by foreignKey: [any ColumnConvertible], of key: [any ColumnConvertible]? = nil
  ) -> Association<Self, Target, Target?> {
    .toOne(AssociationLevel(SelectQuery(of: TableInfo.unchecked(target)), .referred(foreignKey, to: key)))
  }

  /// The rows of another model that a link table connects with a row of this model by keys of several columns. Write a
  /// key of one column as a list, too.
  ///
  /// ```swift
  /// static let tags = toMany(
  ///   Tag.self, through: OrderTag.self, from: [OrderTag.shop, OrderTag.order], to: [OrderTag.tag])
  /// ```
  ///
  /// `origin` and `destination` must each be declared as ``ForeignKeys``, or a list of one column as a ``ForeignKey``.
  public static func toMany<Target: Sqlable, Link: Sqlable>(
    _ target: Target.Type, through link: Link.Type, from origin: [any ColumnConvertible],
    to destination: [any ColumnConvertible]
  ) -> Association<Self, Target, [Target]> {
    let path = AssociationPath.linked(TableInfo.unchecked(link), from: origin, to: destination)
    return .toMany(AssociationLevel(SelectQuery(of: TableInfo.unchecked(target)), path))
  }
}

// MARK: - Through other associations

extension Sqlable {
  /// The rows of another model that a row of this model reaches through two associations, one after the other.
  ///
  /// ```swift
  /// static let repairs = toMany(Repair.self, through: bikes, using: Bicycle.repairs)
  /// // SELECT …, "bicycle"."owner_id" FROM "repair" JOIN "bicycle" ON "repair"."bicycle_id" = "bicycle"."id"
  /// //   WHERE "bicycle"."owner_id" IN (?, ?, …)
  /// ```
  ///
  /// The filters of `first` and `second` apply. The rows are in the order of `first`, then in the order of `second`.
  /// `first` and `second` can themselves lead through further associations. A row that is reached on several paths is
  /// returned once for each path. The terms of later modifiers can use the columns of all tables on the path.
  ///
  /// Running the read throws `.invalidStatement` if `first` or `second` has a limit; limit the whole association
  /// instead.
  ///
  /// - Parameters:
  ///   - target: The other model.
  ///   - first: An association of this model.
  ///   - second: An association of the rows of `first`.
  public static func toMany<Target: Sqlable, Link: Sqlable>(
    _ target: Target.Type, through first: Association<Self, Link, [Link]>,
    using second: Association<Link, Target, [Target]>
  ) -> Association<Self, Target, [Target]> {
    .toMany(first.part.level.followed(by: second.part.level))
  }

  /// The rows of another model to which the rows of `first` refer.
  ///
  /// ```swift
  /// static let owners = toMany(Person.self, through: repairs, using: Repair.owner)
  /// ```
  ///
  /// If several rows of `first` refer to a row, the row is returned once for each of them.
  public static func toMany<Target: Sqlable, Link: Sqlable>(
    _ target: Target.Type, through first: Association<Self, Link, [Link]>,
    using second: Association<Link, Target, Target?>
  ) -> Association<Self, Target, [Target]> {
    .toMany(first.part.level.followed(by: second.part.level))
  }

  /// The rows of another model that are associated with the row that `first` references.
  ///
  /// ```swift
  /// static let siblings = toMany(Bicycle.self, through: owner, using: Person.bikes)
  /// ```
  public static func toMany<Target: Sqlable, Link: Sqlable>(
    _ target: Target.Type, through first: Association<Self, Link, Link?>,
    using second: Association<Link, Target, [Target]>
  ) -> Association<Self, Target, [Target]> {
    .toMany(first.part.level.followed(by: second.part.level))
  }

  /// The row of another model that the row of `first` references. Nil if a foreign key is NULL or no row matches.
  ///
  /// ```swift
  /// static let owner = toOne(Person.self, through: bicycle, using: Bicycle.owner)
  /// // SELECT …, "bicycle"."id" FROM "person" JOIN "bicycle" ON "person"."id" = "bicycle"."owner_id"
  /// //   WHERE "bicycle"."id" IN (?, ?, …)
  /// ```
  public static func toOne<Target: Sqlable, Link: Sqlable>(
    _ target: Target.Type, through first: Association<Self, Link, Link?>,
    using second: Association<Link, Target, Target?>
  ) -> Association<Self, Target, Target?> {
    .toOne(first.part.level.followed(by: second.part.level))
  }
}
