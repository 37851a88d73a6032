/// A read of rows together with the rows of other tables that reference them: one statement per table, regardless of
/// the number of rows.
///
/// ```swift
/// let owners = Person.read().orderBy(Person.name).including(Bicycle.read().orderBy(Bicycle.id), by: Bicycle.ownerId)
/// for (person, bikes) in try owners.run(db) { … }     // (Person, [Bicycle])
/// // SELECT "id", "name" FROM "person" ORDER BY "name"
/// // SELECT … FROM "bicycle" WHERE "owner_id" IN (?, ?, ?) ORDER BY "id"
/// ```
///
/// All statements read the same snapshot. The value is immutable, `Sendable` and `Hashable`.
public struct ToMany<Parent: Sqlable, each Child: Sqlable>: Sendable, Hashable {
  let parents: Statement<Parent, [Parent]>
  let children: (repeat Children<each Child>)

  public static func == (left: ToMany, right: ToMany) -> Bool {
    guard left.parents == right.parents else { return false }
    for (own, other) in repeat (each left.children, each right.children) {
      guard own == other else { return false }
    }
    return true
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(parents)
    for child in repeat each children { hasher.combine(child) }
  }
}

/// A statement for the rows that reference the parents, and the columns that connect them.
struct Children<Child: Sqlable>: Sendable, Hashable {
  let statement: Statement<Child, [Child]>
  /// The children's column that references the parents.
  let foreignKey: ColumnReference
  /// The referenced column of the parents; nil for the one in the foreign key's declaration.
  let key: ColumnReference?
}

extension Statement where Output == [Model] {
  /// Reads the rows together with the rows that reference them by a column.
  ///
  /// - Parameters:
  ///   - children: The read of the other table, which may filter and order. Running it with a limit throws
  ///     `.invalidStatement`: the limit would apply to the children of all parents together.
  ///   - foreignKey: The children's column that references this table.
  ///   - key: The referenced column. It is required unless `foreignKey` is declared as a ``ForeignKey``.
  public func including<Child>(
    _ children: Statement<Child, [Child]>, by foreignKey: any ColumnConvertible, of key: (any ColumnConvertible)? = nil
  ) -> ToMany<Model, Child> {
    ToMany<Model, Child>(parents: self, children: (Children(children, foreignKey, key)))
  }

  /// Reads the rows together with all rows that reference them by a typed column.
  ///
  /// ```swift
  /// Owner.read().including(Pet.ownerId)     // ToMany<Owner, Pet>
  /// ```
  public func including<Child, Value>(
    _ foreignKey: TypedColumn<Child, Value>, of key: (any ColumnConvertible)? = nil
  ) -> ToMany<Model, Child> {
    including(Child.read(), by: foreignKey, of: key)
  }
}

extension ToMany {
  /// Adds the rows of a further table that reference the rows.
  public func including<Next>(
    _ children: Statement<Next, [Next]>, by foreignKey: any ColumnConvertible, of key: (any ColumnConvertible)? = nil
  ) -> ToMany<Parent, repeat each Child, Next> {
    ToMany<Parent, repeat each Child, Next>(
      parents: parents, children: (repeat each self.children, Children(children, foreignKey, key)))
  }
}

extension Children {
  init(_ statement: Statement<Child, [Child]>, _ foreignKey: any ColumnConvertible, _ key: (any ColumnConvertible)?) {
    self.statement = statement
    self.foreignKey = ColumnReference(foreignKey.column)
    self.key = key.map { ColumnReference($0.column) }
  }
}
