import CSqlableSQLite
import Glibc
import Synchronization

/// What a statement took, measured while it ran.
package struct MeasuredRun: Sendable {
  /// A transaction that a run ended.
  struct EndedTransaction: Sendable {
    enum Outcome: Sendable {
      case committed, rolledBack
    }

    let outcome: Outcome
    let since: ContinuousClock.Instant
    let statements: Int
    let rowsChanged: Int
    /// The statement that began it; nil if it was open before the measurement.
    let beginning: String?
  }

  package var sql: String
  var isReadOnly: Bool
  /// Whether it was compiled before.
  var isCached = true
  /// Its wait for other connections' locks.
  var waiting = Duration.zero
  var compiling = Duration.zero
  /// From its first step to its last, without the wait and the commit.
  var stepping = Duration.zero
  var committing = Duration.zero
  var rowsRead = 0
  var rowsChanged = 0
  var rowsScanned = 0
  var sorts = 0
  var automaticIndexes = 0
  var error: SqlError?
  /// The transaction that it ended, if it was open before this statement.
  var ended: EndedTransaction?
  /// The call that has run it; nil for a statement of the library's own.
  var caller: TraceCaller?
  /// Where it was run.
  var site: CallSite?
  /// Its text with its values as literals, if values were asked for.
  var expandedSql: String?
  /// What the task had that ran it.
  package var task: TaskValues?
  /// The moment at which it ended.
  var end: ContinuousClock.Instant

  var duration: Duration { waiting + compiling + stepping + committing }
}

extension MeasuredRun {
  /// An error for which no statement ran.
  init(_ error: SqlError) {
    self.init(sql: error.sql ?? "", isReadOnly: true, isCached: false, end: .now)
    self.error = error
  }
}

/// The call that runs statements. An object: every call on a pool has a place for one, and moves it, traced or not.
package final class TraceCaller: Sendable {
  let site: CallSite
  let context: String?
  let task: TaskValues?
  /// Whether it was made by a closure that receives events: its statements are not reported.
  let isReceiver: Bool

  package init(site: CallSite, context: String?, task: TaskValues?, isReceiver: Bool) {
    (self.site, self.context, self.task, self.isReceiver) = (site, context, task, isReceiver)
  }
}

/// Measures the statements of a connection, by SQLite's trace callbacks. A connection has one only while it is traced:
/// without it nothing is measured.
///
/// Everything but `take()` must be called with the handle's lock held.
final class StatementTracer {
  /// The most runs that are kept until they are taken, which is not before a transaction ends.
  static let maximumKept = 10_000

  private unowned let connection: Connection
  /// An interruption that is there only to measure: without one SQLite waits for locks itself, and does not tell for
  /// how long. A pool replaces it: its handles are traced before they belong to it.
  private let ownInterruption: Interruption?
  private var interruption: Interruption? { connection.interruption }
  private var running: [OpaquePointer: Running] = [:]
  private var compiled: (statement: OpaquePointer, time: Duration)?
  private var commitBegan: ContinuousClock.Instant?
  private var transaction: (since: ContinuousClock.Instant, statements: Int, changesAtBegin: Int32, sql: String?)?
  private let measured = Guarded(Measured())
  /// Called when the first run waits to be taken.
  private let didMeasure: () -> Void
  /// Whether values are asked for.
  private let wantsValues: () -> Bool
  /// The longest text with values that is kept, in bytes.
  private static let maximumExpanded = 16_384
  /// Whether the statements that run now are the library's own questions about others.
  fileprivate var isPaused = false
  /// The call that runs the statements to come.
  private(set) var caller: TraceCaller?
  /// The calls around it.
  private var outerCallers: [TraceCaller?] = []
  /// Where statements that were compiled by an earlier call were compiled, until they run.
  private var sites: [OpaquePointer: CallSite] = [:]

  private struct Measured {
    var runs: [MeasuredRun] = []
    var dropped = 0
  }

  /// A statement that runs, and what it had counted before.
  private struct Running {
    let begin: ContinuousClock.Instant
    let waited: Duration
    let changes: Int32
    let counts: Counts
    let site: CallSite?
    var compiling: Duration?
    var rows = 0
    /// The error with which a value of the current row was read.
    var error: SqlError?
  }

  /// Counts that SQLite keeps over all runs of a compiled statement.
  private struct Counts {
    let scanned, sorts, indexes: Int32

    init(_ statement: OpaquePointer) {
      scanned = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_FULLSCAN_STEP, 0)
      sorts = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_SORT, 0)
      indexes = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_AUTOINDEX, 0)
    }
  }

  init(_ connection: Connection, wantsValues: @escaping () -> Bool, didMeasure: @escaping () -> Void) {
    (self.connection, self.wantsValues, self.didMeasure) = (connection, wantsValues, didMeasure)
    ownInterruption = connection.interruption == nil ? Interruption(busyTimeout: connection.busyTimeout) : nil
    if let ownInterruption { connection.use(ownInterruption) }
    // Unretained: the callbacks are removed, or the connection closed, before this object is deallocated.
    let context = Unmanaged.passUnretained(self).toOpaque()
    sqlite3_trace_v2(
      connection.handle, UInt32(SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE | SQLITE_TRACE_ROW),
      { event, context, statement, detail in
        guard let context, let statement = statement.map(OpaquePointer.init) else { return 0 }
        Unmanaged<StatementTracer>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.note(event, statement, detail) }
        return 0
      }, context)
    sqlite3_commit_hook(
      connection.handle,
      { context in
        guard let context else { return 0 }
        Unmanaged<StatementTracer>.fromOpaque(context)._withUnsafeGuaranteedRef { $0.commitBegan = .now }
        return 0
      }, context)
    if !connection.isAutocommit { transaction = (.now, 0, connection.totalChanges, nil) }
  }

  /// Ends the measurement.
  func remove() {
    sqlite3_trace_v2(connection.handle, 0, nil, nil)
    sqlite3_commit_hook(connection.handle, nil, nil)
    guard let ownInterruption, connection.interruption === ownInterruption else { return }
    connection.stopUsingInterruption(busyTimeout: connection.busyTimeout)
  }

  /// The runs that have ended since the last call, and how many were dropped because nothing took them. Any thread.
  func take() -> (runs: [MeasuredRun], dropped: Int) {
    measured.withLock { measured in
      defer { measured = Measured() }
      return (measured.runs, measured.dropped)
    }
  }

  // MARK: Calls

  /// To be called when a call begins; `endCall()` ends it.
  func begin(_ call: TraceCaller) {
    outerCallers.append(caller)
    caller = call
  }

  func endCall() { caller = outerCallers.popLast() ?? nil }

  /// Gives the next run of a statement the place of another call.
  func place(_ statement: OpaquePointer, at site: CallSite) {
    if !site.isOwn { sites[statement] = site }
  }

  // MARK: What is measured

  /// To be called when a statement has been compiled.
  func didCompile(_ statement: OpaquePointer, since begin: ContinuousClock.Instant) {
    sites[statement] = nil
    if !isPaused { compiled = (statement, begin.duration(to: .now)) }
  }

  /// To be called when a text can't be compiled.
  func didFailToCompile(_ text: String, since begin: ContinuousClock.Instant, _ error: SqlError) {
    guard !isPaused else { return }
    let now = ContinuousClock.now
    var run = MeasuredRun(
      sql: text, isReadOnly: true, isCached: false, compiling: begin.duration(to: now), end: now)
    (run.error, run.caller, run.site) = (error, caller, caller?.site)
    keep(run)
  }

  /// To be called when a statement has failed, after its end was measured.
  func didFail(_ error: SqlError) {
    guard !isPaused else { return }
    // A read that was tried on its caller's thread, and took too long there, has not failed: all of it runs again.
    let runsAgain = interruption?.isBudgetSpent == true
    measured.withLock { [caller] measured in
      guard let last = measured.runs.indices.last else { return }
      if runsAgain {
        measured.runs.removeAll { $0.caller === caller }
      } else {
        measured.runs[last].error = error
      }
    }
  }

  /// To be called when a value of a statement's row can't be read. The statement has failed if the row is its last: a
  /// model may catch the error. Returns whether the error will have an event then.
  func didFailToRead(_ statement: OpaquePointer, _ error: SqlError) -> Bool {
    guard !isPaused, running[statement] != nil else { return false }
    running[statement]?.error = error
    return true
  }

  /// To be called when a row has been read in spite of `didFailToRead`.
  func didRead(_ statement: OpaquePointer) { running[statement]?.error = nil }

  /// To be called when an error that no statement has leaves a call. Returns whether it will have an event.
  func didFailWithoutStatement(_ error: SqlError) -> Bool {
    guard !isPaused, interruption?.isBudgetSpent != true else { return false }
    var run = MeasuredRun(error)
    (run.caller, run.site) = (caller, caller?.site)
    keep(run)
    return true
  }

  private func note(_ event: UInt32, _ statement: OpaquePointer, _ detail: UnsafeMutableRawPointer?) {
    guard !isPaused else { return }
    switch Int32(event) {
    case SQLITE_TRACE_ROW:
      running[statement]?.rows += 1
      running[statement]?.error = nil
    case SQLITE_TRACE_STMT:
      // A trigger's program is reported as a comment; it belongs to the statement that fires it.
      guard running[statement] == nil, !connection.isVersionCheck(statement) else { return }
      begin(statement)
    case SQLITE_TRACE_PROFILE:
      if let run = running.removeValue(forKey: statement) { end(statement, run) }
    default: break
    }
  }

  private func begin(_ statement: OpaquePointer) {
    var run = Running(
      begin: .now, waited: interruption?.waited ?? .zero, changes: connection.totalChanges, counts: Counts(statement),
      site: sites.removeValue(forKey: statement))
    if let compiled, compiled.statement == statement { run.compiling = compiled.time }
    compiled = nil
    running[statement] = run
  }

  private func end(_ statement: OpaquePointer, _ running: Running) {
    let now = ContinuousClock.now
    var run = MeasuredRun(
      sql: sqlite3_sql(statement).map { String(cString: $0) } ?? "", isReadOnly: sqlite3_stmt_readonly(statement) != 0,
      isCached: running.compiling == nil, end: now)
    run.waiting = max(.zero, (interruption?.waited ?? .zero) - running.waited)
    run.compiling = running.compiling ?? .zero
    if let began = commitBegan, began >= running.begin { run.committing = began.duration(to: now) }
    commitBegan = nil
    run.stepping = max(.zero, running.begin.duration(to: now) - run.waiting - run.committing)
    run.rowsRead = running.rows
    // One that has taken its last step has not been ended for the error.
    if sqlite3_stmt_busy(statement) != 0 { run.error = running.error }
    run.rowsChanged = run.isReadOnly ? 0 : Int(connection.totalChanges &- running.changes)
    (run.caller, run.site) = (caller, running.site ?? caller?.site)
    let counts = Counts(statement)
    run.rowsScanned = Int(counts.scanned &- running.counts.scanned)
    run.sorts = Int(counts.sorts &- running.counts.sorts)
    run.automaticIndexes = Int(counts.indexes &- running.counts.indexes)
    if wantsValues() { run.expandedSql = expanded(statement) }
    noteTransaction(&run, begin: running.begin)
    keep(run)
  }

  private func expanded(_ statement: OpaquePointer) -> String? {
    guard sqlite3_bind_parameter_count(statement) > 0, let text = sqlite3_expanded_sql(statement) else { return nil }
    defer { sqlite3_free(text) }
    return strlen(text) > StatementTracer.maximumExpanded ? nil : String(cString: text)
  }

  private func noteTransaction(_ run: inout MeasuredRun, begin: ContinuousClock.Instant) {
    transaction?.statements += 1
    guard connection.isAutocommit else {
      if transaction == nil { transaction = (begin, 0, connection.totalChanges, run.sql) }
      return
    }
    guard let ended = transaction else { return }
    transaction = nil
    // Of the statements that end a transaction only these commit it; an error that rolls it back may end any.
    let commits = [UInt8](run.sql.utf8)[...].firstKeywords(1).contains { ["COMMIT", "END", "RELEASE"].contains($0) }
    run.ended = MeasuredRun.EndedTransaction(
      outcome: commits ? .committed : .rolledBack, since: ended.since, statements: ended.statements - 1,
      rowsChanged: Int(connection.totalChanges &- ended.changesAtBegin), beginning: ended.sql)
  }

  private func keep(_ run: MeasuredRun) {
    var run = run
    run.task = TaskValues.current
    let isFirst = measured.withLock { measured in
      guard measured.runs.count < StatementTracer.maximumKept else {
        measured.dropped += 1
        return false
      }
      measured.runs.append(run)
      return measured.runs.count == 1
    }
    if isFirst { didMeasure() }
  }
}

extension Connection {
  /// Starts to measure all statements, and returns what does. `didMeasure` is called, with the handle's lock held, when
  /// there is something to take.
  func startTracing(
    wantsValues: @escaping () -> Bool, didMeasure: @escaping () -> Void
  ) -> StatementTracer {
    let tracer = StatementTracer(self, wantsValues: wantsValues, didMeasure: didMeasure)
    self.tracer = tracer
    return tracer
  }

  func stopTracing() {
    tracer?.remove()
    tracer = nil
  }

  /// Calls `body`, whose statements are not measured.
  func withoutTracing<Value>(_ body: (Connection) throws -> Value) rethrows -> Value {
    let (tracer, wasPaused) = (tracer, tracer?.isPaused)
    tracer?.isPaused = true
    defer { tracer?.isPaused = wasPaused ?? false }
    return try body(self)
  }

  /// Whether a statement only asks SQLite whether something has changed, on behalf of the library.
  fileprivate func isVersionCheck(_ statement: OpaquePointer) -> Bool {
    statement == schemaVersionStatement?.handle || statement == dataVersionStatement?.handle
  }
}
