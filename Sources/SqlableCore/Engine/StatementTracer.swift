import CSqlableSQLite
import Glibc
import Synchronization

/// The measurements of one run of a statement, or an error for which no statement ran.
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
    /// The statement that began the transaction; nil if the transaction was open before the measurement.
    let beginning: String?
  }

  package var sql: String
  var isReadOnly: Bool
  /// True if the run reused a compiled statement.
  var isCached = true
  /// The wait for other connections' locks.
  var waiting = Duration.zero
  var compiling = Duration.zero
  /// The time from the first step to the last, without the wait and the commit.
  var stepping = Duration.zero
  var committing = Duration.zero
  var rowsRead = 0
  var rowsChanged = 0
  var rowsScanned = 0
  var sorts = 0
  var automaticIndexes = 0
  var error: SqlError?
  /// The transaction that the statement ended; nil if no transaction was open before the statement.
  var ended: EndedTransaction?
  /// The call that ran the statement; nil for a statement that the library runs for itself.
  var caller: TraceCaller?
  /// The call site of the prepared statement or cursor, or else of `caller`; nil without either.
  var site: CallSite?
  /// The statement's text with its values as literals. Nil if values were not requested, the statement has none, or the
  /// text is too long.
  var expandedSql: String?
  /// The values of the task that ran the statement; nil if there are none, or nothing captures them.
  package var task: TaskLocalSnapshot?
  /// The moment at which the run ended.
  var end: ContinuousClock.Instant

  var duration: Duration { waiting + compiling + stepping + committing }
}

extension MeasuredRun {
  /// Creates a run for an error for which no statement ran.
  init(_ error: SqlError) {
    self.init(sql: error.sql ?? "", isReadOnly: true, isCached: false, end: .now)
    self.error = error
  }
}

/// The call that runs statements. A class, because every call on a pool, traced or not, has space for a caller and
/// moves it.
package final class TraceCaller: Sendable {
  let site: CallSite
  let context: String?
  let task: TaskLocalSnapshot?
  /// True if a closure that receives events made the call: the call's statements are not reported.
  let isReceiver: Bool

  package init(site: CallSite, context: String?, task: TaskLocalSnapshot?, isReceiver: Bool) {
    (self.site, self.context, self.task, self.isReceiver) = (site, context, task, isReceiver)
  }
}

/// Measures the statements of a connection, by SQLite's trace callbacks. A connection has a tracer only while it is
/// traced: without a tracer nothing is measured.
///
/// Everything but `take()` must be called with the handle's lock held.
final class StatementTracer {
  /// The most runs that are kept until `take()`, which is not called before a transaction ends.
  static let maximumKept = 10_000

  private unowned let connection: Connection
  /// An interruption that serves only to measure; nil if the connection already had an interruption. Without any,
  /// SQLite waits for locks itself, and does not report for how long. A pool replaces this interruption, because its
  /// handles are traced before they belong to the pool.
  private let ownInterruption: Interruption?
  private var interruption: Interruption? { connection.interruption }
  private var running: [OpaquePointer: Running] = [:]
  private var compiled: (statement: OpaquePointer, time: Duration)?
  private var commitBegan: ContinuousClock.Instant?
  private var transaction: (since: ContinuousClock.Instant, statements: Int, changesAtBegin: Int32, sql: String?)?
  private let measured = LockedValue(Measured())
  /// Called when the first run waits to be taken.
  private let didMeasure: () -> Void
  /// True if values are asked for.
  private let wantsValues: () -> Bool
  /// The longest text with values that is kept, in bytes.
  private static let maximumExpanded = 16_384
  /// True if the library is running its own queries about other statements, which are not measured.
  fileprivate var isPaused = false
  /// The call that runs the statements to come.
  private(set) var caller: TraceCaller?
  /// The callers to restore when nested calls end, outermost first.
  private var outerCallers: [TraceCaller?] = []
  /// The call sites at which earlier calls compiled statements, by statement; an entry lasts until its statement runs.
  private var sites: [OpaquePointer: CallSite] = [:]

  private struct Measured {
    var runs: [MeasuredRun] = []
    var dropped = 0
  }

  /// A running statement, with its counters from before the run.
  private struct Running {
    let begin: ContinuousClock.Instant
    let waited: Duration
    let changes: Int32
    let counts: Counts
    let site: CallSite?
    var compiling: Duration?
    var rows = 0
    /// The error from reading a value of the current row; nil if there was none.
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

  /// Returns the runs that have ended since the last call, and the number of runs that were dropped because nothing
  /// took them. Callable from any thread.
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

  /// Sets the call site of a statement's next run, unless the site is in the library itself.
  func setCallSite(_ site: CallSite, of statement: OpaquePointer) {
    if !site.isInLibrary { sites[statement] = site }
  }

  // MARK: Measuring

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
    // A read that was tried on its caller's thread, and took too long there, has not failed: the whole read is retried.
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

  /// To be called when a value of a statement's row can't be read. The statement has failed only if the row is its
  /// last, because a model may catch the error. Returns whether an event will then report the error.
  func didFailToRead(_ statement: OpaquePointer, _ error: SqlError) -> Bool {
    guard !isPaused, running[statement] != nil else { return false }
    running[statement]?.error = error
    return true
  }

  /// To be called when a row has been read in spite of `didFailToRead`.
  func didRead(_ statement: OpaquePointer) { running[statement]?.error = nil }

  /// To be called when an error that belongs to no statement leaves a call. Returns whether an event will report the
  /// error.
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
    // A statement that has taken its last step was not ended by the error.
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
    run.task = TaskLocalSnapshot.current
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
  /// Starts to measure all statements, and returns the tracer. `didMeasure` is called, with the handle's lock held,
  /// when there are runs to take.
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

  /// True if a statement only asks SQLite whether something has changed, on behalf of the library.
  fileprivate func isVersionCheck(_ statement: OpaquePointer) -> Bool {
    statement == schemaVersionStatement?.handle || statement == dataVersionStatement?.handle
  }
}
