import SqlableCore
import SqlablePool

/// The limits of a program's tenants, and the settings of their pools.
///
/// ```swift
/// let configuration = TenantsConfiguration(maximumOpen: 500, pool: .init(handles: .init(cacheSize: 512), readers: 2))
/// ```
public struct TenantsConfiguration: Sendable, Hashable {
  /// The maximum number of tenants that are open at once. Default: 500. A tenant that no call uses stays open until
  /// another tenant needs its place; the tenant that was not used for the longest time is closed first.
  public var maximumOpen: Int

  /// The number of threads that run the SQL of all tenants. Default: 4. While some of these threads wait for other
  /// processes' locks, up to `threads` further threads replace them. A loop over rows uses an additional thread while
  /// it waits for its caller. The calls that create, delete, rename, copy or migrate tenants run on up to `threads`
  /// separate threads, and so do the steps of hand-overs.
  public var threads: Int

  /// The maximum time that a call waits until its tenant is open, after which the call throws `.timeout`. Default: 10
  /// seconds; nil waits without limit. The deadline of ``withDeadline(_:_:)`` applies, too. Calls that create, delete
  /// or copy tenants also wait up to this time for other calls on the tenant, and then throw `.busy`; if `waitTimeout`
  /// is nil, they wait up to an hour.
  public var waitTimeout: Duration?

  /// The maximum number of calls that wait until their tenant is open. A further call throws `.busy`. Default: 65,536.
  public var maximumWaiting: Int

  /// True if the first use of a tenant creates the tenant. Default: true. With false, a call on a missing tenant throws
  /// `.tenant(.missing)`.
  public var createsMissing: Bool

  /// The settings of each tenant's pool. Default: two readers, and per connection at most 1 MiB of pages and 256 KiB of
  /// compiled statements. A pool's own defaults are 8 MiB and 4 MiB.
  public var pool: PoolConfiguration

  public init(
    maximumOpen: Int = 500, threads: Int = 4, waitTimeout: Duration? = .seconds(10), maximumWaiting: Int = 65_536,
    createsMissing: Bool = true,
    pool: PoolConfiguration = PoolConfiguration(
      handles: Configuration(statementCacheBytes: 256 << 10, cacheSize: 1_024), readers: 2)
  ) {
    (self.maximumOpen, self.threads, self.waitTimeout) = (maximumOpen, threads, waitTimeout)
    (self.maximumWaiting, self.createsMissing, self.pool) = (maximumWaiting, createsMissing, pool)
  }

  func validate() throws {
    guard maximumOpen >= 1 else { throw SqlError.misuse("maximumOpen must be at least 1") }
    guard (1...1_000).contains(threads) else {
      throw SqlError.misuse("the number of threads must be from 1 to 1,000")
    }
    guard waitTimeout.map({ $0 >= .zero }) ?? true else { throw SqlError.misuse("waitTimeout can't be negative") }
    guard maximumWaiting >= 0 else { throw SqlError.misuse("maximumWaiting can't be negative") }
    try pool.validate()
    // A file that is attached for writing would be locked by each write transaction, which would block the writers of
    // all other tenants.
    if let name = pool.handles.attached.keys.sorted().first(where: { !pool.handles.attachedReadOnly.contains($0) }) {
      throw SqlError.misuse("tenants can only attach files read-only; add \(name) to attachedReadOnly")
    }
    guard !pool.handles.opensLazily else {
      throw SqlError.misuse("opensLazily must be false: tenants are always opened on first use")
    }
  }
}
