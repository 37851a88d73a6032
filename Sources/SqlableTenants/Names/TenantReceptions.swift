import Dispatch
import SqlableCore

/// The tenants that are being received from other machines.
///
/// A reception receives the file of one tenant, part by part. A sender can fail before it sends the last part. The
/// reception therefore ends after a time without parts, which frees its descriptor and its disk space.
final class TenantReceptions: Sendable {
  private struct Entry {
    let reception: TenantReception
    /// The longest time between two parts.
    let limit: Duration
    var lastPart = ContinuousClock.now

    var end: ContinuousClock.Instant { lastPart + limit }
  }

  private struct State {
    var receptions: [TenantName: Entry] = [:]
    /// The time of the next check for idle receptions; nil if no check is scheduled.
    var nextCheck: ContinuousClock.Instant?

    /// Returns the time of the next check if the caller must schedule the check; otherwise nil.
    mutating func scheduleCheck() -> ContinuousClock.Instant? {
      guard let first = receptions.values.map(\.end).min(), nextCheck.map({ first < $0 }) ?? true else { return nil }
      nextCheck = first
      return first
    }
  }

  private let state = LockedValue(State())
  /// The longest allowed time between two parts, if the sender does not wait for the tenant's calls.
  private let limit: Duration
  private static let clock = DispatchQueue(label: "sqlable.tenants.receptions")

  init(limit: Duration = .seconds(600)) { self.limit = limit }

  /// Adds a reception, which replaces an earlier reception of the same tenant.
  ///
  /// - Parameter wait: The longest time for which the sender will wait between two parts.
  func add(_ reception: TenantReception, of name: TenantName, wait: Duration = .zero) {
    let entry = Entry(reception: reception, limit: limit + min(wait, TenantReceptions.maximumWait))
    let (replaced, next) = state.withLock { state in
      let replaced = state.receptions.updateValue(entry, forKey: name)?.reception
      return (replaced, state.scheduleCheck())
    }
    replaced?.end()
    if let next { schedule(next) }
  }

  /// The longest waiting time that another machine can request. With a longer one, a time could overflow.
  private static let maximumWait = Duration.seconds(365 * 86_400)

  /// Returns the reception to which the sender's next part belongs; nil if there is no reception with this token.
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
    TenantReceptions.clock.asyncAfter(deadline: .now() + delay.dispatched) { [weak self] in
      self?.endIdle(at: max(.now, time))
    }
  }

  func endIdle(at now: ContinuousClock.Instant) {
    let (idle, next) = state.withLock { state in
      let idle = state.receptions.filter { $0.value.end <= now }
      for name in idle.keys { state.receptions[name] = nil }
      // A check that runs before `nextCheck` leaves the scheduled check in place.
      if let check = state.nextCheck, check <= now { state.nextCheck = nil }
      return (idle.values.map(\.reception), state.scheduleCheck())
    }
    for reception in idle { reception.end() }
    if let next { schedule(next) }
  }
}
