import SqlableCore

extension LocalDatabase {
  /// Calls `body` with every error of this handle's family or of this pool: errors that calls throw, and errors that no
  /// call can throw, which also go to ``ObservedDatabase/didFail``.
  ///
  /// ```swift
  /// let token = pool.onError(atLeast: .error) { event in alert(event.severity, event.error, event.callSite) }
  /// pool.removeTrace(token)
  /// ```
  ///
  /// A hook is a trace: `body` is called like the closure of ``trace(_:_:)``, and every statement takes about a
  /// microsecond longer. The event of an error without a statement has the operation `CALL`. Only an ``SqlError`` has
  /// an event. Only the static `SqliteDatabase.onError(atLeast:_:)` reports the error of opening a handle.
  @discardableResult
  public func onError(
    atLeast severity: SqlError.Severity, _ body: @escaping @Sendable (TraceEvent) -> Void
  ) -> TraceToken {
    trace(TraceOptions(errorsAtLeast: severity), body)
  }
}

extension SqliteDatabase {
  /// Calls `body` with every error of all existing and future handles, pools and clusters of this process.
  ///
  /// ```swift
  /// let token = SqliteDatabase.onError(atLeast: .critical) { event in alert(event.label, event.error) }
  /// SqliteDatabase.removeTraceOfAll(token)
  /// ```
  @discardableResult
  public static func onError(
    atLeast severity: SqlError.Severity, _ body: @escaping @Sendable (TraceEvent) -> Void
  ) -> TraceToken {
    traceAll(TraceOptions(errorsAtLeast: severity), body)
  }
}
