import SqlableCore
import SqlablePool

/// A tenant: an executor whose database is opened when it is used. See ``SqliteTenants``.
///
/// ```swift
/// let acme = tenants["acme"]
/// try await bike.insert().run(acme)
/// let (count, first) = try await acme.read { db in (try Bicycle.count().run(db), try Bicycle.read().first().run(db)) }
/// ```
///
/// A tenant is a light value, which keeps nothing open. Calls throw the errors of a pool's calls and these errors:
/// `.tenant(.invalidName)`, `.tenant(.missing)` if the configuration does not create missing tenants,
/// `.tenant(.deleted)` if the tenant is deleted or renamed meanwhile, `.timeout` if the tenant is not open after
/// ``TenantsConfiguration/waitTimeout``, and the errors of opening and migrating its file. The label of these errors is
/// the tenant's name.
public struct SqliteTenant: AsyncSqlExecutor {
  public let name: String
  let tenants: SqliteTenants
  /// True for a call of a loop over all tenants. Such a call does not create a missing tenant.
  let isSweep: Bool

  init(name: String, tenants: SqliteTenants, isSweep: Bool = false) {
    (self.name, self.tenants, self.isSweep) = (name, tenants, isSweep)
  }

  /// Runs a statement on the tenant's database, like `work.run(tenant)`.
  @discardableResult
  public func run<Work: Runnable>(
    _ work: Work, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> Work.Output where Work.Output: Sendable {
    try await withPool { pool in try await pool.run(work, file: file, line: line) }
  }

  /// Calls `body` with a reader of the tenant's pool, on one snapshot of the database. The closure runs on a thread
  /// that all tenants share.
  public func read<Value: Sendable>(
    file: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) async throws -> Value {
    try await withPool { pool in try await pool.read(file: file, line: line, body) }
  }

  /// Runs `body` in a transaction of the tenant's writer, on a thread of the tenants.
  ///
  /// Transactions of one tenant share commits, as on a pool. Transactions of different tenants don't wait for one
  /// another.
  @discardableResult
  public func transaction<Value: Sendable>(
    file: StaticString = #fileID, line: UInt = #line, _ body: @escaping @Sendable (SqliteDatabase) throws -> Value
  ) async throws -> Value {
    try await withPool { pool in try await pool.transaction(file: file, line: line, body) }
  }

  /// Calls `body` with the tenant's pool. The tenant stays open until `body` returns.
  ///
  /// ```swift
  /// try await tenants["acme"].withPool { pool in
  ///   for try await bikes in Bicycle.read().updates(in: pool) { show(bikes) }
  /// }
  /// ```
  ///
  /// Use the pool for everything that takes more than one call: live results, loops over changes or rows, backups. A
  /// loop keeps one of the ``TenantsConfiguration/maximumOpen`` places. Don't use the pool after `body` has returned:
  /// the pool's calls throw `.closed` once the tenant is closed. Don't close the pool.
  public func withPool<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: (SqlitePool) async throws -> Value
  ) async throws -> Value {
    try await withLease { try await body($0.pool) }
  }

  func withLease<Value>(
    isolation: isolated (any Actor)? = #isolation, _ body: (TenantLease) async throws -> Value
  ) async throws -> Value {
    let lease = try await tenants.lease(name, isSweep: isSweep)
    do {
      let value = try await body(lease)
      tenants.giveBack(lease)
      return value
    } catch {
      let isDeleted = tenants.giveBack(lease)
      guard isDeleted, let error = error as? SqlError, error.kind == .closed || error.kind == .io else { throw error }
      throw SqliteTenants.deleted(name, transaction: error.transaction)
    }
  }
}
