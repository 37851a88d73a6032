import Dispatch
import SqlableCore
import SqlablePool

// Leases: a call acquires a lease before it uses a tenant, and releases the lease afterwards.

extension SqliteTenants {
  /// Returns a lease on a tenant. Opens the tenant, or waits until it is open.
  func lease(_ name: String, isSweep: Bool) async throws -> TenantLease {
    try checkFork()
    let name = try TenantName(name)
    if let lease = try withState({ try $0.takeOpen(name, isSweep: isSweep) }) { return lease }
    try Task.checkCancellation()
    let timeout = configuration.waitTimeout.map { ContinuousClock.now + $0 }
    let end = [timeout, Deadline.current].compactMap(\.self).min()
    let holder = LockedValue<TenantWaiter?>(nil)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let waiter = TenantWaiter(isSweep: isSweep, until: end) { continuation.resume(with: $0) }
        holder.withLock { $0 = waiter }
        enter(waiter, name)
        // If the task was cancelled before `holder` had the waiter, the cancellation handler could not find the waiter.
        if Task.isCancelled { cancel(waiter) }
      }
    } onCancel: {
      if let waiter = holder.withLock({ $0 }) { cancel(waiter) }
    }
  }

  private func enter(_ waiter: TenantWaiter, _ name: TenantName) {
    switch Result(catching: { try withState { try $0.enter(waiter, name, maximum: configuration.maximumWaiting) } }) {
    case .success(.lease(let lease)): waiter.resume(.success(lease))
    case .success(.waits(let work)):
      start(work)
      scheduleCheck(of: waiter)
    case .failure(let error): waiter.resume(.failure(error))
    }
  }

  private func cancel(_ waiter: TenantWaiter) {
    if withState({ $0.stopWaiting(waiter) }) { waiter.resume(.failure(CancellationError())) }
  }

  /// Ends the use of a lease; returns true if the tenant was deleted or renamed meanwhile.
  @discardableResult
  func giveBack(_ lease: TenantLease) -> Bool {
    let (work, isDeleted) = withState { state in (state.giveBack(lease.slot), lease.slot.isDeleted) }
    start(work)
    return isDeleted
  }

  static func deleted(_ name: String, transaction: SqlError.TransactionFate = .none) -> SqlError {
    SqlError(
      .tenant(.deleted), message: "the tenant was deleted, renamed or restored during the call",
      transaction: transaction, label: name)
  }

  // MARK: Timeouts

  private static let clock = DispatchQueue(label: "sqlable.tenants.clock")

  private func scheduleCheck(of waiter: TenantWaiter) {
    if let next = withState({ $0.scheduleCheck(of: waiter) }) { schedule(next) }
  }

  private func schedule(_ time: ContinuousClock.Instant) {
    let delay = max(.zero, ContinuousClock.now.duration(to: time))
    SqliteTenants.clock.asyncAfter(deadline: .now() + delay.dispatched) { [weak self] in self?.endLateWaits(at: time) }
  }

  private func endLateWaits(at time: ContinuousClock.Instant) {
    let now = ContinuousClock.now
    let (late, next, open) = withState { state in
      let (late, next) = state.takeLate(scheduledFor: time, now: now)
      return (late, next, state.placesTaken - state.idle.count)
    }
    if let next { schedule(next) }
    for (waiter, slot) in late {
      let time = waiter.begin.duration(to: now).seconds
      waiter.resume(
        .failure(
          SqlError(
            .timeout,
            message: "the tenant could not be opened within \(time) s; \(open) tenants are open and in use",
            label: slot.name.text)))
    }
  }
}
