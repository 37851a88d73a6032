#if Cluster
import Sqlable

/// The connections for reads. Each read uses a separate connection.
final class ClusterSessions: Sendable {
  private let leader: ClusterLeader
  private let confirmation: LeaderConfirmation?
  private let configuration: ClusterConfiguration
  private let slots: Slots
  private let idle = LockedValue<(sessions: [ClusterSession], isClosed: Bool)>(([], false))
  private let used = LockedValue<[ObjectIdentifier: ClusterSession]>([:])

  init(_ leader: ClusterLeader, _ confirmation: LeaderConfirmation?, _ configuration: ClusterConfiguration) {
    (self.leader, self.confirmation, self.configuration) = (leader, confirmation, configuration)
    slots = Slots(configuration.connections)
  }

  /// Calls `body` with a connection. Retries until `body` succeeds, the deadline passes, or the error can't be resolved
  /// by another attempt. `body` must be repeatable.
  func attempt<Value>(
    before deadline: ContinuousClock.Instant, isolation: isolated (any Actor)? = #isolation,
    _ body: (ClusterSession) async throws -> Value
  ) async throws -> Value {
    // Confirm before waiting for a connection, so that more reads share one confirmation.
    var confirmed = await confirmedLeader(before: deadline)
    let late = SqlError.late("all \(configuration.connections) connections are in use")
    do { try await slots.take(before: deadline, late: late) } catch { throw leader.meaning(ofLate: error) }
    defer { slots.giveBack() }
    var attempts = ClusterAttempts(before: deadline)
    while true {
      do {
        let session = try await take(before: deadline)
        used.withLock { $0[ObjectIdentifier(session)] = session }
        defer { used.withLock { $0[ObjectIdentifier(session)] = nil } }
        do {
          if confirmed != session.address { try await confirmation?.confirm(session.address, before: deadline) }
          confirmed = nil
          let value = try await body(session)
          giveBack(session)
          return value
        } catch {
          if session.isUsable(after: error) {
            giveBack(session)
          } else {
            session.close()
            if error.isNodeFailure { leader.failed(session.address, error) }
          }
          throw error
        }
      } catch {
        try await attempts.pause(after: error)
      }
    }
  }

  /// Returns the last known leader, if the voters confirm it; otherwise nil.
  private func confirmedLeader(before deadline: ContinuousClock.Instant) async -> NodeAddress? {
    guard let confirmation, let address = leader.last else { return nil }
    do { try await confirmation.confirm(address, before: deadline) } catch { return nil }
    return address
  }

  private func take(before deadline: ContinuousClock.Instant) async throws -> ClusterSession {
    let last = leader.last
    while let session = try idle.withLock({ idle in
      if idle.isClosed { throw SqlError.closedCluster }
      return idle.sessions.popLast()
    }) {
      if session.isOpen, session.address == last { return session }
      session.close()
    }
    return try await .open(leader, configuration, before: deadline)
  }

  private func giveBack(_ session: ClusterSession) {
    let isKept = idle.withLock { idle in
      if !idle.isClosed { idle.sessions.append(session) }
      return !idle.isClosed
    }
    if !isKept { session.close() }
  }

  func close() {
    slots.close()
    let sessions = idle.withLock { idle in
      idle.isClosed = true
      defer { idle.sessions = [] }
      return idle.sessions
    }
    for session in sessions { session.close() }
    for session in used.withLock({ Array($0.values) }) { session.close() }
  }
}

extension ClusterSession {
  nonisolated func isUsable(after error: any Error) -> Bool {
    isOpen && !error.isNodeFailure && !(error is CancellationError)
  }
}

extension Error {
  var isNodeFailure: Bool { self is NodeFailure || (self as? SqlError)?.isNodeFailure == true }
}

/// The pauses between a call's attempts. The pauses are random, and grow with each attempt.
struct ClusterAttempts {
  private let deadline: ContinuousClock.Instant
  private var backoff = Backoff(from: .milliseconds(2), upTo: .milliseconds(100))
  private var losses = 0
  /// The error of the last attempt, and the time when it failed; nil before the first failure.
  private var last: (error: any Error, time: ContinuousClock.Instant)?
  /// The maximum number of connections that one call can lose. Without this limit, a statement that crashes a node
  /// would crash one node after another.
  static let maximumLosses = 3

  init(before deadline: ContinuousClock.Instant) { self.deadline = deadline }

  /// Waits before the next attempt. Throws the error if another attempt is useless. If no time is left, throws
  /// `.timeout` if another client has the write lock, and otherwise the error for the caller, such as `.unavailable`.
  mutating func pause(after error: any Error) async throws {
    if (error as? NodeFailure)?.isLate == true {
      // The deadline cut this attempt short, so the previous attempt's error is the cause.
      if let last, last.time + .milliseconds(200) > .now { throw last.error.ofCluster }
      guard .now + .milliseconds(10) < deadline else { throw error.ofCluster }
    }
    last = (error, .now)
    if let failure = error as? NodeFailure, failure.wasSent {
      if failure.isSilent { throw failure.ofCluster }
      losses += 1
    }
    let isBusy = (error as? SqlError)?.kind == .busy
    guard error.isNodeFailure || isBusy, losses < ClusterAttempts.maximumLosses else { throw error.ofCluster }
    let pause = backoff.next()
    guard .now + pause < deadline else { throw isBusy ? SqlError.lateForLock : error.ofCluster }
    try await Task.sleep(for: pause)
  }
}

extension Error {
  /// Returns the error for the caller, with the client's label unless the error already has a label.
  func labelled(_ label: String?) -> any Error { (ofCluster as? SqlError)?.labelled(label) ?? self }

  var ofCluster: any Error {
    guard let failure = self as? NodeFailure else {
      return (self as? SqlError)?.isNodeFailure == true ? SqlError.unavailable(self) : self
    }
    return failure.isLate ? SqlError.late("the node did not answer before the deadline") : SqlError.unavailable(failure)
  }
}
#endif
