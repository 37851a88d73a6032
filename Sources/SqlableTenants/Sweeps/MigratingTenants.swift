import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableSchema

/// The number of tenants by state of their migrations, and the tenants that could not be read or migrated.
public struct TenantMigrationReport: Sendable {
  /// The number of tenants that have run all migrations.
  public internal(set) var current = 0
  /// The number of tenants that this sweep has migrated. `current` includes these tenants.
  public internal(set) var migrated = 0
  /// The number of tenants that are not current, keyed by the first migration that they have not completed.
  public internal(set) var pending: [String: Int] = [:]
  /// The names of the tenants that a newer program has migrated.
  public internal(set) var newer: [String] = []
  /// The tenants that could not be read or migrated, and the reasons.
  public internal(set) var failures: [(name: String, error: any Error)] = []

  /// The number of tenants in the report.
  public var count: Int { current + newer.count + failures.count + pending.values.reduce(0, +) }
}

extension SqliteTenants {
  /// Runs the pending migrations of all tenants, or of the first `limit` tenants that have some.
  ///
  /// ```swift
  /// let canary = try await tenants.migrate(limit: 20)
  /// guard canary.failures.isEmpty else { throw DeployError(canary.failures) }
  /// let report = try await tenants.migrate { print("\($0.count) tenants") }
  /// ```
  ///
  /// The sweep is optional, because each tenant is migrated when it is opened. With a sweep, the migrations run at the
  /// deployment instead of delaying a tenant's first call. Calls on the tenant that is being migrated wait. Each tenant
  /// records its own migrations, so a sweep that was stopped continues with the remaining tenants when it is called
  /// again. A failure is reported, and the sweep goes on. A limited sweep migrates one tenant after the other; failing
  /// tenants count toward `limit`. At most ``TenantsConfiguration/threads`` tenants are migrated at once. Tenants that
  /// are deleted during the sweep are not counted.
  ///
  /// With `dryRun`, no tenant is changed: the migrations run on a copy of each pending tenant, while the tenant's calls
  /// continue. The report then counts the tenants whose migrations succeed as pending, and has the failures that a
  /// deployment would have.
  ///
  /// `progress` receives the report so far, after each tenant. Throws `.misuse` without migrations, `.io` if the
  /// directory can't be read, `.closed` once the tenants are closed, and `CancellationError`.
  @discardableResult
  public func migrate(
    concurrency: Int = 4, limit: Int? = nil, dryRun: Bool = false,
    progress: @Sendable (TenantMigrationReport) -> Void = { _ in }
  ) async throws -> TenantMigrationReport {
    let migrations = try requiredMigrations()
    let isDone = { (report: TenantMigrationReport) in
      limit.map { report.migrated + report.pending.values.reduce(0, +) + report.failures.count >= $0 } ?? false
    }
    guard !dryRun else {
      return try await sweep(limit == nil ? concurrency : 1, progress, until: isDone) { [self] name in
        (try await rehearse(migrations, name), false)
      }
    }
    return try await sweep(limit == nil ? concurrency : 1, progress, until: isDone) { [self] name in
      try await changing([name], .skipsOpen) { [self] _ in
        let db = try handle(name, isReadOnly: false)
        defer { try? db.close() }
        let status = try migrations.status(db)
        guard case .pending = status else { return (status, false) }
        try prepare(db)
        try noteChecked(db, name)
        return (.current, true)
      }
    }
  }

  /// Migrates a copy of a tenant, and deletes the copy.
  private func rehearse(_ migrations: Migrations, _ name: TenantName) async throws -> Migrations.Status {
    let (status, copy) = try await readingFile(name) { [self] file in
      let status = try migrations.status(file.db)
      guard case .pending = status else {
        try file.check()
        return (status, nil as String?)
      }
      let path = try directory.newFile()
      do {
        try file.db.writeBackup(to: path, BackupOptions(), file.stop)
        try file.check()
      } catch {
        try? files(at: path).remove()
        throw error
      }
      return (status, path)
    }
    guard let copy else { return status }
    // The tenant's file is closed, so a call that deletes the tenant does not wait for the migrations.
    try await changes.run { [self] in
      let result = Result { try migrate(copyAt: copy, of: name) }
      // As in a sweep, a tenant that was deleted meanwhile is not counted.
      guard directory.exists(name) else { throw missing(name) }
      try result.get()
    }
    return status
  }

  private func migrate(copyAt path: String, of name: TenantName) throws {
    defer { try? files(at: path).remove() }
    var configuration = handleConfiguration(name)
    configuration.journalMode = .delete
    let copy = try SqliteDatabase(filepath: path, configuration: configuration)
    defer { try? copy.close() }
    try prepare(copy)
  }

  /// Returns the state of the migrations of all tenants, and changes nothing.
  public func migrationReport(
    concurrency: Int = 2, progress: @Sendable (TenantMigrationReport) -> Void = { _ in }
  ) async throws -> TenantMigrationReport {
    let migrations = try requiredMigrations()
    return try await sweep(concurrency, progress) { [self] name in
      try await changing([name], .skipsOpen) { [self] _ in
        let db = try handle(name, isReadOnly: true)
        defer { try? db.close() }
        return (try migrations.status(db), false)
      }
    }
  }

  private func requiredMigrations() throws -> Migrations {
    guard let migrations else {
      throw SqlError.misuse("SqliteTenants was created without migrations; pass migrations: to the initializer")
    }
    return migrations
  }

  private func handle(_ name: TenantName, isReadOnly: Bool) throws -> SqliteDatabase {
    var configuration = handleConfiguration(name)
    configuration.isReadOnly = isReadOnly
    return try directory.withLock(.shared, of: [name]) {
      guard directory.exists(name) else { throw missing(name) }
      return try SqliteDatabase.openOther(at: directory.file(of: name), configuration, nil, creates: false)
    }
  }

  private func sweep(
    _ concurrency: Int, _ progress: @Sendable (TenantMigrationReport) -> Void,
    until isDone: (TenantMigrationReport) -> Bool = { _ in false },
    _ body: @escaping @Sendable (TenantName) async throws -> (status: Migrations.Status, isMigrated: Bool)
  ) async throws -> TenantMigrationReport {
    var report = TenantMigrationReport()
    if isDone(report) { return report }
    // Start no more migrations than there are threads: a migration that waits for a thread blocks the other calls on
    // its tenant.
    let results = each(concurrency: min(concurrency, configuration.threads)) { tenant in
      try await body(TenantName(tenant.name))
    }
    for try await (name, result) in results {
      switch result {
      case .success((.current, let isMigrated)):
        report.current += 1
        if isMigrated { report.migrated += 1 }
      case .success((.pending(let names), _)): report.pending[names.first ?? "", default: 0] += 1
      case .success((.newer, _)): report.newer.append(name)
      // An open tenant has already run the migrations.
      case .failure(is TenantIsOpen): report.current += 1
      // The tenant was deleted or handed over after its name was read.
      case .failure(let error as SqlError) where error.kind == .tenant(.missing) || error.kind == .tenant(.handedOver):
        continue
      case .failure(let error as SqlError) where error.kind == .closed: throw error
      case .failure(let error): report.failures.append((name, error))
      }
      progress(report)
      if isDone(report) { break }
    }
    return report
  }
}
