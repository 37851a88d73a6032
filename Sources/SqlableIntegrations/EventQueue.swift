#if Logging || Metrics || Tracing
import Dispatch
import Sqlable

/// A queue that passes items to code outside the library, on a separate thread.
///
/// The receiver can block, fail or use the database. No thread that runs a statement waits for the receiver, and the
/// queue's thread holds no handle and no lock of the library. Statements that the receiver runs are not traced. While
/// the receiver is slow, at most `limit` items wait. Further items are counted and dropped.
final class EventQueue<Item: Sendable>: Sendable {
  private struct State {
    var waiting: [Item] = []
    var dropped = 0
    var isDraining = false
  }

  private let limit: Int
  private let state = LockedValue(State())
  private let queue = DispatchQueue(label: "sqlable.events")
  /// A closure that receives the items in the order of `add(_:)`, and the number of items that were dropped since the
  /// closure's last call.
  private let receive: @Sendable (_ items: [Item], _ dropped: Int) -> Void

  init(limit: Int = 10_000, _ receive: @escaping @Sendable (_ items: [Item], _ dropped: Int) -> Void) {
    (self.limit, self.receive) = (limit, receive)
  }

  /// Adds an item. Any thread can call this method, which never waits.
  func add(_ item: Item) {
    let begins = state.withLock { state in
      guard state.waiting.count < limit else {
        state.dropped += 1
        return false
      }
      state.waiting.append(item)
      defer { state.isDraining = true }
      return !state.isDraining
    }
    if begins { queue.async { self.drain() } }
  }

  private func drain() {
    Tracing.$isReceiving.withValue(true) {
      while let (items, dropped) = take() { receive(items, dropped) }
    }
  }

  private func take() -> (items: [Item], dropped: Int)? {
    state.withLock { state in
      guard !state.waiting.isEmpty else {
        state.isDraining = false
        return nil
      }
      defer { (state.waiting, state.dropped) = ([], 0) }
      return (state.waiting, state.dropped)
    }
  }
}
#endif
