import Foundation
import SqlableCore
import SqlablePool
import SqlableTenants

/// Calls that use tenants, calls that have a tenant to themselves, and the threads of the keeper.
///
/// The tenants' pools are never used: only their identity matters. `@unchecked Sendable` is sound: a history has one
/// thread.
final class TenantDecisions: @unchecked Sendable {
  private final class Call: @unchecked Sendable {
    let name: TenantName
    let isSweep: Bool
    var waiter: TenantWaiter?
    var end: ContinuousClock.Instant?
    var isCancelled = false
    var answers = 0
    /// The number of calls that had begun to wait before this one.
    var arrival = Int.max

    init(name: TenantName, isSweep: Bool) { (self.name, self.isSweep) = (name, isSweep) }
  }

  /// A pool that is being opened, is open, or is being closed.
  final class Opening {
    let name: TenantName
    var isOpen = false
    var isClosed = false
    var users: Set<Int> = []
    /// True if a deletion or the end of the keeper may close the pool under its users.
    var mayEndCalls = false

    init(name: TenantName) { self.name = name }
  }

  private struct OpenFailed: Error {}

  /// Pools that open no file.
  private static let pools = (0..<32).compactMap { number in
    try? SqlitePool(
      filepath: NSTemporaryDirectory() + "tenant\(number).sqlite",
      configuration: PoolConfiguration(handles: Configuration(opensLazily: true)))
  }

  let simulation: Simulation
  let flaw: String?
  let names: [TenantName]
  private let maximumOpen: Int
  private let createsMissing: Bool
  /// True if calls are cancelled or time out.
  private let endsWaits: Bool
  var state: TenantsState
  private var calls: [Call] = []
  var files: Set<TenantName> = []
  // The model:
  var openings: [ObjectIdentifier: Opening] = [:]
  private var opened = 0
  private var arrivals = 0
  /// The tenants that have one of the places.
  var places = 0
  /// The tenants that are being closed because others wait for a place.
  private var closings = 0
  /// The calls that have a tenant to themselves.
  var exclusive: [TenantName: Int] = [:]
  private var isClosed = false

  private init(_ simulation: Simulation, flaw: String?) {
    (self.simulation, self.flaw) = (simulation, flaw)
    let count = simulation.random.pick([2, 3, 4])
    names = ["a", "b", "c", "d"].prefix(count).compactMap { try? TenantName($0) }
    maximumOpen = simulation.random.pick([1, 1, 2])
    createsMissing = !simulation.random.chance(20)
    endsWaits = simulation.random.chance(50)
    state = TenantsState(maximumOpen: maximumOpen)
    for name in names where simulation.random.chance(60) { files.insert(name) }
  }

  static func run(_ simulation: Simulation, size: Int, flaw: String?) {
    let model = TenantDecisions(simulation, flaw: flaw)
    for number in 0..<size {
      let time = Duration.milliseconds(simulation.random.pick([0, 0, 1, 30]))
      if simulation.random.chance(20) {
        simulation.after(time, "wants a tenant to itself", number) { model.change(number) }
      } else {
        model.begin(number, after: time)
      }
    }
    if simulation.random.chance(20) {
      simulation.after(.milliseconds(simulation.random.pick([0, 20])), "keeper closes", 0) { model.close() }
    }
    simulation.whenIdle = { model.checkWaits() }
    simulation.run()
    simulation.whenIdle = {}
    if simulation.findings.isEmpty { model.checkEnd() }
  }

  private func checkWaits() {
    for (number, call) in calls.enumerated() where call.answers == 0 && call.arrival < .max {
      if let end = call.end, end <= simulation.now { simulation.report("call \(number) did not time out") }
    }
    let isQueued = state.slots.values.contains { if case .queued = $0.phase { true } else { false } }
    if isQueued, places < maximumOpen { simulation.report("a place is free, and a call waits for it") }
    if isQueued, state.idle.count > 0, closings == 0 { simulation.report("a tenant is idle, and a call waits") }
  }

  private func checkEnd() {
    for (number, call) in calls.enumerated() where call.answers != 1 {
      simulation.report("call \(number) has \(call.answers) answers")
    }
    if !exclusive.isEmpty { simulation.report("a call still has a tenant to itself") }
    if state.closings != 0 { simulation.report("\(state.closings) tenants are still being closed") }
    if state.placesTaken != places { simulation.report("\(state.placesTaken) places are taken, not \(places)") }
    if !state.waiting.isEmpty { simulation.report("calls still wait") }
    let open = state.openPools.count
    if state.slots.count != open { simulation.report("a slot is neither open nor ended") }
    if isClosed, open > 0 { simulation.report("a tenant is open after the end of the keeper") }
    if state.idle.count != open { simulation.report("\(state.idle.count) tenants are idle, not \(open)") }
    if places != open { simulation.report("\(places) places are taken by \(open) tenants") }
  }

  // MARK: Calls

  private func begin(_ number: Int, after time: Duration) {
    let call = Call(name: simulation.random.pick(names), isSweep: simulation.random.chance(20))
    let index = calls.count
    calls.append(call)
    simulation.after(time, "asks", index) { [self] in
      if endsWaits, simulation.random.chance(50) { call.end = simulation.now.advanced(by: .milliseconds(20)) }
      if endsWaits, simulation.random.chance(30) {
        simulation.after(.milliseconds(simulation.random.pick([0, 1, 10])), "is cancelled", index) {
          call.isCancelled = true
          if let waiter = call.waiter { self.cancel(waiter) }
        }
      }
      do {
        if let lease = try state.takeOpen(call.name, isSweep: call.isSweep) {
          return answer(index, .success(lease))
        }
        simulation.step("waits", index) { self.enter(index) }
      } catch { answer(index, .failure(error)) }
    }
  }

  private func enter(_ index: Int) {
    let call = calls[index]
    let waiter = TenantWaiter(isSweep: call.isSweep, from: simulation.now, until: call.end) { [self] result in
      answer(index, result)
    }
    call.waiter = waiter
    simulation.step("enters", index) { [self] in
      do {
        switch try state.enter(waiter, call.name, maximum: 4) {
        case .lease(let lease): waiter.resume(.success(lease))
        case .waits(let work):
          call.arrival = arrivals
          arrivals += 1
          start(work)
          simulation.step("schedules a check", index) { self.scheduleCheck(waiter) }
        }
      } catch { waiter.resume(.failure(error)) }
      simulation.step("looks for a cancellation", index) {
        if call.isCancelled { self.cancel(waiter) }
      }
    }
  }

  private func scheduleCheck(_ waiter: TenantWaiter) {
    if let end = state.scheduleCheck(of: waiter) { check(at: end) }
  }

  private func check(at time: ContinuousClock.Instant) {
    simulation.at(time, "checks for timeouts", 0) { [self] in
      let (late, next) = state.takeLate(scheduledFor: time, now: simulation.now)
      if let next { check(at: next) }
      resume(late.map(\.waiter)) { SqlError(.timeout, message: "") }
    }
  }

  private func cancel(_ waiter: TenantWaiter) {
    if state.stopWaiting(waiter) { waiter.resume(.failure(CancellationError())) }
  }

  /// Resumes calls in the order of their numbers: the order of the state depends on addresses.
  func resume(_ waiters: [TenantWaiter], _ error: () -> any Error) {
    let known = calls.compactMap { call in waiters.first { $0 === call.waiter } }
    if known.count != waiters.count { simulation.report("a call is resumed that does not wait") }
    for waiter in known { waiter.resume(.failure(error())) }
  }

  private func answer(_ index: Int, _ result: Result<TenantLease, any Error>) {
    let call = calls[index]
    call.answers += 1
    if call.answers > 1 { simulation.report("call \(index) is answered twice") }
    switch result {
    case .success(let lease): use(lease, index)
    case .failure(is CancellationError):
      if !call.isCancelled { simulation.report("call \(index) is cancelled by nobody") }
    case .failure(let error as SqlError):
      if error.kind == .timeout, call.end.map({ $0 > simulation.now }) ?? true {
        simulation.report("call \(index) timed out early")
      }
      if error.kind == .closed, !isClosed { simulation.report("call \(index) finds the keeper closed") }
    case .failure: break
    }
  }

  private func use(_ lease: TenantLease, _ index: Int) {
    guard let opening = openings[ObjectIdentifier(lease.pool)], opening.isOpen, opening.name == calls[index].name
    else { return simulation.report("call \(index) got a pool that is not open, or of another tenant") }
    if exclusive[opening.name] != nil { simulation.report("call \(index) uses a tenant that another has to itself") }
    if opening.isClosed, !opening.mayEndCalls { simulation.report("call \(index) got a closed pool") }
    opening.users.insert(index)
    simulation.after(.milliseconds(simulation.random.pick([0, 0, 1, 30])), "gives back", index) { [self] in
      if opening.isClosed, !opening.mayEndCalls { simulation.report("a tenant was closed under call \(index)") }
      opening.users.remove(index)
      start(state.giveBack(lease.slot))
    }
  }

  // MARK: The threads of the keeper

  func start(_ work: [TenantsState.Work], isForRoom: Bool = true) {
    for item in work {
      switch item {
      case .open(let slot):
        let isOpen = openings.values.contains { $0.name == slot.name && !$0.isClosed }
        if isOpen { simulation.report("tenant \(slot.name.text) is opened twice") }
        if exclusive[slot.name] != nil { simulation.report("tenant \(slot.name.text) is opened, and is not free") }
        places += 1
        if places > maximumOpen { simulation.report("\(places) tenants are open") }
        checkOrder(slot)
        simulation.step("opens", 0) { self.open(slot) }
      case .close(let slot, let pool):
        if let opening = openings[ObjectIdentifier(pool)], !opening.users.isEmpty, !opening.mayEndCalls {
          simulation.report("tenant \(slot.name.text) is closed in use")
        }
        if isForRoom {
          closings += 1
          let queued = state.slots.values.count { if case .queued = $0.phase { true } else { false } }
          if closings > queued, !isClosed { simulation.report("\(closings) tenants are closed for \(queued)") }
        }
        simulation.step("closes", 0) { self.close(slot, pool, isForRoom: isForRoom) }
      }
    }
  }

  /// Checks that no other tenant has waited for longer. A call that no longer waits keeps its tenant's turn.
  private func checkOrder(_ slot: TenantSlot) {
    guard !endsWaits, let begin = slot.waiters.first?.begin, let arrival = arrival(slot) else { return }
    for other in state.slots.values {
      guard case .queued = other.phase, let first = other.waiters.first, first.begin < begin,
        let before = self.arrival(other), before < arrival
      else { continue }
      simulation.report("tenant \(slot.name.text) is opened before \(other.name.text), which has waited for longer")
    }
  }

  private func arrival(_ slot: TenantSlot) -> Int? {
    calls.first { $0.waiter === slot.waiters.first }?.arrival
  }

  private func open(_ slot: TenantSlot) {
    let creates = createsMissing && slot.hasCalls
    simulation.step("looks for the file", 0) { [self] in
      guard creates || files.contains(slot.name) else {
        return simulation.step("finds no file", 0) { [self] in
          let (waiters, work) = state.didFindMissing(slot, createsForCalls: createsMissing)
          places -= 1
          start(work)
          resume(waiters) { SqlError(.tenant(.missing), message: "") }
        }
      }
      if simulation.random.chance(10) {
        return simulation.step("fails to open", 0) { [self] in
          let (waiters, work) = state.didFailToOpen(slot, SqlError(.busy, message: "the file can't be opened"))
          places -= 1
          start(work)
          resume(waiters) { OpenFailed() }
        }
      }
      files.insert(slot.name)
      let pool = TenantDecisions.pools[opened % TenantDecisions.pools.count]
      opened += 1
      let opening = Opening(name: slot.name)
      openings[ObjectIdentifier(pool)] = opening
      simulation.after(.milliseconds(simulation.random.pick([0, 0, 5])), "has opened", 0) { [self] in
        opening.isOpen = true
        let (leases, work) = state.didOpen(slot, pool)
        start(work)
        // From here on, the tenant is in use.
        for (index, lease) in leases.enumerated() {
          opening.users.insert(-1 - index)
          simulation.step("resumes a call", 0) {
            opening.users.remove(-1 - index)
            lease.0.resume(.success(lease.1))
          }
        }
      }
    }
  }

  private func close(_ slot: TenantSlot, _ pool: SqlitePool, isForRoom: Bool) {
    let opening = openings[ObjectIdentifier(pool)]
    // A call that uses the pool beyond its end.
    if simulation.random.chance(10) || opening?.users.isEmpty == false {
      if isForRoom { closings -= 1 }
      start(state.didFailToClose(slot))
      return simulation.after(.seconds(1), "closes", 0) { self.close(slot, pool, isForRoom: false) }
    }
    opening?.isClosed = true
    simulation.step("has closed", 0) { [self] in
      let work = state.didClose(slot)
      if isForRoom { closings -= 1 }
      places -= 1
      start(work)
    }
  }

  // MARK: The end of the keeper

  private func close() {
    isClosed = true
    resume(state.beginClosing()) { SqlError(.closed, message: "") }
    let end = simulation.now.advanced(by: .milliseconds(10))
    simulation.step("closes all", 0) { [self] in
      for (slot, pool) in state.openPools.sorted(by: { $0.0.name.text < $1.0.name.text }) {
        closeAtEnd(slot, pool, until: end)
      }
    }
  }

  private func closeAtEnd(_ slot: TenantSlot, _ pool: SqlitePool, until end: ContinuousClock.Instant) {
    simulation.step("closes at the end", 0) { [self] in
      let opening = openings[ObjectIdentifier(pool)]
      if opening?.users.isEmpty == false, simulation.now < end {
        return simulation.after(.milliseconds(1), "waits for its calls", 0) {
          self.closeAtEnd(slot, pool, until: end)
        }
      }
      opening?.mayEndCalls = true
      opening?.isClosed = true
      simulation.step("has closed at the end", 0) { [self] in
        if case .open = slot.phase { places -= 1 }
        state.didCloseAtEnd(slot)
      }
    }
  }
}
