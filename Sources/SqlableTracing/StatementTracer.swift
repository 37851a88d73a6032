import SqlableCore

/// The measurements of one run of a statement, or an error that occurred without a statement.
package struct MeasuredRun: Sendable {
  struct EndedTransaction: Sendable {
    enum Outcome: Sendable {
      case committed, rolledBack
    }

    let outcome: Outcome
    let since: ContinuousClock.Instant
    let statements: Int
    let rowsChanged: Int
    /// The statement that began the transaction; nil if the transaction was already open when the measurement started.
    let beginning: String?
  }

  package var sql: String
  var isReadOnly: Bool
  var isCached = true
  /// The wait for other connections' locks.
  var waiting = Duration.zero
  var compiling = Duration.zero
  /// The time from the first step to the end of the run, without the waits for locks and without the commit.
  var stepping = Duration.zero
  var committing = Duration.zero
  var rowsRead = 0
  var rowsChanged = 0
  var rowsScanned = 0
  var sorts = 0
  var automaticIndexes = 0
  var error: SqlError?
  /// The transaction that the statement ended; nil if the statement ended no transaction.
  var ended: EndedTransaction?
  /// The call that ran the statement; nil for an internal statement.
  var caller: TraceCaller?
  /// The call site of the prepared statement or the cursor; for any other statement, the call site of `caller`. Nil if
  /// there is no caller.
  var site: CallSite?
  /// The SQL with literals instead of parameters. Nil if no trace requests values, if there are no parameters, or if
  /// the SQL is too long.
  var expandedSql: String?
  /// The task-local values of the task that ran the statement; nil if no values were captured.
  package var task: TaskLocalSnapshot?
  var end: ContinuousClock.Instant

  var duration: Duration { waiting + compiling + stepping + committing }
}

extension MeasuredRun {
  init(_ error: SqlError) {
    self.init(sql: error.sql ?? "", isReadOnly: true, isCached: false, end: .now)
    self.error = error
  }
}

/// The call that runs statements. A class, because every queued call of a pool stores a caller, and a struct would make
/// moving the call slower.
package final class TraceCaller: Sendable {
  let site: CallSite
  let context: String?
  let task: TaskLocalSnapshot?
  /// True if a trace closure made the call. The statements of such a call are not traced.
  let isReceiver: Bool

  package init(site: CallSite, context: String?, task: TaskLocalSnapshot?, isReceiver: Bool) {
    (self.site, self.context, self.task, self.isReceiver) = (site, context, task, isReceiver)
  }
}

/// A tracer that measures a connection's statements with SQLite's trace callbacks. A connection has a tracer only while
/// a trace exists.
///
/// All methods except `deliver()` must be called with the handle's lock held.
final class StatementTracer: RunTracer {
  /// The maximum number of runs that wait for `deliver()`; later runs are dropped. A transaction's closure can run any
  /// number of statements before `deliver()` is called.
  static let maximumKept = 10_000

  private unowned let db: SqliteDatabase
  private unowned let connection: Connection
  private let traces: TraceHub
  /// The interruption that this tracer adds to measure lock waits, because SQLite does not report the time of a wait.
  /// Nil if the connection already had an interruption. If a pool takes over the handle later, the pool replaces this
  /// interruption.
  private let ownInterruption: Interruption?
  private var interruption: Interruption? { connection.interruption }
  private var running: [TracedStatement: Running] = [:]
  private var compiled: (statement: TracedStatement, time: Duration)?
  private var commitBegan: ContinuousClock.Instant?
  private var transaction: (since: ContinuousClock.Instant, statements: Int, changesAtBegin: Int, sql: String?)?
  private let measured = LockedValue<[MeasuredRun]>([])
  /// A closure that is called when the first run is stored after `deliver()`.
  private let didMeasure: () -> Void
  private static let maximumExpanded = 16_384
  var isPaused = false
  private(set) var caller: TraceCaller?
  /// The callers to restore when nested calls end, outermost first.
  private var outerCallers: [TraceCaller?] = []
  /// The call sites of prepared statements and cursors that have not run yet, keyed by statement.
  private var sites: [TracedStatement: CallSite] = [:]

  /// A running statement, with the values of the counters before the run.
  private struct Running {
    let begin: ContinuousClock.Instant
    let waited: Duration
    let changes: Int
    let counts: Counts
    let site: CallSite?
    var compiling: Duration?
    var rows = 0
    /// The error from reading a value of the current row; nil if no error occurred.
    var error: SqlError?
  }

  /// SQLite's counters for a compiled statement. Each counter is the total of all runs.
  private struct Counts {
    let scanned, sorts, indexes: Int32

    init(_ statement: TracedStatement) {
      (scanned, sorts, indexes) = (statement.rowsScanned, statement.sorts, statement.automaticIndexes)
    }
  }

  init(_ db: SqliteDatabase, _ connection: Connection, _ traces: TraceHub, didMeasure: @escaping () -> Void) {
    (self.db, self.connection, self.traces, self.didMeasure) = (db, connection, traces, didMeasure)
    ownInterruption = connection.interruption == nil ? Interruption(busyTimeout: connection.busyTimeout) : nil
    if let ownInterruption { connection.use(ownInterruption) }
    if !connection.isAutocommit { transaction = (.now, 0, connection.totalChanges, nil) }
  }

  func remove() {
    guard let ownInterruption, connection.interruption === ownInterruption else { return }
    connection.stopUsingInterruption(busyTimeout: connection.busyTimeout)
  }

  func deliver() {
    let runs = measured.withLock { runs in
      defer { runs = [] }
      return runs
    }
    db.deliver(runs, to: traces)
  }

  // MARK: Calls

  func beginCall(at site: CallSite) {
    begin(
      TraceCaller(
        site: site, context: caller.map(\.context) ?? Tracing.context, task: caller?.task,
        isReceiver: caller?.isReceiver ?? Tracing.isReceiving))
  }

  func begin(_ call: TraceCaller) {
    outerCallers.append(caller)
    caller = call
  }

  func endCall() { caller = outerCallers.popLast() ?? nil }

  func setCallSite(_ site: CallSite, of statement: TracedStatement) {
    if !site.isInLibrary { sites[statement] = site }
  }

  // MARK: Measuring

  func didCompile(_ statement: TracedStatement, since begin: ContinuousClock.Instant) {
    sites[statement] = nil
    if !isPaused { compiled = (statement, begin.duration(to: .now)) }
  }

  func didFailToCompile(_ text: String, since begin: ContinuousClock.Instant, _ error: SqlError) {
    guard !isPaused else { return }
    let now = ContinuousClock.now
    var run = MeasuredRun(
      sql: text, isReadOnly: true, isCached: false, compiling: begin.duration(to: now), end: now)
    (run.error, run.caller, run.site) = (error, caller, caller?.site)
    keep(run)
  }

  func didFail(_ error: SqlError) {
    guard !isPaused else { return }
    // A read that exceeds its time on the caller's thread is retried on another thread. Such a read has not failed.
    let runsAgain = interruption?.isBudgetSpent == true
    measured.withLock { [caller] runs in
      guard let last = runs.indices.last else { return }
      if runsAgain {
        runs.removeAll { $0.caller === caller }
      } else {
        runs[last].error = error
      }
    }
  }

  func didFailToRead(_ statement: TracedStatement, _ error: SqlError) -> Bool {
    guard !isPaused, running[statement] != nil else { return false }
    running[statement]?.error = error
    return true
  }

  func didRead(_ statement: TracedStatement) { running[statement]?.error = nil }

  func didFailWithoutStatement(_ error: SqlError) -> Bool {
    guard !isPaused, interruption?.isBudgetSpent != true else { return false }
    var run = MeasuredRun(error)
    (run.caller, run.site) = (caller, caller?.site)
    keep(run)
    return true
  }

  func didBegin(_ statement: TracedStatement) {
    // SQLite reports a trigger's program as a comment while the statement that fires the trigger is running. Ignore
    // this report.
    guard running[statement] == nil else { return }
    var run = Running(
      begin: .now, waited: interruption?.waited ?? .zero, changes: connection.totalChanges, counts: Counts(statement),
      site: sites.removeValue(forKey: statement))
    if let compiled, compiled.statement == statement { run.compiling = compiled.time }
    compiled = nil
    running[statement] = run
  }

  func didReadRow(_ statement: TracedStatement) {
    running[statement]?.rows += 1
    running[statement]?.error = nil
  }

  func didEnd(_ statement: TracedStatement) {
    if let run = running.removeValue(forKey: statement) { end(statement, run) }
  }

  func willCommit() { commitBegan = .now }

  private func end(_ statement: TracedStatement, _ running: Running) {
    let now = ContinuousClock.now
    var run = MeasuredRun(
      sql: statement.sql, isReadOnly: statement.isReadOnly, isCached: running.compiling == nil, end: now)
    run.waiting = max(.zero, (interruption?.waited ?? .zero) - running.waited)
    run.compiling = running.compiling ?? .zero
    if let began = commitBegan, began >= running.begin { run.committing = began.duration(to: now) }
    commitBegan = nil
    run.stepping = max(.zero, running.begin.duration(to: now) - run.waiting - run.committing)
    run.rowsRead = running.rows
    // Report only an error that ended the statement. If the statement had already returned its last row, the error came
    // later.
    if statement.isRunning { run.error = running.error }
    run.rowsChanged = run.isReadOnly ? 0 : connection.rowsChanged(since: running.changes)
    (run.caller, run.site) = (caller, running.site ?? caller?.site)
    let counts = Counts(statement)
    run.rowsScanned = Int(counts.scanned &- running.counts.scanned)
    run.sorts = Int(counts.sorts &- running.counts.sorts)
    run.automaticIndexes = Int(counts.indexes &- running.counts.indexes)
    if traces.wantsValues || TraceHub.process.wantsValues {
      run.expandedSql = statement.expandedSQL(maximum: StatementTracer.maximumExpanded)
    }
    noteTransaction(&run, begin: running.begin)
    keep(run)
  }

  private func noteTransaction(_ run: inout MeasuredRun, begin: ContinuousClock.Instant) {
    transaction?.statements += 1
    guard connection.isAutocommit else {
      if transaction == nil { transaction = (begin, 0, connection.totalChanges, run.sql) }
      return
    }
    guard let ended = transaction else { return }
    transaction = nil
    // COMMIT, END and RELEASE commit a transaction. Any statement can end a transaction by an error that rolls back.
    let commits = [UInt8](run.sql.utf8)[...].firstKeywords(1).contains { ["COMMIT", "END", "RELEASE"].contains($0) }
    run.ended = MeasuredRun.EndedTransaction(
      outcome: commits ? .committed : .rolledBack, since: ended.since, statements: ended.statements - 1,
      rowsChanged: connection.rowsChanged(since: ended.changesAtBegin), beginning: ended.sql)
  }

  private func keep(_ run: MeasuredRun) {
    var run = run
    run.task = TaskLocalSnapshot.current
    let isFirst = measured.withLock { runs in
      guard runs.count < StatementTracer.maximumKept else { return false }
      runs.append(run)
      return runs.count == 1
    }
    if isFirst { didMeasure() }
  }
}
