/// How a handle is opened; the defaults, all of them here, are chosen for a service that runs for months.
///
/// ```swift
/// let db = try SqliteDatabase(filepath: path, configuration: .init(label: "main", busyTimeout: 10))
/// ```
public struct Configuration: Sendable, Hashable {
  /// A name that appears in every error of this handle and of its children.
  public var label: String?

  /// Open without the right to write. The file must exist. Default: false.
  public var isReadOnly: Bool

  /// Create the directories above the file when they are missing. Default: true.
  public var createsDirectories: Bool

  /// How long a statement waits for another connection's lock before it throws `.busy`, in seconds; finite, from 0 to
  /// 2,147,483. Default: 5.
  public var busyTimeout: Double

  /// How commits reach the file. Default: `.wal`, where readers and the writer do not wait for one another.
  public var journalMode: JournalMode

  /// What survives a loss of power. Default: `.normal`: the file stays whole, the latest commits may be lost; `.full`
  /// keeps every commit, at the price of a disk flush each. Neither loses anything when only the process dies.
  public var synchronous: Synchronous

  /// Enforce foreign keys. Default: true. (SQLite's own default is false.)
  public var foreignKeys: Bool

  /// Let delete triggers fire for rows that REPLACE deletes too, and let a trigger fire itself. Default: false, as
  /// SQLite has it: a trigger that updates its own table, without a condition that comes to an end, would throw.
  /// REPLACE on a table with a ``FullTextIndex`` needs true, and throws `.misuse` otherwise.
  public var recursiveTriggers: Bool

  /// Overwrite what is deleted. Default: `.fast`, where it costs no further input or output.
  public var secureDelete: SecureDelete

  /// How many bytes the compiled statements may take that a handle keeps, the least recently used leaving first.
  /// Default: 4 MiB, where more than 500 usual statements fit. 0 keeps none.
  public var statementCacheBytes: Int

  /// How many kibibytes of pages a handle keeps in memory. Default: 8,192 (8 MiB).
  public var cacheSize: Int

  /// The size, in pages, that a transaction makes the write-ahead log reach before it is copied back into the file; 0
  /// never copies it. Default: 1,000.
  public var walAutocheckpoint: Int

  /// The largest number of pages that the database may have; a statement that needs more throws `.full`. Default: nil,
  /// SQLite's own limit.
  public var maximumPageCount: Int?

  /// Hand `.observe` and `didUpdate` what SQLite's pre-update hook sees, where this SQLite has it. Default: true. With
  /// false the update hook is used: it misses rows deleted by REPLACE and by an unfiltered DELETE, WITHOUT ROWID
  /// tables, keys that are not the rowid (observers of one hear nothing), and the id that a row had before an update
  /// changed it.
  public var usesPreupdateHook: Bool

  /// Let views, triggers, checks, generated columns and indexes of the file use all functions and virtual tables of
  /// SQLite. Default: true, as SQLite has it. With false they may use only what SQLite marks as innocuous, for files
  /// that others hand in; SQLite 3.40 does not mark its JSON functions. A statement that meets such a schema throws
  /// `.schema(.mismatch)`, which names this setting. The program's own functions are shut out either way, unless they
  /// are made with `isAllowedInSchema: true`.
  public var trustsSchema: Bool

  public init(
    label: String? = nil,
    isReadOnly: Bool = false,
    createsDirectories: Bool = true,
    busyTimeout: Double = 5,
    journalMode: JournalMode = .wal,
    synchronous: Synchronous = .normal,
    foreignKeys: Bool = true,
    recursiveTriggers: Bool = false,
    secureDelete: SecureDelete = .fast,
    statementCacheBytes: Int = 4 << 20,
    cacheSize: Int = 8_192,
    walAutocheckpoint: Int = 1_000,
    maximumPageCount: Int? = nil,
    usesPreupdateHook: Bool = true,
    trustsSchema: Bool = true
  ) {
    self.label = label
    self.isReadOnly = isReadOnly
    self.createsDirectories = createsDirectories
    self.busyTimeout = busyTimeout
    self.journalMode = journalMode
    self.synchronous = synchronous
    self.foreignKeys = foreignKeys
    self.recursiveTriggers = recursiveTriggers
    self.secureDelete = secureDelete
    self.statementCacheBytes = statementCacheBytes
    self.cacheSize = cacheSize
    self.walAutocheckpoint = walAutocheckpoint
    self.maximumPageCount = maximumPageCount
    self.usesPreupdateHook = usesPreupdateHook
    self.trustsSchema = trustsSchema
  }

  public enum JournalMode: String, Sendable, Hashable {
    case wal, delete, truncate, persist, memory
  }

  public enum Synchronous: String, Sendable, Hashable {
    case off, normal, full, extra
  }

  public enum SecureDelete: String, Sendable, Hashable {
    case off, fast, on
  }
}

extension Configuration {
  /// Throws what can't be meant, before a file is touched.
  func validate() throws {
    guard busyTimeout.isFinite, busyTimeout >= 0, busyTimeout <= 2_147_483 else {
      throw SqlError.misuse("the busy timeout must be from 0 to 2,147,483 seconds")
    }
    guard statementCacheBytes >= 0 else { throw SqlError.misuse("the statement cache can't hold less than 0") }
    guard (1...1 << 30).contains(cacheSize) else { throw SqlError.misuse("the page cache needs 1 to 2^30 kibibytes") }
    guard (0...Int(Int32.max)).contains(walAutocheckpoint) else {
      throw SqlError.misuse("the automatic checkpoint needs a number of pages from 0 to 2^31 - 1")
    }
    if let maximumPageCount, !(1...Int(UInt32.max) - 1).contains(maximumPageCount) {
      throw SqlError.misuse("the maximum page count must be from 1 to 4,294,967,294")
    }
  }
}
