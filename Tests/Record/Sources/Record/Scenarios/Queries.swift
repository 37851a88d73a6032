import SqlableCore
import SqlableDocuments

extension Scenario {
  /// Random queries over two tables.
  static let queries = Scenario(
    name: "queries",
    promise: "A typed query returns the same rows as independently written SQL text and as plain Swift, with and "
      + "without a statement cache, and its document decodes to an equal query.",
    unit: "queries", limit: 120, flaws: ["skipsAFilter"],
    run: { round in
      let world = round.random.chance(50) ? QueryWorld.hostile : .harmless
      var generator = QueryGenerator(seed: round.random.next())
      for _ in 0..<4 {
        let tables = [generator.rows(), generator.rows()]
        try withQueryTables(tables, world) { warm, cold in
          for _ in 0..<60 {
            let query = generator.query()
            var builder = QueryBuilder(world: world)
            var built = query
            if round.flaw == "skipsAFilter" { built.filter = nil }
            let select = builder.select(built)
            let text = QueryText(world: world, sources: generator.sources).text(query)
            func compare(_ way: String, _ rows: [[DatabaseValue]]?, _ expected: [[DatabaseValue]]) {
              guard let rows, !same(rows, expected, query) else { return }
              round.report(.wrong, "\(way): \(select.sql) \(select.bindings); \(text)")
            }
            let rows: [[DatabaseValue]]
            do { rows = try select.run(warm).map(\.values) } catch {
              if !"\(error)".contains("nested too deeply") { round.report(.wrong, "\(error); \(text)") }
              continue
            }
            round.tried()
            let expected = try warm.query(SQL(verbatim: text), as: DynamicRow.self).map(\.values)
            compare("SQL text", rows, expected)
            compare("a second run", try select.run(warm).map(\.values), rows)
            compare("without a cache", try select.run(cold).map(\.values), rows)
            compare("inside SQL", try warm.query("\(select)", as: DynamicRow.self).map(\.values), rows)
            do {
              compare("plain Swift", try QueryEvaluation(world: world, tables: tables).rows(query), rows)
            } catch is QueryEvaluation.Unsupported {}
            let rules = StatementRules(models: world.tables + [Entry<QueryPair>.self])
            let decoded = try Select<DynamicRow>(json: select.json(), rules: rules)
            if decoded != select { round.report(.wrong, "the document of \(select.sql)") }
          }
        }
      }
    })
}
