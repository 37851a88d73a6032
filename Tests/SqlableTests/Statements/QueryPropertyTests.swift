import Foundation
import Sqlable
import Testing

/// Random queries give what SQL text written apart from the library gives, and what plain Swift makes of the same rows;
/// however they are run.
@Suite struct QueryPropertyTests {
  @Test(arguments: [false, true])
  func randomQueriesGiveWhatOthersMakeOfThem(isHostile: Bool) throws {
    let world = isHostile ? QueryWorld.hostile : .harmless
    let seed = SeededGenerator.seed
    var generator = QueryGenerator(seed: seed)
    var (checked, evaluated, tooDeep, found, prepared) = (0, 0, 0, 0, 0)
    for _ in 0..<times(20) {
      let tables = [generator.rows(), generator.rows()]
      try withQueryTables(tables, world) { warm, cold in
        for _ in 0..<60 {
          let query = generator.query()
          var builder = QueryBuilder(world: world)
          let select = builder.select(query)
          let text = QueryText(world: world, sources: generator.sources).text(query)
          let note: Comment = "seed \(seed): \(select.sql) \(select.bindings)\n\(text)"
          let rows: [[SqlStorage]]
          do { rows = try select.run(warm).map(\.values) } catch {
            tooDeep += 1
            let isExpected = "\(error)".contains("nests deeper")
            #expect(isExpected, "\(error) \(note)")
            continue
          }
          checked += 1
          found += rows.isEmpty ? 0 : 1
          let expected = try warm.query(SQL(verbatim: text), as: DynamicRow.self).map(\.values)
          let isSame = same(rows, expected, query)
          #expect(isSame, note)
          if let expected = try evaluation(query, tables, world) {
            evaluated += 1
            let isSame = same(rows, expected, query)
            #expect(isSame, "\(rows) \(expected) \(note)")
          }
          let ways = [
            try select.run(warm), try select.run(cold), try rest(select.cursor(warm)),
            try warm.query("\(select)", as: DynamicRow.self),
          ]
          for way in ways { #expect(way.map(\.values) == rows, note) }
          #expect(try select.first(warm)?.values == rows.first, note)
          var other = QueryBuilder(world: world)
          other.takesParameters = true
          let statement = try warm.prepare(other.select(query))
          prepared += statement.parameterNames.count
          for _ in 1...2 {
            #expect(try run(statement, other.parameters.map(world.value)).map(\.values) == rows, note)
          }
        }
      }
    }
    #expect(
      tooDeep < checked / 20 && evaluated > checked / 2 && found > checked / 3 && prepared > checked,
      "\(checked) checked, \(evaluated) evaluated, \(found) not empty, \(tooDeep) too deep, \(prepared) parameters")
  }

  private func evaluation(
    _ query: RandomQuery, _ tables: [[[RandomValue]]], _ world: QueryWorld
  ) throws -> [[SqlStorage]]? {
    do { return try QueryEvaluation(world: world, tables: tables).rows(query) } catch is QueryEvaluation.Unsupported {
      return nil
    }
  }

  private func rest(_ cursor: Cursor<DynamicRow>) throws -> [DynamicRow] {
    var rows: [DynamicRow] = []
    while let row = try cursor.next() { rows.append(row) }
    return rows
  }

  private func run(
    _ statement: PreparedSingleSelect<DynamicRow>, _ values: [any SqlValue]
  ) throws -> [DynamicRow] {
    switch values.count {
    case 0: try statement.run()
    case 1: try statement.run(["p0": values[0]])
    case 2: try statement.run(["p0": values[0], "p1": values[1]])
    default: try statement.run(["p0": values[0], "p1": values[1], "p2": values[2]])
    }
  }
}

/// Whether rows are the same, in any order where the query has none.
func same(_ left: [[SqlStorage]], _ right: [[SqlStorage]], _ query: RandomQuery) -> Bool {
  if !query.order.isEmpty, query.order.count(where: { if case .result = $0.key { true } else { false } }) > 0 {
    return left == right
  }
  func counts(_ rows: [[SqlStorage]]) -> [[SqlStorage]: Int] { rows.reduce(into: [:]) { $0[$1, default: 0] += 1 } }
  return counts(left) == counts(right)
}

/// Calls `body` with two handles of a file with these rows: one that keeps its statements, and one that compiles them anew.
func withQueryTables(
  _ tables: [[[RandomValue]]], _ world: QueryWorld, _ body: (SqliteDatabase, SqliteDatabase) throws -> Void
) throws {
  try withDirectory { directory in
    let warm = try SqliteDatabase(filepath: directory + "/query.sqlite")
    try warm.transaction { db in
      for (model, rows) in zip(world.tables, tables) { try fill(model, rows, world, db) }
    }
    let cold = try SqliteDatabase(
      filepath: directory + "/query.sqlite", configuration: Configuration(statementCacheCapacity: 0))
    try body(warm, cold)
  }
}

private func fill<Model: QueryModel>(
  _ model: Model.Type, _ rows: [[RandomValue]], _ world: QueryWorld, _ db: SqliteDatabase
) throws {
  try db.createTable(model)
  for row in rows { try db.execute("INSERT INTO \(model) VALUES (\(row.map(world.storage)))") }
}
