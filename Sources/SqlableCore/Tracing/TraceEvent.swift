/// A statement or transaction that has ended, with its durations and row counts.
///
/// ```swift
/// db.trace { event in print(event) }
/// // read bicycle in 0.084 ms, 3 rows: SELECT "id", "name" FROM "bicycle" WHERE "color" = ?
/// ```
///
/// The SQL is the statement's shape: every value is `?`, and a list of values is `?…`. Neither the event's SQL nor its
/// description has values. ``values`` has the values of the columns that a trace requests.
public struct TraceEvent: Sendable, Hashable {
  public enum Kind: Sendable, Hashable {
    /// A statement that can't change the database.
    case read
    /// A statement that changes rows.
    case write
    /// A statement that changes the schema.
    case schema
    /// `BEGIN`, `COMMIT`, `ROLLBACK`, a savepoint.
    case control
    /// `PRAGMA`, `ATTACH`, `VACUUM` and the like.
    case other
    /// A whole transaction, after its last statement. A statement outside of a transaction has no such event.
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
  /// The number of the handle or of the cluster's client, unique in this process.
  public let handle: Int
  /// The first table that the statement names.
  public let table: String?
  /// The statement's first word, upper-cased: `SELECT`. For a statement that begins with `WITH`, the verb after the
  /// WITH clause. For a transaction `TRANSACTION`, and for an error before there was SQL `CALL`.
  public let operation: String
  /// The SQL without its values; for a transaction, the statements that began and ended it, such as
  /// `BEGIN IMMEDIATE … COMMIT`. Empty for an error before there was SQL, and for the transactions of a cluster.
  public let sql: String
  /// The wait for locks of other connections; on a cluster, all time before the statement was sent.
  public let waiting: Duration
  /// The time that SQLite took to compile the statement; zero for a cached statement, and on a cluster.
  public let compiling: Duration
  /// The time from the first step to the end, without the wait and the commit. The time that the program spends on each
  /// row between steps is included. On a cluster, the round trip of a message.
  public let stepping: Duration
  /// The time of the commit, with the write to the WAL or the disk. On a cluster, the wait for the writes that share
  /// the commit is included.
  public let committing: Duration
  /// The number of rows of the result.
  public let rowsRead: Int
  /// The number of rows inserted, updated and deleted. Changes by triggers and foreign keys count too, except on a
  /// cluster.
  public let rowsChanged: Int
  /// The number of rows that were visited without an index; zero on a cluster, as are `sorts` and `automaticIndexRows`.
  public let rowsScanned: Int
  /// The number of sorts that no index could replace.
  public let sorts: Int
  /// The number of rows that SQLite inserted into automatic indexes.
  public let automaticIndexRows: Int
  /// True if the statement had been compiled before; false on a cluster.
  public let isCached: Bool
  /// The number of a transaction's statements; 1 for a statement.
  public let statements: Int
  /// The file and line of the call that ran the statement; nil for a statement that the library runs for itself.
  public let callSite: String?
  /// The value of ``Tracing/context`` where the call was made.
  public let context: String?
  /// The error of running the statement or of reading its rows; nil without an error. An error for which SQLite ran no
  /// statement, such as `.encoding`, `.misuse` or `.cannotOpen`, has a separate event of the kind `.other`.
  public let error: SqlError?
  /// The steps of the query plan, indented; empty unless the trace requests plans.
  public internal(set) var plan: [String]
  /// `CREATE INDEX` statements that would make the statement faster; empty unless the trace requests advice.
  public package(set) var advice: [String] = []
  /// The values of the columns that the trace requests, in the order of the SQL; empty if the trace requests none.
  public internal(set) var values: [TracedValue] = []

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

  /// The name of the event's kind.
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

/// Information that a program attaches to its statements while they are traced.
public enum Tracing {
  /// A text that the program attaches to the events of a task, such as the id of a request; nil for none.
  ///
  /// ```swift
  /// try await Tracing.$context.withValue("request 17") {
  ///   try await Bicycle.read().run(pool)     // event.context == "request 17"
  /// }
  /// ```
  @TaskLocal public static var context: String?

  /// True if this task or thread is in a closure that receives events. The closure's own statements are not traced.
  @TaskLocal package static var isReceiving = false
}

/// The token of a trace, for `removeTrace(_:)`.
public struct TraceToken: Sendable, Hashable {
  let number: Int
}

extension TraceEvent {
  /// The origin of a traced run: its handle, call site and context.
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

  /// Creates the event of the transaction that a run has ended; nil if the run ended none.
  init?(transactionEndedBy run: MeasuredRun, _ origin: Origin) {
    guard let ended = run.ended else { return nil }
    // SQLite rolls the transaction back if its COMMIT fails, for instance on a full disk. A COMMIT that is interrupted
    // only after it took effect has committed the transaction.
    let isCommitted = ended.outcome == .committed && run.error.map { $0.kind == .interrupted } ?? true
    self.init(
      kind: .transaction(isCommitted ? .committed : .rolledBack), label: origin.label, handle: origin.handle,
      table: nil, operation: "TRANSACTION", sql: ended.sql(endedBy: run.sql), waiting: .zero, compiling: .zero,
      stepping: max(.zero, ended.since.duration(to: run.end) - run.committing), committing: run.committing,
      rowsRead: 0, rowsChanged: isCommitted ? ended.rowsChanged : 0, rowsScanned: 0, sorts: 0, automaticIndexRows: 0,
      isCached: false, statements: ended.statements, callSite: origin.callSite, context: origin.context,
      error: run.error, plan: [], end: run.end)
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
  /// Returns the shapes of the statements that began and ended the transaction.
  fileprivate func sql(endedBy ending: String) -> String {
    [beginning, ending].compactMap(\.self).map { StatementShape.cache.value(of: $0).sql }.joined(separator: " … ")
  }
}
