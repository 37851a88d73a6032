extension SqlitePool {
  /// Calls `body` with every statement and transaction of this pool, when it has ended; see `SqliteDatabase.trace`.
  ///
  /// ```swift
  /// pool.trace(.slow(.milliseconds(50))) { event in log(event.callSite, event.sql, event.duration, event.plan) }
  /// ```
  ///
  /// It is called on the thread that ran the statement: the caller's, or one of the pool's for calls that are awaited.
  @discardableResult
  public func trace(
    _ options: TraceOptions = TraceOptions(), _ body: @escaping @Sendable (TraceEvent) -> Void
  ) -> TraceToken { root.trace(options, body) }

  /// Ends a trace.
  public func removeTrace(_ token: TraceToken) {
    root.removeTrace(token)
    events.remove(token)
  }
}
