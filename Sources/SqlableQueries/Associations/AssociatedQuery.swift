import SqlableCore

/// A read of rows together with their associated rows in other tables. The read runs one statement for the rows and one
/// for each association, regardless of the number of rows.
///
/// ```swift
/// let owners = Person.read().orderBy(Person.name).including(Person.bikes.orderBy(Bicycle.id))
/// for (person, bikes) in try owners.run(db) { … }     // (Person, [Bicycle])
/// // SELECT "id", "name" FROM "person" ORDER BY "name"
/// // SELECT … FROM "bicycle" WHERE "owner_id" IN (?, ?, ?) ORDER BY "id"
/// ```
///
/// On a handle or pool, all statements read one snapshot. On a remote database, a later statement can read commits that
/// an earlier statement did not read. The query is immutable, `Sendable` and `Hashable`.
public struct AssociatedQuery<Root: Sqlable, each Part: Sendable>: Sendable, Hashable {
  package let root: Statement<Root, [Root]>
  package let parts: (repeat AssociatedPart<each Part>)

  package init(root: Statement<Root, [Root]>, parts: (repeat AssociatedPart<each Part>)) {
    (self.root, self.parts) = (root, parts)
  }

  public static func == (left: AssociatedQuery, right: AssociatedQuery) -> Bool {
    guard left.root == right.root else { return false }
    for (part, otherPart) in repeat (each left.parts, each right.parts) {
      guard part == otherPart else { return false }
    }
    return true
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(root)
    for part in repeat each parts { hasher.combine(part) }
  }
}

extension Statement where Output == [Model] {
  /// Reads the rows together with their associated rows.
  ///
  /// ```swift
  /// Person.read().including(Person.bikes)     // (Person, [Bicycle])
  /// ```
  public func including<Target, Part>(_ association: Association<Model, Target, Part>) -> AssociatedQuery<Model, Part> {
    AssociatedQuery<Model, Part>(root: self, parts: (association.part))
  }

  /// Reads the rows together with the associated rows of several associations.
  ///
  /// ```swift
  /// Person.read().including(Person.bikes, Person.courses.count())     // (Person, [Bicycle], Int)
  /// ```
  public func including<Target, Part, each Next: Sqlable, each Other: Sendable>(
    _ association: Association<Model, Target, Part>, _ others: repeat Association<Model, each Next, each Other>
  ) -> AssociatedQuery<Model, Part, repeat each Other> {
    AssociatedQuery<Model, Part, repeat each Other>(root: self, parts: (association.part, repeat (each others).part))
  }

  /// Reads the rows together with the rows that reference them.
  ///
  /// - Parameters:
  ///   - children: The read of the referencing rows, with its filter and order. A limit applies to each parent row.
  ///   - foreignKey: The column of `Child` that references this table.
  ///   - key: The referenced column of this table. Required unless `foreignKey` is declared as a ``ForeignKey``.
  public func including<Child>(
    _ children: Statement<Child, [Child]>, by foreignKey: any ColumnConvertible, of key: (any ColumnConvertible)? = nil
  ) -> AssociatedQuery<Model, [Child]> {
    including(children, by: [foreignKey], of: key.map { [$0] })
  }

  /// Reads the rows together with the rows that reference them by a key of several columns.
  ///
  /// - Parameters:
  ///   - children: The read of the referencing rows, with its filter and order. A limit applies to each parent row.
  ///   - foreignKey: The columns of `Child` that reference this table.
  ///   - key: The referenced columns of this table, in the order of `foreignKey`. Required unless `foreignKey` is
  ///     declared as ``ForeignKeys``.
  public func including<Child>(
    _ children: Statement<Child, [Child]>, by foreignKey: [any ColumnConvertible],
    of key: [any ColumnConvertible]? = nil
  ) -> AssociatedQuery<Model, [Child]> {
    including(Association<Model, Child, [Child]>.toMany(AssociationLevel(children, .referring(foreignKey, to: key))))
  }

  /// Reads the rows together with all rows that reference them by a typed column.
  ///
  /// ```swift
  /// Owner.read().including(Pet.ownerId)     // (Owner, [Pet])
  /// ```
  public func including<Child, Value>(
    _ foreignKey: TypedColumn<Child, Value>, of key: (any ColumnConvertible)? = nil
  ) -> AssociatedQuery<Model, [Child]> {
    including(Child.read(), by: foreignKey, of: key)
  }
}

extension AssociatedQuery {
  /// Adds the associated rows of a further association.
  public func including<Target, Next>(
    _ association: Association<Root, Target, Next>
  ) -> AssociatedQuery<Root, repeat each Part, Next> {
    AssociatedQuery<Root, repeat each Part, Next>(root: root, parts: (repeat each parts, association.part))
  }

  /// Adds the rows of a further table that reference the root rows.
  public func including<Next>(
    _ children: Statement<Next, [Next]>, by foreignKey: any ColumnConvertible, of key: (any ColumnConvertible)? = nil
  ) -> AssociatedQuery<Root, repeat each Part, [Next]> {
    including(children, by: [foreignKey], of: key.map { [$0] })
  }

  /// Adds the rows of a further table that reference the root rows by a key of several columns.
  public func including<Next>(
    _ children: Statement<Next, [Next]>, by foreignKey: [any ColumnConvertible], of key: [any ColumnConvertible]? = nil
  ) -> AssociatedQuery<Root, repeat each Part, [Next]> {
    including(Association<Root, Next, [Next]>.toMany(AssociationLevel(children, .referring(foreignKey, to: key))))
  }
}

// Unavailable methods, whose error says that the method must be called before `including`.
extension AssociatedQuery {
  @available(*, unavailable, message: "call page(limit:) before including(_:), on the read of the parent rows")
  public func page(limit: Int) -> AssociatedQuery { self }

  @available(*, unavailable, message: "call page(after:limit:) before including(_:), on the read of the parent rows")
  public func page(after position: Any?, limit: Int) -> AssociatedQuery { self }

  @available(*, unavailable, message: "call filter(_:) before including(_:), on the read of the parent rows")
  public func filter(_ condition: some SqlCondition) -> AssociatedQuery { self }

  @available(*, unavailable, message: "call orderBy(_:) before including(_:), on the read of the parent rows")
  public func orderBy<each Item: OrderingTerm>(_ item: repeat each Item) -> AssociatedQuery { self }

  @available(*, unavailable, message: "call orderBy(_:_:) before including(_:), on the read of the parent rows")
  public func orderBy(_ term: some AnyTerm, _ order: Order) -> AssociatedQuery { self }

  @available(*, unavailable, message: "call limit(_:) before including(_:), on the read of the parent rows")
  public func limit(_ count: Int, offset: Int = 0) -> AssociatedQuery { self }
}

extension AssociationLevel {
  /// Creates a level from a read. If `children` is a change with RETURNING, running the query throws.
  fileprivate init<Child>(_ children: Statement<Child, [Child]>, _ path: AssociationPath) {
    self.init(children.asSelect().query, path)
  }
}

extension AssociatedQuery {
  /// Creates the row buffers of one run. Throws if model declarations contradict an association.
  func gathering() throws -> Gathering<Root, repeat each Part> {
    let rows = try GatheredRows<Root>(of: root.tree.table)
    return Gathering(rows: rows, parts: (repeat try rows.gathering(each parts)))
  }

  /// Returns the queries of all levels. Assumes rows on every level, because a level is queried only if its parent
  /// level has rows.
  package func queries() throws -> [SelectQuery] {
    var queries = [root.asSelect().query]
    func add(_ levels: [any GatheredLevel]) {
      for level in levels {
        let values = level.parentPositions.map { _ in DatabaseValue.integer(0) }
        if let query = level.query(for: values) { queries.append(query.query) }
        add(level.childLevels)
      }
    }
    add(try gathering().rows.childLevels)
    return queries
  }
}

struct Gathering<Root: Sqlable, each Part: Sendable> {
  let rows: GatheredRows<Root>
  let parts: (repeat GatheredPart<each Part>)

  func all() throws -> [(Root, repeat each Part)] { try rows.rows(repeat each parts) }
}
