/// A read whose rows come with those of other tables that refer to them: two statements, whatever the number of rows.
///
/// ```swift
/// let owners = Person.read().orderBy(Person.name).including(Bicycle.read().orderBy(Bicycle.id), by: Bicycle.ownerId)
/// for (person, bikes) in try owners.run(db) { … }     // (Person, [Bicycle])
/// // SELECT "id", "name" FROM "person" ORDER BY "name"
/// // SELECT … FROM "bicycle" WHERE "owner_id" IN (?, ?, ?) ORDER BY "id"
/// ```
///
/// All statements see one snapshot of the database. It is immutable, `Sendable` and `Hashable`.
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

/// The rows that refer to others, and how.
struct Children<Child: Sqlable>: Sendable, Hashable {
  let statement: Statement<Child, [Child]>
  /// The column that refers to the parents.
  let foreignKey: ColumnReference
  /// The column of the parents that it refers to; nil for the one that it is declared to refer to.
  let key: ColumnReference?
}

extension Statement where Output == [Model] {
  /// Reads the rows together with those that refer to them by a column.
  ///
  /// - Parameters:
  ///   - children: the rows to choose from, in their order. A limit would count those of all parents together: running
  ///     it throws `.invalidStatement`.
  ///   - foreignKey: the column of the children that refers to this table.
  ///   - key: the column that it refers to. A column that is declared as a ``ForeignKey`` says that itself; of any
  ///     other it has to be said.
  public func including<Child>(
    _ children: Statement<Child, [Child]>, by foreignKey: any ColumnConvertible, of key: (any ColumnConvertible)? = nil
  ) -> ToMany<Model, Child> {
    ToMany<Model, Child>(parents: self, children: (Children(children, foreignKey, key)))
  }

  /// Reads the rows together with all that refer to them by a typed column.
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
  /// Reads the rows together with further ones that refer to them.
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
