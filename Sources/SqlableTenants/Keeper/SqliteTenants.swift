import Dispatch
import Glibc
import SqlableCore
import SqlablePool
import SqlableSchema

/// The tenants of a service: a directory with one database file for each customer, workspace or device.
///
/// ```swift
/// let tenants = try SqliteTenants(directory: "data/tenants", schema: schema, migrations: migrations)
/// let bikes = try await Bicycle.read().run(tenants["acme"])     // opens, creates or migrates the file when needed
/// try await tenants["acme"].transaction { db in … }
/// try await tenants.delete("acme")
/// ```
///
/// All tenants have the same schema. A tenant is opened at its first use, by one task, even if several tasks ask for it
/// at once. At most ``TenantsConfiguration/maximumOpen`` tenants are open. A tenant that no call uses is closed when
/// another tenant needs its place. A tenant is never closed while a call or a loop uses it. If all open tenants are in
/// use, calls wait in order, up to ``TenantsConfiguration/waitTimeout``.
///
/// The pools of all tenants share one set of threads and one watcher of files. A damaged tenant fails only its own
/// calls. A tenant that another process locks delays only its own calls, unless more than 2 ×
/// ``TenantsConfiguration/threads`` tenants are locked by other processes at once. Several processes can use one
/// directory.
public final class SqliteTenants: Sendable {
  public let configuration: TenantsConfiguration
  let directory: TenantDirectory
  let schema: Schema
  let migrations: Migrations?
  let resources: PoolResources
  /// The threads of the calls that create, delete, rename, copy or migrate tenants.
  let changes: BlockingWork
  /// The threads of short work, such as steps of hand-overs and the closing of tenants. Short work does not wait for
  /// copies and migrations.
  let steps: BlockingWork
  let receptions = TenantReceptions()
  private let state: LockedValue<TenantsState>
  private let generation = ForkGuard.generation

  /// Creates the directory if it is missing, and opens no tenant.
  ///
  /// Without migrations, opening a tenant creates missing tables, columns and indexes, as
  /// ``Schema/create(_:file:line:)-(SqlitePool,_,_)`` does. With migrations, opening a tenant runs the pending ones and
  /// verifies the tables. Throws `.misuse` for an invalid configuration and `.cannotOpen` for a directory that can't be
  /// created.
  public init(
    directory: String, schema: Schema, migrations: Migrations? = nil,
    configuration: TenantsConfiguration = TenantsConfiguration()
  ) throws {
    try configuration.validate()
    try migrations?.checkNames()
    (self.configuration, self.schema, self.migrations) = (configuration, schema, migrations)
    self.directory = try TenantDirectory(
      directory, lockTimeout: .seconds(max(configuration.pool.handles.busyTimeout, 1)))
    resources = PoolResources(threads: configuration.threads)
    changes = BlockingWork(maximum: configuration.threads)
    steps = BlockingWork(maximum: configuration.threads)
    state = LockedValue(TenantsState(maximumOpen: configuration.maximumOpen))
  }

  /// A tenant, as an executor. Getting the executor opens nothing; each call checks the name.
  ///
  /// A name has 1 to 200 bytes: ASCII letters, digits and `-_.@+`, and begins with a letter, a digit or `_`. An
  /// uppercase letter counts twice, and is not the same as the lowercase letter. Calls on a tenant with an invalid name
  /// throw `.tenant(.invalidName)`.
  public subscript(name: String) -> SqliteTenant { SqliteTenant(name: name, tenants: self) }

  /// True if the tenant exists. Throws `.tenant(.invalidName)` for an invalid name.
  public func contains(_ name: String) throws -> Bool { directory.exists(try TenantName(name)) }

  /// Returns the path of a tenant's file, for the command `sqlable`.
  package func filepath(of name: String) throws -> String { directory.file(of: try TenantName(name)) }

  /// Calls `body` with the state locked; `body` must call neither SQLite nor a caller's code.
  func withState<Result>(_ body: (inout TenantsState) throws -> Result) rethrows -> Result {
    try state.withLock(body)
  }

  func checkFork() throws {
    guard ForkGuard.generation == generation else {
      throw SqlError.misuse("the tenants were opened before fork(); open them again in the child process")
    }
  }

  // MARK: Closing

  /// Closes all tenants: rejects new calls, and waits for the calls that run, up to `duration`.
  ///
  /// Calls that wait for their tenant throw `.closed`. After `duration`, the calls that still run are stopped and throw
  /// `.closed`. Throws `.busy` if a closure does not end, or if a tenant is still being opened, created, deleted,
  /// renamed, copied or migrated; then `close` can be called again.
  public func close(within duration: Duration = .seconds(10)) async throws {
    try checkFork()
    try await onOwnThread { [self] in
      let end = ContinuousClock.now + duration
      let waiters = withState { state in
        for copy in state.copies.values { copy.cancel() }
        return state.beginClosing()
      }
      for waiter in waiters { waiter.resume(.failure(SqlError(.closed, message: "the tenants were closed"))) }
      // Ending the receptions deletes the files that were received so far.
      receptions.endAll()
      var failure: (any Error)?
      for (slot, pool) in withState({ $0.openPools }) {
        do {
          try pool.close(within: max(.zero, ContinuousClock.now.duration(to: end)))
          withState { $0.didCloseAtEnd(slot) }
        } catch { failure = error }
      }
      if let failure { throw failure }
      try waitForSlots(until: max(end, .now + .seconds(1)))
    }
  }

  /// Waits until no tenant is open, and no tenant is being opened, closed or changed. A tenant that is still being
  /// opened is closed by the thread that opens it.
  private func waitForSlots(until end: ContinuousClock.Instant) throws {
    while let slot = withState({ $0.slots.values.first }) {
      guard ContinuousClock.now < end else {
        throw SqlError(
          .busy, message: "can't close the tenants: a tenant is still being opened, closed or changed",
          label: slot.name.text)
      }
      usleep(1_000)
    }
  }
}

/// Statistics of a service's tenants.
public struct TenantsStatistics: Sendable, Hashable {
  /// The number of open tenants, including those that are being opened or closed.
  public let open: Int
  /// The number of open tenants that no call uses.
  public let idle: Int
  /// The number of calls that wait until their tenant is open.
  public let waiting: Int
  /// The numbers of openings, closings and failed openings of tenants.
  public let opened, closed, failed: Int
  /// The longest wait of a call until its tenant was open.
  public let longestWait: Duration
  /// The number of threads that run the SQL of all tenants.
  public let threads: Int
}

extension SqliteTenants {
  /// The current numbers. Never waits for a call.
  public var statistics: TenantsStatistics {
    withState { state in
      TenantsStatistics(
        open: state.placesTaken, idle: state.idle.count, waiting: state.waiting.count, opened: state.counts.opened,
        closed: state.counts.closed, failed: state.counts.failures, longestWait: state.counts.longestWait,
        threads: resources.threads.count)
    }
  }
}
