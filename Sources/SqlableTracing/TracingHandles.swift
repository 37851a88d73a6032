import SqlableCore

extension LocalDatabase {
  /// Calls `body` after each statement and transaction of this handle's family or of this pool.
  ///
  /// ```swift
  /// let token = db.trace { event in print(event) }
  /// let slow = db.trace(.slow(.milliseconds(50))) { event in log(event.sql, event.duration, event.plan) }
  /// db.removeTrace(token)
  /// ```
  ///
  /// The closure is called on the thread that ran the statement, or on another thread that uses the handle meanwhile,
  /// without the handle's lock. Statements in a `transaction` closure are reported after that closure. The trace's
  /// closure can use the database; its statements on the same thread are not traced. A closure that blocks delays its
  /// caller and, after a write on a pool, the next writes. At most 10,000 statements of a transaction are reported.
  ///
  /// Without a trace, nothing is measured. With a trace, every statement takes about a microsecond longer.
  ///
  /// Events contain no values, except the values of columns that `options` name.
  @discardableResult
  public func trace(
    _ options: TraceOptions = TraceOptions(), _ body: @escaping @Sendable (TraceEvent) -> Void
  ) -> TraceToken {
    let token = TraceHub.newToken()
    trace(options, as: token, body)
    return token
  }

  /// Adds a trace with an existing token. Several families can have traces with the same token.
  package func trace(
    _ options: TraceOptions, as token: TraceToken, _ body: @escaping @Sendable (TraceEvent) -> Void
  ) {
    guard let registry = registrations.functions else { return }
    _ = registry.traces.add(options, as: token, body)
    registry.tracingDidChange()
  }

  /// Ends a trace. Ignores a token of another family. Does not wait for a trace closure that is running on another
  /// thread.
  public func removeTrace(_ token: TraceToken) {
    guard let registry = registrations.functions else { return }
    registry.traces.remove(token)
    registry.tracingDidChange()
  }
}

extension SqliteDatabase {
  /// Calls `body` after each statement and transaction of all existing and future handles and pools of this process.
  ///
  /// ```swift
  /// SqliteDatabase.traceAll { event in print(event.label ?? "", event) }
  /// ```
  @discardableResult
  public static func traceAll(
    _ options: TraceOptions = TraceOptions(), _ body: @escaping @Sendable (TraceEvent) -> Void
  ) -> TraceToken {
    defer { FunctionRegistry.tracingDidChange() }
    return TraceHub.process.add(options, body)
  }

  /// Ends a trace of all handles.
  public static func removeTraceOfAll(_ token: TraceToken) {
    TraceHub.process.remove(token)
    FunctionRegistry.tracingDidChange()
  }
}

extension SqliteDatabase {
  /// Delivers measured statements to the traces. Call without the handle's lock.
  ///
  /// - Parameter isThrown: False for an error that no call throws. Only the receivers of errors get such an error.
  func deliver(_ runs: [MeasuredRun], to traces: TraceHub, isThrown: Bool = true) {
    let (context, isReceiving) = (Tracing.context, Tracing.isReceiving)
    Tracing.$isReceiving.withValue(true) {
      // A trace closure that uses a pool's writer can also run queued calls of other threads. Those calls are traced.
      for run in runs where !(run.caller?.isReceiver ?? isReceiving) {
        let origin = TraceEvent.Origin(
          label: configuration.label, handle: number, callSite: run.site?.description,
          context: run.caller.map { $0.context } ?? context)
        var event = TraceEvent(run, StatementShape.cache.value(of: run.sql), origin)
        event.isThrown = isThrown
        let transaction = TraceEvent(transactionEndedBy: run, origin)
        run.task.restoring {
          for hub in [traces, TraceHub.process] { hub.deliver(event, with: RunDetails(run: run, db: self)) }
          guard let transaction else { return }
          for hub in [traces, TraceHub.process] { hub.deliver(transaction) }
        }
      }
    }
  }

  /// Calls `body`, and traces its statements as part of a pool's call. `caller` is nil if the call was not traced.
  package func traced<Value, Failure: Error>(
    as caller: TraceCaller?, _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    guard let caller, let tracer = connection?.tracer as? StatementTracer else { return try body() }
    tracer.begin(caller)
    defer { tracer.endCall() }
    return try caller.task.restoring(body)
  }
}

extension FunctionRegistry {
  package var traces: TraceHub { tracerSource(of: TraceHub.self) }

  /// Starts or ends measuring on the handles of this family. Call after adding or removing a trace of the family or of
  /// the whole process.
  fileprivate func tracingDidChange() { setTraced(traces.isActive || TraceHub.process.isActive) }

  /// Starts or ends measuring on all handles. Call after adding or removing a trace of the whole process.
  fileprivate static func tracingDidChange() {
    newSource.withLock { $0 = TraceHub.process.isActive ? TraceHub.self : nil }
    for family in families { family.tracingDidChange() }
  }
}

extension TraceHub: TracerSource {
  package func tracer(
    of db: SqliteDatabase, on connection: Connection, didMeasure: @escaping () -> Void
  ) -> any RunTracer {
    StatementTracer(db, connection, self, didMeasure: didMeasure)
  }

  package func report(_ error: SqlError, of db: SqliteDatabase, isThrown: Bool) {
    db.deliver([MeasuredRun(error)], to: self, isThrown: isThrown)
  }
}
