import SqlableCore
import SqlableSchema

/// The options of a backup or restore, with defaults for a service that keeps writing.
///
/// ```swift
/// try await pool.backup(to: path, BackupOptions(bytesPerSecond: 20 << 20, timeLimit: .seconds(600)))
/// ```
public struct BackupOptions: Sendable {
  /// A method of copying the database into a backup.
  public enum Method: Sendable, Hashable {
    /// Page by page. The copy contains all pages of the source, including free pages.
    case copied
    /// By `VACUUM INTO`: ordered pages without free pages. Slower, and reports progress only at the end.
    case vacuumed
  }

  /// The method of a backup; a restore always copies pages. Default: `.copied`.
  public var method: Method

  /// The checks to run before a backup is renamed to its target, or before a restore replaces anything. Default:
  /// `.integrity`.
  public var checks: BackupChecks

  /// The models that the copy must match, as ``Schema/verify(_:file:line:)-(SqlExecutor,_,_)`` compares them. A file
  /// backup of an attached database is not compared. Default: nil.
  public var schema: Schema?

  /// True if a backup is allowed to replace a file that has another key than the database, or no key. Such a file can
  /// be a backup from before a `rekey`. Default: false; the backup throws `.wrongKey`.
  public var replacesOtherKeys: Bool

  /// The number of pages to copy between two checks for cancellation, a deadline, and other writers. Default: 1,024,
  /// usually 4 MiB.
  public var pagesPerStep: Int

  /// The maximum average speed of the copy, in bytes per second. Default: nil, unlimited.
  public var bytesPerSecond: Int?

  /// The maximum duration of a backup or restore, including waits, after which the call throws `.timeout`. Default:
  /// nil, unlimited.
  public var timeLimit: Duration?

  /// The name of the database to copy: `main` for the handle's own database, or a name in `Configuration.attached`. A
  /// restore always replaces the handle's own database. Default: `main`.
  public var database: String

  /// A closure that the copying thread calls after each step. An error of the closure ends the backup. After the last
  /// step of a restore, an error of the closure has no effect, because the restore is already committed.
  public var progress: (@Sendable (BackupProgress) throws -> Void)?

  public init(
    method: Method = .copied, checks: BackupChecks = .integrity, schema: Schema? = nil, pagesPerStep: Int = 1_024,
    bytesPerSecond: Int? = nil, timeLimit: Duration? = nil, database: String = "main", replacesOtherKeys: Bool = false,
    progress: (@Sendable (BackupProgress) throws -> Void)? = nil
  ) {
    self.method = method
    self.checks = checks
    self.schema = schema
    self.replacesOtherKeys = replacesOtherKeys
    self.pagesPerStep = pagesPerStep
    self.bytesPerSecond = bytesPerSecond
    self.timeLimit = timeLimit
    self.database = database
    self.progress = progress
  }

  /// A backup by `VACUUM INTO`, without free pages.
  public static let vacuumed = BackupOptions(method: .vacuumed)
}

/// The checks to run on a copy of the database.
public struct BackupChecks: OptionSet, Sendable, Hashable {
  public let rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }

  /// `PRAGMA integrity_check`: throws `.corrupt` with the damage.
  public static let integrity = BackupChecks(rawValue: 1)
  /// `PRAGMA foreign_key_check`: throws `.constraint(.foreignKey)` with the tables whose rows reference missing rows.
  /// A copy contains such rows only if the original database contains them, so this check runs only on request.
  public static let foreignKeys = BackupChecks(rawValue: 2)
  public static let all: BackupChecks = [.integrity, .foreignKeys]
}

/// The progress of a backup or restore.
public struct BackupProgress: Sendable, Hashable {
  /// The number of pages copied so far. The number decreases if the copy must restart.
  public let copiedPages: Int
  /// The number of pages in the source.
  public let totalPages: Int
  /// The size of a page in bytes.
  public let pageSize: Int

  /// The copied fraction of the pages, from 0 to 1.
  public var fraction: Double { totalPages > 0 ? Double(copiedPages) / Double(totalPages) : 1 }
}

extension BackupOptions {
  func validate() throws {
    guard (1...Int(Int32.max)).contains(pagesPerStep) else {
      throw SqlError.misuse("a step of a backup must have from 1 to 2^31 - 1 pages")
    }
    if let bytesPerSecond, bytesPerSecond < 1 {
      throw SqlError.misuse("the rate of a backup must be at least one byte per second")
    }
    guard !database.isEmpty, !database.utf8.contains(0) else {
      throw SqlError.misuse("the name of the database to back up can't be empty or contain a NUL byte")
    }
  }
}
