/// What the events of a statement have only if a receiver asks for it.
struct RunDetails: TraceDetails {
  let run: MeasuredRun
  let db: SqliteDatabase

  /// The steps of a plan, indented by their depth; none if it can't be had.
  func plan() -> [String] {
    var steps: [(id: String, depth: Int, text: String)] = []
    try? db.locked {
      try db.openConnection().withoutTracing { connection in
        try connection.eachRow("EXPLAIN QUERY PLAN " + run.sql) { row in
          let depth = steps.last { $0.id == row[1] }.map { $0.depth + 1 } ?? 0
          steps.append((row[0], depth, row[3]))
        }
      }
    }
    return steps.map { String(repeating: "  ", count: $0.depth) + $0.text }
  }

  func values(of columns: [TracedColumns]) -> [TracedValue] {
    columns.isEmpty ? [] : columns.values(in: run.sql, expanded: run.expandedSql)
  }

  func advise(_ event: TraceEvent, _ body: @escaping @Sendable (TraceEvent) -> Void) {
    IndexAdvisor.shared.advise(event, of: run, on: db, body)
  }
}
