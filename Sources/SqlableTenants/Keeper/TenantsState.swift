import SqlableCore
import SqlablePool

/// The state of a keeper of tenants, guarded by the keeper's lock.
struct TenantsState {
  /// Work for a thread of the keeper, to be started without the lock.
  enum Work {
    case open(TenantSlot)
    case close(TenantSlot, SqlitePool)
  }

  let maximumOpen: Int
  /// The keys are checked names: as a `String`, a name with a Kelvin sign would equal one with a K.
  private(set) var slots: [TenantName: TenantSlot] = [:]
  /// The slots that wait for a place, from `head` on. Slots in another phase are skipped.
  private var queue: [TenantSlot] = []
  private var head = 0
  private(set) var idle = IdleTenants()
  /// The number of places that are taken by tenants that are open, being opened or being closed.
  private(set) var placesTaken = 0
  /// The number of tenants that are being closed to make room.
  private(set) var closings = 0
  /// All calls that wait, by number.
  var waiting: [ObjectIdentifier: (waiter: TenantWaiter, slot: TenantSlot)] = [:]
  /// The time of the next check for timeouts.
  var nextCheck: ContinuousClock.Instant?
  var isClosed = false
  var counts = TenantCounts()
  /// The version of the schema that each tenant's file had when this process checked or migrated it.
  var checked: [TenantName: CheckedTenant] = [:]

  init(maximumOpen: Int) { self.maximumOpen = maximumOpen }

  // MARK: Calls

  /// Returns a lease on an open tenant; nil if the call must wait.
  mutating func takeOpen(_ name: TenantName, isSweep: Bool) throws -> TenantLease? {
    guard !isClosed else { throw SqlError(.closed, message: "the tenants are closed") }
    guard let slot = slots[name], case .open(let pool) = slot.phase, !slot.isWanted else { return nil }
    return take(slot, pool, isSweep: isSweep)
  }

  private mutating func take(_ slot: TenantSlot, _ pool: SqlitePool, isSweep: Bool) -> TenantLease {
    idle.remove(slot)
    slot.uses += 1
    if !isSweep { slot.isSwept = false }
    return TenantLease(slot: slot, pool: pool)
  }

  /// Queues a call.
  mutating func wait(_ waiter: TenantWaiter, for name: TenantName) -> [Work] {
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
    return slot
  }

  /// Ends the wait of a call; returns false if the call no longer waits.
  mutating func stopWaiting(_ waiter: TenantWaiter) -> Bool {
    guard let slot = waiting.removeValue(forKey: ObjectIdentifier(waiter))?.slot else { return false }
    removeStopped(from: slot)
    return true
  }

  /// Ends the wait of all calls that match; returns these calls.
  mutating func stopWaiting(where isStopped: (TenantWaiter) -> Bool) -> [(waiter: TenantWaiter, slot: TenantSlot)] {
    let stopped = waiting.values.filter { isStopped($0.waiter) }
    for (waiter, _) in stopped { waiting[ObjectIdentifier(waiter)] = nil }
    // Once for each slot, because many calls can wait for one tenant.
    let slots = Dictionary(stopped.map { (ObjectIdentifier($0.slot), $0.slot) }) { slot, _ in slot }
    for slot in slots.values { removeStopped(from: slot) }
    return stopped
  }

  private mutating func removeStopped(from slot: TenantSlot) {
    slot.waiters.removeAll { waiting[ObjectIdentifier($0)] == nil }
    if slot.waiters.isEmpty, case .queued = slot.phase { end(slot) }
  }

  /// Ends the wait of the calls for a tenant; returns these calls.
  mutating func takeWaiters(
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

  /// Ends the use of a lease.
  mutating func giveBack(_ slot: TenantSlot) -> [Work] {
    slot.uses -= 1
    guard slot.uses == 0, case .open = slot.phase, !slot.isWanted else { return [] }
    idle.insert(slot, asOldest: slot.isSwept)
    return nextWork()
  }

  // MARK: Places

  /// Gives free places to the slots that wait, and closes idle tenants for as many slots as possible.
  mutating func nextWork() -> [Work] {
    var work: [Work] = []
    while let slot = firstQueued() {
      if placesTaken < maximumOpen {
        head += 1
        placesTaken += 1
        slot.phase = .opening
        work.append(.open(slot))
      } else {
        guard closings < queuedCount, let victim = idle.removeOldest(), case .open(let pool) = victim.phase else {
          break
        }
        beginClosing(victim)
        work.append(.close(victim, pool))
      }
    }
    return work
  }

  mutating func beginClosing(_ slot: TenantSlot) {
    idle.remove(slot)
    slot.phase = .closing
    closings += 1
  }

  private var queuedCount: Int { queue.count - head }

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
  mutating func didOpen(_ slot: TenantSlot, _ pool: SqlitePool) -> ([(TenantWaiter, TenantLease)], [Work]) {
    slot.phase = .open(pool)
    counts.opened += 1
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
  mutating func didFailToOpen(_ slot: TenantSlot) -> ([TenantWaiter], [Work]) {
    counts.failures += 1
    placesTaken -= 1
    let waiters = takeWaiters(of: slot)
    end(slot)
    return (waiters, nextWork())
  }

  /// Records that a tenant is missing. Returns the waiting calls that may not create the tenant. Waiting calls that may
  /// create the tenant wait for a place.
  mutating func didFindMissing(_ slot: TenantSlot, createsForCalls: Bool) -> ([TenantWaiter], [Work]) {
    placesTaken -= 1
    let waiters = takeWaiters(of: slot) { $0.isSweep || !createsForCalls }
    leave(slot)
    return (waiters, nextWork())
  }

  /// Records that a tenant was closed. Calls that have asked for it meanwhile wait for a place.
  mutating func didClose(_ slot: TenantSlot) -> [Work] {
    closings -= 1
    placesTaken -= 1
    counts.closed += 1
    leave(slot)
    return nextWork()
  }

  /// Ends a slot. Calls that wait get another slot, because leases on this one can still be in use.
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

  /// Moves the last slot of the queue before the slots whose first call arrived later.
  private mutating func moveForward(_ slot: TenantSlot) {
    guard let begin = slot.waiters.first?.begin else { return }
    var index = queue.count - 1
    while index > head, queue[index - 1].waiters.first.map({ $0.begin > begin }) ?? true { index -= 1 }
    queue.insert(queue.removeLast(), at: index)
  }

  mutating func end(_ slot: TenantSlot) {
    slot.phase = .ended
    if slots[slot.name] === slot { slots[slot.name] = nil }
  }

  // MARK: Exclusive use

  /// The result of an attempt to claim a tenant's file for exclusive use.
  enum Claim {
    case claimed(TenantSlot)
    /// The pool must be closed first. Its place is still taken.
    case closes(TenantSlot, SqlitePool)
    case waits
  }

  /// Claims a tenant's file.
  mutating func claim(_ name: TenantName, _ policy: ClaimPolicy) throws -> Claim {
    guard !isClosed else { throw SqlError(.closed, message: "the tenants are closed") }
    guard let slot = slots[name] else {
      let slot = TenantSlot(name)
      slots[name] = slot
      slot.phase = .exclusive
      return .claimed(slot)
    }
    switch slot.phase {
    case .queued:
      slot.phase = .exclusive
      return .claimed(slot)
    case .open(let pool):
      if policy == .skipsOpen { throw TenantIsOpen() }
      guard policy == .endsCalls || slot.uses == 0 else {
        slot.isWanted = true
        return .waits
      }
      slot.isWanted = false
      beginClosing(slot)
      return .closes(slot, pool)
    case .opening, .closing, .exclusive, .ended: return .waits
    }
  }

  /// Ends an attempt to claim a tenant that its calls still use; returns the leases of the calls that waited.
  mutating func stopClaiming(_ name: TenantName) -> ([(TenantWaiter, TenantLease)], [Work]) {
    guard let slot = slots[name], slot.isWanted, case .open(let pool) = slot.phase else { return ([], []) }
    slot.isWanted = false
    let waiters = takeWaiters(of: slot)
    if waiters.isEmpty, slot.uses == 0 { idle.insert(slot, asOldest: slot.isSwept) }
    let leases = waiters.map { ($0, take(slot, pool, isSweep: $0.isSweep)) }
    // An idle tenant can be closed for a call that waits for a place.
    return (leases, nextWork())
  }

  /// Turns the closing of a tenant into exclusive use.
  mutating func didCloseForClaim(_ slot: TenantSlot) -> [Work] {
    closings -= 1
    placesTaken -= 1
    counts.closed += 1
    slot.phase = .exclusive
    return nextWork()
  }

  /// Ends the exclusive use. Calls that wait then open the tenant.
  mutating func endClaim(_ slot: TenantSlot) -> [Work] {
    leave(slot)
    return nextWork()
  }
}

/// The numbers of a keeper since it was created.
struct TenantCounts {
  var (opened, closed, failures) = (0, 0, 0)
  var longestWait = Duration.zero
}

/// A tenant's file at the last check of its schema.
struct CheckedTenant: Equatable {
  let file: FileIdentity
  let schemaVersion: Int64
}
