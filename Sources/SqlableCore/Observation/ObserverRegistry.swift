import Dispatch
import Synchronization

/// The observers of one handle. Registries of child handles point to their parent's, and outlive the handles.
///
/// Sound as `Sendable`: mutable state is atomic or guarded by `state`'s lock, and no observer runs while that is held.
package final class ObserverRegistry: Sendable {
  package struct Observer: Sendable {
    let token: ObserverToken
    package let table: String
    package let change: Change?
    /// The id or key of the observed row; nil for every row.
    package let key: DatabaseValue?
    let body: @Sendable (RowChange) throws -> Void

    package func wants(_ row: RowChange) -> Bool {
      guard change == nil || change == row.change, row.table.isSameName(as: table) else { return false }
      return key.map { row.concernsRow($0) } ?? true
    }
  }

  private struct State {
    var observers: [Observer] = []
    var didUpdate: (@Sendable (String, Int, Change) throws -> Void)?
    /// Changes with every `didUpdate` that is set.
    var didUpdateToken = ObserverRegistry.newToken()
    var didFail: (@Sendable (any Error) -> Void)?
    var queue: DispatchQueue?
    weak var sink: (any CommitSink)?
  }

  /// One sequence for all handles: a token passed to the wrong handle removes nothing.
  private static let tokenCount = Atomic(0)

  static func newToken() -> ObserverToken {
    ObserverToken(number: tokenCount.add(1, ordering: .relaxed).newValue)
  }

  private static let changeCount = Atomic(0)

  /// Incremented whenever the observers of any handle change.
  package static var changes: Int { changeCount.load(ordering: .acquiring) }

  let parent: ObserverRegistry?
  private let state = LockedValue(State())
  private let versionCounter = Atomic(0)

  init(parent: ObserverRegistry?) {
    self.parent = parent
  }

  /// Incremented whenever the set of observers changes.
  var version: Int { versionCounter.load(ordering: .acquiring) }

  private func change<Result>(_ body: (inout State) -> Result) -> Result {
    let result = state.withLock(body)
    versionCounter.add(1, ordering: .releasing)
    ObserverRegistry.changeCount.add(1, ordering: .releasing)
    return result
  }

  // MARK: Observers

  package func add(_ observer: Observer) -> ObserverToken {
    change { $0.observers.append(observer) }
    return observer.token
  }

  /// A token that belongs to no observer.
  func idleToken() -> ObserverToken { ObserverRegistry.newToken() }

  func remove(_ token: ObserverToken) {
    // Released here, outside of the lock: the deinit of an object that only the observer kept may call anything.
    _ = change { state in
      let removed = state.observers.filter { $0.token == token }
      state.observers.removeAll { $0.token == token }
      return removed
    }
  }

  private func isRegistered(_ token: ObserverToken) -> Bool {
    state.withLock { state in state.didUpdateToken == token || state.observers.contains { $0.token == token } }
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

  func fail(_ error: any Error) {
    didFail?(error)
  }

  /// The queue on which changes of children are delivered; a private serial queue until another is set.
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

  /// The tables that are observed.
  var interest: ObservedTables {
    let (observed, sink) = state.withLock { state in
      (ObservedTables(all: state.didUpdate != nil, named: Set(state.observers.map(\.table))), state.sink)
    }
    guard let sink else { return observed }
    var interest = sink.interest
    interest.formUnion(observed)
    return interest
  }

  // MARK: The sink

  /// The sink, which is notified of every commit; held weakly.
  package var sink: (any CommitSink)? {
    get { state.withLock { $0.sink } }
    set { change { $0.sink = newValue } }
  }

  /// To be called when the sink's interest has changed.
  package func sinkDidChange() { change { _ in } }

  // MARK: Delivery

  /// The observers to notify of a transaction that has just been committed; nil if there are none.
  ///
  /// Taken at the commit: observers registered later don't get earlier changes.
  package func recipients(for rows: [RowChange]) -> Recipients? {
    // Read first: an observer removed between the two reads is then checked again, and not called.
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

    /// Calls the observers row by row, in the order of change; errors that they throw go to `didFail`.
    package func deliver() {
      // By index: taking a row or an observer out of its array would retain all that it holds.
      for row in rows.indices {
        if let didUpdate, isStillRegistered(didUpdateToken) {
          attempt { try didUpdate(rows[row].table, rows[row].id, rows[row].change) }
        }
        for observer in observers.indices
        where observers[observer].wants(rows[row]) && isStillRegistered(observers[observer].token) {
          attempt { try observers[observer].body(rows[row].named(observers[observer].table)) }
        }
      }
    }

    /// True if an observer is still registered: it may be removed or replaced meanwhile, even by the one before it.
    private func isStillRegistered(_ token: ObserverToken) -> Bool {
      registry.version == version || registry.isRegistered(token)
    }

    private func attempt(_ body: () throws -> Void) {
      do { try body() } catch { registry.fail(error) }
    }
  }
}
