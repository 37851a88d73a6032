import Dispatch
import Glibc

/// A handle of a pool, opened when it is first needed. Whoever was given it has it alone.
final class PooledHandle: @unchecked Sendable {
  let isWriter: Bool
  /// Where asynchronous calls are run. A queue of its own has a thread as long as there is something to do, however
  /// many other queues have one.
  let queue: DispatchQueue
  /// Stops what is being run on it.
  let interruption: Interruption
  private var database: SqliteDatabase?
  private var checked = ContinuousClock.now

  // With the pool's lock held:
  /// The thread that has it.
  var owner: pthread_t?
  /// What is being run.
  var call: PoolCall?
  /// How its statements were found, when last somebody had it.
  var cacheUse = StatementCacheUse.none

  init(_ configuration: Configuration, isWriter: Bool, number: Int) {
    self.isWriter = isWriter
    interruption = Interruption(busyTimeout: configuration.busyTimeout)
    queue = DispatchQueue(label: isWriter ? "sqlable.pool.writer" : "sqlable.pool.reader-\(number)")
  }

  /// The handle, open and on the file that the pool was opened with.
  func open(by root: SqliteDatabase, _ feed: PoolFeed) throws -> SqliteDatabase {
    if let database {
      let now = ContinuousClock.now
      // A look at the file is a system call; a reader that misses its going for a second does no harm.
      if now - checked > .seconds(1) {
        checked = now
        try database.checkFileIsThere(isRead: !isWriter)
      }
      return database
    }
    let database = try root.createChild(isReadOnly: !isWriter)
    try database.use(interruption, isReadOnly: !isWriter)
    if isWriter {
      // From here on the writer knows what others commit; what they did before, whoever looks for it finds out.
      try database.detectOtherCommits()
      feed.detectOtherCommits()
    }
    self.database = database
    return database
  }

  var isOpen: Bool { database != nil }

  /// Whether it is open and refuses all further use; asked by whoever has it.
  var isLost: Bool { database?.connection?.isLost == true }

  /// Whether the next to use it would find it otherwise than others: lost, or a reader whose settings SQL has changed.
  var isSpoilt: Bool {
    guard let connection = database?.connection else { return false }
    return connection.isLost || connection.hasOtherSettings
  }

  /// To be called by whoever has it.
  func noteCacheUse() {
    if let cache = database?.connection?.cache { cacheUse = StatementCacheUse(of: cache) }
  }

  /// Lets go of a handle that can't be trusted any more; the next to use it opens another.
  func discard() {
    try? database?.closeByOwner()
    database = nil
  }
}

extension SqliteDatabase {
  /// Makes the handle one of a pool's.
  fileprivate func use(_ interruption: Interruption, isReadOnly: Bool) throws {
    try locked {
      let connection = try openConnection()
      connection.use(interruption)
      belongToPool()
      // Beside the file's being open for reading only: temporary tables would stay for whoever reads next.
      if isReadOnly { try connection.pragma("PRAGMA query_only = ON") }
      connection.isShared = isReadOnly
    }
  }

  /// Has the handle take note of what others have committed.
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
