import SqlableCore
import SqlablePool

/// The state of a tenant that is open, or that a call waits for or changes.
///
/// `TenantSlot` is safe as `@unchecked Sendable`: the keeper's lock guards everything that changes.
final class TenantSlot: @unchecked Sendable {
  enum Phase {
    /// Waits for one of the places of open tenants.
    case queued
    case opening
    case open(SqlitePool)
    case closing
    /// One call has exclusive use of the file, which is closed.
    case exclusive
    /// The slot is no longer in use.
    case ended
  }

  let name: TenantName
  var phase = Phase.queued
  /// The number of leases. A tenant with a lease is not closed to make room.
  var uses = 0
  var waiters: [TenantWaiter] = []
  /// True if the tenant was deleted or renamed while it had leases or waiters.
  var isDeleted = false
  /// True if only a sweep over all tenants has used the tenant. Such a tenant is the first to be closed.
  var isSwept = false
  /// True while a call waits for the end of all leases to get exclusive use of the file. Meanwhile no call gets a
  /// lease.
  var isWanted = false

  /// The neighbours among the idle tenants.
  fileprivate(set) var older: TenantSlot?
  fileprivate(set) weak var newer: TenantSlot?
  fileprivate(set) var isIdle = false

  init(_ name: TenantName) { self.name = name }
}

/// The open tenants that no call uses, in the order of their last use.
struct IdleTenants {
  private var newest: TenantSlot?
  private weak var oldest: TenantSlot?
  private(set) var count = 0

  /// Adds a slot as the most recently used, or as the least recently used.
  mutating func insert(_ slot: TenantSlot, asOldest: Bool) {
    slot.isIdle = true
    count += 1
    if asOldest, let last = oldest {
      last.older = slot
      slot.newer = last
      oldest = slot
    } else {
      slot.older = newest
      newest?.newer = slot
      newest = slot
      if slot.older == nil { oldest = slot }
    }
  }

  mutating func remove(_ slot: TenantSlot) {
    guard slot.isIdle else { return }
    let (older, newer) = (slot.older, slot.newer)
    if let newer { newer.older = older } else { newest = older }
    if let older { older.newer = newer } else { oldest = newer }
    (slot.older, slot.newer, slot.isIdle) = (nil, nil, false)
    count -= 1
  }

  mutating func removeOldest() -> TenantSlot? {
    guard let slot = oldest else { return nil }
    remove(slot)
    return slot
  }
}

/// A call that waits until its tenant is open.
final class TenantWaiter: Sendable {
  let isSweep: Bool
  let begin = ContinuousClock.now
  let end: ContinuousClock.Instant?
  private let continuation: CheckedContinuation<TenantLease, any Error>

  init(isSweep: Bool, end: ContinuousClock.Instant?, _ continuation: CheckedContinuation<TenantLease, any Error>) {
    (self.isSweep, self.end, self.continuation) = (isSweep, end, continuation)
  }

  /// Call this method once, without the keeper's lock.
  func resume(_ result: Result<TenantLease, any Error>) { continuation.resume(with: result) }
}

/// The right to use a tenant's pool. The tenant stays open until the lease is given back.
struct TenantLease: Sendable {
  let slot: TenantSlot
  let pool: SqlitePool
}
