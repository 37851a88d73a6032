import Glibc
import SqlableCore

/// A handle of a pool, opened on first use and held by one call at a time.
///
/// `PooledHandle` is safe as `@unchecked Sendable`:
/// 1. The pool's lock guards `call` and `cacheUse`.
/// 2. Only the thread that holds the handle uses `database`, `checked` and `latestCacheUse`. If no thread holds the
///    handle, only the thread with the pool's lock or the owner of the close barrier uses them.
package final class PooledHandle: @unchecked Sendable {
  /// The number of the handle in the pool: 0 for the writer, and the index in the pool's readers plus 1 for a reader.
  let number: Int
  package let isWriter: Bool
  /// The thread that runs asynchronous calls.
  let thread: CallThread
  package let interruption: Interruption
  private let maximumWalSize: Int?
  @exclusivity(unchecked) private var database: SqliteDatabase?
  @exclusivity(unchecked) private var checked = ContinuousClock.now
  /// The use of the handle's statement cache up to the running call.
  @exclusivity(unchecked) private var latestCacheUse = StatementCacheUse.none

  // Guarded by the pool's lock:
  @exclusivity(unchecked) package internal(set) var call: PoolCall?
  /// The use of the handle's statement cache up to the last call.
  @exclusivity(unchecked) private(set) var cacheUse = StatementCacheUse.none

  init(_ configuration: PoolConfiguration, _ resources: PoolResources?, number: Int) {
    (self.number, isWriter) = (number, number == 0)
    thread = CallThread(resources)
    maximumWalSize = configuration.maximumWalSize
    interruption = Interruption(busyTimeout: configuration.handles.busyTimeout)
  }

  /// Opens the handle if needed. Throws `.io` if the database file was moved, deleted or replaced.
  func open(
    by root: SqliteDatabase, _ feed: PoolFeed, at now: ContinuousClock.Instant = .now
  ) throws -> SqliteDatabase {
    if let database {
      database.lend(to: pthread_self())
      // Check at most once per second: the check is a system call, and using a deleted file for a second is harmless.
      if now - checked > .seconds(1) {
        checked = now
        try database.checkFileIsThere(isRead: !isWriter)
      }
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

  /// Records the current use of the statement cache for `publishCacheUse`. Only the holder calls this method.
  func noteCacheUse() {
    if let cache = database?.connection?.cache { latestCacheUse = StatementCacheUse(of: cache) }
  }

  /// Stores the recorded use in `cacheUse`. Only the holder calls this method, with the pool's lock held.
  func publishCacheUse() { cacheUse = latestCacheUse }

  /// Closes the connection. The next call that uses this handle opens a new connection.
  func discard() {
    // An open cursor keeps the connection open until the cursor is closed.
    endLoan()
    try? database?.closeByOwner()
    database = nil
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
