import Dispatch
import Glibc
import SqlableCore
import SqlableTracing
import Synchronization

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
/// Each call has two forms: `async` calls run on threads of the pool, and synchronous calls block their thread. If a
/// reader is free, an `async` read of one statement starts on the calling thread. If the read is not done after a
/// fraction of a millisecond, the read starts again on a thread of the pool. Calls get handles in the order in which
/// the calls arrive. Closures are synchronous, so no transaction spans an `await`. Don't use a closure's handle after
/// the closure returns.
///
/// A call throws `CancellationError` if its task is cancelled, and `.timeout` if the call misses its deadline; see
/// ``withDeadline(_:_:)``. The pool then interrupts the call's statement and rolls back only the call's own
/// transaction. A call that has already finished its work succeeds.
///
/// Calls inside a closure of the same pool, on the same thread, use the closure's handle. A read inside a read uses the
/// same snapshot. A read inside a transaction returns the transaction's changes. A transaction inside a transaction is
/// a savepoint. A write inside a read throws `.misuse`.
public final class SqlitePool: Sendable {
  /// The settings that the pool was opened with.
  public let configuration: PoolConfiguration
  /// The parent of all handles, which keeps the database open and stores the shared observers and functions.
  package let root: SqliteDatabase
  let feed: PoolFeed
  /// True if the pool exists only to read the live results of the handle `root`. The owner of this handle uses and
  /// closes it.
  let isForLiveResults: Bool
  /// The lock that lets pools on the same file, mostly in other processes, take turns at writing.
  let gate: FairWriterLock
  package let memory: SharedMemoryDirectory?
  private let guarded: LockedValue<State>
  package let events = PoolEvents()
  let traceFlag: TraceFlag
  /// The totals of statements, by statement shape; nil unless the configuration requests totals.
  let totals: StatementTotals?
  let walSizeLimiter = WALSizeLimiter()
  /// The users of the file that are not calls, such as archives. Each user releases the file before the pool closes the
  /// file, and ends before the pool.
  let fileUsers = LockedValue<(count: Int, users: [Int: FileUser])>((0, [:]))
  let lastWorks = LockedValue<(count: Int, bodies: [Int: @Sendable (SqliteDatabase) throws -> Void])>((0, [:]))
  let monitors = LockedValue<[String: PoolMonitor]>([:])
  /// A number that no other pool of the process has.
  let number = SqlitePool.count.add(1, ordering: .relaxed).newValue
  private static let count = Atomic(0)

  /// Opens the database at a path. Creates the file and missing parent directories.
  ///
  /// Throws the errors of opening a handle, and `.misuse` for an invalid configuration or for `:memory:`.
  public convenience init(filepath: String, configuration: PoolConfiguration = .init()) throws {
    guard filepath != ":memory:" else {
      throw SqlError.misuse("a pool needs a file; use SqlitePool.inMemory() for an in-memory database")
    }
    try self.init(filepath, configuration, memory: nil)
  }

  /// Opens a new in-memory database, which exists until the pool is closed or deinitialized.
  ///
  /// ```swift
  /// let pool = try SqlitePool.inMemory()     // for a test: a database of its own
  /// ```
  ///
  /// The database is a file on tmpfs (`/dev/shm`), in its own directory. Calls, isolation and errors are therefore the
  /// same as for other pools. If a process is killed, the next process that opens an in-memory pool deletes the
  /// directory left behind. Writes throw `.full` when the file system is full; in containers the limit is often 64 MB.
  /// Throws `.cannotOpen` if there is no tmpfs.
  public static func inMemory(configuration: PoolConfiguration = .init()) throws -> SqlitePool {
    let memory = try SharedMemoryDirectory()
    return try SqlitePool(memory.file, configuration, memory: memory)
  }

  /// Opens the database at a path for a pool that shares its threads and file watcher with other pools.
  ///
  /// - Parameter creates: False to throw `.cannotOpen` if there is no file.
  package convenience init(
    filepath: String, configuration: PoolConfiguration, sharing resources: PoolResources, creates: Bool = true
  ) throws {
    try self.init(filepath, configuration, memory: nil, sharing: resources, creates: creates)
  }

  private convenience init(
    _ filepath: String, _ configuration: PoolConfiguration, memory: SharedMemoryDirectory?,
    sharing resources: PoolResources? = nil, creates: Bool = true
  ) throws {
    try configuration.validate()
    let root = try SqliteDatabase.openOther(at: filepath, configuration.handles, nil, creates: creates)
    self.init(root, configuration, memory: memory, sharing: resources)
  }

  /// Creates a pool whose handles are children of `root`.
  init(
    _ root: SqliteDatabase, _ configuration: PoolConfiguration, memory: SharedMemoryDirectory? = nil,
    sharing resources: PoolResources? = nil, isForLiveResults: Bool = false
  ) {
    self.isForLiveResults = isForLiveResults
    self.configuration = configuration
    self.memory = memory
    self.root = root
    traceFlag = root.functions?.traceFlag ?? TraceFlag()
    feed = PoolFeed(root: root, sharing: resources) { [root] feed in
      // A forked process needs no monitor, because its loops fail at their first read.
      root.isForked
        ? nil
        : configuration.pollInterval.map { interval in
          ExternalCommitMonitor(feed, root, every: interval, sharing: resources) { [weak feed] answered in
            (feed?.owner as? SqlitePool)?.haveWriterCheck(answered)
          }
        }
    }
    gate = FairWriterLock(besideFileAt: root.family.path, label: configuration.handles.label)
    totals = configuration.keepsTotals ? StatementTotals() : nil
    guarded = LockedValue(State(configuration, resources))
    let shortest = [configuration.longRead, configuration.maximumRead].compactMap(\.self).min()
    let longCalls = LongReads(shortest ?? .seconds(2)) { [weak self] in
      self?.reportLongReads()
      self?.endOldReads()
      self?.publishLongWrite()
      self?.withState { $0.endChecksIfIdle() }
    }
    guarded.withLock { $0.longCalls = longCalls }
    feed.owner = self
    if !isForLiveResults { root.family.list(of: self) }
    if let totals { trace { event in totals.add(event) } }
    MemoryUsers.add(self)
  }

  deinit {
    endWatching()
    for user in allFileUsers { user.end() }
  }

  /// Ends all loops and stops the reports of long reads.
  func endWatching() {
    feed.end()
    guarded.withLock { $0.longCalls }?.end()
  }

  /// Opens the database at a path with a number of readers.
  public convenience init(filepath: String, readers: Int) throws {
    try self.init(filepath: filepath, configuration: PoolConfiguration(readers: readers))
  }

  /// The path that the pool was opened with.
  public var filepath: String { root.filepath }

  /// Calls `body` with the pool's lock held; `body` must call neither SQLite nor a caller's code. Revokes the claims on
  /// readers before `body`, and frees the idle readers after it.
  package func withState<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    try guarded.withLock { state in
      state.revokeClaims()
      defer { state.freeIdleReaders() }
      return try body(&state)
    }
  }

  /// Calls `body` with the pool's lock held, without revoking claims: a claimed reader is still among the idle readers
  /// of the state. `body` must not decide about readers other than one that the current thread holds.
  func withStateAndClaims<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
    try guarded.withLock(body)
  }
}

extension SqlitePool {
  package func refuseInClosure(_ action: String) throws {
    guard withState({ $0.ownHandle }) == nil else {
      throw misuse("can't \(action) inside a closure that the pool runs")
    }
  }

  @usableFromInline
  package func misuse(_ message: String) -> SqlError { SqlError.misuse(message).labelled(configuration.handles.label) }

  /// Throws `.misuse` in a forked process. Call before taking a lock: in a forked process, the lock's owner can be a
  /// thread that exists only in the parent.
  package func checkFork() throws {
    guard !root.isForked else { throw misuse("the pool was opened before fork(); open another in the child process") }
  }
}
