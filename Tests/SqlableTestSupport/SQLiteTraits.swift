import Testing

extension Trait where Self == ConditionTrait {
  /// Skips the test if SQLite is older than 3.`minor`: `@Test(.needs(35, "RETURNING"))`.
  static func needs(_ minor: Int, _ feature: String) -> Self {
    .enabled(if: SQLiteLibrary.isAtLeast(minor), "\(feature) needs SQLite 3.\(minor)")
  }

  static var needsPreupdateHook: Self {
    .enabled(if: SQLiteLibrary.hasPreupdateHook, "SQLite was built without the pre-update hook")
  }

  static var needsTableOfStatements: Self {
    .enabled(if: SQLiteLibrary.options.contains("ENABLE_STMTVTAB"), "SQLite was built without sqlite_stmt")
  }

  static var needsFullText: Self { .enabled(if: SQLiteLibrary.hasFullText, "SQLite was built without FTS5") }

  /// Skips the test if an assertion of SQLite would end the process.
  static var observesGeneratedColumns: Self {
    .disabled(if: SQLiteLibrary.assertsThatColumnsAreStored, "an assertion of this SQLite takes all columns for stored")
  }
}
