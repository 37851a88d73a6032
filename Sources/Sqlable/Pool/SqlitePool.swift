import Dispatch
import Glibc
import Synchronization

/// What is made before its pool, and outlives it, reaches it by this.
private struct WeakPool {
  weak var pool: SqlitePool?
}

/// A database file with one writer and several readers, for a service: what its threads and tasks share.
///
/// ```swift
/// let pool = try SqlitePool(filepath: "/var/lib/bikes/bikes.sqlite")
/// let bikes = try await Bicycle.read().run(pool)                                // a reader's affair
/// let id = try await bike.insert().run(pool)                                    // the writer's
/// let both = try await pool.read { db in (try Bicycle.count().run(db), try Person.count().run(db)) }
/// // one snapshot
/// try await pool.transaction { db in … }
/// ```
///
/// Every call has a form for `async` code, which is run on threads of the pool, and one for threads, which waits. A
/// read that is one statement is tried on the thread that asks, for a fraction of a millisecond, when a reader is free.
/// Calls get their handles in the order in which they came. Closures are synchronous, so that no transaction spans an
/// `await`. Do not keep their handle.
///
/// A cancelled task's call throws `CancellationError`, and what is not done by a deadline `.timeout`; see
/// ``withDeadline(_:_:)``. A statement that runs is interrupted, with its own transaction and nobody else's. A call
/// whose work was done already succeeds.
///
/// Calls inside a closure of the same pool, on the same thread, use the closure's handle: a read inside a read is of
/// the same snapshot, a read inside a transaction sees what that wrote, a transaction inside a transaction is a
/// savepoint. A write inside a read throws `.misuse`.
public final class SqlitePool: Sendable {
  /// What the pool was opened with.
  public let configuration: PoolConfiguration
  /// Keeps the database open, and what all handles have in common: observers, functions, the file.
  let root: SqliteDatabase
  /// Tells sequences of commits.
  let feed: PoolFeed
  /// Where the writers of other pools on the file, in other processes mostly, wait for their turn.
  let gate: FileGate
  /// Where the file is, of a database in memory.
  let memory: MemoryDirectory?
  private let guarded: Guarded<State>
  private let longReads = Guarded<LongReads?>(nil)
  /// How many reads were done on threads of Swift's own.
  let quickReads = Atomic(0)

  /// Opens the database at a path, creating it and the directories above it when they are missing.
  ///
  /// Throws what opening a handle throws, and `.misuse` for a configuration that makes no sense, or `:memory:`.
  public convenience init(filepath: String, configuration: PoolConfiguration = .init()) throws {
    guard filepath != ":memory:" else {
      throw SqlError.misuse("a pool needs a file; SqlitePool.inMemory() has one in the memory of the machine")
    }
    try self.init(filepath, configuration, memory: nil)
  }

  /// Opens a new database in memory, that lives until the pool is closed or goes away.
  ///
  /// ```swift
  /// let pool = try SqlitePool.inMemory()     // for a test: nobody else has it
  /// ```
  ///
  /// It is a file in the machine's file system in memory (`/dev/shm`), in a directory of its own, so that calls,
  /// isolation and errors are those of any pool. What a process leaves behind that is killed the next one removes. A
  /// database that outgrows what that file system may hold (in containers often 64 MB) throws `.full`. Throws
  /// `.cannotOpen` on a machine without one.
  public static func inMemory(configuration: PoolConfiguration = .init()) throws -> SqlitePool {
    let memory = try MemoryDirectory()
    return try SqlitePool(memory.file, configuration, memory: memory)
  }

  private init(_ filepath: String, _ configuration: PoolConfiguration, memory: MemoryDirectory?) throws {
    try configuration.validate()
    self.configuration = configuration
    self.memory = memory
    root = try SqliteDatabase(filepath: filepath, configuration: configuration.handles)
    let weak = Guarded(WeakPool())
    feed = PoolFeed(root: root) { [root] feed in
      // A loop in a forked process is refused when it reads.
      root.isForked
        ? nil
        : configuration.pollInterval.map { interval in
          OtherProcesses(feed, root, every: interval) { answered in
            weak.withLock { $0.pool }?.haveWriterLook(answered)
          }
        }
    }
    let path = try root.locked { [root] in try root.openConnection().absolutePath }
    gate = FileGate(besideFileAt: path, label: configuration.handles.label)
    guarded = Guarded(State(writer: PooledHandle(configuration.handles, isWriter: true, number: 0)))
    longReads.withLock { reads in
      reads = configuration.longRead.map { LongReads($0) { [weak self] in self?.reportLongReads() } }
    }
    weak.withLock { $0.pool = self }
  }

  deinit { endWatching() }

  /// Ends the sequences, and reports nothing more.
  func endWatching() {
    feed.end()
    longReads.withLock { $0?.end() }
  }

  /// Opens the database at a path, with so many readers.
  public convenience init(filepath: String, readers: Int) throws {
    try self.init(filepath: filepath, configuration: PoolConfiguration(readers: readers))
  }

  /// The path that the pool was opened with.
  public var filepath: String { root.filepath }

  /// Calls `body` with the pool's lock held; nothing of SQLite and nobody's code is called meanwhile.
  func withState<Result>(_ body: (inout State) throws -> Result) rethrows -> Result { try guarded.withLock(body) }
}

extension SqlitePool {
  /// A call on this pool that can't work.
  func misuse(_ message: String) -> SqlError { SqlError.misuse(message).labelled(configuration.handles.label) }

  /// Before the lock: in a forked process a thread that it does not have may hold it for ever.
  func checkFork() throws {
    guard !root.isForked else { throw misuse("the pool was opened before fork(); a child process opens its own") }
  }
}
