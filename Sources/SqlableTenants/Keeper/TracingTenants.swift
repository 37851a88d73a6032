import SqlableCore
import SqlablePool
import SqlableTracing

extension SqliteTenants {
  /// Calls `body` after each statement and transaction of all tenants. The label of an event is the tenant's name.
  ///
  /// ```swift
  /// let token = tenants.trace(.slow(.milliseconds(50))) { event in log(event.label, event.sql, event.duration) }
  /// tenants.removeTrace(token)
  /// ```
  ///
  /// See `trace(_:_:)` of a pool.
  @discardableResult
  public func trace(
    _ options: TraceOptions = TraceOptions(), _ body: @escaping @Sendable (TraceEvent) -> Void
  ) -> TraceToken {
    observe { _, pool, token in pool.trace(options, as: token, body) }
  }

  /// Ends a trace of all tenants.
  public func removeTrace(_ token: TraceToken) {
    withState { $0.poolObservers[token] = nil }
    for (_, pool) in withState({ $0.openPools }) { pool.removeTrace(token) }
  }

  /// Calls `attach` at least once with each tenant that is open or opened later. If `attach` traces a tenant twice with
  /// the same token, the second trace has no effect.
  package func observe(
    _ attach: @escaping @Sendable (_ name: String, _ pool: SqlitePool, _ token: TraceToken) -> Void
  ) -> TraceToken {
    let token = TraceHub.newToken()
    let pools = withState { state in
      state.poolObservers[token] = attach
      return state.openPools
    }
    for (slot, pool) in pools { attach(slot.name.text, pool, token) }
    return token
  }

  /// Attaches the observers to a pool; returns their tokens. `open` calls this method twice: before other threads can
  /// find the pool, so that no event is missed, and afterwards, because observers might have been added or removed in
  /// between.
  @discardableResult
  func attachObservers(_ pool: SqlitePool, _ name: TenantName, instead before: [TraceToken] = []) -> [TraceToken] {
    let observers = withState { $0.poolObservers }
    for token in before where observers[token] == nil { pool.removeTrace(token) }
    for (token, attach) in observers { attach(name.text, pool, token) }
    return [TraceToken](observers.keys)
  }
}
