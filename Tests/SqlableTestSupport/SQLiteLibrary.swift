import Foundation
import SqlableCore

/// The SQLite library that the tests run with. The tests may have been built with another version.
enum SQLiteLibrary {
  private static let version = SqliteDatabase.sqliteVersion.split(separator: ".").compactMap { Int($0) }

  /// Returns whether the version is 3.`minor` or later.
  static func isAtLeast(_ minor: Int) -> Bool { version.count > 1 && (version[0], version[1]) >= (3, minor) }

  /// The compile options with their values and without `SQLITE_`, as in `THREADSAFE=1`.
  static let options: Set<String> = {
    let db = try? SqliteDatabase.inMemory()
    return Set((try? db?.query("PRAGMA compile_options", as: String.self)) ?? [])
  }()

  /// False for Debian's SQLCipher: without the hook, observers have limits.
  static let hasPreupdateHook = options.contains("ENABLE_PREUPDATE_HOOK")

  static let hasFullText = options.contains("ENABLE_FTS5")

  /// True if `sqlite3VdbePreUpdateHook` asserts that all columns are stored. Generated columns need not be.
  static let assertsThatColumnsAreStored = options.contains("DEBUG") && !isAtLeast(46)

  /// The RETURNING clause of an upsert. Older versions look up the row afterwards.
  static let returningId = isAtLeast(35) ? #" RETURNING "id""# : ""
}
