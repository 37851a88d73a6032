import SqlableCore
import SqlableQueries
import SqlableSchema

/// An index that would speed up a statement.
public struct IndexAdvice: Sendable, Hashable, CustomStringConvertible {
  public let table: String
  /// The columns in the order of the index.
  public let columns: [String]
  /// The SQL that creates the index, such as `CREATE INDEX "bicycle_name" ON "bicycle" ("name")`. A model declares this
  /// index as `Index(Bicycle.name)`.
  public let sql: String
  /// The query plan with all proposed indexes.
  public let plan: QueryPlan

  public var description: String { sql }
}

extension SqliteDatabase {
  func advice(for statement: TreeStatement) throws -> [IndexAdvice] {
    let explained = try statement.explained()
    let plan = try plan(of: explained)
    guard !plan.scans.isEmpty else { return [] }
    var candidates = IndexCandidates()
    candidates.add(statement.tree)
    return try locked {
      let copy = try SchemaCopy(of: openConnection(), functions: functions)
      // Create all candidates together, so that SQLite's planner chooses the best combination.
      var indexes: [(table: TableInfo, columns: [IndexColumn], name: String, sql: String)] = []
      for table in candidates.tables {
        for columns in table.lists {
          let index = Index(columns: columns)
          let name = index.name(in: table.table)
          guard !indexes.contains(where: { $0.name.isSameName(as: name) }) else { continue }
          let sql = try TableDefinition(table.table).create(index, for: copy.connection)
          indexes.append((table.table, columns, name, sql))
        }
      }
      let (better, used) = try copy.plan(of: explained, with: indexes.map { ($0.name, $0.sql) })
      guard better.scans.count < plan.scans.count else { return [] }
      return indexes.filter { used.contains($0.name) }.map { index in
        IndexAdvice(table: index.table.name, columns: index.columns.map(\.name), sql: index.sql, plan: better)
      }
    }
  }
}
