/// A list of values that several threads append to.
final class Collected<Value: Sendable>: Sendable {
  private let list = Mutex<[Value]>([])

  var values: [Value] { list.withLock { $0 } }

  func append(_ value: Value) { list.withLock { $0.append(value) } }

  /// Removes and returns the values that were appended since the last call.
  func take() -> [Value] {
    list.withLock { list in
      defer { list = [] }
      return list
    }
  }
}

/// A count of threads inside a region, with its maximum.
final class Counter: Sendable {
  private let counts = Mutex((now: 0, most: 0))

  var most: Int { counts.withLock { $0.most } }

  func enter() {
    counts.withLock { counts in
      counts.now += 1
      counts.most = max(counts.most, counts.now)
    }
  }

  func leave() { counts.withLock { $0.now -= 1 } }
}
