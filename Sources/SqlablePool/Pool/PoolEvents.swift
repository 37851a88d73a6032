import SqlableCore
import SqlableTracing
import Synchronization

/// A pool event that is not a statement or a transaction.
package enum PoolEvent: Sendable {
  /// A call has returned its handle.
  case ended(waited: Duration, used: Duration)
  /// A call's wait for a handle or a thread has timed out, with this error.
  case timedOut(SqlError)
  /// A read has run for longer than `longRead`.
  case longRead(SqlitePool.Statistics.ActiveCall, walSize: Int)
  case closed
}

package final class PoolEvents: Sendable {
  private struct Receiver: Sendable {
    let token: TraceToken
    let body: @Sendable (PoolEvent) -> Void
  }

  private let receivers = LockedValue<[Receiver]>([])
  private let count = Atomic(0)

  package func add(_ token: TraceToken, _ body: @escaping @Sendable (PoolEvent) -> Void) {
    change { receivers in
      if !receivers.contains(where: { $0.token == token }) { receivers.append(Receiver(token: token, body: body)) }
    }
  }

  func remove(_ token: TraceToken) { change { $0.removeAll { $0.token == token } } }

  private func change(_ change: (inout [Receiver]) -> Void) {
    receivers.withLock { receivers in
      change(&receivers)
      count.store(receivers.count, ordering: .releasing)
    }
  }

  var isActive: Bool { count.load(ordering: .acquiring) > 0 }

  /// Sends an event to its receivers. Call this method without holding the pool's lock.
  func send(_ event: PoolEvent) {
    guard isActive else { return }
    for receiver in receivers.withLock({ $0 }) { receiver.body(event) }
  }
}

extension SqlitePool {
  /// Reports the end of a call that has returned its handle. Call this method without holding the pool's lock.
  @inline(__always)
  func reportEnd(of call: PoolCall) { if events.isActive { sendEnd(of: call) } }

  @inline(never)
  private func sendEnd(of call: PoolCall) {
    guard call.kind != .detection, !call.isAbandoned, let got = call.gotHandle else { return }
    events.send(.ended(waited: call.begin.duration(to: got), used: got.duration(to: .now)))
  }
}
