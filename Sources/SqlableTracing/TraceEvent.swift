import SqlableCore

/// A completed statement or transaction, with its durations and row counts.
///
/// ```swift
/// db.trace { event in print(event) }
/// // read bicycle in 0.084 ms, 3 rows: SELECT "id", "name" FROM "bicycle" WHERE "color" = ?
/// ```
///
/// The SQL is the statement's shape: every value is `?`, and a list of values is `?…`. The event's SQL and
/// description contain no values. ``values`` contains the values of the columns that a trace requests.
public struct TraceEvent: Sendable, Hashable {
  public enum Kind: Sendable, Hashable {
    /// A statement that can't change the database.
    case read
    /// A statement that changes rows.
    case write
    /// A statement that changes the schema.
    case schema
    /// `BEGIN`, `COMMIT`, `ROLLBACK`, or a statement for a savepoint.
    case control
    /// `PRAGMA`, `ATTACH`, `VACUUM` and similar statements.
    case other
    /// A whole transaction, reported after its last statement. A statement outside a transaction has no such event.
    case transaction(Outcome)
  }

  /// The outcome of a transaction.
  public enum Outcome: String, Sendable, Hashable {
    case committed, rolledBack
    /// The cluster did not report whether the transaction is stored.
    case unknown
  }

  public let kind: Kind
  /// The label of the handle's configuration.
  public let label: String?
  /// The number of the handle or the cluster's client, unique in this process.
  public let handle: Int
  /// The first table that the statement names.
  public let table: String?
  /// The statement's first word in upper case: `SELECT`. For a statement that starts with `WITH`, the verb after the
  /// WITH clause. `TRANSACTION` for a transaction, and `CALL` for an error without SQL.
  public let operation: String
  /// The SQL without its values. For a transaction, the statements that started and ended the transaction, such as
  /// `BEGIN IMMEDIATE … COMMIT`. Empty for an error without SQL, and for a cluster's transactions.
  public let sql: String
  /// The time spent waiting for locks of other connections. On a cluster, the time before the statement was sent.
  public let waiting: Duration
  /// The time that SQLite spent compiling the statement; zero for a cached statement and on a cluster.
  public let compiling: Duration
  /// The time from the first step to the end, without ``waiting`` and ``committing``. The time that the program spends
  /// on rows between steps is included. On a cluster, the time of a message's round trip.
  public let stepping: Duration
  /// The time of the commit, including the write to the WAL or the disk. On a cluster, the time includes waiting for
  /// the writes that share the commit.
  public let committing: Duration
  /// The number of result rows that were read.
  public let rowsRead: Int
  /// The number of rows inserted, updated and deleted. Changes by triggers and foreign keys are included, except on a
  /// cluster.
  public let rowsChanged: Int
  /// The number of rows that SQLite visited without an index; zero on a cluster.
  public let rowsScanned: Int
  /// The number of sorts for which SQLite used no index; zero on a cluster.
  public let sorts: Int
  /// The number of rows that SQLite inserted into automatic indexes; zero on a cluster.
  public let automaticIndexRows: Int
  /// True if the statement was compiled before this run; false on a cluster.
  public let isCached: Bool
  /// The number of statements in a transaction; 1 for a statement.
  public let statements: Int
  /// The file and line of the call that ran the statement; nil for a statement that the library runs internally.
  public let callSite: String?
  /// The value of ``Tracing/context`` at the call.
  public let context: String?
  /// The error of running the statement or reading its rows; nil without an error. If SQLite ran no statement, an error
  /// such as `.encoding`, `.misuse` or `.cannotOpen` has a separate event of the kind `.other`.
  public let error: SqlError?
  /// The steps of the query plan, indented; empty unless the trace requests plans.
  public internal(set) var plan: [String]
  /// `CREATE INDEX` statements that would make the statement faster; empty unless the trace requests advice.
  public package(set) var advice: [String] = []
  /// The values of the columns that the trace requests, in the order of the SQL; empty if the trace requests none.
  public internal(set) var values: [TracedValue] = []

  /// True if this is the event of a transaction, and the event of the statement that ended the transaction already
  /// reports the same error.
  package var repeatsError = false
  /// False for an error that no call throws, such as the error of an observer.
  var isThrown = true

  /// The time at which the statement or transaction ended.
  public let end: ContinuousClock.Instant

  package init(
    kind: Kind, label: String?, handle: Int, table: String?, operation: String, sql: String, waiting: Duration,
    compiling: Duration, stepping: Duration, committing: Duration, rowsRead: Int, rowsChanged: Int, rowsScanned: Int,
    sorts: Int, automaticIndexRows: Int, isCached: Bool, statements: Int, callSite: String?, context: String?,
    error: SqlError?, plan: [String], advice: [String] = [], values: [TracedValue] = [], end: ContinuousClock.Instant
  ) {
    self.kind = kind
    self.label = label
    self.handle = handle
    self.table = table
    self.operation = operation
    self.sql = sql
    self.waiting = waiting
    self.compiling = compiling
    self.stepping = stepping
    self.committing = committing
    self.rowsRead = rowsRead
    self.rowsChanged = rowsChanged
    self.rowsScanned = rowsScanned
    self.sorts = sorts
    self.automaticIndexRows = automaticIndexRows
    self.isCached = isCached
    self.statements = statements
    self.callSite = callSite
    self.context = context
    self.error = error
    self.plan = plan
    self.advice = advice
    self.values = values
    self.end = end
  }

  /// The severity of the error; nil without an error.
  public var severity: SqlError.Severity? { error?.severity }

  /// The sum of the four durations.
  public var duration: Duration { waiting + compiling + stepping + committing }
}

extension TraceEvent: CustomStringConvertible {
  public var description: String {
    var text = "\(name)\(table.map { " \($0)" } ?? "") in \(duration.millisecondsText) ms"
    switch kind {
    case .read: text += ", \(rowsRead) rows"
    case .write: text += ", \(rowsChanged) rows changed"
    case .transaction: text += ", \(statements) statements, \(rowsChanged) rows changed"
    case .schema, .control, .other: break
    }
    if let label { text = "\(label): \(text)" }
    if let error { text += ", failed: \(error.message)" }
    return sql.isEmpty ? text : text + ": " + sql
  }

  package var name: String {
    switch kind {
    case .read: "read"
    case .write: "write"
    case .schema: "schema"
    case .control, .other: sql.isEmpty ? "call" : "statement"
    case .transaction(.committed): "transaction committed"
    case .transaction(.rolledBack): "transaction rolled back"
    case .transaction(.unknown): "transaction with unknown outcome"
    }
  }
}

/// Information that a program attaches to traced statements.
public enum Tracing {
  /// A text that is attached to the events of a task, such as the id of a request; nil for no text.
  ///
  /// ```swift
  /// try await Tracing.$context.withValue("request 17") {
  ///   try await Bicycle.read().run(pool)     // event.context == "request 17"
  /// }
  /// ```
  @TaskLocal public static var context: String?

  /// True if this task or thread runs a closure that receives events. The closure's own statements are not traced.
  @TaskLocal package static var isReceiving = false
}

/// The token that identifies a trace in `removeTrace(_:)`.
public struct TraceToken: Sendable, Hashable {
  let number: Int
}

extension TraceEvent {
  package struct Origin {
    package let label: String?
    package let handle: Int
    package let callSite: String?
    package let context: String?

    package init(label: String?, handle: Int, callSite: String?, context: String?) {
      (self.label, self.handle, self.callSite, self.context) = (label, handle, callSite, context)
    }
  }

  init(_ run: MeasuredRun, _ shape: StatementShape, _ origin: Origin) {
    self.init(
      kind: Kind(shape), label: origin.label, handle: origin.handle, table: shape.table ?? run.error?.table,
      operation: run.sql.isEmpty ? "CALL" : shape.verb, sql: shape.sql, waiting: run.waiting, compiling: run.compiling,
      stepping: run.stepping, committing: run.committing, rowsRead: run.rowsRead, rowsChanged: run.rowsChanged,
      rowsScanned: run.rowsScanned, sorts: run.sorts, automaticIndexRows: run.automaticIndexes,
      isCached: run.isCached, statements: 1, callSite: origin.callSite, context: origin.context, error: run.error,
      plan: [], end: run.end)
  }

  /// Creates the event of the transaction that a run ended; nil if the run ended no transaction.
  init?(transactionEndedBy run: MeasuredRun, _ origin: Origin) {
    guard let ended = run.ended else { return nil }
    // A COMMIT that fails, for example on a full disk, rolls back. But a COMMIT that was interrupted after it took
    // effect has committed.
    let isCommitted = ended.outcome == .committed && run.error.map { $0.kind == .interrupted } ?? true
    self.init(
      kind: .transaction(isCommitted ? .committed : .rolledBack), label: origin.label, handle: origin.handle,
      table: nil, operation: "TRANSACTION", sql: ended.sql(endedBy: run.sql), waiting: .zero, compiling: .zero,
      stepping: max(.zero, ended.since.duration(to: run.end) - run.committing), committing: run.committing,
      rowsRead: 0, rowsChanged: isCommitted ? ended.rowsChanged : 0, rowsScanned: 0, sorts: 0, automaticIndexRows: 0,
      isCached: false, statements: ended.statements, callSite: origin.callSite, context: origin.context,
      error: run.error, plan: [], end: run.end)
    repeatsError = true
  }
}

extension TraceEvent.Kind {
  package init(_ shape: StatementShape) {
    switch shape.verb {
    case "BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE": self = .control
    case "SELECT", "VALUES", "EXPLAIN": self = .read
    case "INSERT", "UPDATE", "DELETE", "REPLACE": self = .write
    case "CREATE", "DROP", "ALTER": self = .schema
    default: self = .other
    }
  }
}

extension MeasuredRun.EndedTransaction {
  fileprivate func sql(endedBy ending: String) -> String {
    [beginning, ending].compactMap(\.self).map { StatementShape.cache.value(of: $0).sql }.joined(separator: " … ")
  }
}
