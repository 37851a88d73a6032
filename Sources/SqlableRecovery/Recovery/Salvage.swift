import SqlableCore
import SqlableSchema

/// A recovery of a damaged database's rows into a new file.
///
/// ```swift
/// let report = try Salvage(damaged: "bikes.sqlite", backup: "yesterday.sqlite").recover(into: "recovered.sqlite")
/// for table in report.tables where !table.isComplete { print(table.name, table.estimatedRowsLost) }
/// ```
///
/// Salvage reads the pages of the file and its WAL without SQLite. Neither an intact header nor an intact schema is
/// needed, and rows on orphaned pages are recovered too. Salvage only reads the damaged file and the backup. Close all
/// handles on the damaged file first, because Salvage takes no locks and could read a part of another connection's
/// commit.
///
/// SQLite stores no page checksums, so a value that was overwritten with another valid value can't be detected.
public struct Salvage: Sendable {
  let damaged: String
  let backup: String?
  let schema: Schema?
  let functions: FunctionRegistry?
  private let isEncrypted: Bool

  /// True if rows that were probably deleted are stored in the table `lost_and_found`. Default: false.
  public var keepsPossiblyDeleted = false

  /// A closure that the recovering thread calls before each page of a b-tree, and once before the indexes are created.
  package var progress: (@Sendable (SalvageProgress) -> Void)?

  /// - Parameters:
  ///   - damaged: The path of the damaged database.
  ///   - backup: The path of an older copy. The copy supplies lost parts of the schema and the rows of lost pages.
  ///   - schema: The models, for parts of the schema that neither the file nor the backup contains.
  ///   - db: A handle with the functions and collations that the schema uses.
  public init(damaged: String, backup: String? = nil, schema: Schema? = nil, functionsOf db: SqliteDatabase? = nil) {
    (self.damaged, self.backup, self.schema, functions) = (damaged, backup, schema, db?.functions)
    isEncrypted = db?.cipher != nil
  }

  private init(damaged: String, functions: FunctionRegistry?) {
    (self.damaged, self.functions) = (damaged, functions)
    (backup, schema, isEncrypted) = (nil, nil, false)
  }

  /// Recovers the schema and the rows into a new file, and returns a report of the recovered and lost rows.
  ///
  /// The new file gets its name when it is complete and on the disk. Rows keep their rowids. A row that violates a
  /// constraint goes to the table `lost_and_found`, together with the reason.
  ///
  /// Throws `.misuse` if `path` exists, if the handle for the functions has a key, or if the damaged file looks
  /// encrypted. Throws `.cannotOpen` if the damaged file can't be read, and `.notADatabase` if the damaged file has no
  /// database page. Throws `.full` or `.io` if the new file can't be written. Damage itself is not an error. Blocks the
  /// thread. In `async` code, use the overload with `await`.
  @discardableResult
  public func recover(into path: String) throws -> SalvageReport {
    guard !isEncrypted else { throw Salvage.encrypted }
    return try SalvageRun(self, into: path).recover()
  }

  /// Recovers the schema and the rows into a new file, on a separate thread. Cancellation does not interrupt the work.
  @discardableResult
  public func recover(into path: String) async throws -> SalvageReport {
    try await onOwnThread { try self.recover(into: path) }
  }

  func recover(into path: String, encoding: TextEncoding) throws -> SalvageReport {
    guard let backup, try BackupHeader(path: backup).encoding != encoding else {
      guard !isEncrypted else { throw Salvage.encrypted }
      return try SalvageRun(self, into: path, encoding: encoding).recover()
    }
    // SQLite can attach the backup only to a file with the backup's encoding, so first recover into such a file.
    let recovered = path + "-recoded"
    defer { try? SqliteDatabase.deleteDatabase(at: recovered) }
    let report = try recover(into: recovered)
    _ = try SalvageRun(Salvage(damaged: recovered, functions: functions), into: path, encoding: encoding).recover()
    return report
  }

  static var encrypted: SqlError {
    .misuse("can't salvage an encrypted file: a salvage can't read encrypted pages; restore a backup")
  }
}

package enum SalvageProgress: Sendable, Hashable {
  /// The number of pages whose use is known so far, and the number of pages in the file.
  case pages(Int, of: Int)
  /// All rows are stored; the indexes, views and triggers follow.
  case indexes
}
