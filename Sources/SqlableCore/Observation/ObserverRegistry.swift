import Dispatch
import Synchronization

/// The observers of one handle. The registry of a child handle refers to its parent's registry. A registry can outlive
/// its handle.
///
/// Mutable state is atomic or guarded by the lock of `state`. No observer runs while the lock is held.
package final class ObserverRegistry: Sendable {
  package struct Observer: Sendable {
    let token: ObserverToken
    package let table: String
    package let change: Change?
    /// The id or key of the observed row; nil if the observer observes all rows.
    package let key: DatabaseValue?
    let body: @Sendable (RowChange) throws -> Void

    /// Returns an entry that replaces a removed observer. The entry observes no rows.
    fileprivate static func removed(_ token: ObserverToken) -> Observer {
      Observer(token: token, table: "", change: nil, key: nil) { _ in }
    }

    fileprivate var isRemoved: Bool { table.isEmpty }

    package func wants(_ row: RowChange) -> Bool { row.table.isSameName(as: table) && wantsRow(row) }

    /// Like `wants(_:)`, but the row must belong to the observer's table.
    @inline(__always)
    fileprivate func wantsRow(_ row: RowChange) -> Bool {
      guard change == nil || change == row.change else { return false }
      return key.map { row.concernsRow($0) } ?? true
    }

    /// Calls the observer, with the observer's spelling of the table's name.
    @inline(__always)
    fileprivate func notify(of row: RowChange) throws {
      if row.table.isExactly(table) { return try body(row) }
      try body(row.named(table))
    }
  }

  private struct State {
    /// The observers in the order of their tokens. The entry of a removed observer stays until half of the entries
    /// belong to removed observers. Otherwise, each removal would move all later entries.
    var observers: [Observer] = []
    var removedCount = 0
    var didUpdate: (@Sendable (String, Int, Change) throws -> Void)?
    /// The token of the current `didUpdate`. Setting `didUpdate` changes the token.
    var didUpdateToken = ObserverRegistry.newToken()
    var didFail: (@Sendable (any Error) -> Void)?
    var queue: DispatchQueue?
    weak var sink: (any CommitSink)?

    /// Returns the index of the first observer whose token is `token` or a later one.
    private func index(of token: ObserverToken) -> Int {
      var (low, high) = (0, observers.count)
      while low < high {
        let middle = (low + high) / 2
        if observers[middle].token.number < token.number { low = middle + 1 } else { high = middle }
      }
      return low
    }

    mutating func add(_ observer: Observer) {
      // Insert in the order of tokens, because another thread might already have added an observer with a later token.
      observers.insert(observer, at: index(of: observer.token))
    }

    func contains(_ token: ObserverToken) -> Bool {
      let index = index(of: token)
      return index < observers.count && observers[index].token == token && !observers[index].isRemoved
    }

    mutating func remove(_ token: ObserverToken) -> Observer? {
      let index = index(of: token)
      guard index < observers.count, observers[index].token == token, !observers[index].isRemoved else { return nil }
      let removed = observers[index]
      observers[index] = .removed(token)
      removedCount += 1
      if removedCount * 2 >= observers.count {
        observers.removeAll(where: \.isRemoved)
        removedCount = 0
      }
      return removed
    }
  }

  /// All handles share one sequence of tokens, so a token that is passed to the wrong handle removes no observer.
  private static let tokenCount = Atomic(0)

  static func newToken() -> ObserverToken {
    ObserverToken(number: tokenCount.add(1, ordering: .relaxed).newValue)
  }

  private static let changeCount = Atomic(0)

  /// The number of times that observers were added, removed or changed in this process.
  package static var changes: Int { changeCount.load(ordering: .acquiring) }

  let parent: ObserverRegistry?
  private let state = LockedValue(State())
  private let versionCounter = Atomic(0)

  init(parent: ObserverRegistry?) {
    self.parent = parent
  }

  /// The number of times that this registry's observers were added, removed or changed.
  var version: Int { versionCounter.load(ordering: .acquiring) }

  private func change<Result>(_ body: (inout State) -> Result) -> Result {
    let result = state.withLock(body)
    versionCounter.add(1, ordering: .releasing)
    ObserverRegistry.changeCount.add(1, ordering: .releasing)
    return result
  }

  // MARK: Observers

  package func add(_ observer: Observer) -> ObserverToken {
    change { $0.add(observer) }
    return observer.token
  }

  /// Returns a token that belongs to no observer.
  func idleToken() -> ObserverToken { ObserverRegistry.newToken() }

  func remove(_ token: ObserverToken) {
    // Release the observer outside the lock, because the deinit of an object that it retains can call this registry.
    _ = change { $0.remove(token) }
  }

  @inline(never)
  private func isRegistered(_ token: ObserverToken) -> Bool {
    state.withLock { state in state.didUpdateToken == token || state.contains(token) }
  }

  var didUpdate: (@Sendable (String, Int, Change) throws -> Void)? {
    get { state.withLock { $0.didUpdate } }
    set {
      _ = change { state in
        let earlier = state.didUpdate
        state.didUpdate = newValue
        state.didUpdateToken = ObserverRegistry.newToken()
        return earlier
      }
    }
  }

  var didFail: (@Sendable (any Error) -> Void)? {
    get { state.withLock { $0.didFail } }
    set {
      _ = state.withLock { state in
        let earlier = state.didFail
        state.didFail = newValue
        return earlier
      }
    }
  }

  /// A closure that reports an observer's error to the traces. `fail` calls this closure before `didFail`. Set the
  /// closure before other threads use the registry.
  let willFail = LockedValue<(@Sendable (any Error) -> Void)?>(nil)

  @inline(never)
  func fail(_ error: any Error) {
    willFail.withLock { $0 }?(error)
    didFail?(error)
  }

  /// The queue on which observers receive changes made by child handles. Default: a private serial queue.
  var queue: DispatchQueue {
    get {
      state.withLock { state in
        if let queue = state.queue { return queue }
        let queue = DispatchQueue(label: "sqlable.observation")
        state.queue = queue
        return queue
      }
    }
    set { state.withLock { $0.queue = newValue } }
  }

  var interest: ObservedTables {
    let (observed, sink) = state.withLock { state in
      (
        ObservedTables(
          all: state.didUpdate != nil, named: Set(state.observers.lazy.filter { !$0.isRemoved }.map(\.table))),
        state.sink
      )
    }
    guard let sink else { return observed }
    var interest = sink.interest
    interest.formUnion(observed)
    return interest
  }

  // MARK: The sink

  /// The sink, which receives the commits of this registry's handle and its descendants. The reference is weak.
  package var sink: (any CommitSink)? {
    get { state.withLock { $0.sink } }
    set { change { $0.sink = newValue } }
  }

  /// Makes all handles read the sink's `interest` again. Call after `interest` has changed.
  package func sinkDidChange() { change { _ in } }

  // MARK: Delivery

  /// Returns the observers to notify of a transaction that has just been committed; nil without observers.
  ///
  /// Call at the commit, because observers that are registered later do not receive earlier changes.
  package func recipients(for rows: [RowChange]) -> Recipients? {
    // Read the version first, then the observers. In the other order, `deliver()` would call an observer that was
    // removed between the two reads.
    let version = version
    let (observers, didUpdate, token) = state.withLock { ($0.observers, $0.didUpdate, $0.didUpdateToken) }
    guard didUpdate != nil || !observers.isEmpty else { return nil }
    return Recipients(
      registry: self, version: version, observers: observers, didUpdate: didUpdate, didUpdateToken: token, rows: rows)
  }

  /// A committed transaction, with the observers that were registered at its commit.
  package struct Recipients: Sendable {
    let registry: ObserverRegistry
    let version: Int
    let observers: [Observer]
    let didUpdate: (@Sendable (String, Int, Change) throws -> Void)?
    let didUpdateToken: ObserverToken
    let rows: [RowChange]

    /// Calls the observers row by row, in the order of change. Errors that observers throw go to `didFail`.
    package func deliver() {
      rows.withUnsafeBufferPointer { rows in
        observers.withUnsafeBufferPointer { observers in
          rows.withMemoryRebound(to: Borrowed<RowChange>.self) { rows in
            observers.withMemoryRebound(to: Borrowed<Observer>.self) { deliver(rows, to: $0) }
          }
        }
      }
    }

    private func deliver(
      _ rows: UnsafeBufferPointer<Borrowed<RowChange>>, to observers: UnsafeBufferPointer<Borrowed<Observer>>
    ) {
      var observersOfTable: [Int] = []
      for row in rows.indices {
        // Consecutive changes usually affect the same table.
        if row == 0 || !rows[row].value.table.isExactly(rows[row - 1].value.table) {
          observersOfTable = observers.indices.filter {
            rows[row].value.table.isSameName(as: observers[$0].value.table)
          }
        }
        if let didUpdate, isStillRegistered(didUpdateToken) {
          attempt { try didUpdate(rows[row].value.table, rows[row].value.id, rows[row].value.change) }
        }
        for observer in observersOfTable
        where observers[observer].wants(rows[row]) && isStillRegistered(observers[observer].value.token) {
          attempt { try observers[observer].notify(of: rows[row]) }
        }
      }
    }

    /// True if an observer is still registered. During delivery, an observer can remove or replace a later observer.
    private func isStillRegistered(_ token: ObserverToken) -> Bool {
      registry.version == version || registry.isRegistered(token)
    }

    private func attempt(_ body: () throws -> Void) {
      do { try body() } catch { registry.fail(error) }
    }
  }
}

extension Borrowed where Value == ObserverRegistry.Observer {
  @inline(__always)
  fileprivate borrowing func wants(_ row: borrowing Borrowed<RowChange>) -> Bool { value.wantsRow(row.value) }

  @inline(__always)
  fileprivate borrowing func notify(of row: borrowing Borrowed<RowChange>) throws { try value.notify(of: row.value) }
}
