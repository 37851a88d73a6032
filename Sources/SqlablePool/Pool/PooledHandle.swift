import Glibc
import SqlableCore
import Synchronization

/// A handle of a pool, opened on first use and held by one call at a time.
///
/// `PooledHandle` is safe as `@unchecked Sendable`:
/// 1. The pool's lock guards `call`.
/// 2. Only the thread that holds the handle uses `database` and `checked`. If no thread holds the handle, only the
///    thread with the pool's lock or the owner of the close barrier uses them.
package final class PooledHandle: @unchecked Sendable {
  /// The number of the handle in the pool: 0 for the writer, and the index in the pool's readers plus 1 for a reader.
  let number: Int
  package let isWriter: Bool
  /// The thread that runs asynchronous calls.
  let thread: CallThread
  package let interruption: Interruption
  private let maximumWalSize: Int?
  @exclusivity(unchecked) private var database: SqliteDatabase? {
    didSet { unretainedDatabase = database.map(Unmanaged.passUnretained) }
  }
  /// For reads with a claim: counting references to a handle takes 60 instructions each time.
  @exclusivity(unchecked) private var unretainedDatabase: Unmanaged<SqliteDatabase>?
  /// The latest check of the file, as a time of `ClockTime`.
  @exclusivity(unchecked) private var checked = ClockTime.now
  /// The claim on the handle, if the handle is a reader.
  let claim = ReaderClaim()
  let claimCounts = ClaimCounts()
  private let noted = NotedCacheUse()

  // Guarded by the pool's lock:
  @exclusivity(unchecked) package internal(set) var call: PoolCall?

  init(_ configuration: PoolConfiguration, _ resources: PoolResources?, number: Int) {
    (self.number, isWriter) = (number, number == 0)
    thread = CallThread(resources)
    maximumWalSize = configuration.maximumWalSize
    interruption = Interruption(busyTimeout: configuration.handles.busyTimeout)
  }

  /// Opens the handle if needed. Throws `.io` if the database file was moved, deleted or replaced.
  func open(by root: SqliteDatabase, _ feed: PoolFeed) throws -> SqliteDatabase {
    if let database {
      database.lend(to: pthread_self())
      let now = ClockTime.now
      if now - checked > PooledHandle.checkInterval { try check(database, at: now) }
      return database
    }
    // A database in memory can't be opened read-only; `query_only` below refuses writes.
    let database = try root.createChild(isReadOnly: !isWriter && !root.isInMemory)
    try database.use(interruption, isReadOnly: !isWriter, maximumWalSize: maximumWalSize)
    if isWriter {
      // From here on, the writer detects other connections' commits. The polling connection detects earlier commits.
      try database.detectOtherCommits()
      feed.detectOtherCommits()
    }
    self.database = database
    return database
  }

  /// Lends the open handle to the current thread, which has claimed it. Throws `.io` if the database file was moved,
  /// deleted or replaced.
  ///
  /// - Parameter now: The current time of `ClockTime`.
  @inline(__always)
  func openClaimed(at now: Int) throws -> Unmanaged<SqliteDatabase> {
    guard let unretainedDatabase else { throw SqlError.misuse("a claimed reader must be open") }
    try unretainedDatabase._withUnsafeGuaranteedRef { database in
      database.lend(to: pthread_self())
      if now - checked > PooledHandle.checkInterval { try check(database, at: now) }
    }
    return unretainedDatabase
  }

  /// Ends a call's use of the handle with a claim. Returns false if the next call can't use the handle.
  @inline(__always)
  func endClaimedUse() -> Bool {
    unretainedDatabase?._withUnsafeGuaranteedRef { database in
      database.lend(to: nil)
      guard let connection = database.connection else { return false }
      noted.store(StatementCacheUse(of: connection.cache))
      return !connection.isUnusableForOthers
    } ?? false
  }

  /// In nanoseconds. The check of the file is a system call, and using a deleted file for a second is harmless.
  private static var checkInterval: Int { 1_000_000_000 }

  @inline(never)
  private func check(_ database: SqliteDatabase, at now: Int) throws {
    checked = now
    try database.checkFileIsThere(isRead: !isWriter)
  }

  /// Ends a call's use of the handle. If a closure has stored the handle, later calls of the stored handle throw.
  func endLoan() { database?.lend(to: nil) }

  var isOpen: Bool { database != nil }

  /// True if the handle is open and refuses further use. Only the holder reads this property.
  var isLost: Bool { database?.connection?.isLost == true }

  /// True if the next call can't use the handle. Only the holder reads this property.
  var isUnusable: Bool { database?.connection?.isUnusableForOthers == true }

  /// True if SQL has changed the handle's settings or temporary objects. Only the holder reads this property.
  var hasOtherState: Bool { database?.connection?.hasOtherState == true }

  /// Frees memory whose contents SQLite can rebuild. Only the holder calls this method.
  func releaseMemory() { database?.lockedAnyway { database?.connection?.releaseMemory() } }

  /// The use of the handle's statement cache up to the last call. Any thread can read this property.
  var cacheUse: StatementCacheUse { noted.use }

  /// Updates `cacheUse`. Only the holder calls this method.
  func noteCacheUse() {
    if let cache = database?.connection?.cache { noted.store(StatementCacheUse(of: cache)) }
  }

  /// Closes the connection. The next call that uses this handle opens a new connection.
  func discard() {
    // An open cursor keeps the connection open until the cursor is closed.
    endLoan()
    try? database?.closeByOwner()
    database = nil
  }
}

/// The latest known use of a statement cache, which one thread stores and any thread reads.
private struct NotedCacheUse: ~Copyable {
  private let statements = Atomic(0)
  private let bytes = Atomic(0)
  private let hits = Atomic(0)
  private let misses = Atomic(0)
  private let evictions = Atomic(0)

  func store(_ use: StatementCacheUse) {
    statements.store(use.statements, ordering: .relaxed)
    bytes.store(use.bytes, ordering: .relaxed)
    hits.store(use.hits, ordering: .relaxed)
    misses.store(use.misses, ordering: .relaxed)
    evictions.store(use.evictions, ordering: .relaxed)
  }

  var use: StatementCacheUse {
    StatementCacheUse(
      statements: statements.load(ordering: .relaxed), bytes: bytes.load(ordering: .relaxed),
      hits: hits.load(ordering: .relaxed), misses: misses.load(ordering: .relaxed),
      evictions: evictions.load(ordering: .relaxed))
  }
}

extension SqliteDatabase {
  fileprivate func use(_ interruption: Interruption, isReadOnly: Bool, maximumWalSize: Int?) throws {
    try locked {
      let connection = try openConnection()
      connection.use(interruption)
      belongToPool()
      // Opening the file read-only does not prevent temporary tables, which the next call would find.
      if isReadOnly { try connection.pragma("PRAGMA query_only = ON") }
      // SQLite truncates a larger WAL to this size after a reset.
      if let maximumWalSize, !isReadOnly { try connection.pragma("PRAGMA journal_size_limit = \(maximumWalSize)") }
      try connection.beginSharing(isReader: isReadOnly)
    }
  }

  func detectOtherCommits() throws {
    try locked {
      _ = try openConnection()
      try observation?.detectOtherCommits()
    }
  }

  fileprivate func checkFileIsThere(isRead: Bool) throws {
    try locked { try checkFile(openConnection(), isRead: isRead) }
  }
}
