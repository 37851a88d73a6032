import CSqlableSQLite
import FoundationEssentials
import Glibc
import Synchronization

/// A handle, which runs statements on an SQLite database through one connection.
///
/// ```swift
/// let db = try SqliteDatabase(filepath: "/var/lib/bikes/bikes.sqlite")
/// try db.createTable(Bicycle.self)
/// try bike.insert().run(db)
/// ```
///
/// Use one handle per thread, created with ``createChild()``: a transaction belongs to one handle. Sharing a handle is
/// slow but safe: every statement and every `transaction` closure locks the handle.
///
/// `@unchecked Sendable` is sound for these reasons, which the compiler can't check:
/// 1. `open`, `transactions` and `rowWriter` are accessed with `lock` held, or by a pool or `RowFilter` that is the
///    only user.
/// 2. `registry`, `order`, `abandoned`, `family` and the function registry have their own locks.
/// 3. `borrower`, `isUsable` and `hasConnection` are atomic.
/// 4. Everything else is immutable.
public final class SqliteDatabase: @unchecked Sendable {
  /// The path with which the handle was opened. A child has its parent's path. Empty for an in-memory database.
  public let filepath: String
  /// The configuration with which the handle was opened.
  public let configuration: Configuration

  /// The version of the SQLite library that this process uses, such as `3.40.1`.
  public static var sqliteVersion: String { Library.version }

  @usableFromInline let lock = HandleLock()
  @exclusivity(unchecked) private var open = Open()
  package let registry: ObserverRegistry
  let transactions = TransactionStack()
  private let location: Location
  private let order: HandleObservation.CommitOrder
  private let forkGeneration: Int
  private let currentForkGeneration = ForkGuard.address
  /// The thread to which a pool has lent the handle; 0 for no thread, and `notLent` if no pool owns the handle.
  let borrower = Atomic<pthread_t>(SqliteDatabase.notLent)
  /// True until the handle is closed. Callers can read `isUsable` and `hasConnection` without the lock.
  private let isUsable = Atomic(true)
  private let hasConnection = Atomic(false)
  /// True for a child handle that the program has created; false for one that the library uses internally.
  let isListed = Atomic(false)
  let abandoned = AbandonedStatements()
  let rowWriter = ReusedRowWriter()

  package let family: HandleFamily
  let isChild: Bool
  package let number = SqliteDatabase.newNumber()
  private static let count = Atomic(0)

  /// Returns a number that is unique among the handles and cluster clients of this process.
  package static func newNumber() -> Int { count.add(1, ordering: .relaxed).newValue }

  /// The state of an open handle. A handle with `functions` but without a `connection` connects at its next use.
  private struct Open {
    var connection: Connection? {
      didSet { unretainedConnection = connection.map(Unmanaged.passUnretained) }
    }
    var observation: HandleObservation? {
      didSet { unretainedObservation = observation.map(Unmanaged.passUnretained) }
    }
    /// The statements that are not in the cache. A new connection of the handle takes them over from the closed
    /// connection.
    var kept: [StatementSlot] = []
    var interruption: Interruption?
    var functions: FunctionRegistry? {
      didSet { unretainedFunctions = functions.map(Unmanaged.passUnretained) }
    }
    // Unretained references for every statement. Counting the references takes a tenth of the time of a read by key,
    // and all threads would contend for the reference count of `functions`.
    private(set) var unretainedConnection: Unmanaged<Connection>?
    private(set) var unretainedObservation: Unmanaged<HandleObservation>?
    private(set) var unretainedFunctions: Unmanaged<FunctionRegistry>?
  }

  package var connection: Connection? { open.connection }
  package var observation: HandleObservation? { open.observation }
  package var functions: FunctionRegistry? { open.functions }
  // These references are valid while a run or transaction holds the lock. Only the outermost holder of the lock can
  // close the handle, so code that a statement calls can't.
  @inline(__always) var unretainedConnection: Unmanaged<Connection>? { open.unretainedConnection }
  @inline(__always) var unretainedObservation: Unmanaged<HandleObservation>? { open.unretainedObservation }

  // MARK: Opening

  /// Opens the database at a path. Creates the file and the directories above it if they are missing.
  ///
  /// Throws `.cannotOpen` for a directory or an unreachable path, and `.notADatabase` for a file of another format.
  /// Throws `.readOnly` if the file can't be written to. Throws `.misuse` for an invalid configuration, and for a path
  /// such as `~/bikes.sqlite`: `~` is not expanded.
  public convenience init(filepath: String, configuration: Configuration = Configuration()) throws {
    let location: Location = filepath == ":memory:" ? .newMemory() : .file(filepath)
    try self.init(
      location, configuration, registry: ObserverRegistry(parent: nil), order: .init(), functions: .init(),
      location.open)
    family.list()
  }

  /// Opens a new database in memory. The handle and its children share the database, which exists until the last of
  /// these handles is closed.
  public static func inMemory(configuration: Configuration = Configuration()) throws -> SqliteDatabase {
    let db = try inMemory(configuration, functions: nil)
    db.family.list()
    return db
  }

  package func scratch() throws -> SqliteDatabase {
    try .inMemory(
      Configuration(label: configuration.label, trustsSchema: configuration.trustsSchema), functions: functions)
  }

  package static func inMemory(
    _ configuration: Configuration = Configuration(), functions: FunctionRegistry?
  ) throws -> SqliteDatabase {
    let location = Location.newMemory()
    return try SqliteDatabase(
      location, configuration, registry: ObserverRegistry(parent: nil), order: .init(), functions: functions ?? .init(),
      location.open)
  }

  /// Opens another connection to the same database, for use on another thread.
  ///
  /// The observers of this handle also receive the child's commits, on this handle's ``ObservedDatabase/queue``; the
  /// child's observers do not receive the commits of this handle. A child can have children, and remains open when its
  /// parent is closed.
  ///
  /// Throws `.io` if the file was moved, deleted or replaced since this handle was opened. A relative path still refers
  /// to the same file after the working directory changes.
  public func createChild() throws -> SqliteDatabase {
    let child = try createChild(isReadOnly: configuration.isReadOnly)
    child.isListed.store(true, ordering: .releasing)
    return child
  }

  /// Opens another connection to the same database, for use by the library. No SQL can make a read-only connection
  /// writable.
  ///
  /// - Parameter attached: The paths of the databases to attach, keyed by name; nil for those of the configuration.
  package func createChild(isReadOnly: Bool, attached: [String: String]? = nil) throws -> SqliteDatabase {
    try locked {
      let connection = try openConnection()
      var configuration = configuration
      configuration.isReadOnly = isReadOnly
      configuration.opensLazily = false
      configuration.attached = attached ?? configuration.attached
      configuration.attachedReadOnly.formIntersection(configuration.attached.keys)
      configuration.attachedKeys = configuration.attachedKeys.filter { configuration.attached[$0.key] != nil }
      return try SqliteDatabase(
        location, configuration, registry: ObserverRegistry(parent: registry), order: order,
        functions: functions ?? .init(), family: family
      ) { try location.openChild(of: connection, $0) }
    }
  }

  package static func openOther(
    at path: String, _ configuration: Configuration, _ functions: FunctionRegistry?, creates: Bool = true
  ) throws -> SqliteDatabase {
    let location = Location.file(path)
    return try SqliteDatabase(
      location, configuration, registry: ObserverRegistry(parent: nil), order: .init(), functions: functions ?? .init()
    ) { try location.open($0, at: nil, creates: creates) }
  }

  /// Opens a separate read-only connection, without this handle's functions. Does not wait for this handle's lock.
  package func openApart() throws -> SqliteDatabase {
    var configuration = family.withKey(configuration)
    (configuration.isReadOnly, configuration.opensLazily) = (true, false)
    return try SqliteDatabase(
      location, configuration, registry: ObserverRegistry(parent: nil), order: .init(), functions: .init(),
      location.open)
  }

  package var isInMemory: Bool { if case .memory = location { true } else { false } }

  @inline(never)
  private init(
    _ location: Location, _ configuration: Configuration, registry: ObserverRegistry,
    order: HandleObservation.CommitOrder, functions: FunctionRegistry, family: HandleFamily? = nil,
    _ open: (Configuration) throws -> Connection
  ) throws {
    let configuration = configuration.withAbsolutePaths
    self.location = location
    self.configuration = configuration
    self.registry = registry
    self.order = order
    self.family = family ?? HandleFamily(location, configuration.key, opensLazily: configuration.opensLazily)
    isChild = family != nil
    filepath = location.filepath
    forkGeneration = ForkGuard.generation
    self.open.functions = functions
    do {
      try configuration.validate()
      try location.validate()
    } catch let error as SqlError { throw error.labelled(configuration.label) }
    if !configuration.opensLazily { do { try connect(open) } catch { throw reportedWithoutLock(error) } }
    self.family.add(self)
    registry.willFail.withLock { $0 = { [weak self] error in self?.reportInBackground(error) } }
  }

  /// Opens the connection. Call with the lock held, or before any other thread can use the handle.
  private func connect(_ connect: (Configuration) throws -> Connection) throws {
    guard let functions else { return }
    let (connection, observation): (Connection, HandleObservation)
    do {
      connection = try connect(family.withKey(configuration))
      observation = HandleObservation(
        connection: connection, registry: registry, order: order, usesPreupdate: configuration.usesPreupdateHook
      ) { [unowned self] connection, didMeasure in
        functions.tracerSource?.tracer(of: self, on: connection, didMeasure: didMeasure)
      }
      connection.didFindDamage = family.didFindDamage
      try functions.apply(to: connection, observation)
    } catch {
      if let error = error as? SqlError { family.didFindDamage(error) }
      throw (error as? SqlError)?.labelled(configuration.label) ?? error
    }
    connection.keep(open.kept)
    if let interruption = open.interruption { connection.use(interruption) }
    (open.connection, open.observation, open.kept) = (connection, observation, [])
    family.didOpen(connection)
    do { try runOpenActions() } catch {
      disconnect()
      throw error
    }
    hasConnection.store(true, ordering: .releasing)
  }

  /// Closes the connection until the handle is used again. Call with the lock held, while no statement runs.
  func disconnect() {
    guard let connection else { return }
    finishAbandoned()
    (open.kept, open.interruption) = (connection.takeKept(), connection.interruption)
    observation?.close()
    transactions.levels = []
    (open.connection, open.observation) = (nil, nil)
    hasConnection.store(false, ordering: .releasing)
    family.didClose()
  }

  deinit {
    // A forked child process must not even close the connection: closing drops the parent's file locks.
    if isForked, let connection { _ = Unmanaged.passRetained(connection) }
    finishAbandoned()
    observation?.close()
    if connection != nil { family.didClose() }
  }

  // MARK: Closing

  /// Closes the connection. Later statements on this handle throw `.closed`; closing again does nothing.
  ///
  /// Throws `.misuse`, and closes nothing, while a transaction is open or rows of this handle are being read. Also
  /// throws `.misuse` for the handle of a pool, because the pool closes its handles. Closing a lost handle
  /// (`.handleLost`) rolls its transaction back.
  public func close() throws {
    guard !isLentElsewhere else { throw notLentHere }
    guard !belongsToPool else { throw misuse("can't close a pool's handle; use close() of the pool") }
    try closeByOwner()
  }

  /// Closes the connection, even if a pool owns the handle.
  package func closeByOwner() throws {
    try lockedAnyway {
      guard let connection else { return try closeUnopened() }
      try checkFork()
      finishAbandoned()
      guard connection.isLost || (connection.transactionLevel == 0 && connection.isAutocommit) else {
        throw misuse("can't close a handle while its transaction is open")
      }
      guard lock.depth == 1, connection.openCursors == 0 else {
        throw misuse("can't close a handle while its rows are being read")
      }
      observation?.close()
      transactions.levels = []
      open = Open()
      family.didClose()
      hasConnection.store(false, ordering: .releasing)
      isUsable.store(false, ordering: .releasing)
    }
    registry.sink?.didClose()
  }

  /// Closes a handle that has no connection, or is already closed.
  private func closeUnopened() throws {
    guard !family.isClosedHere else { throw closedHere }
    open = Open()
    isUsable.store(false, ordering: .releasing)
  }

  /// True until the handle is closed. Never waits for another thread that uses the handle.
  ///
  /// Also true for a handle that opens its file at the next use, while ``isConnected`` is false.
  public var isOpen: Bool { isUsable.load(ordering: .acquiring) }

  /// True while the handle has a connection to its file. Never waits for another thread that uses the handle.
  ///
  /// ```swift
  /// let db = try SqliteDatabase(filepath: path, configuration: Configuration(opensLazily: true))
  /// db.isConnected     // false: the file is opened at the first use
  /// ```
  ///
  /// False before the first use of a handle with ``Configuration/opensLazily``, and after a failed attempt to open the
  /// file. False from `withClosed` until the next use, and after the handle is closed.
  public var isConnected: Bool { hasConnection.load(ordering: .acquiring) }

  // MARK: Use

  /// Takes the handle's lock, and opens the connection if needed; `unlockAndDeliver()` releases the lock.
  ///
  /// `unlockAndDeliver()` calls observers, which can close the handle: don't use the connection after that call.
  @usableFromInline
  func enter() throws {
    // Check before locking. In a forked process, the lock can be held forever by a thread that exists only in the
    // parent.
    try checkFork()
    guard !isLentElsewhere else { throw notLentHere }
    lock.lock()
    finishAbandoned()
    guard let connection = unretainedConnection else { return try connectLate() }
    if let functions = open.unretainedFunctions,
      functions._withUnsafeGuaranteedRef({ $0.version })
        != connection._withUnsafeGuaranteedRef({ $0.functionsVersion })
    {
      try refresh(connection.takeUnretainedValue())
    }
  }

  /// Opens the connection of a handle without a connection. Call with the lock held; a failure releases the lock.
  @inline(never)
  private func connectLate() throws {
    do {
      try waitForBlock()
      guard connection == nil else { return }
      guard isOpen else { throw closed }
      guard !family.isClosedHere else { throw closedHere }
      try connect { try location.open($0, at: family.path, creates: !isChild) }
    } catch {
      lock.unlock()
      throw reportedWithoutLock(error)
    }
  }

  /// Waits until no `DatabaseBlock` suspends the connection, and registers the functions that other handles have added.
  /// Throws if the connection is lost. Call with the lock held; if this method throws, it has released the lock.
  private func refresh(_ connection: Connection) throws {
    if connection.isSuspended {
      // While the call waits, the block's holder can close the connection, and another thread can open the next one.
      do { try waitForBlock() } catch {
        lock.unlock()
        throw reportedWithoutLock(error)
      }
      guard connection === self.connection else { return try connectLate() }
      connection.isSuspended = false
    }
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

  /// True if the process has forked since the handle was opened. If true, this process must not use the connection.
  package var isForked: Bool { currentForkGeneration.pointee != forkGeneration }

  @usableFromInline
  package func checkFork() throws {
    guard !isForked else { throw misuse("the handle was opened before fork(); open another in the child process") }
  }

  /// Returns the connection of a handle that `locked` has made usable.
  package func openConnection() throws -> Connection {
    guard let connection else { throw closed }
    return connection
  }
}
