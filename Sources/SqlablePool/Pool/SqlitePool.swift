import Dispatch
import Glibc
import SqlableCore
import Synchronization

/// A weak reference to the pool, for the feed: it is made before the pool, and may outlive it.
private struct WeakPool {
  weak var pool: SqlitePool?
}

/// A database file with one writer and several readers, shared by the threads and tasks of a service.
///
/// ```swift
/// let pool = try SqlitePool(filepath: "/var/lib/bikes/bikes.sqlite")
/// let bikes = try await Bicycle.read().run(pool)                                // on a reader
/// let id = try await bike.insert().run(pool)                                    // on the writer
/// let both = try await pool.read { db in (try Bicycle.count().run(db), try Person.count().run(db)) }
/// // one snapshot
/// try await pool.transaction { db in … }
/// ```
///
/// Each call has two forms: `async` calls run on threads of the pool, synchronous calls block their thread. An `async`
/// read of one statement is first tried on the calling thread, for a fraction of a millisecond, if a reader is free.
/// Calls get handles in the order in which they arrive. Closures are synchronous: no transaction spans an `await`.
/// Don't keep a closure's handle.
///
/// A call throws `CancellationError` if its task is cancelled, and `.timeout` if it misses its deadline; see
/// ``withDeadline(_:_:)``. Its statement is interrupted, and only its own transaction is rolled back. A call whose work
/// is already done succeeds.
///
/// Calls inside a closure of the same pool, on the same thread, use the closure's handle: a read inside a read has the
/// same snapshot, a read inside a transaction sees its changes, a transaction inside a transaction is a savepoint. A
/// write inside a read throws `.misuse`.
public final class SqlitePool: Sendable {
  /// The settings the pool was opened with.
  public let configuration: PoolConfiguration
  /// The parent of all handles: keeps the database open, and has the observers and functions that they share.
  package let root: SqliteDatabase
  /// Notifies loops of commits.
  let feed: PoolFeed
  /// Takes turns at writing with other pools on the file, mostly in other processes.
  let gate: FairWriterLock
  /// The directory of an in-memory pool.
  package let memory: SharedMemoryDirectory?
  private let guarded: LockedValue<State>
  /// The receivers of pool events other than statements.
  package let events = PoolEvents()
  /// The statements' totals, by their shapes; nil unless the configuration asks for them.
  let totals: StatementTotals?
  /// Keeps the WAL small.
  let walSizeLimiter = WALSizeLimiter()
  private let longReads = LockedValue<LongReads?>(nil)
  /// The users of the file other than calls. Each releases the file before the pool closes it, and ends before the pool
  /// does.
  let fileUsers = LockedValue<(count: Int, users: [Int: FileUser])>((0, [:]))
  /// The number of reads tried on the calling task's thread.
  let quickReads = Atomic(0)

  /// Opens the database at a path, creating it and missing parent directories.
  ///
  /// Throws what opening a handle throws, and `.misuse` for an invalid configuration and for `:memory:`.
  public convenience init(filepath: String, configuration: PoolConfiguration = .init()) throws {
    guard filepath != ":memory:" else {
      throw SqlError.misuse("a pool needs a file; use SqlitePool.inMemory() for an in-memory database")
    }
    try self.init(filepath, configuration, memory: nil)
  }

  /// Opens a new database in memory, which lives until the pool is closed or deinitialized.
  ///
  /// ```swift
  /// let pool = try SqlitePool.inMemory()     // for a test: a database of its own
  /// ```
  ///
  /// The database is a file on tmpfs (`/dev/shm`), in its own directory, so calls, isolation and errors are those of
  /// any pool. The next process removes what a killed process leaves behind. Writes throw `.full` when the file system
  /// is full (in containers often at 64 MB). Throws `.cannotOpen` if there is no tmpfs.
  public static func inMemory(configuration: PoolConfiguration = .init()) throws -> SqlitePool {
    let memory = try SharedMemoryDirectory()
    return try SqlitePool(memory.file, configuration, memory: memory)
  }

  private init(_ filepath: String, _ configuration: PoolConfiguration, memory: SharedMemoryDirectory?) throws {
    try configuration.validate()
    self.configuration = configuration
    self.memory = memory
    root = try SqliteDatabase(filepath: filepath, configuration: configuration.handles)
    let weak = LockedValue(WeakPool())
    feed = PoolFeed(root: root) { [root] feed in
      // In a forked process loops fail when they read.
      root.isForked
        ? nil
        : configuration.pollInterval.map { interval in
          ExternalCommitMonitor(feed, root, every: interval) { answered in
            weak.withLock { $0.pool }?.haveWriterCheck(answered)
          }
        }
    }
    gate = FairWriterLock(besideFileAt: root.family.path, label: configuration.handles.label)
    totals = configuration.keepsTotals ? StatementTotals() : nil
    guarded = LockedValue(State(writer: PooledHandle(configuration, isWriter: true)))
    longReads.withLock { reads in
      let shortest = [configuration.longRead, configuration.maximumRead].compactMap(\.self).min()
      reads = LongReads(shortest ?? .seconds(2)) { [weak self] in
        self?.reportLongReads()
        self?.endOldReads()
        self?.publishLongWrite()
      }
    }
    weak.withLock { $0.pool = self }
    if let totals { trace { event in totals.add(event) } }
    MemoryUsers.add(self)
  }

  deinit {
    endWatching()
    for user in allFileUsers { user.end() }
  }

  /// Ends all loops, and the reports of long reads.
  func endWatching() {
    feed.end()
    longReads.withLock { $0?.end() }
  }

  /// Opens the database at a path with a number of readers.
  public convenience init(filepath: String, readers: Int) throws {
    try self.init(filepath: filepath, configuration: PoolConfiguration(readers: readers))
  }

  /// The path that the pool was opened with.
  public var filepath: String { root.filepath }

  /// Calls `body` with the pool's lock held; it must call neither SQLite nor code of a caller.
  package func withState<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    try guarded.withLock(body)
  }
}

extension SqlitePool {
  /// A `.misuse` error with the pool's label.
  package func misuse(_ message: String) -> SqlError { SqlError.misuse(message).labelled(configuration.handles.label) }

  /// To be called before the lock is taken: in a forked process, a thread that it lacks may hold it forever.
  package func checkFork() throws {
    guard !root.isForked else { throw misuse("the pool was opened before fork(); open another in the child process") }
  }
}
