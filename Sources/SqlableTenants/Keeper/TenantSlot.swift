import SqlableCore
import SqlablePool

/// The state of a tenant that is open, or that a call waits for or changes.
///
/// `TenantSlot` is safe as `@unchecked Sendable`: the keeper's lock guards everything that changes.
package final class TenantSlot: @unchecked Sendable {
  package enum Phase {
    /// Waits until the limit on open tenants allows another tenant.
    case queued
    case opening
    case open(SqlitePool)
    case closing
    /// One call has exclusive use of the file, which is closed.
    case exclusive
    /// The slot is no longer in use.
    case ended
  }

  package let name: TenantName
  package internal(set) var phase = Phase.queued
  /// The number of leases. A tenant with a lease is not closed to make room.
  package internal(set) var uses = 0
  package internal(set) var waiters: [TenantWaiter] = []
  /// True if the tenant was deleted or renamed while it had leases or waiters.
  package internal(set) var isDeleted = false
  /// True if only a sweep over all tenants has used the tenant. Such a tenant is the first to be closed.
  var isSwept = false
  /// True while a call waits for the end of all leases to get exclusive use of the file. Meanwhile no call gets a
  /// lease.
  var isWanted = false

  /// True while the tenant is being closed because another tenant needs its place.
  var makesRoom = false

  /// The neighbours in the list of idle tenants.
  fileprivate(set) var older: TenantSlot?
  fileprivate(set) weak var newer: TenantSlot?
  fileprivate(set) var isIdle = false

  init(_ name: TenantName) { self.name = name }

  /// True if a call that does not belong to a sweep is waiting.
  package var hasCalls: Bool { waiters.contains { !$0.isSweep } }
}

/// The open tenants that no call uses, in the order of their last use.
package struct IdleTenants {
  private var newest: TenantSlot?
  private weak var oldest: TenantSlot?
  package private(set) var count = 0

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
package final class TenantWaiter: Sendable {
  let isSweep: Bool
  package let begin: ContinuousClock.Instant
  let end: ContinuousClock.Instant?
  /// Resumes the call. Call this closure once, without the keeper's lock.
  package let resume: @Sendable (Result<TenantLease, any Error>) -> Void

  package init(
    isSweep: Bool, from begin: ContinuousClock.Instant = .now, until end: ContinuousClock.Instant?,
    _ resume: @escaping @Sendable (Result<TenantLease, any Error>) -> Void
  ) {
    (self.isSweep, self.begin, self.end, self.resume) = (isSweep, begin, end, resume)
  }
}

/// The right to use a tenant's pool. The tenant stays open until the lease is given back.
package struct TenantLease: Sendable {
  package let slot: TenantSlot
  package let pool: SqlitePool
}
