// The index that SQLite must use for the table of a statement: INDEXED BY and NOT INDEXED.

extension Statement {
  /// Makes SQLite find the rows by this index: `SELECT … FROM "bicycle" INDEXED BY "bicycle_color" WHERE "color" = ?`.
  ///
  /// ```swift
  /// Bicycle.read().indexed(by: Index(Bicycle.color)).filter(Bicycle.color == "red")
  /// ```
  ///
  /// SQLite chooses an index by itself; this guards against a plan that changes. It applies to reads, counts, updates
  /// and deletes of a whole table. With ``in(_:)-(String)`` it comes after that. Running it throws
  /// `.schema(.mismatch)` if the table has no such index, and `.invalidStatement` if the index can't be used for it. A
  /// policy refuses it.
  public consuming func indexed(by index: Index) -> Statement {
    indexed(by: index.name(inTable: tree.tableInfo.name))
  }

  /// Makes SQLite find the rows by the index with this name.
  public consuming func indexed(by name: String) -> Statement {
    tree.hint(IndexHint(name: name))
    return self
  }

  /// Makes SQLite find the rows without an index, other than the table's own key: `… FROM "bicycle" NOT INDEXED`.
  public consuming func notIndexed() -> Statement {
    tree.hint(.none)
    return self
  }
}
