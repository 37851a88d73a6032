import SqlableCore
import SqlablePool

/// The state of a service's tenants in total, and the tenants that an operator should look at.
public struct TenantsHealth: Sendable, Hashable {
  /// A tenant and the activity of its pool since the tenant was opened.
  public struct Tenant: Sendable, Hashable {
    public let name: String
    public let statistics: SqlitePool.Statistics

    /// The longest time for which a call has held a handle, including the running calls.
    var longestCall: Duration {
      max(statistics.longestUse, statistics.oldestRead?.age ?? .zero, statistics.write?.age ?? .zero)
    }
  }

  /// A problem of one tenant, which harms no other tenant.
  public struct TenantProblem: Sendable, Hashable {
    public let name: String
    public let problem: SqlitePool.Health.Problem
  }

  /// The problems of the service as a whole: `.closed`, `.littleSpace`, and `.noAnswer(.timeout)` if a call waits for
  /// its tenant for too long.
  public let problems: [SqlitePool.Health.Problem]
  /// The problems of single tenants: long calls, large WALs, damage. The problem `.noAnswer` contains the error of a
  /// tenant whose last opening has failed. At most 100 such tenants are listed.
  public let tenantProblems: [TenantProblem]
  public let statistics: TenantsStatistics
  /// The longest wait, until now, among the calls that wait for their tenant.
  public let oldestWait: Duration
  /// The free space of the file system, in bytes; nil if unknown.
  public let freeBytes: Int?
  /// The total size of the WALs of the open tenants, in bytes.
  public let walSize: Int
  /// The open tenants with the longest calls, the longest first.
  public let slowest: [Tenant]

  /// True if the service as a whole has no problem. One damaged tenant is no reason to restart a service.
  public var isHealthy: Bool { problems.isEmpty }
}

extension SqliteTenants {
  /// Checks the health of all tenants.
  ///
  /// ```swift
  /// let health = tenants.health()
  /// return health.isHealthy ? .ok : .serviceUnavailable
  /// for tenant in health.slowest { print(tenant.name, tenant.statistics.longestUse) }
  /// ```
  ///
  /// Reads the sizes of the open tenants' WALs, and runs no statement. Never waits for a call, and never throws.
  ///
  /// - Parameters:
  ///   - count: The number of tenants in ``TenantsHealth/slowest``.
  ///   - maximumWait: The time for which a call can wait for its tenant before the wait counts as a problem.
  ///   - limits: The limits of each tenant; `freeBytes` is a limit for the file system of the directory.
  public func health(
    slowest count: Int = 10, maximumWait: Duration = .seconds(5), limits: SqlitePool.HealthLimits = .init()
  ) -> TenantsHealth {
    let (pools, oldest, failures, isClosed) = withState { state in
      (
        state.openPools.map { ($0.0.name.text, $0.1) }, state.waiting.values.map(\.waiter.begin).min(),
        state.failures, state.isClosed
      )
    }
    var tenantProblems = failures.map { TenantsHealth.TenantProblem(name: $0.key.text, problem: .noAnswer($0.value)) }
    let tenants = pools.map { name, pool in
      let statistics = pool.statistics
      tenantProblems += pool.problems(limits, statistics).map { TenantsHealth.TenantProblem(name: name, problem: $0) }
      return TenantsHealth.Tenant(name: name, statistics: statistics)
    }
    let oldestWait = oldest.map { $0.duration(to: .now) } ?? .zero
    let free = FileSpace.free(at: directory.path + "/")
    var problems: [SqlitePool.Health.Problem] = isClosed ? [.closed] : []
    if let free, free < limits.freeBytes { problems.append(.littleSpace(bytes: free)) }
    if oldestWait > maximumWait { problems.append(.noAnswer(.timeout)) }
    let slowest = tenants.sorted { ($1.longestCall, $0.name) < ($0.longestCall, $1.name) }.prefix(max(0, count))
    return TenantsHealth(
      problems: problems, tenantProblems: tenantProblems.sorted { $0.name < $1.name }, statistics: statistics,
      oldestWait: oldestWait, freeBytes: free, walSize: tenants.reduce(0) { $0 + $1.statistics.walSize },
      slowest: [TenantsHealth.Tenant](slowest))
  }
}
