import Dispatch
import SqlableCore

/// The tenants that are being received from other machines.
///
/// A sender that never returns sends no last part. Its reception ends after a time without parts, so that it occupies
/// no descriptor and no disk space.
final class TenantReceptions: Sendable {
  private struct State {
    var receptions: [TenantName: (reception: TenantReception, lastPart: ContinuousClock.Instant)] = [:]
    /// True if a check for idle receptions is scheduled.
    var isScheduled = false

    /// Returns the time of the oldest last part if a check must be scheduled for it.
    mutating func scheduleCheck() -> ContinuousClock.Instant? {
      guard !isScheduled, let first = receptions.values.map(\.lastPart).min() else { return nil }
      isScheduled = true
      return first
    }
  }

  private let state = LockedValue(State())
  /// The longest time between two parts.
  private let limit: Duration
  private static let clock = DispatchQueue(label: "sqlable.tenants.receptions")

  init(limit: Duration = .seconds(600)) { self.limit = limit }

  /// Adds a reception, which replaces another one of the same tenant.
  func add(_ reception: TenantReception, of name: TenantName) {
    let (replaced, next) = state.withLock { state in
      let replaced = state.receptions.updateValue((reception, .now), forKey: name)?.reception
      return (replaced, state.scheduleCheck())
    }
    replaced?.end()
    if let next { schedule(next + limit) }
  }

  /// Returns the reception for the next part of a hand-over.
  func reception(of name: TenantName, token: String) -> TenantReception? {
    state.withLock { state in
      guard let found = state.receptions[name]?.reception, found.token == token else { return nil }
      state.receptions[name]?.lastPart = .now
      return found
    }
  }

  func end(_ name: TenantName, token: String) {
    let ended = state.withLock { state -> TenantReception? in
      guard state.receptions[name]?.reception.token == token else { return nil }
      return state.receptions.removeValue(forKey: name)?.reception
    }
    ended?.end()
  }

  func endAll() {
    let all = state.withLock { state in
      defer { state.receptions = [:] }
      return state.receptions.values.map(\.reception)
    }
    for reception in all { reception.end() }
  }

  // MARK: Idle receptions

  private func schedule(_ time: ContinuousClock.Instant) {
    let delay = max(.zero, ContinuousClock.now.duration(to: time))
    TenantReceptions.clock.asyncAfter(deadline: .now() + delay.dispatched) { [weak self] in self?.endIdle(at: .now) }
  }

  func endIdle(at now: ContinuousClock.Instant) {
    let (idle, next) = state.withLock { state in
      let idle = state.receptions.filter { $0.value.lastPart <= now - limit }
      for name in idle.keys { state.receptions[name] = nil }
      state.isScheduled = false
      return (idle.values.map(\.reception), state.scheduleCheck())
    }
    for reception in idle { reception.end() }
    if let next { schedule(next + limit) }
  }
}
