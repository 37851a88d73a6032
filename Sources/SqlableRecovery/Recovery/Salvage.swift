import SqlableCore
import SqlableSchema

/// Recovers the rows of a damaged database into a new file.
///
/// ```swift
/// let report = try Salvage(damaged: "bikes.sqlite", backup: "yesterday.sqlite").recover(into: "recovered.sqlite")
/// for table in report.tables where !table.isComplete { print(table.name, table.estimatedRowsLost) }
/// ```
///
/// It reads the pages of the file and of its WAL itself, so it needs neither an intact header nor an intact
/// schema, and rows come back whose b-tree does not lead to them any more. It only reads the damaged file and the
/// backup. Close the handles on the damaged file first: it takes no locks, and would see half of another connection's
/// commit.
///
/// SQLite keeps no checksums of pages, so a value that was overwritten by another one of its kind can't be recognized.
public struct Salvage: Sendable {
  public let damaged: String
  public let backup: String?
  let schema: Schema?
  let functions: FunctionRegistry?
  /// True if the handle has a key.
  private let isEncrypted: Bool

  /// Puts rows that were probably deleted into the table `lost_and_found`. Default: false.
  public var keepsPossiblyDeleted = false

  /// - Parameters:
  ///   - damaged: The path of the damaged database.
  ///   - backup: The path of an older copy. It supplies the parts of the schema that are lost, and the rows of lost
  ///     pages.
  ///   - schema: The models, for the parts of the schema that are lost from the file and the backup.
  ///   - db: A handle with the functions and collations that the schema uses.
  public init(damaged: String, backup: String? = nil, schema: Schema? = nil, functionsOf db: SqliteDatabase? = nil) {
    (self.damaged, self.backup, self.schema, functions) = (damaged, backup, schema, db?.functions)
    isEncrypted = db?.cipher != nil
  }

  /// The same functions for another file.
  private init(damaged: String, functions: FunctionRegistry?) {
    (self.damaged, self.functions) = (damaged, functions)
    (backup, schema, isEncrypted) = (nil, nil, false)
  }

  /// Recovers the rows into a new file, with the schema, and returns what came back and what did not.
  ///
  /// The file appears under its name when it is complete and on the disk. Rows keep their rowids. One that breaks a
  /// constraint goes into the table `lost_and_found`, with its reason.
  ///
  /// Throws `.misuse` if `path` exists, if the handle of the functions has a key and if the damaged file looks
  /// encrypted, `.cannotOpen` if it can't be read, `.notADatabase` if it has no page of a database, and `.full` or
  /// `.io` if the new file can't be written. Damage is no error.
  @discardableResult
  public func recover(into path: String) throws -> SalvageReport {
    guard !isEncrypted else { throw Salvage.encrypted }
    return try SalvageRun(self, into: path).recover()
  }

  /// Recovers the rows into a new file with a text encoding.
  func recover(into path: String, encoding: TextEncoding) throws -> SalvageReport {
    guard let backup, try BackupHeader(path: backup).encoding != encoding else {
      guard !isEncrypted else { throw Salvage.encrypted }
      return try SalvageRun(self, into: path, encoding: encoding).recover()
    }
    // Only a file with the backup's encoding can attach the backup.
    let recovered = path + "-recoded"
    defer { try? SqliteDatabase.deleteDatabase(at: recovered) }
    let report = try recover(into: recovered)
    _ = try SalvageRun(Salvage(damaged: recovered, functions: functions), into: path, encoding: encoding).recover()
    return report
  }

  static var encrypted: SqlError {
    .misuse("can't salvage an encrypted file: encrypted pages can't be told apart; restore a backup")
  }
}
