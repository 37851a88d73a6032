import CSqlableSQLite
import Glibc

/// A compiled statement of a traced connection. Two values are equal if they refer to the same compiled statement.
package struct TracedStatement: Hashable {
  private let handle: OpaquePointer

  init(_ handle: OpaquePointer) { self.handle = handle }

  package var sql: String { sqlite3_sql(handle).map { String(cString: $0) } ?? "" }

  package var isReadOnly: Bool { sqlite3_stmt_readonly(handle) != 0 }

  /// True from the first step until the statement has returned its last row or was reset.
  package var isRunning: Bool { sqlite3_stmt_busy(handle) != 0 }

  /// The number of rows that full scans have read, in all runs. May overflow.
  package var rowsScanned: Int32 { sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_FULLSCAN_STEP, 0) }

  /// The number of sorts, in all runs. May overflow.
  package var sorts: Int32 { sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_SORT, 0) }

  /// The number of rows added to automatic indexes, in all runs. May overflow.
  package var automaticIndexes: Int32 { sqlite3_stmt_status(handle, SQLITE_STMTSTATUS_AUTOINDEX, 0) }

  /// Returns the text with its values as literals; nil without parameters, or if the text is longer than `maximum`
  /// bytes.
  package func expandedSQL(maximum: Int) -> String? {
    guard sqlite3_bind_parameter_count(handle) > 0, let text = sqlite3_expanded_sql(handle) else { return nil }
    defer { sqlite3_free(text) }
    return strlen(text) > maximum ? nil : String(cString: text)
  }
}

extension Connection {
  /// Starts tracing with `tracer` in place of the current tracer; nil ends tracing. The connection calls the tracer
  /// from the trace callbacks and the commit hook of SQLite.
  func trace(with tracer: (any RunTracer)?) {
    self.tracer?.remove()
    self.tracer = tracer
    updateTraceCallbacks()
    guard tracer != nil else {
      sqlite3_commit_hook(handle, nil, nil)
      return
    }
    sqlite3_commit_hook(
      handle,
      { context in
        guard let context else { return 0 }
        Unmanaged<Connection>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.tracer?.willCommit() }
        return 0
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  /// Calls `body`. Returns the value of `body`, and the statements that ran on this connection during `body`.
  package func recordingStatements<Value>(_ body: () throws -> Value) rethrows -> (Value, StatementRecorder) {
    let (outer, recorder) = (self.recorder, StatementRecorder())
    self.recorder = recorder
    updateTraceCallbacks()
    defer {
      self.recorder = outer
      updateTraceCallbacks()
    }
    return (try body(), recorder)
  }

  private func updateTraceCallbacks() {
    var events: Int32 = 0
    if recorder != nil { events |= SQLITE_TRACE_STMT }
    if tracer != nil { events |= SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE | SQLITE_TRACE_ROW }
    guard events != 0 else {
      sqlite3_trace_v2(handle, 0, nil, nil)
      return
    }
    // Unretained, because SQLite does not call back after the connection is closed.
    let context = Unmanaged.passUnretained(self).toOpaque()
    sqlite3_trace_v2(
      handle, UInt32(events),
      { event, context, statement, _ in
        guard let context, let statement = statement.map(OpaquePointer.init) else { return 0 }
        Unmanaged<Connection>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.note(event, statement) }
        return 0
      }, context)
  }

  private func note(_ event: UInt32, _ statement: OpaquePointer) {
    if let recorder, Int32(event) == SQLITE_TRACE_STMT, !isVersionCheck(statement) {
      recorder.note(TracedStatement(statement))
    }
    guard let tracer, !tracer.isPaused else { return }
    switch Int32(event) {
    case SQLITE_TRACE_ROW: tracer.didReadRow(TracedStatement(statement))
    case SQLITE_TRACE_STMT where !isVersionCheck(statement): tracer.didBegin(TracedStatement(statement))
    case SQLITE_TRACE_PROFILE: tracer.didEnd(TracedStatement(statement))
    default: break
    }
  }

  /// True for the internal statements that check for changes of the schema or the data.
  private func isVersionCheck(_ statement: OpaquePointer) -> Bool {
    statement == schemaVersionStatement?.handle || statement == dataVersionStatement?.handle
  }
}
