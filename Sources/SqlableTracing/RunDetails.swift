import SqlableCore

/// The details of a statement's event. A detail is computed only if a trace requests it.
package struct RunDetails: TraceDetails {
  package let run: MeasuredRun
  package let db: SqliteDatabase

  /// Returns the steps of the query plan, indented by their depth; empty if the plan can't be obtained.
  package func plan() -> [String] {
    var steps: [(id: String, depth: Int, text: String)] = []
    try? db.locked {
      try db.openConnection().withoutTracing { connection in
        for row in try connection.rows("EXPLAIN QUERY PLAN " + run.sql) {
          let depth = steps.last { $0.id == row[1] }.map { $0.depth + 1 } ?? 0
          steps.append((row[0], depth, row[3]))
        }
      }
    }
    return steps.map { String(repeating: "  ", count: $0.depth) + $0.text }
  }

  package func values(of columns: [TracedColumns]) -> [TracedValue] {
    columns.isEmpty ? [] : columns.values(in: run.sql, expanded: run.expandedSql)
  }
}
