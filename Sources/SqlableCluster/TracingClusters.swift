#if Cluster
import Sqlable

extension SqliteCluster {
  /// Calls `body` with every statement and transaction of this client, after it has ended.
  ///
  /// ```swift
  /// let token = cluster.trace { event in print(event) }
  /// let slow = cluster.trace(.slow(.milliseconds(200))) { event in log(event.sql, event.duration, event.plan) }
  /// cluster.removeTrace(token)
  /// ```
  ///
  /// `body` is called in the task that made the call, before the call returns, and after the whole transaction. For a
  /// statement outside of a transaction, `waiting` is the wait for the leader and the writer. `stepping` is a message's
  /// round trip, and `committing` is the commit that the statement shares. Nodes do not report what they scan and
  /// compile. Plans, index advice and values of columns are as on a handle; a plan is one more message, after the call.
  /// Statements that `body` itself runs are not traced.
  ///
  /// Without a trace nothing is measured. `SqliteDatabase.traceAll` covers clients, too.
  @discardableResult
  public func trace(
    _ options: TraceOptions = TraceOptions(), _ body: @escaping @Sendable (TraceEvent) -> Void
  ) -> TraceToken {
    traces.add(options, body)
  }

  /// Ends a trace of this client.
  public func removeTrace(_ token: TraceToken) { traces.remove(token) }

  /// Returns the details that the events of a request have only if a receiver asks for them; nil without a request.
  func details(
    of event: TraceEvent, _ request: SqlRequest?, for receivers: [TraceHub.Receiver]
  ) async -> (any TraceDetails)? {
    guard let request else { return nil }
    let isExplained = event.kind == .read && event.error == nil && receivers.contains { $0.options.explains }
    let plan = isExplained ? await plan(of: request) : []
    return RemoteDetails(request: request, steps: plan) { [weak self] in
      await self?.advice(for: request.sql) ?? []
    }
  }

  /// Returns the steps of the query plan, indented by their depth; none if no node answers within a second.
  private func plan(of request: SqlRequest) async -> [String] {
    let question = SqlRequest(
      sql: "EXPLAIN QUERY PLAN " + request.sql, values: request.values, isReadOnly: true)
    let deadline = ContinuousClock.now + .seconds(1)
    let answer = try? await sessions.attempt(before: deadline) { session in
      try await session.answer(to: question, before: deadline)
    }
    return QueryPlan(sql: request.sql, rows: answer?.rows ?? []).description.split(separator: "\n").map(String.init)
  }

  /// Returns index advice for a statement, tried in a copy of the schema; none if no node answers within a second.
  private func advice(for sql: String) async -> [String] {
    let schema = SqlRequest(
      sql: "SELECT sql FROM main.sqlite_schema WHERE sql IS NOT NULL ORDER BY type = 'table' DESC", values: [],
      isReadOnly: true)
    let deadline = ContinuousClock.now + .seconds(1)
    let answer = try? await sessions.attempt(before: deadline) { session in
      try await session.answer(to: schema, before: deadline)
    }
    guard let answer, let copy = try? SqliteDatabase.inMemory() else { return [] }
    defer { try? copy.close() }
    for case .text(let text)? in answer.rows.map(\.first) { try? copy.execute(text) }
    return (try? copy.advice(forText: sql)) ?? []
  }
}

/// The details of a request that a client has sent: its plan, its values and a search for index advice.
private struct RemoteDetails: FindingAdvice {
  let request: SqlRequest
  let steps: [String]
  let findAdvice: @Sendable () async -> [String]

  func plan() -> [String] { steps }

  func values(of columns: [TracedColumns]) -> [TracedValue] {
    columns.isEmpty ? [] : columns.values(in: request.sql) { request.values }
  }
}
#endif
