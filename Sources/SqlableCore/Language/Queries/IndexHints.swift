// The index that SQLite must use for a table: INDEXED BY and NOT INDEXED.

extension Select {
  /// Makes SQLite use this index for the table whose model declares it: `… FROM "bicycle" INDEXED BY "bicycle_color"`.
  ///
  /// ```swift
  /// Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id).indexed(by: Index(Bicycle.color))
  ///   .filter(Bicycle.color == "red")
  /// ```
  ///
  /// Running it throws `.invalidStatement` if no model of the query, or several, declare the index, or if the index
  /// can't be used for it, and `.schema(.mismatch)` if the table has no such index. Tables under another name have
  /// ``Alias/indexed(by:)-(Index)``. A policy refuses it.
  public consuming func indexed(by index: Index) -> Select {
    query.refuseIfCombined("an index")
    query.clauses.hint(index)
    return self
  }

  /// Makes SQLite use the index with this name for the first table.
  public consuming func indexed(by name: String) -> Select {
    query.refuseIfCombined("an index")
    query.clauses.hint(IndexHint(name: name))
    return self
  }

  /// Makes SQLite read the first table without an index, other than the table's own key: `… NOT INDEXED`.
  public consuming func notIndexed() -> Select {
    query.refuseIfCombined("an index")
    query.clauses.hint(.none)
    return self
  }
}

extension Alias {
  /// Makes SQLite use this index for the table: `"worker" AS "boss" INDEXED BY "worker_name"`.
  ///
  /// Running it throws `.schema(.mismatch)` if the table has no such index, and `.invalidStatement` if the index can't
  /// be used, or if the alias is that of a query.
  public func indexed(by index: Index) -> Alias { indexed(by: index.name(inTable: source.table.name)) }

  /// Makes SQLite use the index with this name for the table.
  public func indexed(by name: String) -> Alias { hinted(IndexHint(name: name)) }

  /// Makes SQLite read the table without an index, other than the table's own key.
  public func notIndexed() -> Alias { hinted(.none) }
}
