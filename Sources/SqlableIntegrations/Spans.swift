#if Tracing
import Sqlable
import SqlableCluster
import Tracing

extension SqlitePool {
  /// Creates a span for each statement and each transaction. The parent is the span of the task that made the call.
  ///
  /// ```swift
  /// pool.traceSpans()                                     // with InstrumentationSystem.tracer
  /// try await withSpan("GET /bicycles") { _ in try await Bicycle.read().run(pool) }
  /// // GET /bicycles → SELECT bicycle
  /// ```
  ///
  /// This method needs the package trait `Tracing`. The spans have the attributes of OpenTelemetry's conventions for
  /// databases. `db.query.text` is the statement's shape, without values. An error sets the span's status. A whole
  /// transaction has one span; `BEGIN`, `COMMIT` and savepoints have no spans. If several writes share a commit, the
  /// transaction's span is a child of the span of the call that began the transaction.
  ///
  /// Without a bootstrapped tracer, nothing is measured. While a trace runs, a closure that a pool calls on its own
  /// threads has the `ServiceContext` of the task that made the call.
  ///
  /// A span is created after its statement has ended, with the start and end times of the statement. The tracer is
  /// called on a separate thread, without a lock of the library, so the tracer can block or use the pool. While the
  /// tracer blocks, up to 10,000 spans wait. Further spans are dropped. `removeTrace(_:)` stops the tracing.
  ///
  /// - Parameter tracer: The tracer; by default `InstrumentationSystem.tracer`, which must be bootstrapped before this
  ///   call.
  @discardableResult
  public func traceSpans(with tracer: (any Tracer)? = nil) -> TraceToken { root.traceSpans(with: tracer) }
}

extension SqliteDatabase {
  /// Creates a span for each statement and each transaction of this handle, its parent and their children; see
  /// ``SqlitePool/traceSpans(with:)``.
  @discardableResult
  public func traceSpans(with tracer: (any Tracer)? = nil) -> TraceToken {
    let tracer = tracer ?? InstrumentationSystem.tracer
    guard !(tracer is NoOpTracer) else { return TraceHub.newToken() }
    TaskLocalSnapshot.capture {
      ServiceContext.current.map { context in
        TaskLocalSnapshot { body in ServiceContext.$current.withValue(context, operation: body) }
      }
    }
    return trace(TraceOptions(), EndedSpan.receiver(of: filename, tracer))
  }
}

#if Cluster
extension SqliteCluster {
  /// Creates a span for each statement and each transaction of this client; see ``SqlitePool/traceSpans(with:)``. The
  /// parent is the span of the task that made the call.
  @discardableResult
  public func traceSpans(with tracer: (any Tracer)? = nil) -> TraceToken {
    let tracer = tracer ?? InstrumentationSystem.tracer
    guard !(tracer is NoOpTracer) else { return TraceHub.newToken() }
    return trace(TraceOptions(), EndedSpan.receiver(of: configuration.database, tracer))
  }
}
#endif

/// The data of an ended statement or transaction, from which a span is created later.
private struct EndedSpan: Sendable {
  private let event: TraceEvent
  private let namespace: String
  private let context: ServiceContext
  /// The time of the end, in nanoseconds since 1970.
  private let end: UInt64

  static func receiver(of name: String, _ tracer: any Tracer) -> @Sendable (TraceEvent) -> Void {
    let queue = EventQueue<EndedSpan> { spans, _ in for span in spans { span.make(with: tracer) } }
    return { event in
      guard event.kind != .control else { return }
      queue.add(EndedSpan(event, name))
    }
  }

  private init(_ event: TraceEvent, _ name: String) {
    self.event = event
    namespace = event.namespace(name)
    context = ServiceContext.current ?? .topLevel
    let elapsed = event.end.duration(to: .now).nanoseconds
    let now = DefaultTracerClock.now.nanosecondsSinceEpoch
    end = now > elapsed ? now - elapsed : now
  }

  func make(with tracer: some Tracer) {
    let duration = event.duration.nanoseconds
    let begin = DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: end > duration ? end - duration : 0)
    let span = tracer.startSpan(
      event.operation == "TRANSACTION" ? "transaction" : event.summary, context: context, ofKind: .client, at: begin)
    span.updateAttributes { attributes in setAttributes(&attributes) }
    if let error = event.error?.withoutValues {
      span.recordError(error)
      span.setStatus(SpanStatus(code: .error, message: error.message))
    }
    span.end(at: DefaultTracerClock.Timestamp(nanosecondsSinceEpoch: end))
  }

  private func setAttributes(_ attributes: inout SpanAttributes) {
    attributes["db.system.name"] = "sqlite"
    attributes["db.namespace"] = namespace
    attributes["db.operation.name"] = event.operation
    attributes["db.query.summary"] = event.summary
    attributes["db.collection.name"] = event.table
    if event.kind == .read { attributes["db.response.returned_rows"] = event.rowsRead }
    if case .transaction(let outcome) = event.kind {
      attributes["sqlable.outcome"] = outcome.name
      attributes["sqlable.statements"] = event.statements
    } else {
      attributes["db.query.text"] = event.sql
    }
    if let callSite = event.callSite, let colon = callSite.lastIndex(of: ":") {
      attributes["code.file.path"] = String(callSite[..<colon])
      attributes["code.line.number"] = Int(callSite[callSite.index(after: colon)...])
    }
    if let error = event.error {
      attributes["error.type"] = error.kindName
      if error.extendedCode != 0 { attributes["db.response.status_code"] = "\(error.extendedCode)" }
    }
  }
}

extension Duration {
  fileprivate var nanoseconds: UInt64 { UInt64(max(0, self / .nanoseconds(1))) }
}
#endif
