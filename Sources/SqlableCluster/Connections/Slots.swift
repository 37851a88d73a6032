#if Cluster
import Sqlable
import NIOCore

/// A limit on the number of concurrent calls. Waiting calls get free slots in the order of their arrival.
final class Slots: Sendable {
  private struct State {
    var free: Int
    var waiting = CircularBuffer<CallOutcome<Void>>()
    var isClosed = false
  }

  private let state: LockedValue<State>

  init(_ count: Int) { state = LockedValue(State(free: count)) }

  /// Waits for a slot. Throws `late` at the deadline, `.closed` after `close()`, and `CancellationError`.
  func take(before deadline: ContinuousClock.Instant, late: SqlError) async throws {
    try Task.checkCancellation()
    let waiting = CallOutcome<Void>()
    let isFree = try state.withLock { state in
      if state.isClosed { throw SqlError.closedCluster }
      if state.free > 0 {
        state.free -= 1
        return true
      }
      state.waiting.append(waiting)
      return false
    }
    if !isFree { try await waiting.value(before: deadline, late: late) { waiting.end(.failure($0)) } }
  }

  func giveBack() {
    // A call that no longer waits is skipped.
    while let next = state.withLock({ state -> CallOutcome<Void>? in
      let next = state.waiting.popFirst()
      if next == nil { state.free += 1 }
      return next
    }) {
      if next.end(.success(())) { return }
    }
  }

  func close() {
    let waiting = state.withLock { state in
      state.isClosed = true
      defer { state.waiting = [] }
      return state.waiting
    }
    for call in waiting { call.end(.failure(SqlError.closedCluster)) }
  }
}
#endif
