import Foundation
import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Random queries, compared with independent SQL text and with plain Swift, in every way to run them.
@Suite struct QueryPropertyTests {
  @Test(arguments: [false, true])
  func randomQueriesMatchSQLTextAndPlainSwift(isHostile: Bool) throws {
    let world = isHostile ? QueryWorld.hostile : .harmless
    let seed = SeededGenerator.seed
    var generator = QueryGenerator(seed: seed)
    var (checked, evaluated, tooDeep, found, prepared) = (0, 0, 0, 0, 0)
    for _ in 0..<times(8) {
      let tables = [generator.rows(), generator.rows()]
      try withQueryTables(tables, world) { warm, cold in
        for _ in 0..<60 {
          let query = generator.query()
          var builder = QueryBuilder(world: world)
          let select = builder.select(query)
          let text = QueryText(world: world, sources: generator.sources).text(query)
          let note: Comment = "seed \(seed): \(select.sql) \(select.bindings)\n\(text)"
          let rows: [[DatabaseValue]]
          do { rows = try select.run(warm).map(\.values) } catch {
            tooDeep += 1
            let isExpected = "\(error)".contains("nested too deeply")
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
            try select.run(warm), try select.run(cold), try remainingRows(select.cursor(warm)),
            try warm.query("\(select)", as: DynamicRow.self),
          ]
          for way in ways { #expect(way.map(\.values) == rows, note) }
          let document = try select.json()
          let decoded = try Select<DynamicRow>(
            json: document, rules: StatementRules(models: world.tables + [Entry<QueryPair>.self]))
          #expect(decoded == select, note)
          #expect(decoded.hashValue == select.hashValue, note)
          #expect(decoded.sql == select.sql, note)
          #expect(decoded.bindings == select.bindings, note)
          #expect(try decoded.json() == document, note)
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
    let counts: Comment =
      "\(checked) checked, \(evaluated) evaluated, \(found) not empty, \(tooDeep) too deep, \(prepared) parameters"
    #expect(tooDeep < checked / 20, counts)
    #expect(evaluated > checked / 2, counts)
    #expect(found > checked / 3, counts)
    #expect(prepared > checked, counts)
  }

  @Test(arguments: [false, true])
  func randomChangesMatchSQLText(isHostile: Bool) throws {
    let world = isHostile ? QueryWorld.hostile : .harmless
    let seed = SeededGenerator.seed
    var generator = QueryGenerator(seed: seed &+ 2)
    var (checked, changed) = (0, 0)
    for _ in 0..<times(8) {
      try withQueryTables([generator.rows(), generator.rows()], world) { db, _ in
        for index in 0..<40 {
          let change = generator.change(of: index % 2)
          let text = QueryText(world: world, sources: generator.sources)
          let table = world.tables[index % 2]
          for (statement, sql) in try statements(table, change, text, world) {
            let note: Comment = "seed \(seed): \(sql)"
            let before = try rows(of: table, db)
            let own = try outcome(table, db) { try statement($0) }
            let other = try outcome(table, db) { try $0.execute(SQL(verbatim: sql)) }
            guard let own else { continue }
            checked += 1
            changed += own == before ? 0 : 1
            let isSame = own == other
            #expect(isSame, note)
          }
        }
      }
    }
    #expect(checked > times(800), "\(checked) checked, \(changed) changed something")
    #expect(changed > checked / 4, "\(checked) checked, \(changed) changed something")
  }

  /// Returns changes of a table, each with the same change as SQL text.
  private func statements<Model: QueryModel>(
    _ model: Model.Type, _ change: (condition: RandomTerm, number: RandomTerm, pairs: RandomQuery), _ text: QueryText,
    _ world: QueryWorld
  ) throws -> [((SqliteDatabase) throws -> Void, String)] {
    var builder = QueryBuilder(world: world)
    let names = [0: Model.columns.map(\.expression)]
    let (condition, number) = (builder.term(change.condition, names), builder.term(change.number, names))
    let pairs = builder.select(change.pairs)
    let (a, b) = (Model.columns[1], Model.columns[2])
    let table = "\(Model.tableName.quoted) AS alias_0"
    let (filter, value) = (text.text(change.condition), text.text(change.number))
    let (first, second) = (a.name.quoted, b.name.quoted)
    return [
      ({ _ = try Model.delete(condition).run($0) }, "DELETE FROM \(table) WHERE \(filter)"),
      (
        { _ = try Model.update(a.set(to: number), b.set(to: 7)).filter(condition).run($0) },
        "UPDATE \(table) SET \(first) = \(value), \(second) = 7 WHERE \(filter)"
      ),
      (
        { _ = try Model.insert(a, b, from: pairs).run($0) },
        "INSERT INTO \(Model.tableName.quoted) (\(first), \(second)) \(text.text(change.pairs))"
      ),
    ]
  }

  /// Returns the table's rows after a change that is rolled back, or nil if the change nests too deeply.
  private func outcome(
    _ table: any QueryModel.Type, _ db: SqliteDatabase, _ change: (SqliteDatabase) throws -> Void
  ) throws -> [[DatabaseValue]: Int]? {
    var found: [[DatabaseValue]: Int]?
    do {
      try db.transaction { db -> TransactionResult in
        try change(db)
        found = try rows(of: table, db)
        return .rollback
      }
    } catch {
      guard "\(error)".contains("nested too deeply") else { throw error }
    }
    return found
  }

  /// Returns the rows of a table without their ids, each with its count.
  private func rows(of table: any QueryModel.Type, _ db: SqliteDatabase) throws -> [[DatabaseValue]: Int] {
    let rows = try db.query("SELECT * FROM \(table: table.tableName)", as: DynamicRow.self)
    return rows.reduce(into: [:]) { $0[Array($1.values.dropFirst()), default: 0] += 1 }
  }

  @Test(arguments: [false, true])
  func randomJoinsReturnTheExpectedModels(isHostile: Bool) throws {
    let world = isHostile ? QueryWorld.hostile : .harmless
    let seed = SeededGenerator.seed
    var generator = QueryGenerator(seed: seed &+ 3)
    var found = 0
    for _ in 0..<times(8) {
      let tables = [generator.rows(), generator.rows()]
      try withQueryTables(tables, world) { db, _ in
        for _ in 0..<40 {
          let query = generator.join()
          let rows =
            isHostile
            ? try models(QueryRow<HostileLeft>.self, QueryRow<HostileRight>.self, query, world, db)
            : try models(QueryRow<HarmlessLeft>.self, QueryRow<HarmlessRight>.self, query, world, db)
          let expected = try QueryEvaluation(world: world, tables: tables).rows(query)
          found += rows.isEmpty ? 0 : 1
          #expect(rows == expected, "seed \(seed): \(QueryText(world: world, sources: generator.sources).text(query))")
        }
      }
    }
    #expect(found > times(100))
  }

  private func models<Left: QueryNames, Right: QueryNames>(
    _ left: QueryRow<Left>.Type, _ right: QueryRow<Right>.Type, _ query: RandomQuery, _ world: QueryWorld,
    _ db: SqliteDatabase
  ) throws -> [[DatabaseValue]] {
    var builder = QueryBuilder(world: world)
    let alias = Alias(right, world.aliases(1))
    let names = [0: Left.columns.map(\.expression), 1: Right.columns.map { alias[$0] }]
    func refined<Row>(_ select: Select<Row>) -> Select<Row> {
      var select = select
      if let filter = query.filter { select = select.filter(builder.term(filter, names)) }
      for (ordering, term) in zip(query.order, [Left.columns[0].expression, alias[Right.columns[0]]]) {
        select = select.orderBy(term, ordering.isDescending ? .desc : .asc)
      }
      return query.limit.map { select.limit($0) } ?? select
    }
    let condition = try #require(query.sources[1].condition)
    let on = builder.term(condition, names)
    if query.sources[1].join == .left {
      let rows = try refined(left.leftJoin(alias, on: on)).run(db)
      return rows.map { $0.values + ($1?.values ?? Array(repeating: .null, count: 5)) }
    }
    return try refined(left.join(alias, on: on)).run(db).map { $0.values + $1.values }
  }

  private func evaluation(
    _ query: RandomQuery, _ tables: [[[RandomValue]]], _ world: QueryWorld
  ) throws -> [[DatabaseValue]]? {
    do { return try QueryEvaluation(world: world, tables: tables).rows(query) } catch is QueryEvaluation.Unsupported {
      return nil
    }
  }

  private func remainingRows(_ cursor: Cursor<DynamicRow>) throws -> [DynamicRow] {
    var rows: [DynamicRow] = []
    while let row = try cursor.next() { rows.append(row) }
    return rows
  }

  private func run(
    _ statement: Prepared<DynamicRow, [DynamicRow]>, _ values: [any SqlValue]
  ) throws -> [DynamicRow] {
    switch values.count {
    case 0: try statement.run()
    case 1: try statement.run(["p0": values[0]])
    case 2: try statement.run(["p0": values[0], "p1": values[1]])
    default: try statement.run(["p0": values[0], "p1": values[1], "p2": values[2]])
    }
  }
}

extension String {
  /// The name in double quotes, quoted independently of the library.
  fileprivate var quoted: String {
    "\"\(split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\""))\""
  }
}
