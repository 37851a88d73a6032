#if Logging || Metrics || Tracing
import Dispatch
import Sqlable

/// Hands items over to a thread of its own, and from there to code that is not the library's.
///
/// That code may block, fail or use the database: no thread that runs a statement waits for it, and no handle, lock or
/// turn of the library is held meanwhile. What it runs itself is not traced. While it is slow at most `limit` items
/// wait, and the others are counted and dropped.
final class EventQueue<Item: Sendable>: Sendable {
  private struct State {
    var waiting: [Item] = []
    var dropped = 0
    var isDraining = false
  }

  private let limit: Int
  private let state = LockedValue(State())
  private let queue = DispatchQueue(label: "sqlable.events")
  /// Called with the items in the order in which they were added, and how many were dropped since the last call.
  private let receive: @Sendable (_ items: [Item], _ dropped: Int) -> Void

  init(limit: Int = 10_000, _ receive: @escaping @Sendable (_ items: [Item], _ dropped: Int) -> Void) {
    (self.limit, self.receive) = (limit, receive)
  }

  /// Any thread; never waits.
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
