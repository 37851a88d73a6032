import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableTracing

/// The state of a keeper of tenants, guarded by the keeper's lock.
///
/// A state machine without a clock, threads or SQL, so that tests can run the steps in every order.
package struct TenantsState {
  /// Work for a thread of the keeper, to be started without the lock.
  package enum Work {
    case open(TenantSlot)
    case close(TenantSlot, SqlitePool)
  }

  let maximumOpen: Int
  /// The keys are checked names. As `String`s, two names that differ only in a K and a Kelvin sign would be equal.
  package private(set) var slots: [TenantName: TenantSlot] = [:]
  /// The slots that wait for a place among the open tenants, from index `head` on. Slots that no longer wait are
  /// skipped.
  private var queue: [TenantSlot] = []
  private var head = 0
  /// The number of slots in the phase `queued`. `queue` also contains slots in later phases.
  private var queued = 0
  package private(set) var idle = IdleTenants()
  /// The number of places that are taken by tenants that are open, being opened or being closed.
  package private(set) var placesTaken = 0
  /// The number of idle tenants that are being closed to make room. Other closes are not counted, because they wait for
  /// calls and can take long.
  package private(set) var closings = 0
  /// All calls that wait, by the identity of the waiter.
  package private(set) var waiting: [ObjectIdentifier: (waiter: TenantWaiter, slot: TenantSlot)] = [:]
  /// The time of the next check for timeouts.
  private var nextCheck: ContinuousClock.Instant?
  private(set) var isClosed = false
  var counts = TenantCounts()
  /// The version of the schema that each tenant's file had when this process checked or migrated it.
  var checked: [TenantName: CheckedTenant] = [:]

  /// The running copies of tenants' files for backups. A claim of a tenant's file stops the copy of this file.
  var copies: [TenantName: BackupStop] = [:]

  /// The observers of pools, such as traces.
  var poolObservers: [TraceToken: @Sendable (String, SqlitePool, TraceToken) -> Void] = [:]
  /// The tenants whose last opening has failed, and the kinds of the errors.
  private(set) var failures: [TenantName: SqlError.Kind] = [:]
  private static let maximumFailures = 100

  package init(maximumOpen: Int) { self.maximumOpen = maximumOpen }

  func checkIsOpen() throws {
    guard !isClosed else { throw SqlError(.closed, message: "the tenants are closed") }
  }

  // MARK: Calls

  /// Returns a lease on an open tenant; nil if the call must wait.
  package mutating func takeOpen(_ name: TenantName, isSweep: Bool) throws -> TenantLease? {
    try checkIsOpen()
    guard let slot = slots[name], case .open(let pool) = slot.phase, !slot.isWanted else { return nil }
    return take(slot, pool, isSweep: isSweep)
  }

  private mutating func take(_ slot: TenantSlot, _ pool: SqlitePool, isSweep: Bool) -> TenantLease {
    idle.remove(slot)
    slot.uses += 1
    if !isSweep { slot.isSwept = false }
    return TenantLease(slot: slot, pool: pool)
  }

  package enum Entry {
    case lease(TenantLease)
    case waits([Work])
  }

  /// Returns a lease on an open tenant, or queues the call. Throws `.busy` if `maximum` calls wait.
  package mutating func enter(_ waiter: TenantWaiter, _ name: TenantName, maximum: Int) throws -> Entry {
    // Another task might have opened the tenant meanwhile.
    if let lease = try takeOpen(name, isSweep: waiter.isSweep) { return .lease(lease) }
    guard waiting.count < maximum else {
      throw SqlError(.busy, message: "\(maximum) calls wait for tenants; raise maximumWaiting", label: name.text)
    }
    return .waits(wait(waiter, for: name))
  }

  private mutating func wait(_ waiter: TenantWaiter, for name: TenantName) -> [Work] {
    let slot = slots[name] ?? add(name)
    slot.waiters.append(waiter)
    waiting[ObjectIdentifier(waiter)] = (waiter, slot)
    return nextWork()
  }

  private mutating func add(_ name: TenantName) -> TenantSlot {
    let slot = TenantSlot(name)
    slot.isSwept = true
    slots[name] = slot
    queue.append(slot)
    queued += 1
    return slot
  }

  /// Ends the wait of a call; returns false if the call no longer waits.
  package mutating func stopWaiting(_ waiter: TenantWaiter) -> Bool {
    guard let slot = waiting.removeValue(forKey: ObjectIdentifier(waiter))?.slot else { return false }
    removeStopped(from: slot)
    return true
  }

  /// Ends the wait of all calls for which the closure returns true, and returns these calls.
  private mutating func stopWaiting(
    where isStopped: (TenantWaiter) -> Bool
  ) -> [(waiter: TenantWaiter, slot: TenantSlot)] {
    let stopped = waiting.values.filter { isStopped($0.waiter) }
    for (waiter, _) in stopped { waiting[ObjectIdentifier(waiter)] = nil }
    // Visit each slot once, because many calls can wait for one tenant.
    let slots = Dictionary(stopped.map { (ObjectIdentifier($0.slot), $0.slot) }) { slot, _ in slot }
    for slot in slots.values { removeStopped(from: slot) }
    return stopped
  }

  /// Returns the time at which the caller must check for timeouts: the end of the waiter's wait. Nil if an earlier
  /// check is already scheduled, or if the waiter waits without a limit.
  package mutating func scheduleCheck(of waiter: TenantWaiter) -> ContinuousClock.Instant? {
    guard let end = waiter.end, nextCheck.map({ end < $0 }) ?? true else { return nil }
    nextCheck = end
    return end
  }

  /// Ends the wait of the calls that have waited too long. Returns these calls, and the time of the next check.
  package mutating func takeLate(
    scheduledFor time: ContinuousClock.Instant, now: ContinuousClock.Instant
  ) -> (late: [(waiter: TenantWaiter, slot: TenantSlot)], next: ContinuousClock.Instant?) {
    // A check at an earlier time has replaced this check, and schedules the next one.
    guard nextCheck == time else { return ([], nil) }
    let late = stopWaiting { waiter in waiter.end.map { $0 <= now } ?? false }
    nextCheck = waiting.values.compactMap(\.waiter.end).min()
    return (late, nextCheck)
  }

  private mutating func removeStopped(from slot: TenantSlot) {
    slot.waiters.removeAll { waiting[ObjectIdentifier($0)] == nil }
    if slot.waiters.isEmpty, case .queued = slot.phase { end(slot) }
  }

  /// Ends the wait of the calls that wait for a tenant, and returns these calls.
  private mutating func takeWaiters(
    of slot: TenantSlot, where isTaken: (TenantWaiter) -> Bool = { _ in true }
  ) -> [TenantWaiter] {
    let taken = slot.waiters.filter(isTaken)
    slot.waiters.removeAll(where: isTaken)
    for waiter in taken {
      waiting[ObjectIdentifier(waiter)] = nil
      counts.longestWait = max(counts.longestWait, waiter.begin.duration(to: .now))
    }
    return taken
  }

  package mutating func giveBack(_ slot: TenantSlot) -> [Work] {
    slot.uses -= 1
    guard slot.uses == 0, case .open = slot.phase, !slot.isWanted else { return [] }
    idle.insert(slot, asOldest: slot.isSwept)
    return nextWork()
  }

  // MARK: Places

  /// Gives the free places among the open tenants to waiting slots. If no place is free, closes idle tenants.
  private mutating func nextWork() -> [Work] {
    var work: [Work] = []
    while let slot = firstQueued() {
      if placesTaken < maximumOpen {
        head += 1
        queued -= 1
        placesTaken += 1
        slot.phase = .opening
        work.append(.open(slot))
      } else {
        guard closings < queued, let victim = idle.removeOldest(), case .open(let pool) = victim.phase else {
          break
        }
        beginClosing(victim)
        victim.makesRoom = true
        closings += 1
        work.append(.close(victim, pool))
      }
    }
    return work
  }

  private mutating func beginClosing(_ slot: TenantSlot) {
    idle.remove(slot)
    slot.phase = .closing
  }

  private mutating func firstQueued() -> TenantSlot? {
    if head >= 64, head * 2 >= queue.count {
      queue.removeFirst(head)
      head = 0
    }
    while head < queue.count {
      if case .queued = queue[head].phase { return queue[head] }
      head += 1
    }
    return nil
  }

  /// Records that a tenant was opened; returns the leases of the calls that waited.
  package mutating func didOpen(_ slot: TenantSlot, _ pool: SqlitePool) -> ([(TenantWaiter, TenantLease)], [Work]) {
    slot.phase = .open(pool)
    counts.opened += 1
    failures[slot.name] = nil
    let waiters = takeWaiters(of: slot)
    let leases = waiters.map { ($0, take(slot, pool, isSweep: $0.isSweep)) }
    if leases.isEmpty, isClosed {
      beginClosing(slot)
      return ([], [.close(slot, pool)])
    }
    if leases.isEmpty { idle.insert(slot, asOldest: slot.isSwept) }
    return (leases, nextWork())
  }

  /// Records that a tenant could not be opened; returns the calls that waited.
  package mutating func didFailToOpen(_ slot: TenantSlot, _ error: any Error) -> ([TenantWaiter], [Work]) {
    counts.failures += 1
    if failures.count < TenantsState.maximumFailures || failures[slot.name] != nil {
      failures[slot.name] = (error as? SqlError)?.kind ?? .other
    }
    placesTaken -= 1
    let waiters = takeWaiters(of: slot)
    end(slot)
    return (waiters, nextWork())
  }

  /// Records that a tenant is missing. Returns the waiting calls that may not create the tenant; the other calls wait
  /// for a place among the open tenants.
  package mutating func didFindMissing(_ slot: TenantSlot, createsForCalls: Bool) -> ([TenantWaiter], [Work]) {
    placesTaken -= 1
    let waiters = takeWaiters(of: slot) { $0.isSweep || !createsForCalls }
    leave(slot)
    return (waiters, nextWork())
  }

  /// Records that a tenant could not be closed, because a call still uses the tenant's pool. The keeper closes the
  /// tenant later. If a call waits for a place among the open tenants, another tenant is closed.
  package mutating func didFailToClose(_ slot: TenantSlot) -> [Work] {
    guard slot.makesRoom else { return [] }
    slot.makesRoom = false
    closings -= 1
    return nextWork()
  }

  /// Records that a tenant was closed. Calls that asked for the tenant while it was closing now wait for a place among
  /// the open tenants.
  package mutating func didClose(_ slot: TenantSlot) -> [Work] {
    if slot.makesRoom { closings -= 1 }
    placesTaken -= 1
    counts.closed += 1
    leave(slot)
    return nextWork()
  }

  /// Ends a slot. Waiting calls move to a new slot of the same tenant, because leases on the old slot can still be in
  /// use.
  private mutating func leave(_ slot: TenantSlot) {
    let waiters = slot.waiters
    slot.waiters = []
    end(slot)
    guard !waiters.isEmpty else { return }
    let next = add(slot.name)
    next.waiters = waiters
    moveForward(next)
    for waiter in waiters { waiting[ObjectIdentifier(waiter)] = (waiter, next) }
  }

  /// Moves the last slot of the queue forward, before all slots whose first call began later.
  private mutating func moveForward(_ slot: TenantSlot) {
    guard let begin = slot.waiters.first?.begin else { return }
    var index = queue.count - 1
    while index > head, queue[index - 1].waiters.first.map({ $0.begin > begin }) ?? true { index -= 1 }
    queue.insert(queue.removeLast(), at: index)
  }

  private mutating func end(_ slot: TenantSlot) {
    if case .queued = slot.phase { queued -= 1 }
    slot.phase = .ended
    if slots[slot.name] === slot { slots[slot.name] = nil }
  }

  // MARK: Exclusive use

  /// The result of an attempt to claim a tenant's file for one call.
  package enum Claim {
    case claimed(TenantSlot)
    /// The pool must be closed first. The tenant's place is still taken.
    case closes(TenantSlot, SqlitePool)
    case waits
  }

  /// Claims a tenant's file. With `.endsCalls`, calls that still use the tenant can throw `.tenant(.deleted)`.
  package mutating func claim(_ name: TenantName, _ policy: ClaimPolicy) throws -> Claim {
    try checkIsOpen()
    guard let slot = slots[name] else {
      let slot = TenantSlot(name)
      slots[name] = slot
      slot.phase = .exclusive
      return .claimed(slot)
    }
    switch slot.phase {
    case .queued:
      queued -= 1
      slot.phase = .exclusive
      return .claimed(slot)
    case .open(let pool):
      if policy == .skipsOpen { throw TenantIsOpen() }
      guard policy == .endsCalls || slot.uses == (policy == .waitsForOthers ? 1 : 0) else {
        slot.isWanted = true
        return .waits
      }
      slot.isWanted = false
      if policy == .endsCalls { slot.isDeleted = true }
      beginClosing(slot)
      return .closes(slot, pool)
    case .opening, .closing, .exclusive, .ended: return .waits
    }
  }

  /// Ends an attempt to claim a tenant that calls still use. Returns leases for the calls that waited because of the
  /// attempt.
  package mutating func stopClaiming(_ name: TenantName) -> ([(TenantWaiter, TenantLease)], [Work]) {
    guard let slot = slots[name], slot.isWanted, case .open(let pool) = slot.phase else { return ([], []) }
    slot.isWanted = false
    let waiters = takeWaiters(of: slot)
    if waiters.isEmpty, slot.uses == 0 { idle.insert(slot, asOldest: slot.isSwept) }
    let leases = waiters.map { ($0, take(slot, pool, isSweep: $0.isSweep)) }
    // The tenant can be idle now. If so, `nextWork` can close the tenant for a call that waits for a place.
    return (leases, nextWork())
  }

  /// Records that a claimed tenant was closed: the claim now has exclusive use of the file.
  package mutating func didCloseForClaim(_ slot: TenantSlot) -> [Work] {
    placesTaken -= 1
    counts.closed += 1
    slot.phase = .exclusive
    return nextWork()
  }

  /// Records that a claimed tenant could not be closed in time. Returns the work that closes the tenant later.
  package mutating func didFailToCloseForClaim(_ slot: TenantSlot, _ pool: SqlitePool) -> [Work] {
    slot.isDeleted = false
    return [.close(slot, pool)]
  }

  /// Records that a claimed tenant's file was deleted or renamed; returns the calls that waited.
  package mutating func didDelete(_ slot: TenantSlot) -> [TenantWaiter] {
    slot.isDeleted = true
    checked[slot.name] = nil
    return takeWaiters(of: slot)
  }

  package mutating func didFailToDelete(_ slot: TenantSlot) { slot.isDeleted = false }

  /// Ends the exclusive use. Calls that wait then open the tenant.
  package mutating func endClaim(_ slot: TenantSlot) -> [Work] {
    // The recorded failure belongs to the earlier file. The tenant might have another file now, or none.
    failures[slot.name] = nil
    leave(slot)
    return nextWork()
  }

  // MARK: Closing

  /// Rejects new calls, and returns the calls that were waiting.
  package mutating func beginClosing() -> [TenantWaiter] {
    isClosed = true
    return stopWaiting { _ in true }.map(\.waiter)
  }

  package var openPools: [(TenantSlot, SqlitePool)] {
    slots.values.compactMap { slot in if case .open(let pool) = slot.phase { (slot, pool) } else { nil } }
  }

  /// Records that a tenant was closed together with all others.
  package mutating func didCloseAtEnd(_ slot: TenantSlot) {
    guard case .open = slot.phase else { return }
    beginClosing(slot)
    _ = didClose(slot)
  }
}

/// The counters of a keeper.
struct TenantCounts {
  var (opened, closed, failures) = (0, 0, 0)
  var longestWait = Duration.zero
}

/// The file and the schema version of a tenant whose schema was checked.
struct CheckedTenant: Equatable {
  let file: FileIdentity
  let schemaVersion: Int64
}
