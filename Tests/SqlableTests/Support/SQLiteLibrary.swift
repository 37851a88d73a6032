import Foundation
import Sqlable
import Testing

/// The SQLite that the tests run with, which need not be the one that they were built with.
enum SQLiteLibrary {
  /// Whether it is 3.x or later.
  static func isAtLeast(_ minor: Int) -> Bool {
    let parts = SqliteDatabase.sqliteVersion.split(separator: ".").compactMap { Int($0) }
    return parts.count > 1 && (parts[0], parts[1]) >= (3, minor)
  }

  /// The options that it was built with, without `SQLITE_` and with their values, as in `THREADSAFE=1`.
  static let options: Set<String> = {
    let db = try? SqliteDatabase.inMemory()
    return Set((try? db?.query("PRAGMA compile_options", as: String.self)) ?? [])
  }()

  static let hasFullText = options.contains("ENABLE_FTS5")

  /// Whether `sqlite3VdbePreUpdateHook` asserts that all columns are stored, which generated ones need not be.
  static let assertsThatColumnsAreStored = options.contains("DEBUG") && !isAtLeast(46)

  /// The end of an upsert that gives the id of its row; older versions look for the row afterwards.
  static let returningId = isAtLeast(35) ? #" RETURNING "id""# : ""
}

extension Trait where Self == ConditionTrait {
  /// Skips the test where SQLite is older than 3.x: `@Test(.needs(35, "RETURNING"))`.
  static func needs(_ minor: Int, _ feature: String) -> Self {
    .enabled(if: SQLiteLibrary.isAtLeast(minor), "\(feature) needs SQLite 3.\(minor)")
  }

  static var needsFullText: Self { .enabled(if: SQLiteLibrary.hasFullText, "SQLite was built without FTS5") }

  /// Skips the test where SQLite ends the process by an assertion of its own.
  static var observesGeneratedColumns: Self {
    .disabled(if: SQLiteLibrary.assertsThatColumnsAreStored, "an assertion of this SQLite takes all columns for stored")
  }
}
