/// Live results that are being followed, so that loops over equal ones share one.
final class SharedResults: Sendable {
  /// What makes two live results the same.
  struct Key: Hashable, @unchecked Sendable {
    /// A statement or query, whose type is a part of it. Sound as `Sendable`: all of these are.
    private let statement: AnyHashable
    private let value: ObjectIdentifier
    private let onlyChanges: Bool

    init<Value>(_ statement: some Hashable & Sendable, _ value: Value.Type, onlyChanges: Bool) {
      self.statement = AnyHashable(statement)
      self.value = ObjectIdentifier(value)
      self.onlyChanges = onlyChanges
    }
  }

  private struct Weak {
    weak var result: AnyObject?
    let number: Int
  }

  private let results = Guarded<[Key: Weak]>([:])

  /// The result that loops over equal ones share; another one when there is none.
  func result<Result: FollowedResult>(_ key: Key, _ make: () -> Result) -> Result {
    // What is found and not taken is let go of behind the lock.
    let found = results.withLock { $0[key]?.result }
    if let found = found as? Result { return found }
    let made = make()
    let winner = results.withLock { results -> AnyObject? in
      if let other = results[key]?.result { return other }
      results[key] = Weak(result: made, number: made.number)
      return nil
    }
    return winner as? Result ?? made
  }

  func forget(_ key: Key, _ number: Int) {
    results.withLock { results in
      if results[key]?.number == number { results[key] = nil }
    }
  }
}
