import SqlableCore
import SqlableSchema

/// How a database is backed up or restored. The defaults suit a service that goes on writing.
///
/// ```swift
/// try await pool.backup(to: path, BackupOptions(bytesPerSecond: 20 << 20, timeLimit: .seconds(600)))
/// ```
public struct BackupOptions: Sendable {
  /// How a backup is made.
  public enum Method: Sendable, Hashable {
    /// Page by page: the copy has the pages of the source, its free ones included.
    case copied
    /// By `VACUUM INTO`, without free pages and in order. It takes longer, and reports no progress before its end.
    case vacuumed
  }

  /// How a backup is made; a restore always copies. Default: `.copied`.
  public var method: Method

  /// The checks before a backup gets its name, or a restore replaces anything. Default: `.integrity`.
  public var checks: BackupChecks

  /// The models whose tables must be there, as ``Schema/verify(_:file:line:)-(SqlExecutor,_,_)`` compares them.
  /// Default: nil.
  public var schema: Schema?

  /// Lets a backup replace a file that has another key than the database, or none, such as a backup from before a
  /// `rekey`. Default: false, it throws `.wrongKey`.
  public var replacesOtherKeys: Bool

  /// How many pages are copied between two checks for a cancellation, a deadline, and other writers. Default: 1,024,
  /// usually 4 MiB.
  public var pagesPerStep: Int

  /// How many bytes are copied in a second, on average. Default: nil, as many as the disk takes.
  public var bytesPerSecond: Int?

  /// How long it may take, waiting included; then it throws `.timeout`. Default: nil.
  public var timeLimit: Duration?

  /// Which database of the handle is copied: its own, or one of `Configuration.attached`. A restore always replaces
  /// the handle's own. Default: `main`.
  public var database: String

  /// Called after each step, on the thread that copies. An error that it throws ends the backup.
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

/// What is checked of a copy.
public struct BackupChecks: OptionSet, Sendable, Hashable {
  public let rawValue: Int

  public init(rawValue: Int) { self.rawValue = rawValue }

  /// `PRAGMA integrity_check`: throws `.corrupt` with what is damaged.
  public static let integrity = BackupChecks(rawValue: 1)
  /// `PRAGMA foreign_key_check`: throws `.constraint(.foreignKey)` with the tables of rows that refer to none. The
  /// database itself has such rows, so only who asks for this check is refused a copy.
  public static let foreignKeys = BackupChecks(rawValue: 2)
  public static let all: BackupChecks = [.integrity, .foreignKeys]
}

/// How far a backup or restore has got.
public struct BackupProgress: Sendable, Hashable {
  /// The number of pages that are copied. It falls if the copy must begin anew.
  public let copiedPages: Int
  /// The number of pages of the source.
  public let totalPages: Int
  /// The size of a page in bytes.
  public let pageSize: Int

  /// The share that is copied, from 0 to 1.
  public var fraction: Double { totalPages > 0 ? Double(copiedPages) / Double(totalPages) : 1 }
}

extension BackupOptions {
  func validate() throws {
    guard (1...Int(Int32.max)).contains(pagesPerStep) else {
      throw SqlError.misuse("a step of a backup must have from 1 to 2^31 - 1 pages")
    }
    if let bytesPerSecond, bytesPerSecond < 1 {
      throw SqlError.misuse("a backup must be allowed at least one byte a second")
    }
    guard !database.isEmpty, !database.utf8.contains(0) else {
      throw SqlError.misuse("the name of the database to back up can't be empty or contain a NUL byte")
    }
  }
}
