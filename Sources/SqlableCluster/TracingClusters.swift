#if Cluster
import Sqlable

extension SqliteCluster {
  /// Calls `body` with an event for every statement and transaction of this client, after its end.
  ///
  /// ```swift
  /// let token = cluster.trace { event in print(event) }
  /// let slow = cluster.trace(.slow(.milliseconds(200))) { event in log(event.sql, event.duration, event.plan) }
  /// cluster.removeTrace(token)
  /// ```
  ///
  /// `body` runs in the task that ran the statement or transaction, before that call returns. The events of a
  /// transaction's statements are delivered after the transaction has ended. For a statement outside a transaction,
  /// `waiting` is the wait for the leader and the writer. `stepping` is the round trip of a message. `committing` is
  /// the time of the commit, which the statement shares with other writes. Nodes report neither scanned rows nor
  /// compile times. Plans, index advice and column values are available as on a handle; a plan needs one more message
  /// after the call. Statements that `body` itself runs are not traced.
  ///
  /// Without a trace, nothing is measured. `SqliteDatabase.traceAll` also traces clients.
  @discardableResult
  public func trace(
    _ options: TraceOptions = TraceOptions(), _ body: @escaping @Sendable (TraceEvent) -> Void
  ) -> TraceToken {
    traces.add(options, body)
  }

  /// Calls `body` once for each error that statements and transactions of this client throw, if the error has at least
  /// the given severity.
  ///
  /// ```swift
  /// cluster.onError(atLeast: .error) { event in alert(event.severity, event.error) }
  /// ```
  @discardableResult
  public func onError(
    atLeast severity: SqlError.Severity, _ body: @escaping @Sendable (TraceEvent) -> Void
  ) -> TraceToken {
    trace(TraceOptions(errorsAtLeast: severity), body)
  }

  /// Ends a trace of this client.
  public func removeTrace(_ token: TraceToken) { traces.remove(token) }

  /// Returns the details of an event; nil for an event without a request. Asks a node for the query plan only if a
  /// receiver requests plans.
  func details(
    of event: TraceEvent, _ request: SqlRequest?, for receivers: [TraceHub.Receiver]
  ) async -> (any TraceDetails)? {
    guard let request else { return nil }
    let isExplained = event.kind == .read && event.error == nil && receivers.contains { $0.options.explains }
    let plan = isExplained ? await plan(of: request) : []
    return RequestDetails(request: request, steps: plan) { [weak self] in await self?.schemaCopy() }
  }

  /// Returns the steps of the query plan, indented by their depth; empty if no node answers within a second.
  private func plan(of request: SqlRequest) async -> [String] {
    let question = SqlRequest(
      sql: "EXPLAIN QUERY PLAN " + request.sql, values: request.values, isReadOnly: true)
    let deadline = ContinuousClock.now + .seconds(1)
    let answer = try? await sessions.attempt(before: deadline) { session in
      try await session.answer(to: question, before: deadline)
    }
    return QueryPlan(sql: request.sql, rows: answer?.rows ?? []).description.split(separator: "\n").map(String.init)
  }

  /// Returns an in-memory database with the schema, for index advice; nil if no node answers within a second.
  private func schemaCopy() async -> SqliteDatabase? {
    let schema = SqlRequest(
      sql: "SELECT sql FROM main.sqlite_schema WHERE sql IS NOT NULL ORDER BY type = 'table' DESC", values: [],
      isReadOnly: true)
    let deadline = ContinuousClock.now + .seconds(1)
    let answer = try? await sessions.attempt(before: deadline) { session in
      try await session.answer(to: schema, before: deadline)
    }
    guard let answer, let copy = try? SqliteDatabase.inMemory() else { return nil }
    for case .text(let text)? in answer.rows.map(\.first) { try? copy.execute(text) }
    return copy
  }
}

private struct RequestDetails: RemoteTraceDetails {
  let request: SqlRequest
  let steps: [String]
  let schemaCopy: @Sendable () async -> SqliteDatabase?

  var sql: String { request.sql }

  func plan() -> [String] { steps }

  func values(of columns: [TracedColumns]) -> [TracedValue] {
    columns.isEmpty ? [] : columns.values(in: request.sql) { request.values }
  }
}
#endif
