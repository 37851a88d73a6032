import Foundation
import SqlableCore

extension Migrations {
  /// Creates the migrations from the SQL files in a directory, ordered by file name.
  ///
  /// ```swift
  /// let migrations = try Migrations(directory: "Migrations")
  /// // 001-bicycles.sql, 002-color.sql
  /// ```
  ///
  /// Each file whose name ends with `.sql` is a migration; the migration's name is the file's name without `.sql`.
  /// Other files are ignored. File names are ordered by their bytes, so numbers at the start of a name need leading
  /// zeros. Throws `.cannotOpen` if the directory or a file can't be read, or if a file is not UTF-8.
  public init(directory: String, fresh schema: Schema? = nil) throws {
    func problem(_ path: String) -> SqlError {
      SqlError(.cannotOpen, message: "can't read \(path) as UTF-8 text")
    }
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else {
      throw SqlError(.cannotOpen, message: "can't read the directory of the migrations: \(directory)")
    }
    let files = names.filter { $0.hasSuffix(".sql") }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    self.init(
      try files.map { name in
        let path = "\(directory)/\(name)"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { throw problem(path) }
        return Migration(String(name.dropLast(4)), sql: text)
      }, fresh: schema)
  }
}
