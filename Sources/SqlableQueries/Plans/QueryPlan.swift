import SqlableCore

/// SQLite's plan for finding the rows of a statement.
public struct QueryPlan: Sendable, Hashable, CustomStringConvertible {
  public let sql: String
  public let steps: [Step]

  public struct Step: Sendable, Hashable {
    public let id: Int
    /// The id of the step that contains this step; 0 for a top-level step.
    public let parent: Int
    /// SQLite's description of the step: `SCAN bicycle`, `SEARCH bicycle USING INDEX bicycle_color (color=?)`.
    public let detail: String
  }

  /// The names or aliases of the tables that the statement reads in full, because the plan uses no index for them.
  ///
  /// A scan is fine for a small table, and for a statement that needs all rows. Otherwise see `advice(db)`.
  public var scans: [String] {
    steps.compactMap { step in
      // Include automatic indexes: SQLite reads all rows of the table to build one.
      let detail = step.detail
      if detail.begins(with: "SEARCH "), let search = detail.prefix(before: " USING AUTOMATIC ") {
        return search.suffix(after: "SEARCH ")
      }
      guard detail.begins(with: "SCAN "), let name = detail.suffix(after: "SCAN "),
        name.suffix(after: " USING ") == nil, name.suffix(after: " VIRTUAL TABLE ") == nil
      else { return nil }
      let isQuery = name.begins(with: "(subquery-") || name.begins(with: "(join-")
      let isTable = !isQuery && !name.begins(with: "CONSTANT ROW") && !name.ends(with: "-ROW VALUES CLAUSE")
      return isTable ? name : nil
    }
  }

  /// The plan with one line per step; nested steps are indented.
  public var description: String {
    func lines(of parent: Int, indent: String) -> [String] {
      steps.filter { $0.parent == parent }.flatMap { step in
        [indent + step.detail] + lines(of: step.id, indent: indent + "  ")
      }
    }
    return lines(of: 0, indent: "").joined(separator: "\n")
  }
}

extension SqliteDatabase {
  package func plan(of statement: StatementWithValues) throws -> QueryPlan {
    try running { try $0.plan(of: statement) }
  }
}

extension Connection {
  package func plan(of statement: StatementWithValues) throws -> QueryPlan {
    // EXPLAIN does not detect that another connection has changed the schema. This query detects the change.
    try pragma("SELECT 1 FROM main.sqlite_master LIMIT 0")
    var steps: [QueryPlan.Step] = []
    for row in try rows("EXPLAIN QUERY PLAN " + statement.sql, binding: statement.parameters) {
      guard row.count == 4, let id = Int(row[0]), let parent = Int(row[1]) else { continue }
      steps.append(QueryPlan.Step(id: id, parent: parent, detail: QueryPlan.detail(row[3])))
    }
    return QueryPlan(sql: statement.sql, steps: steps)
  }
}

extension QueryPlan {
  package init(sql: String, rows: [[DatabaseValue]]) {
    self.init(
      sql: sql,
      steps: rows.compactMap { row in
        guard row.count == 4, case .integer(let id) = row[0], case .integer(let parent) = row[1],
          case .text(let detail) = row[3]
        else { return nil }
        return Step(id: Int(id), parent: Int(parent), detail: QueryPlan.detail(detail))
      })
  }

  /// Returns a step in the wording of SQLite 3.36 and later. Earlier versions write `SCAN TABLE car AS c` for `SCAN c`.
  fileprivate static func detail(_ detail: String) -> String {
    guard Library.versionNumber < 3_036_000 else { return detail }
    for verb in ["SCAN ", "SEARCH "] {
      for kind in ["TABLE ", "SUBQUERY "] where detail.begins(with: verb + kind) {
        let rest = String(decoding: detail.utf8.dropFirst(verb.utf8.count + kind.utf8.count), as: UTF8.self)
        // After the names of the table and its alias, one of these words begins the description of how SQLite finds the
        // rows.
        let marks = [" USING ", " VIRTUAL TABLE "]
        let tail = marks.compactMap { mark in rest.suffix(after: mark).map { mark + $0 } }.max { $0.count < $1.count }
        let names = String(decoding: rest.utf8.dropLast(tail?.utf8.count ?? 0), as: UTF8.self)
        if let alias = names.suffix(after: " AS ") { return verb + alias + (tail ?? "") }
        return verb + (kind == "TABLE " ? names : "(subquery-\(names))") + (tail ?? "")
      }
    }
    return detail
  }
}
