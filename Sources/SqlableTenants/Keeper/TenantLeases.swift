import Dispatch
import SqlableCore
import SqlablePool

// The wait of a call for its tenant, and the end of its use.

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
        let waiter = TenantWaiter(isSweep: isSweep, end: end, continuation)
        holder.withLock { $0 = waiter }
        enter(waiter, name)
        // The task was cancelled before the cancellation handler could find the waiter.
        if Task.isCancelled { cancel(waiter) }
      }
    } onCancel: {
      if let waiter = holder.withLock({ $0 }) { cancel(waiter) }
    }
  }

  private func enter(_ waiter: TenantWaiter, _ name: TenantName) {
    enum Entry {
      case lease(TenantLease)
      case waits([TenantsState.Work])
    }
    let maximum = configuration.maximumWaiting
    let entry = Result {
      try withState { state -> Entry in
        // Another task might have opened the tenant meanwhile.
        if let lease = try state.takeOpen(name, isSweep: waiter.isSweep) { return .lease(lease) }
        guard state.waiting.count < maximum else {
          throw SqlError(.busy, message: "\(maximum) calls already wait for tenants", label: name.text)
        }
        return .waits(state.wait(waiter, for: name))
      }
    }
    switch entry {
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
      .tenant(.deleted), message: "the tenant was deleted or renamed during the call", transaction: transaction,
      label: name)
  }

  // MARK: Timeouts

  private static let clock = DispatchQueue(label: "sqlable.tenants.clock")

  private func scheduleCheck(of waiter: TenantWaiter) {
    guard let end = waiter.end else { return }
    let isNext = withState { state in
      guard state.nextCheck.map({ end < $0 }) ?? true else { return false }
      state.nextCheck = end
      return true
    }
    if isNext { schedule(end) }
  }

  private func schedule(_ time: ContinuousClock.Instant) {
    let delay = max(.zero, ContinuousClock.now.duration(to: time))
    SqliteTenants.clock.asyncAfter(deadline: .now() + delay.dispatched) { [weak self] in self?.endLateWaits(at: time) }
  }

  private func endLateWaits(at time: ContinuousClock.Instant) {
    let now = ContinuousClock.now
    let (late, next, open) = withState { state -> ([(waiter: TenantWaiter, slot: TenantSlot)], _, Int) in
      // Another check for an earlier time was scheduled later; that check schedules the next check.
      guard state.nextCheck == time else { return ([], nil as ContinuousClock.Instant?, 0) }
      let late = state.stopWaiting { waiter in waiter.end.map { $0 <= now } ?? false }
      state.nextCheck = state.waiting.values.compactMap(\.waiter.end).min()
      return (late, state.nextCheck, state.placesTaken - state.idle.count)
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
