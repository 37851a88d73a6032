// Index advice for statements and queries.

extension Statement {
  /// Proposes indexes for the tables that the statement would scan completely to find some of their rows.
  ///
  /// ```swift
  /// for index in try Bicycle.read().filter(Bicycle.name == "Trek").advice(db) { print(index.sql) }
  /// // CREATE INDEX "bicycle_name" ON "bicycle" ("name")
  /// ```
  ///
  /// The indexes are tested: SQLite's own planner uses them for this statement, in an in-memory copy of the schema. The
  /// database is not changed. An index is not free: every write must update it. Returns nothing if no index is missing,
  /// or none would help. Throws what ``explain(_:)`` throws.
  public func advice(_ db: SqliteDatabase) throws -> [IndexAdvice] {
    try db.withoutTracing {
      let plan = try explain(db)
      var candidates = IndexCandidates()
      candidates.add(tree)
      return try db.advice(plan, of: withValues(), candidates)
    }
  }
}

extension Select {
  /// Proposes indexes for the tables that the query would scan completely to find some of their rows.
  ///
  /// The indexes are tested: SQLite's own planner uses them for this query, in an in-memory copy of the schema. The
  /// database is not changed. Throws what ``explain(_:)`` throws.
  public func advice(_ db: SqliteDatabase) throws -> [IndexAdvice] {
    try db.withoutTracing {
      let plan = try explain(db)
      var candidates = IndexCandidates()
      candidates.add(query.clauses, outer: [])
      return try db.advice(plan, of: query.withValues(), candidates)
    }
  }
}

/// An index that would speed up a statement.
public struct IndexAdvice: Sendable, Hashable, CustomStringConvertible {
  public let table: String
  /// The columns, in the order of the index.
  public let columns: [String]
  /// `CREATE INDEX "bicycle_name" ON "bicycle" ("name")`; in a model it is `Index(Bicycle.name)`.
  public let sql: String
  /// The query plan with all proposed indexes.
  public let plan: QueryPlan

  public var description: String { sql }
}

extension SqliteDatabase {
  fileprivate func advice(
    _ plan: QueryPlan, of statement: StatementWithValues, _ candidates: IndexCandidates
  ) throws -> [IndexAdvice] {
    guard !plan.scans.isEmpty else { return [] }
    return try locked {
      let copy = try SchemaCopy(of: openConnection(), functions: functions)
      // All at once, so that the planner decides which to combine.
      var indexes: [(table: TableInfo, columns: [IndexColumn], name: String, sql: String)] = []
      for table in candidates.tables {
        for columns in table.lists {
          let index = Index(columns: columns)
          let name = index.name(inTable: table.table.name)
          guard !indexes.contains(where: { $0.name.isSameName(as: name) }) else { continue }
          let sql = try TableDefinition(table.table).create(index, for: copy.connection)
          indexes.append((table.table, columns, name, sql))
        }
      }
      let (better, used) = try copy.plan(of: statement, with: indexes.map { ($0.name, $0.sql) })
      guard better.scans.count < plan.scans.count else { return [] }
      return indexes.filter { used.contains($0.name) }.map { index in
        IndexAdvice(table: index.table.name, columns: index.columns.map(\.name), sql: index.sql, plan: better)
      }
    }
  }
}
