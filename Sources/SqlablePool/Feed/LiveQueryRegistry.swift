import SqlableCore

/// The live results in use, by key. Loops over equal statements share one live result.
package final class LiveQueryRegistry: Sendable {
  package struct Key: Hashable, @unchecked Sendable {
    /// The statement or query, with its type. `@unchecked Sendable` is safe: only `Sendable` statements are stored.
    private let statement: AnyHashable
    private let value: ObjectIdentifier
    private let onlyChanges: Bool

    package init<Value>(_ statement: some Hashable & Sendable, _ value: Value.Type, onlyChanges: Bool) {
      self.statement = AnyHashable(statement)
      self.value = ObjectIdentifier(value)
      self.onlyChanges = onlyChanges
    }
  }

  private struct Weak {
    weak var result: AnyObject?
    let number: Int
  }

  private let results = LockedValue<[Key: Weak]>([:])

  /// Returns the shared result for a key; calls `make` if no result exists.
  func result<Result: FollowedLiveQuery>(_ key: Key, _ make: () -> Result) -> Result {
    // An existing result of another type must be released outside of the lock.
    let existing = results.withLock { $0[key]?.result }
    if let existing = existing as? Result { return existing }
    let created = make()
    let winner = results.withLock { results -> AnyObject? in
      if let other = results[key]?.result { return other }
      results[key] = Weak(result: created, number: created.number)
      return nil
    }
    return winner as? Result ?? created
  }

  func forget(_ key: Key, _ number: Int) {
    results.withLock { results in
      if results[key]?.number == number { results[key] = nil }
    }
  }
}
