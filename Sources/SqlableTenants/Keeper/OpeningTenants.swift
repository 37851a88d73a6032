import Dispatch
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableSchema

// Opening, creating and closing of tenants, on the threads of the keeper.

extension SqliteTenants {
  func start(_ work: [TenantsState.Work]) {
    for item in work {
      resources.threads.async { [self] in
        switch item {
        case .open(let slot): open(slot)
        case .close(let slot, let pool): close(slot, pool)
        }
      }
    }
  }

  private func open(_ slot: TenantSlot) {
    let mayCreate = configuration.createsMissing && !directory.isAway(slot.name)
    // Only a call creates a missing tenant. A loop over all tenants must not create a tenant that was deleted after its
    // name was read.
    let creates = withState { _ in mayCreate && slot.hasCalls }
    guard creates || directory.exists(slot.name) else {
      let (waiters, work) = withState { $0.didFindMissing(slot, createsForCalls: mayCreate) }
      start(work)
      return fail(waiters, missing(slot.name))
    }
    switch Result(catching: { try openPool(slot.name, creates: creates) }) {
    case .success(let pool):
      let observers = attachObservers(pool, slot.name)
      let (leases, work) = withState { $0.didOpen(slot, pool) }
      start(work)
      attachObservers(pool, slot.name, instead: observers)
      for (waiter, lease) in leases { waiter.resume(.success(lease)) }
    case .failure(let error):
      let (waiters, work) = withState { $0.didFailToOpen(slot, error) }
      start(work)
      fail(waiters, error)
    }
  }

  private func fail(_ waiters: [TenantWaiter], _ error: any Error) {
    for waiter in waiters { waiter.resume(.failure(error)) }
  }

  private func openPool(_ name: TenantName, creates: Bool) throws -> SqlitePool {
    if creates, !directory.exists(name) {
      // Another process might have created the file meanwhile.
      do { try create(name) } catch  where directory.exists(name) {}
    }
    let pool = try directory.withLock(.shared, of: [name]) {
      guard directory.exists(name) else { throw creates ? SqliteTenants.deleted(name.text) : missing(name) }
      return try SqlitePool(
        filepath: directory.file(of: name), configuration: poolConfiguration(name), sharing: resources, creates: false)
    }
    do {
      try prepare(pool, name)
      // Free the memory of the pool's first connection, which from here on only keeps the file open.
      try pool.root.releaseMemory()
      return pool
    } catch {
      try? pool.close(within: .zero)
      throw error
    }
  }

  func poolConfiguration(_ name: TenantName) -> PoolConfiguration {
    var pool = configuration.pool
    pool.handles = handleConfiguration(name)
    return pool
  }

  /// The configuration of a tenant's handles. The label is the tenant's name, after the configured label if there is
  /// one.
  func handleConfiguration(_ name: TenantName) -> Configuration {
    var handles = configuration.pool.handles
    handles.label = handles.label.map { "\($0) \(name.text)" } ?? name.text
    handles.createsDirectories = false
    handles.isCompact = true
    return handles
  }

  /// Migrates or completes the schema, unless this process has already checked the schema of this file.
  private func prepare(_ pool: SqlitePool, _ name: TenantName) throws {
    let version = try pool.root.locked { try pool.root.openConnection().schemaVersion() }
    let now = FileIdentity(directory.file(of: name)).map { CheckedTenant(file: $0, schemaVersion: version) }
    let isChecked = now != nil && withState({ $0.checked[name] }) == now
    // Most tenants need no change. For these tenants, open no writer: a writer takes as much memory as a reader.
    guard try !isCurrent(pool.root, isChecked: isChecked) else {
      if !isChecked { try noteChecked(pool.root, name) }
      return
    }
    try prepare(pool)
    try noteChecked(pool.root, name)
  }

  /// True if the tables have the schema of the models and all migrations have run.
  ///
  /// - Parameter isChecked: True if the tables were checked before. Even then, this method reads which migrations have
  ///   run. A migration that only changes rows does not change SQLite's `schema_version`.
  private func isCurrent(_ db: SqliteDatabase, isChecked: Bool) throws -> Bool {
    guard let migrations else { return try isChecked || schema.differences(db).isEmpty }
    guard case .current = try migrations.status(db) else { return false }
    if !isChecked { try schema.verify(db) }
    return true
  }

  func prepare(_ db: some SqlDatabase) throws {
    guard let migrations else {
      try schema.create(db)
      return
    }
    // Limit the wait, because it occupies one of a few shared threads.
    try migrations.apply(db, waitingAtMost: .seconds(configuration.pool.handles.busyTimeout))
    try schema.verify(db)
  }

  func noteChecked(_ db: SqliteDatabase, _ name: TenantName) throws {
    let version = try db.locked { try db.openConnection().schemaVersion() }
    let file = FileIdentity(directory.file(of: name))
    withState { $0.checked[name] = file.map { CheckedTenant(file: $0, schemaVersion: version) } }
  }

  /// Returns the error of a call on a tenant without a file.
  func missing(_ name: TenantName) -> SqlError {
    guard !directory.isAway(name) else { return handedOver(name) }
    return SqlError(.tenant(.missing), message: "there is no such tenant", label: name.text)
  }

  // MARK: Creating

  /// Creates a tenant's file with the schema, in one step. Throws if the tenant exists.
  func create(_ name: TenantName) throws {
    try place(name) { path, configuration in
      let db = try SqliteDatabase(filepath: path, configuration: configuration)
      try prepare(db)
      try db.close()
    }
  }

  /// Creates a tenant's file: `make` fills a temporary file, which is then renamed. Throws if the tenant exists.
  ///
  /// The configuration that `make` receives keeps the whole database in one file, which can then be renamed.
  func place(_ name: TenantName, _ make: (String, Configuration) throws -> Void) throws {
    let path = try directory.newFile()
    var configuration = handleConfiguration(name)
    configuration.journalMode = .delete
    let files = DatabaseFiles(of: path, key: configuration.key, cipher: configuration.cipher)
    defer { try? files.remove() }
    try make(path, configuration)
    try directory.withLock(.creating, of: [name]) { try move(files, to: name, of: [name]) }
  }

  // MARK: Closing

  private static let clock = DispatchQueue(label: "sqlable.tenants.closing")

  private func close(_ slot: TenantSlot, _ pool: SqlitePool) {
    do { try pool.close(within: .zero) } catch {
      // The program has kept the pool after `withPool`, and a call still uses it. Until the call ends, the tenant stays
      // open and counts towards `maximumOpen`.
      start(withState { $0.didFailToClose(slot) })
      return SqliteTenants.clock.asyncAfter(deadline: .now() + .seconds(1)) { [self] in
        start([.close(slot, pool)])
      }
    }
    start(withState { $0.didClose(slot) })
  }
}
