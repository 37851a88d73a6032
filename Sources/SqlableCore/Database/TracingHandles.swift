extension LocalDatabase {
  /// Calls `body` with every statement and transaction of this handle's family, or of this pool, when it has ended.
  ///
  /// ```swift
  /// let token = db.trace { event in print(event) }
  /// let slow = db.trace(.slow(.milliseconds(50))) { event in log(event.sql, event.duration, event.plan) }
  /// db.removeTrace(token)
  /// ```
  ///
  /// The closure is called on the thread that ran the statement, without the handle's lock: after the statement, or
  /// after the transaction that it is part of. It may use the database; what it runs itself is not traced, unless it
  /// leaves that to another thread. A closure that blocks delays its caller and, after a write on a pool, the writes
  /// that wait for the pool's writer. Of a transaction at most 10,000 statements are reported.
  ///
  /// Without a trace nothing is measured. With one every statement takes about a microsecond more.
  ///
  /// Events have no values but those of the columns that `options` name.
  @discardableResult
  public func trace(
    _ options: TraceOptions = TraceOptions(), _ body: @escaping @Sendable (TraceEvent) -> Void
  ) -> TraceToken {
    guard let registry = registrations.functions else { return TraceHub.newToken() }
    defer { registry.tracingDidChange() }
    return registry.traces.add(options, body)
  }

  /// Ends a trace; one that is not this family's is left alone. A call that runs on another thread is not waited for.
  public func removeTrace(_ token: TraceToken) {
    guard let registry = registrations.functions else { return }
    registry.traces.remove(token)
    registry.tracingDidChange()
  }
}

extension SqliteDatabase {
  /// Calls `body` with every statement and transaction of all handles and pools of this process, open and to come.
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
  /// Delivers the runs that were measured; to be called without the handle's lock.
  func deliver(_ runs: [MeasuredRun], of handle: Int, to traces: TraceHub) {
    let (context, isReceiving) = (Tracing.context, Tracing.isReceiving)
    Tracing.$isReceiving.withValue(true) {
      // A receiver that has the writer of a pool may run the calls of others.
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

  /// To be called when the program calls the handle: while it is traced, the events of what the call runs have its file
  /// and line. Returns whether `endCall()` must be called at its end; until then the call has the handle's lock.
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

  /// Calls `body`, whose statements are those of a call on a pool; nil if nothing was traced when it was made.
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
  /// Reports an error that no statement's event has; to be called where it leaves a call, with the handle's lock.
  @usableFromInline
  func reported(_ error: any Error) -> any Error {
    guard !error.needsNoEvent, let tracer = connection?.tracer, let sqlError = error as? SqlError else { return error }
    return tracer.didFailWithoutStatement(sqlError) ? error.traced : error
  }

  /// Reports an error of a handle without a connection, such as one that could not be opened, or of a pool; to be
  /// called without the handle's lock.
  package func reportedWithoutLock(_ error: any Error) -> any Error {
    guard TraceHub.isAnyActive, !error.needsNoEvent, let sqlError = error as? SqlError, let functions else {
      return error
    }
    deliver([MeasuredRun(sqlError)], of: number, to: functions.traces)
    return error.traced
  }

  /// Calls `body`, whose statements are the library's own, and not traced.
  package func withoutTracing<Value>(_ body: () throws -> Value) throws -> Value {
    try locked { try openConnection().withoutTracing { _ in try body() } }
  }
}
