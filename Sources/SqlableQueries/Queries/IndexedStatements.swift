import SqlableCore

extension Statement {
  /// Makes SQLite find the rows by this index: `… FROM "bicycle" INDEXED BY "bicycle_color" WHERE "color" = ?`.
  ///
  /// ```swift
  /// Bicycle.read().indexed(by: Index(Bicycle.color)).filter(Bicycle.color == "red")
  /// ```
  ///
  /// Without a hint SQLite chooses the index. A hint prevents a later change of the query plan. Reads, counts, updates
  /// and deletes of a table accept a hint. Call this method after ``in(_:)-(String)``.
  ///
  /// Running the statement throws `.schema(.mismatch)` if the table does not have the index, and `.invalidStatement` if
  /// SQLite can't use the index. A policy rejects a statement with this hint.
  public consuming func indexed(by index: Index) -> Statement {
    indexed(by: index.name(in: tree.tableInfo))
  }

  /// Makes SQLite find the rows by the index with this name.
  public consuming func indexed(by name: String) -> Statement {
    tree.hint(IndexHint(name: name))
    return self
  }

  /// Makes SQLite find the rows without an index: `… FROM "bicycle" NOT INDEXED`. SQLite can still use an integer
  /// primary key, and the primary key of a table without rowid.
  public consuming func notIndexed() -> Statement {
    tree.hint(.none)
    return self
  }
}
