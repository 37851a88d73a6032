import SqlableCore
import SqlableSchema

// Tests/Record has this file and what it uses in one target.
#if canImport(SqlableTestSupport) && !RECORD
@testable import SqlableTestSupport
#endif

/// Returns true if the rows are equal. Their order counts only if the query has one.
func same(_ left: [[DatabaseValue]], _ right: [[DatabaseValue]], _ query: RandomQuery) -> Bool {
  if !query.order.isEmpty, query.order.count(where: { if case .result = $0.key { true } else { false } }) > 0 {
    return left == right
  }
  func counts(_ rows: [[DatabaseValue]]) -> [[DatabaseValue]: Int] {
    rows.reduce(into: [:]) { $0[$1, default: 0] += 1 }
  }
  return counts(left) == counts(right)
}

/// Calls `body` with two handles of one file: the first caches statements, the second compiles each time.
func withQueryTables(
  _ tables: [[[RandomValue]]], _ world: QueryWorld, _ body: (SqliteDatabase, SqliteDatabase) throws -> Void
) throws {
  try withDirectory { directory in
    let warm = try SqliteDatabase(filepath: directory + "/query.sqlite")
    try warm.transaction { db in
      for (model, rows) in zip(world.tables, tables) { try fill(model, rows, world, db) }
    }
    let cold = try SqliteDatabase(
      filepath: directory + "/query.sqlite", configuration: Configuration(statementCacheBytes: 0))
    try body(warm, cold)
  }
}

private func fill<Model: QueryModel>(
  _ model: Model.Type, _ rows: [[RandomValue]], _ world: QueryWorld, _ db: SqliteDatabase
) throws {
  try db.createTable(model)
  for row in rows { try db.execute("INSERT INTO \(model) VALUES (\(row.map(world.storage)))") }
}
