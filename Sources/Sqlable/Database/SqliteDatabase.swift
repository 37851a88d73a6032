import CSqlableSQLite
import FoundationEssentials

/// A connection to an SQLite database file: what statements are run against.
///
/// ```swift
/// let db = try SqliteDatabase(filepath: "/var/lib/bikes/bikes.sqlite")
/// try db.createTable(Bicycle.self)
/// try bike.insert().run(db)
/// ```
///
/// The rule is one handle per thread, got from ``createChild()``, since a transaction belongs to its handle. Breaking
/// the rule is slow, not wrong: a lock is held for every statement and for the whole of a `transaction` closure, so a
/// second thread waits.
///
/// Sound as `Sendable`, though the compiler can't see it:
/// 1. What is `open` is only touched with `lock` held.
/// 2. The registries behind `observation` and `functions` have locks of their own.
/// 3. Everything else never changes.
public final class SqliteDatabase: @unchecked Sendable {
  /// The path that the handle, or the parent of a child, was opened with; empty for an in-memory database.
  public let filepath: String
  /// What the handle was opened with.
  public let configuration: Configuration

  /// The version of the SQLite library that this process uses, such as `3.40.1`.
  public static var sqliteVersion: String { Library.version }

  @usableFromInline let lock = HandleLock()
  @exclusivity(unchecked) private var open = Open()
  let registry: ObserverRegistry
  let transactions = TransactionStack()
  private let location: Location
  private let order: HandleObservation.CommitOrder
  private let forkGeneration: Int

  /// What a handle has until it is closed.
  private struct Open {
    var connection: Connection?
    var observation: HandleObservation?
    var functions: FunctionRegistry? {
      didSet { unretainedFunctions = functions.map(Unmanaged.passUnretained) }
    }
    /// The same for every statement to ask: counting its references would be work that all threads do at one address.
    private(set) var unretainedFunctions: Unmanaged<FunctionRegistry>?
    /// Whether a pool lends the handle, and alone may close it.
    var isPools = false
  }

  var connection: Connection? { open.connection }
  var observation: HandleObservation? { open.observation }
  var functions: FunctionRegistry? { open.functions }

  // MARK: Opening

  /// Has SQLite count the memory that it has, for the whole process.
  ///
  /// ```swift
  /// try SqliteDatabase.keepMemoryStatistics()     // before the first handle
  /// ```
  ///
  /// It is off unless this is called, or another library has begun to use SQLite before: the count takes a lock that
  /// all threads share for each of SQLite's allocations. Without it SQLite tells that it uses no memory, and limits of
  /// its heap have no effect. Throws `.misuse` when a handle was opened before.
  public static func keepMemoryStatistics() throws { try MemoryStatistics.keep() }

  /// Opens the database at a path, creating it and the directories above it when they are missing.
  ///
  /// Throws `.cannotOpen` for a directory or a path that can't be reached, `.notADatabase` for a file of another kind,
  /// `.readOnly` where the file can't be written to, and `.misuse` for a configuration that makes no sense.
  public convenience init(filepath: String, configuration: Configuration = Configuration()) throws {
    let location: Location = filepath == ":memory:" ? .newMemory() : .file(filepath)
    try self.init(
      location, configuration, registry: ObserverRegistry(parent: nil), order: .init(), functions: .init(),
      location.open)
  }

  /// Opens a database that lives in memory, until its last handle is closed. Its children share it.
  public static func inMemory(configuration: Configuration = Configuration()) throws -> SqliteDatabase {
    let location = Location.newMemory()
    return try SqliteDatabase(
      location, configuration, registry: ObserverRegistry(parent: nil), order: .init(), functions: .init(),
      location.open)
  }

  /// An empty database in memory, with the functions and collations of this handle.
  func scratch() throws -> SqliteDatabase {
    let location = Location.newMemory()
    return try SqliteDatabase(
      location, Configuration(label: configuration.label, trustsSchema: configuration.trustsSchema),
      registry: ObserverRegistry(parent: nil), order: .init(), functions: functions ?? .init(), location.open)
  }

  /// Opens another connection to the same database, to be used on another thread.
  ///
  /// What the child commits reaches the observers of this handle too, on this handle's ``queue``; what this handle
  /// commits does not reach the child's. A child may have children. It lives on when its parent is closed.
  ///
  /// Throws `.io` when the file was moved, deleted or replaced since this handle was opened. A relative path means what
  /// it meant then, whatever the working directory is now.
  public func createChild() throws -> SqliteDatabase { try createChild(isReadOnly: configuration.isReadOnly) }

  /// Opens another connection to the same database; one that is read-only can't be given the right to write by any SQL.
  func createChild(isReadOnly: Bool) throws -> SqliteDatabase {
    try locked {
      let connection = try openConnection()
      var configuration = configuration
      configuration.isReadOnly = isReadOnly
      return try SqliteDatabase(
        location, configuration, registry: ObserverRegistry(parent: registry), order: order,
        functions: functions ?? .init()
      ) { try location.openChild(of: connection, $0) }
    }
  }

  private init(
    _ location: Location, _ configuration: Configuration, registry: ObserverRegistry,
    order: HandleObservation.CommitOrder, functions: FunctionRegistry, _ open: (Configuration) throws -> Connection
  ) throws {
    self.location = location
    self.configuration = configuration
    self.registry = registry
    self.order = order
    filepath = location.filepath
    forkGeneration = ForkGuard.generation
    let connection: Connection
    do {
      try configuration.validate()
      connection = try open(configuration)
      try functions.apply(to: connection)
    } catch {
      throw (error as? SqlError)?.labelled(configuration.label) ?? error
    }
    self.open.connection = connection
    self.open.functions = functions
    self.open.observation = HandleObservation(
      connection: connection, registry: registry, order: order,
      usesPreupdate: configuration.usesPreupdateHook)
  }

  deinit {
    // A connection that was carried over a fork must not be closed either: closing drops the parent's file locks.
    if isForked, let connection { _ = Unmanaged.passRetained(connection) }
    observation?.close()
  }

  // MARK: Closing

  /// Closes the connection. Every later call on this handle throws `.closed`; closing again does nothing.
  ///
  /// Throws `.misuse`, and closes nothing, while a transaction is open or rows of this handle are being read, and for
  /// the handle of a pool, which the pool closes. A handle that is lost (`.handleLost`) can be closed, which rolls its
  /// transaction back.
  public func close() throws {
    guard !lockedAnyway({ open.isPools }) else { throw misuse("a pool closes its handles itself") }
    try closeByOwner()
  }

  /// To be called by the pool, for a handle of its own.
  func belongToPool() { open.isPools = true }

  /// Closes the connection; for a handle of a pool.
  func closeByOwner() throws {
    try lockedAnyway {
      guard let connection else { return }
      try checkFork()
      guard connection.isLost || (connection.transactionLevel == 0 && connection.isAutocommit) else {
        throw misuse("a handle can't be closed while its transaction is open")
      }
      guard lock.depth == 1, connection.openCursors == 0 else {
        throw misuse("a handle can't be closed while its rows are being read")
      }
      observation?.close()
      transactions.levels = []
      open = Open(isPools: open.isPools)
    }
  }

  /// Whether the handle can be used.
  public var isOpen: Bool { lockedAnyway { connection != nil } }

  /// Deletes the database at a path: the file itself, its write-ahead log (`-wal`), shared memory (`-shm`),
  /// journal, and the file at which pools take turns (`-gate`).
  ///
  /// Files that are not there are no error; a directory is one, and is left alone. Close the handles first: one that is
  /// still open would write to a file that no longer has a name, which it refuses.
  public static func deleteDatabase(at filepath: String) throws {
    guard !filepath.isEmpty, !filepath.utf8.contains(0) else {
      throw SqlError.misuse("the path of a database can't be empty or hold a NUL byte")
    }
    // A directory would be removed with all that is in it.
    var isDirectory = false
    if FileManager.default.fileExists(atPath: filepath, isDirectory: &isDirectory), isDirectory {
      throw SqlError.misuse("the path of the database is a directory: \(filepath)")
    }
    for suffix in ["-gate", "-journal", "-shm", "-wal", ""] {
      do {
        try FileManager.default.removeItem(atPath: filepath + suffix)
      } catch let error as CocoaError where error.code == .fileNoSuchFile {
        continue
      } catch {
        throw SqlError(.io, message: "the file of the database, or one beside it, can't be deleted")
      }
    }
  }

  // MARK: Use

  /// Calls `body` with the handle's lock held and the handle fit for use.
  @inlinable
  func locked<Result>(_ body: () throws -> Result) throws -> Result {
    try enter()
    defer { unlockAndDeliver() }
    return try body()
  }

  /// Takes the lock of a handle that is fit for use, for `unlockAndDeliver()` to give back.
  ///
  /// Whoever delivers calls observers, which may close the handle: nothing of the connection is to be held any more.
  @usableFromInline
  func enter() throws {
    // Before the lock: a thread that the child process does not have may hold it for ever.
    try checkFork()
    lock.lock()
    guard let connection else {
      lock.unlock()
      throw SqlError(.closed, message: "the handle was closed before", label: configuration.label)
    }
    if let functions = open.unretainedFunctions,
      functions._withUnsafeGuaranteedRef({ $0.version }) != connection.functionsVersion
    {
      try refresh(connection)
    }
  }

  /// Registers what was registered on another handle, with the lock held, which is given back when that fails. A
  /// connection that is lost comes here with every call, and is refused.
  private func refresh(_ connection: Connection) throws {
    do {
      if let lost = connection.lost {
        connection.undoLostTransaction()
        throw lost
      }
      try functions?.apply(to: connection, observation)
    } catch {
      lock.unlock()
      throw error
    }
  }

  /// Calls `body` with the lock held, whatever state the handle is in.
  func lockedAnyway<Result>(_ body: () throws -> Result) rethrows -> Result {
    // Nothing changes any more in a child process, where the lock may be held for ever.
    if isForked { return try body() }
    lock.lock()
    defer { lock.unlock() }
    return try body()
  }

  /// Lets go of the lock; whoever lets go last delivers what was committed, since observers may call anything.
  @usableFromInline
  func unlockAndDeliver() {
    let observation = lock.depth == 1 ? self.observation : nil
    lock.unlock()
    if let observation, observation.hasPending { observation.deliverPending() }
  }

  /// Whether the handle was carried over a fork, into a process that must not touch its connection.
  var isForked: Bool { ForkGuard.generation != forkGeneration }

  @usableFromInline
  func checkFork() throws {
    guard !isForked else {
      throw misuse("the handle was opened before fork(); a child process opens its own")
    }
  }

  /// The connection of a handle that is fit for use, which `locked` has made sure of.
  func openConnection() throws -> Connection {
    guard let connection else {
      throw SqlError(.closed, message: "the handle was closed before", label: configuration.label)
    }
    return connection
  }

  /// A call on this handle that can't work.
  func misuse(_ message: String) -> SqlError {
    let error = SqlError.misuse(message).labelled(configuration.label)
    return isForked ? error : error.inTransaction(transactionLevel > 0)
  }

  /// Frees memory that SQLite can do without: cached pages and compiled statements.
  public func releaseMemory() throws {
    try locked { try openConnection().releaseMemory() }
  }
}
