#if Logging
import Logging
import Sqlable
import SqlableCluster
import SqlableTenants

extension SqlitePool {
  /// Logs slow statements and transactions, errors, long reads, calls that waited too long, and the closing of the
  /// pool.
  ///
  /// ```swift
  /// pool.log(to: Logger(label: "bikes"))                            // what took 100 ms, and what failed
  /// pool.log(to: Logger(label: "bikes"), .slow(.milliseconds(20)))
  /// // warning: slow read of bicycle [duration_ms: 213.480, sql: SELECT "id" FROM "bicycle" WHERE "color" = ?, …]
  /// ```
  ///
  /// This method needs the package trait `Logging`. A message contains no values: its SQL is the statement's shape.
  /// Levels:
  ///
  /// - `critical`: a damaged file, a full disk or a lost handle.
  /// - `error`: an error that a retry does not fix.
  /// - `warning`: `.busy`, `.timeout`, `.unavailable`, a slow statement or transaction, and a long read.
  /// - `info`: a constraint error, and the closing of the pool.
  /// - `debug`: `.interrupted`, `.closed`, and every successful statement if `options` report all statements.
  ///
  /// The log handler is called on a separate thread, in the order of the events, without a lock of the library. The
  /// handler can block or use the pool. While the handler blocks, up to 10,000 messages wait. Further messages are
  /// dropped, and a warning reports their number. `removeTrace(_:)` stops the logging.
  @discardableResult
  public func log(to logger: Logger, _ options: TraceOptions = .slow()) -> TraceToken {
    let log = EventLog(logger, options)
    let token = trace(options) { event in log.add(event) }
    events.add(token) { [label = configuration.handles.label] event in log.add(event, of: label) }
    return token
  }
}

extension SqliteDatabase {
  /// Logs slow statements, slow transactions and errors of this handle and its family; see ``SqlitePool/log(to:_:)``.
  @discardableResult
  public func log(to logger: Logger, _ options: TraceOptions = .slow()) -> TraceToken {
    let log = EventLog(logger, options)
    return trace(options) { event in log.add(event) }
  }
}

extension SqliteTenants {
  /// Logs slow statements and transactions, errors, and long reads of all tenants, with the tenant's name as the label;
  /// see ``SqlitePool/log(to:_:)``.
  @discardableResult
  public func log(to logger: Logger, _ options: TraceOptions = .slow()) -> TraceToken {
    let log = EventLog(logger, options)
    return observe { name, pool, token in
      pool.trace(options, as: token) { event in log.add(event) }
      pool.events.add(token) { event in
        // Don't log the closing: a tenant is often closed only to make room for another tenant.
        if case .closed = event { return }
        log.add(event, of: name)
      }
    }
  }
}

#if Cluster
extension SqliteCluster {
  /// Logs slow statements, slow transactions and errors of this client; see ``SqlitePool/log(to:_:)``.
  ///
  /// ```swift
  /// cluster.log(to: Logger(label: "bikes"), .slow(.milliseconds(200)))
  /// ```
  @discardableResult
  public func log(to logger: Logger, _ options: TraceOptions = .slow()) -> TraceToken {
    let log = EventLog(logger, options)
    return trace(options) { event in log.add(event) }
  }
}
#endif

private final class EventLog: Sendable {
  private struct Entry: Sendable {
    let level: Logger.Level
    let message: String
    let metadata: Logger.Metadata
  }

  private let logger: Logger
  /// True if all statements are reported, not only slow statements.
  private let isComplete: Bool
  private let queue: EventQueue<Entry>

  init(_ logger: Logger, _ options: TraceOptions) {
    self.logger = logger
    isComplete = options.slowerThan <= .zero
    queue = EventQueue { entries, dropped in
      for entry in entries { logger.log(level: entry.level, "\(entry.message)", metadata: entry.metadata) }
      guard dropped > 0 else { return }
      logger.warning("log messages were dropped, because the log handler was slow", metadata: ["dropped": "\(dropped)"])
    }
  }

  func add(_ event: TraceEvent) {
    let level = event.error.map(\.level) ?? (isComplete ? .debug : .warning)
    add(level) { (event.message(isComplete: isComplete), event.metadata) }
  }

  func add(_ event: PoolEvent, of label: String?) {
    var metadata: Logger.Metadata = [:]
    metadata["label"] = label.map { "\($0)" }
    switch event {
    // The trace already reports a wait that was too long.
    case .ended, .timedOut: break
    case .longRead(let read, let walSize):
      metadata["call_site"] = "\(read.callSite)"
      metadata["duration_ms"] = "\(read.age.millisecondsText)"
      metadata["sql"] = read.sql.map { "\(StatementShape(of: $0).sql)" }
      metadata["wal_bytes"] = "\(walSize)"
      add(.warning) { ("a long read prevents a reset of the WAL", metadata) }
    case .closed: add(.info) { ("the pool is closed", metadata) }
    }
  }

  private func add(_ level: Logger.Level, _ contents: () -> (message: String, metadata: Logger.Metadata)) {
    guard logger.logLevel <= level else { return }
    let (message, metadata) = contents()
    // Call the provider here, because its metadata belongs to the task that ran the statement.
    let provided = logger.metadataProvider?.get() ?? [:]
    queue.add(Entry(level: level, message: message, metadata: metadata.merging(provided) { existing, _ in existing }))
  }
}

extension SqlError {
  fileprivate var level: Logger.Level {
    switch severity {
    case .debug: .debug
    case .info: .info
    case .warning: .warning
    case .error: .error
    case .critical: .critical
    }
  }
}

extension TraceEvent {
  fileprivate func message(isComplete: Bool) -> String {
    let what = "\(name)\(table.map { " of \($0)" } ?? "")"
    if let error {
      if case .transaction = kind { return "\(what): \(error.messageWithoutQuotes)" }
      return "\(what) failed: \(error.messageWithoutQuotes)"
    }
    return isComplete ? what : "slow \(what)"
  }

  fileprivate var metadata: Logger.Metadata {
    var metadata: Logger.Metadata = [
      "kind": "\(name)", "handle": "\(handle)", "duration_ms": "\(duration.millisecondsText)",
    ]
    metadata["label"] = label.map { "\($0)" }
    metadata["table"] = table.map { "\($0)" }
    metadata["call_site"] = callSite.map { "\($0)" }
    metadata["context"] = context.map { "\($0)" }
    if !sql.isEmpty { metadata["sql"] = "\(sql)" }
    if waiting > .zero { metadata["waiting_ms"] = "\(waiting.millisecondsText)" }
    if rowsChanged > 0 { metadata["rows_changed"] = "\(rowsChanged)" }
    if rowsScanned > 0 { metadata["rows_scanned"] = "\(rowsScanned)" }
    if kind == .read { metadata["rows"] = "\(rowsRead)" }
    if case .transaction = kind { metadata["statements"] = "\(statements)" }
    if !plan.isEmpty { metadata["plan"] = .array(plan.map { "\($0)" }) }
    if let error {
      metadata["error"] = "\(error.kindName)"
      if error.extendedCode != 0 { metadata["code"] = "\(error.extendedCode)" }
      metadata["column"] = error.column.map { "\($0)" }
      metadata["transaction"] = "\(error.transaction)"
    }
    return metadata
  }
}
#endif
