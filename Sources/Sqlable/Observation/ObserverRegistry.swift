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
    let key: SqlStorage?
    let body: @Sendable (RowChange) throws -> Void

    func wants(_ row: RowChange) -> Bool {
      guard change == nil || change == row.change, row.table.isSameName(as: table) else { return false }
      switch key {
      case nil: return true
      case .integer(let id):
        return row.hasId && (id == Int64(row.id) || id == Int64(row.previousId))
      case .some(let key): return row.key == [key] || row.previousKey == [key]
      }
    }
  }

  private struct State {
    var observers: [Observer] = []
    var didUpdate: (@Sendable (String, Int, Change) throws -> Void)?
    /// Another one for every `didUpdate` that is set.
    var didUpdateToken = ObserverRegistry.newToken()
    var didFail: (@Sendable (any Error) -> Void)?
    var queue: DispatchQueue?
  }

  /// One sequence for all handles, so that a token handed to another one removes nobody.
  private static let tokenCount = Atomic(0)

  private static func newToken() -> ObserverToken {
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

  func add(
    table: String, change kind: Change?, key: SqlStorage?, body: @escaping @Sendable (RowChange) throws -> Void
  ) -> ObserverToken {
    let token = ObserverRegistry.newToken()
    change { $0.observers.append(Observer(token: token, table: table, change: kind, key: key, body: body)) }
    return token
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
    state.withLock { state in
      ObservedTables(all: state.didUpdate != nil, named: Set(state.observers.map(\.table)))
    }
  }

  // MARK: Delivery

  /// Those who are to hear of a transaction that has just been committed; nil when nobody is.
  ///
  /// Taken at the commit: whoever registers later has not asked for what happened before.
  func audience(for rows: [RowChange]) -> Audience? {
    // Read first: who is removed between the two reads is then asked for once more, and not called.
    let version = version
    let (observers, didUpdate, token) = state.withLock { ($0.observers, $0.didUpdate, $0.didUpdateToken) }
    guard didUpdate != nil || !observers.isEmpty else { return nil }
    return Audience(
      registry: self, version: version, observers: observers, didUpdate: didUpdate, didUpdateToken: token, rows: rows)
  }

  /// A committed transaction on its way to the observers that were registered then.
  struct Audience: Sendable {
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

/// The tables whose changes are wanted.
struct ObservedTables: Sendable, Equatable {
  var all = false
  var named: Set<String> = []

  var isEmpty: Bool { !all && named.isEmpty }

  /// What observers call a table of the database, or nil when nobody wants it.
  func name(ofTable table: String) -> String? {
    if named.contains(table) { return table }
    // The least of several, so that it is always the same.
    return named.filter { $0.isSameName(as: table) }.min() ?? (all ? table : nil)
  }

  mutating func formUnion(_ other: ObservedTables) {
    all = all || other.all
    named.formUnion(other.named)
  }
}
