extension LocalDatabase {
  /// Calls `body` after each statement and transaction of this handle's family or of this pool.
  ///
  /// ```swift
  /// let token = db.trace { event in print(event) }
  /// let slow = db.trace(.slow(.milliseconds(50))) { event in log(event.sql, event.duration, event.plan) }
  /// db.removeTrace(token)
  /// ```
  ///
  /// The closure is called on the thread that ran the statement, or on another that uses the handle meanwhile, without
  /// the handle's lock. Statements in a `transaction` closure are reported after that closure. The trace's closure can
  /// use the database; its statements on the same thread are not traced. A closure that blocks delays its caller and,
  /// after a write on a pool, the next writes. At most 10,000 statements of a transaction are reported.
  ///
  /// Without a trace, nothing is measured. With a trace, every statement takes about a microsecond longer.
  ///
  /// Events contain no values, except the values of columns that `options` name.
  @discardableResult
  public func trace(
    _ options: TraceOptions = TraceOptions(), _ body: @escaping @Sendable (TraceEvent) -> Void
  ) -> TraceToken {
    guard let registry = registrations.functions else { return TraceHub.newToken() }
    defer { registry.tracingDidChange() }
    return registry.traces.add(options, body)
  }

  /// Ends a trace. Ignores a token of another family. Does not wait for a call that runs on another thread.
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
  func deliver(_ runs: [MeasuredRun], of handle: Int, to traces: TraceHub) {
    let (context, isReceiving) = (Tracing.context, Tracing.isReceiving)
    Tracing.$isReceiving.withValue(true) {
      // A trace closure that uses a pool's writer can also run queued calls of other threads. Those calls are traced.
      for run in runs where !(run.caller?.isReceiver ?? isReceiving) {
        let origin = TraceEvent.Origin(
          label: configuration.label, handle: handle, callSite: run.site?.description,
          context: run.caller.map { $0.context } ?? context)
        let event = TraceEvent(run, StatementShape.cache.value(of: run.sql), origin)
        let transaction = TraceEvent(transactionEndedBy: run, origin)
        run.task.restoring {
          for hub in [traces, TraceHub.process] { hub.deliver(event, with: RunDetails(run: run, db: self)) }
          guard let transaction else { return }
          for hub in [traces, TraceHub.process] { hub.deliver(transaction) }
        }
      }
    }
  }

  /// Begins a public call, whose file and line appear in the events of its statements. Returns true if the call is
  /// traced: then this thread holds the handle's lock until `endCall()`, which the caller must call.
  @usableFromInline
  package func beginCall(_ file: StaticString, _ line: UInt) throws -> Bool {
    TraceHub.isAnyActive ? try beginTracedCall(CallSite(file: file, line: line)) : false
  }

  @inline(never)
  private func beginTracedCall(_ site: CallSite) throws -> Bool {
    guard !site.isInLibrary else { return false }
    try enter()
    guard let tracer = connection?.tracer else {
      unlockAndDeliver()
      return false
    }
    let outer = tracer.caller
    tracer.begin(
      TraceCaller(
        site: site, context: outer.map(\.context) ?? Tracing.context, task: outer?.task,
        isReceiver: outer?.isReceiver ?? Tracing.isReceiving))
    return true
  }

  @usableFromInline
  package func endCall() {
    connection?.tracer?.endCall()
    unlockAndDeliver()
  }

  /// Calls `body`, and traces its statements as part of a pool's call. `caller` is nil if the call was not traced.
  package func traced<Value, Failure: Error>(
    as caller: TraceCaller?, _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    guard let caller, let tracer = connection?.tracer else { return try body() }
    tracer.begin(caller)
    defer { tracer.endCall() }
    return try caller.task.restoring(body)
  }
}

extension SqliteDatabase {
  /// Reports an error that belongs to no statement's event. Call with the lock, before the error is thrown.
  @usableFromInline
  func reported(_ error: any Error) -> any Error {
    guard !error.needsNoEvent, let tracer = connection?.tracer, let sqlError = error as? SqlError else { return error }
    return tracer.didFailWithoutStatement(sqlError) ? error.traced : error
  }

  /// Reports an error of a pool, or of a handle that could not be opened. Call without the handle's lock.
  package func reportedWithoutLock(_ error: any Error) -> any Error {
    guard TraceHub.isAnyActive, !error.needsNoEvent, let sqlError = error as? SqlError, let functions else {
      return error
    }
    deliver([MeasuredRun(sqlError)], of: number, to: functions.traces)
    return error.traced
  }

  /// Calls `body` without tracing its statements, which belong to the library.
  package func withoutTracing<Value>(_ body: () throws -> Value) throws -> Value {
    try locked { try openConnection().withoutTracing { _ in try body() } }
  }
}
