// Hints that make SQLite use an index for a table: INDEXED BY and NOT INDEXED.

import SqlableCore

extension Select {
  /// Makes SQLite use this index for the table of its model: `… FROM "bicycle" INDEXED BY "bicycle_color"`.
  ///
  /// ```swift
  /// Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id).indexed(by: Index(Bicycle.color))
  ///   .filter(Bicycle.color == "red")
  /// ```
  ///
  /// Running the query throws `.invalidStatement` if no model or several models of the query declare the index, or if
  /// SQLite can't use the index. Running the query throws `.schema(.mismatch)` if the database's table does not have
  /// the index. For a table under another name, use ``Alias/indexed(by:)-(Index)``. A policy rejects a query with this
  /// hint.
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

  /// Makes SQLite read the first table without an index; SQLite can still use the primary key: `… NOT INDEXED`.
  public consuming func notIndexed() -> Select {
    query.refuseIfCombined("an index")
    query.clauses.hint(.none)
    return self
  }
}

extension Alias {
  /// Makes SQLite use this index for the table: `"worker" AS "boss" INDEXED BY "worker_name"`.
  ///
  /// Running the query throws `.schema(.mismatch)` if the table does not have the index. Running the query throws
  /// `.invalidStatement` if SQLite can't use the index, or if the alias names a query.
  public func indexed(by index: Index) -> Alias { indexed(by: index.name(in: source.table)) }

  /// Makes SQLite use the index with this name for the table.
  public func indexed(by name: String) -> Alias { hinted(IndexHint(name: name)) }

  /// Makes SQLite read the table without an index; SQLite can still use the primary key.
  public func notIndexed() -> Alias { hinted(.none) }
}
