import Glibc
import SqlableCore

/// A handle of a pool, opened on first use and held by one call at a time.
///
/// Sound as `Sendable`:
/// 1. `owner`, `call` and `cacheUse` are guarded by the pool's lock.
/// 2. `database` and `checked` are used by the thread that holds the handle, or while it is idle.
package final class PooledHandle: @unchecked Sendable {
  let isWriter: Bool
  /// Runs asynchronous calls.
  let thread = WorkerThread()
  /// Interrupts the running call.
  let interruption: Interruption
  private let maximumWalSize: Int?
  private var database: SqliteDatabase?
  private var checked = ContinuousClock.now

  // Guarded by the pool's lock:
  /// The thread that holds it.
  var owner: pthread_t?
  /// The call that holds it.
  var call: PoolCall?
  /// The use of its statement cache up to the last call.
  var cacheUse = StatementCacheUse.none

  init(_ configuration: PoolConfiguration, isWriter: Bool) {
    self.isWriter = isWriter
    maximumWalSize = configuration.maximumWalSize
    interruption = Interruption(busyTimeout: configuration.handles.busyTimeout)
  }

  /// Opens the handle if needed. Throws `.io` if its file was moved, deleted or replaced.
  func open(by root: SqliteDatabase, _ feed: PoolFeed) throws -> SqliteDatabase {
    if let database {
      database.lend(to: pthread_self())
      let now = ContinuousClock.now
      // Checking the file is a system call, and reading a deleted file for a second does no harm.
      if now - checked > .seconds(1) {
        checked = now
        try database.checkFileIsThere(isRead: !isWriter)
      }
      return database
    }
    let database = try root.createChild(isReadOnly: !isWriter)
    try database.use(interruption, isReadOnly: !isWriter, maximumWalSize: maximumWalSize)
    if isWriter {
      // From here on the writer detects other connections' commits; the polling connection detects earlier ones.
      try database.detectOtherCommits()
      feed.detectOtherCommits()
    }
    self.database = database
    return database
  }

  /// Ends its use by a call: what a closure has kept of it throws.
  func endLoan() { database?.lend(to: nil) }

  var isOpen: Bool { database != nil }

  /// True if it is open and refuses further use; to be called by its holder.
  var isLost: Bool { database?.connection?.isLost == true }

  /// True if a closure has kept a cursor; to be called by its holder.
  var hasOpenCursors: Bool { database?.connection.map { $0.openCursors > 0 } ?? false }

  /// True if the next call can't use it as it is: lost, or with settings or temporary objects that SQL has changed.
  var isUnusable: Bool {
    guard let connection = database?.connection else { return false }
    // A cursor that a closure has kept holds its snapshot: the next call would see old data.
    return connection.isLost || hasOpenCursors || connection.hasOtherState
  }

  /// True if SQL has changed its settings or temporary objects; to be called by its holder.
  var hasOtherState: Bool { database?.connection?.hasOtherState == true }

  /// To be called by its holder.
  func releaseMemory() { database?.lockedAnyway { database?.connection?.releaseMemory() } }

  /// To be called by its holder.
  func noteCacheUse() {
    if let cache = database?.connection?.cache { cacheUse = StatementCacheUse(of: cache) }
  }

  /// Closes the connection; the next call opens another.
  func discard() {
    // With a cursor open it stays open, for the cursor alone.
    endLoan()
    try? database?.closeByOwner()
    database = nil
  }
}

extension SqliteDatabase {
  /// Sets the handle up for a pool.
  fileprivate func use(_ interruption: Interruption, isReadOnly: Bool, maximumWalSize: Int?) throws {
    try locked {
      let connection = try openConnection()
      connection.use(interruption)
      belongToPool()
      // Opening the file read-only is not enough: temporary tables would stay for the next call.
      if isReadOnly { try connection.pragma("PRAGMA query_only = ON") }
      // A log that has grown beyond it is cut when it is begun anew.
      if let maximumWalSize, !isReadOnly { try connection.pragma("PRAGMA journal_size_limit = \(maximumWalSize)") }
      try connection.beginSharing()
    }
  }

  /// Checks for commits of other connections.
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
