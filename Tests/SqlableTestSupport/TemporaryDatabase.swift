import Foundation
import SqlableCore

/// Calls `body` with a new database file, which is deleted afterwards.
func withDatabase<Result>(
  _ configuration: Configuration = Configuration(), _ body: (SqliteDatabase) throws -> Result
) throws -> Result {
  try withDirectory { directory in
    try body(SqliteDatabase(filepath: directory + "/test.sqlite", configuration: configuration))
  }
}

/// Calls `body` with an empty directory, which is deleted afterwards.
func withDirectory<Result>(_ body: (String) throws -> Result) throws -> Result {
  let directory = NSTemporaryDirectory() + "sqlable-test-\(UUID().uuidString)"
  try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: directory) }
  return try body(directory)
}

/// The error that `body` throws, or nil.
func sqlError(_ body: () throws -> Void) -> SqlError? {
  do {
    try body()
    return nil
  } catch {
    return error as? SqlError
  }
}
