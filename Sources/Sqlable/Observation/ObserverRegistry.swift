import Dispatch
import Synchronization

/// The observers of one handle. The registries of children point to their parent's, and outlive the handles.
///
/// Sound as `Sendable`: everything that changes is behind `state`'s lock, and no closure runs while it is held.
final class ObserverRegistry: Sendable {
  struct Observer: Sendable {
    let token: ObserverToken
    let table: String
    let change: Change?
    /// What the row's id or key must be; nil for every row.
    let key: DatabaseValue?
    let body: @Sendable (RowChange) throws -> Void

    func wants(_ row: RowChange) -> Bool {
      guard change == nil || change == row.change, row.table.isSameName(as: table) else { return false }
      return key.map { row.isOfRow($0) } ?? true
    }
  }

  private struct State {
    var observers: [Observer] = []
    var didUpdate: (@Sendable (String, Int, Change) throws -> Void)?
    /// Another one for every `didUpdate` that is set.
    var didUpdateToken = ObserverRegistry.newToken()
    var didFail: (@Sendable (any Error) -> Void)?
    var queue: DispatchQueue?
    weak var sink: (any CommitSink)?
  }

  /// One sequence for all handles, so that a token handed to another one removes nobody.
  private static let tokenCount = Atomic(0)

  static func newToken() -> ObserverToken {
    ObserverToken(number: tokenCount.add(1, ordering: .relaxed).newValue)
  }

  private static let changeCount = Atomic(0)

  /// Raised whenever the observers of any handle change.
  static var changes: Int { changeCount.load(ordering: .acquiring) }

  let parent: ObserverRegistry?
  private let state = Guarded(State())
  private let versionCounter = Atomic(0)

  init(parent: ObserverRegistry?) {
    self.parent = parent
  }

  /// Raised whenever the set of observers changes.
  var version: Int { versionCounter.load(ordering: .acquiring) }

  private func change<Result>(_ body: (inout State) -> Result) -> Result {
    let result = state.withLock(body)
    versionCounter.add(1, ordering: .releasing)
    ObserverRegistry.changeCount.add(1, ordering: .releasing)
    return result
  }

  // MARK: Observers

  func add(_ observer: Observer) -> ObserverToken {
    change { $0.observers.append(observer) }
    return observer.token
  }

  /// A token that belongs to no observer.
  func idleToken() -> ObserverToken { ObserverRegistry.newToken() }

  func remove(_ token: ObserverToken) {
    // Handed out and let go here: what the observer alone has kept alive may call anything when it goes.
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

  /// Where the changes of children are delivered: a serial queue of its own until another is set.
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

  /// Which tables somebody wants to hear of.
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

  /// Who is told of every commit; held weakly.
  var sink: (any CommitSink)? {
    get { state.withLock { $0.sink } }
    set { change { $0.sink = newValue } }
  }

  /// To be called when what the sink wants has changed.
  func sinkDidChange() { change { _ in } }

  // MARK: Delivery

  /// Those who are to hear of a transaction that has just been committed; nil when nobody is.
  ///
  /// Taken at the commit: whoever registers later has not asked for what happened before.
  func recipients(for rows: [RowChange]) -> Recipients? {
    // Read first: who is removed between the two reads is then asked for once more, and not called.
    let version = version
    let (observers, didUpdate, token) = state.withLock { ($0.observers, $0.didUpdate, $0.didUpdateToken) }
    guard didUpdate != nil || !observers.isEmpty else { return nil }
    return Recipients(
      registry: self, version: version, observers: observers, didUpdate: didUpdate, didUpdateToken: token, rows: rows)
  }

  /// A committed transaction on its way to the observers that were registered then.
  struct Recipients: Sendable {
    let registry: ObserverRegistry
    let version: Int
    let observers: [Observer]
    let didUpdate: (@Sendable (String, Int, Change) throws -> Void)?
    let didUpdateToken: ObserverToken
    let rows: [RowChange]

    /// Calls the observers, row by row in the order of change; what one throws reaches `didFail` and nobody else.
    func deliver() {
      // By index: taking a row or an observer out of its array would retain all that it holds.
      for row in rows.indices {
        if let didUpdate, isHeard(didUpdateToken) {
          attempt { try didUpdate(rows[row].table, rows[row].id, rows[row].change) }
        }
        for observer in observers.indices
        where observers[observer].wants(rows[row]) && isHeard(observers[observer].token) {
          attempt { try observers[observer].body(rows[row].named(observers[observer].table)) }
        }
      }
    }

    /// Who was removed or replaced meanwhile, even by the one before it, hears nothing more.
    private func isHeard(_ token: ObserverToken) -> Bool {
      registry.version == version || registry.isRegistered(token)
    }

    private func attempt(_ body: () throws -> Void) {
      do { try body() } catch { registry.fail(error) }
    }
  }
}
