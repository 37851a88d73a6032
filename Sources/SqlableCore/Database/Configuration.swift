import FoundationEssentials

/// The settings with which a handle is opened. The defaults suit a service that runs for months.
///
/// ```swift
/// let db = try SqliteDatabase(filepath: path, configuration: .init(label: "main", busyTimeout: 10))
/// ```
public struct Configuration: Sendable, Hashable {
  /// A name that is added to the errors of this handle and its children.
  public var label: String?

  /// Opens the file read-only; the file must exist. Default: false.
  public var isReadOnly: Bool

  /// Opens the file when the handle, or the pool, is first used. Default: false.
  ///
  /// ```swift
  /// let db = try SqliteDatabase(filepath: path, configuration: Configuration(opensLazily: true))
  /// let bikes = try Bicycle.read().run(db)     // opens the file
  /// ```
  ///
  /// The first use throws the errors of opening the file; the next use tries again. An invalid configuration throws
  /// when the handle is created. A relative path is also resolved when the handle is created.
  public var opensLazily: Bool

  /// Creates missing directories above the file. Default: true.
  public var createsDirectories: Bool

  /// The number of seconds that a statement waits for another connection's lock before it throws `.busy`: 0 to
  /// 2,147,483. Default: 5.
  public var busyTimeout: Double

  /// The journal mode of SQLite. Default: `.wal`, in which readers and the writer do not block each other.
  public var journalMode: JournalMode

  /// The durability of commits in a power failure. Default: `.normal`, where the latest commits can be lost but the
  /// file is never corrupted. `.full` keeps every commit, at the price of one disk flush per commit. In both modes,
  /// every commit survives a crash of the process.
  public var synchronous: Synchronous

  /// Enforces foreign keys. Default: true. (SQLite's own default is false.)
  public var foreignKeys: Bool

  /// Fires delete triggers also for rows that REPLACE deletes, and allows a trigger to fire itself. Default: false, as
  /// in SQLite. With true, a trigger that updates its own table throws unless a condition ends the recursion. With
  /// false, REPLACE on a table with a ``FullTextIndex`` throws `.misuse`.
  public var recursiveTriggers: Bool

  /// The policy for overwriting deleted data. Default: `.fast`, which overwrites only where no extra I/O is needed.
  public var secureDelete: SecureDelete

  /// The memory limit for the compiled statements that a handle caches, in bytes. The least recently used statements
  /// are evicted first. Default: 4 MiB, enough for more than 500 typical statements. 0 disables the cache.
  public var statementCacheBytes: Int

  /// The size of a handle's page cache, in KiB. Default: 8,192 (8 MiB).
  public var cacheSize: Int

  /// The size of the WAL, in pages, at which a commit runs a checkpoint; 0 disables these checkpoints. Default: 1,000.
  public var walAutocheckpoint: Int

  /// The maximum size of the database, in pages; a statement that needs more throws `.full`. Default: nil, SQLite's own
  /// limit.
  public var maximumPageCount: Int?

  /// Uses SQLite's pre-update hook for `.observe` and `didUpdate`, if this SQLite has it. Default: true. With false,
  /// the update hook is used. The update hook does not report rows deleted by REPLACE or by an unfiltered DELETE, nor
  /// any row of a WITHOUT ROWID table. The update hook reports only rowids. So the observer of a single row is never
  /// notified if the table's key is not the rowid. If an update changes a row's id, the old id is not reported.
  public var usesPreupdateHook: Bool

  /// Lets views, triggers, checks, generated columns and indexes of the file use all functions and virtual tables of
  /// SQLite. Default: true, as in SQLite. Set false for untrusted files: then the schema can use only functions and
  /// virtual tables that SQLite marks as innocuous. SQLite 3.40 does not mark its JSON functions. A statement on a
  /// schema that uses anything else throws `.schema(.mismatch)` with a message that names this setting. With either
  /// value, the schema can use a user-defined function only if the function was created with `isAllowedInSchema: true`.
  public var trustsSchema: Bool

  /// Refuses writes on every handle of the family once SQLite has found that the file is damaged. Writes then throw
  /// `.corrupt`, and reads continue. Default: false. See ``SqliteDatabase/onCorruption(exclusively:_:)``.
  public var stopsWritesWhenDamaged: Bool

  /// The paths of other database files to attach, keyed by the names that statements use for them. Default: none.
  ///
  /// ```swift
  /// let db = try SqliteDatabase(filepath: path, configuration: .init(attached: ["archive": old]))
  /// // ATTACH '/var/lib/bikes/old.sqlite' AS "archive"
  /// try Bicycle.read().in(database: "archive").run(db)     // SELECT … FROM "archive"."bicycle"
  /// ```
  ///
  /// Every connection attaches these files: the handle, its children, and all connections of a pool. A missing file is
  /// created, unless the handle is read-only; a child throws `.cannotOpen` if a file is gone. The journal mode,
  /// `synchronous`, `secureDelete` and `cacheSize` apply to attached files too. Observers, live results and schema
  /// changes cover only the handle's main file. To create tables in an attached file, open a handle on that file. In
  /// WAL mode a transaction that writes to several files is atomic for every reader of each file. After a power failure
  /// or a killed process, some files can contain the transaction and others not.
  public var attached: [String: String]

  /// The names in ``attached`` whose files are attached read-only, for data that many databases share. Default: none.
  ///
  /// ```swift
  /// let configuration = Configuration(attached: ["shop": shopPath], attachedReadOnly: ["shop"])
  /// ```
  ///
  /// A write to such a file throws `.readOnly`, and a missing file throws `.cannotOpen`. A transaction takes no write
  /// lock on the file. The file keeps its journal mode; reading a file in WAL mode requires a writable directory.
  public var attachedReadOnly: Set<String>

  /// The extensions of SQLite that every connection loads, in this order. Default: none.
  public var extensions: [LoadableExtension]

  /// The key of the file. Default: nil, for a file that is not encrypted. A key requires the package trait `SQLCipher`;
  /// without the trait, opening a handle throws `.misuse`.
  ///
  /// ```swift
  /// let db = try SqliteDatabase(filepath: path, configuration: .init(key: .passphrase("correct horse")))
  /// ```
  ///
  /// A new file is encrypted with this key. Opening throws `.wrongKey` if the key is wrong, or if a key is set for a
  /// file that is not encrypted. The WAL and the journal are encrypted, too; a database in memory is not. After
  /// ``SqliteDatabase/rekey(to:file:line:)`` the family uses the new key, but this property still has the old key.
  public var key: EncryptionKey?

  /// The encryption settings of the file. Default: the settings of SQLCipher 4.
  public var cipher: CipherSettings

  /// The keys of attached files, keyed like ``attached`` by name. Default: none. A file without an entry is opened with
  /// ``key``. For a file that is not encrypted, use ``EncryptionKey/unencrypted``. Every attached file must have the
  /// settings of SQLCipher 4.
  public var attachedKeys: [String: EncryptionKey]

  var openActions: [OpenAction] = []

  /// Reads the file as immutable: SQLite takes no locks, creates no files, and ignores an existing WAL. Has an effect
  /// only with `isReadOnly`.
  package var isImmutable = false

  /// Gives each connection 10 KB of lookaside memory, SQLite's pool of small blocks, instead of 120 KB. For a program
  /// with thousands of connections.
  package var isCompact = false

  public init(
    label: String? = nil,
    isReadOnly: Bool = false,
    opensLazily: Bool = false,
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
    trustsSchema: Bool = true,
    stopsWritesWhenDamaged: Bool = false,
    attached: [String: String] = [:],
    attachedReadOnly: Set<String> = [],
    extensions: [LoadableExtension] = [],
    key: EncryptionKey? = nil,
    cipher: CipherSettings = CipherSettings(),
    attachedKeys: [String: EncryptionKey] = [:]
  ) {
    self.label = label
    self.isReadOnly = isReadOnly
    self.opensLazily = opensLazily
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
    self.stopsWritesWhenDamaged = stopsWritesWhenDamaged
    self.attached = attached
    self.attachedReadOnly = attachedReadOnly
    self.extensions = extensions
    self.key = key ?? Configuration.keyOfTests
    self.cipher = cipher
    self.attachedKeys = attachedKeys
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
  var withAbsolutePaths: Configuration {
    var configuration = self
    configuration.attached = attached.mapValues { path in
      // An invalid path stays as it is, so that `validate()` detects it.
      let isFile = !path.isEmpty && path != ":memory:" && !path.beginsAtHome
      return !isFile || path.begins(with: "/") ? path : FileManager.default.currentDirectoryPath + "/" + path
    }
    configuration.extensions = extensions.map(\.withAbsolutePath)
    return configuration
  }

  func validate() throws {
    guard busyTimeout.isFinite, busyTimeout >= 0, busyTimeout <= 2_147_483 else {
      throw SqlError.misuse("the busy timeout must be from 0 to 2,147,483 seconds")
    }
    guard statementCacheBytes >= 0 else { throw SqlError.misuse("the size of the statement cache can't be negative") }
    guard (1...1 << 30).contains(cacheSize) else {
      throw SqlError.misuse("the size of the page cache must be from 1 to 2^30 KiB")
    }
    guard (0...Int(Int32.max)).contains(walAutocheckpoint) else {
      throw SqlError.misuse("the threshold of automatic checkpoints must be from 0 to 2^31 - 1 pages")
    }
    if let maximumPageCount, !(1...Int(UInt32.max) - 1).contains(maximumPageCount) {
      throw SqlError.misuse("the maximum page count must be from 1 to 4,294,967,294")
    }
    for item in extensions { try item.validate() }
    try validateKeys()
    if let name = attachedReadOnly.sorted().first(where: { attached[$0] == nil }) {
      throw SqlError.misuse("attachedReadOnly has the name \(name), but no attached database has this name")
    }
    guard !attached.isEmpty else { return }
    var names: Set<[UInt8]> = [[UInt8]("main".utf8), [UInt8]("temp".utf8)]
    for (name, path) in attached {
      guard !name.isEmpty, !name.utf8.contains(0), names.insert(name.foldedName).inserted else {
        throw SqlError.misuse("the name of an attached database must be unique, and can't be main, temp or empty")
      }
      guard !path.isEmpty, path != ":memory:", !path.utf8.contains(0) else {
        throw SqlError.misuse("the path of attached database \(name) can't be empty, be :memory: or contain a NUL byte")
      }
      guard !path.beginsAtHome else {
        throw SqlError.misuse("the path of attached database \(name) \(String.homeIsNotExpanded)")
      }
    }
  }
}
