#if Cluster
import Sqlable

extension SqliteCluster {
  /// Calls `body` with every statement and transaction of this client, when it has ended.
  ///
  /// ```swift
  /// let token = cluster.trace { event in print(event) }
  /// let slow = cluster.trace(.slow(.milliseconds(200))) { event in log(event.sql, event.duration, event.plan) }
  /// cluster.removeTrace(token)
  /// ```
  ///
  /// It is called in the task that made the call, before that returns, and after the whole transaction. A statement by
  /// itself has the wait for the leader and the writer in `waiting`, a message and back in `stepping`, and the commit
  /// that it shares in `committing`; nodes do not say what they scan and compile. Plans, index advice and values of
  /// columns are as on a handle; a plan is one more message, after the call. What `body` runs itself is not traced.
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

  /// What the events of a request have only if a receiver asks for it.
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

  /// The steps of the plan, indented by their depth; none if the nodes do not tell within a second.
  private func plan(of request: SqlRequest) async -> [String] {
    let question = SqlRequest(
      sql: "EXPLAIN QUERY PLAN " + request.sql, values: request.values, isReadOnly: true)
    let deadline = ContinuousClock.now + .seconds(1)
    let answer = try? await sessions.attempt(before: deadline) { session in
      try await session.answer(to: question, before: deadline)
    }
    return QueryPlan(sql: request.sql, rows: answer?.rows ?? []).description.split(separator: "\n").map(String.init)
  }

  /// Index advice for a text, tried in a copy of the schema.
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

/// What a client knows of a request that it has sent.
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
