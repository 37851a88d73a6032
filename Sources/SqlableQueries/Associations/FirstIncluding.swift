import SqlableCore

extension Statement where Output == Model? {
  /// Reads the row together with its associated rows; nil if there is no row.
  ///
  /// ```swift
  /// let anna = try Person.byId(1).including(Person.bikes).run(db)                              // (Person, [Bicycle])?
  /// ```
  public func including<Target, Part>(
    _ association: Association<Model, Target, Part>
  ) -> CollectedQuery<AssociatedQuery<Model, Part>, (Model, Part)?> {
    Statement<Model, [Model]>(tree).including(association).first()
  }

  /// Reads the row together with the associated rows of several associations; nil if there is no row.
  public func including<Target, Part, each Next: Sqlable, each Other: Sendable>(
    _ association: Association<Model, Target, Part>, _ others: repeat Association<Model, each Next, each Other>
  ) -> CollectedQuery<AssociatedQuery<Model, Part, repeat each Other>, (Model, Part, repeat each Other)?> {
    let rows = AssociatedQuery<Model, Part, repeat each Other>(
      root: Statement<Model, [Model]>(tree), parts: (association.part, repeat (each others).part))
    return rows.first()
  }
}

extension AssociatedQuery {
  /// Returns only the first row with its associated rows; nil if there is no row.
  ///
  /// ```swift
  /// let anna = try Person.read(Person.id == 1).including(Person.bikes).first().run(pool)       // (Person, [Bicycle])?
  /// ```
  public func first() -> CollectedQuery<AssociatedQuery, (Root, repeat each Part)?> {
    CollectedQuery(source: limited(to: 1), shape: .init(form: .first)) { $0.first }
  }

  /// Returns the only row with its associated rows. Running the query throws `.notFound` for no row, and `.notUnique`
  /// for several rows. The query reads at most two rows.
  public func only() -> CollectedQuery<AssociatedQuery, (Root, repeat each Part)> {
    CollectedQuery(source: limited(to: 2), shape: .init(form: .only)) { try $0.only() }
  }

  private func limited(to count: Int) -> AssociatedQuery {
    guard case .select(var query) = root.tree else { return self }
    query.restrictLimit(to: count)
    return AssociatedQuery(root: Statement(.select(query)), parts: (repeat each parts))
  }
}

extension AssociatedQuery {
  /// Reads the first row with its associated rows; returns nil if there is no row.
  ///
  /// ```swift
  /// let anna = try Person.read(Person.id == 1).including(Person.bikes).first(db)     // (Person, [Bicycle])?
  /// ```
  public func first(
    _ db: some SqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) throws -> (Root, repeat each Part)? {
    try db.run(first(), file: file, line: line)
  }

  /// Reads the first row with its associated rows; returns nil if there is no row.
  public func first(
    _ db: some AsyncSqlExecutor, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> (Root, repeat each Part)? {
    try await db.run(first(), file: file, line: line)
  }
}

extension AssociatedQuery: StatementTrees {
  package func statements() throws -> [TreeStatement] { try queries().map { TreeStatement($0) } }
}
