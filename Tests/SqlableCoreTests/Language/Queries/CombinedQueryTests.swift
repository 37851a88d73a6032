import Foundation
import SqlableCore
import SqlableQueries
import Testing

@testable import SqlableTestSupport

/// UNION, INTERSECT and EXCEPT. An order and a limit apply to the whole result, and other modifiers are refused.
@Suite struct CombinedQueryTests {
  @Test func modifiersAfterAUnionAreRefused() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let low = Worker.select(Worker.id).filter(Worker.id < 3)
      let both = low.union(Worker.select(Worker.id).filter(Worker.id > 3))
      let boss = Alias(Worker.self, "boss")
      for (modifier, query) in [
        ("a filter", both.filter(Worker.id == 1)), ("distinct", both.distinct()), ("groupBy", both.groupBy(Worker.id)),
        ("having", both.having(Worker.id == 1)), ("in", both.in("other")),
        ("a join", both.joining(boss, on: boss[Worker.id] == Worker.id)),
        ("a join", both.joining(JSONEach(Worker.name, as: "x"))), ("select", both.select(Worker.bossId.ifNull(0))),
        ("a filter", both.filter(Worker.id == 1).filter(Worker.id == 2).distinct().orderBy(Worker.id)),
      ] {
        let error = expectInvalidStatement("\(modifier)") { _ = try query.run(db) }
        #expect(error?.message.hasPrefix("\(modifier) after a union, intersect or except") == true)
        expectInvalidStatement("\(modifier)") { _ = try query.first(db) }
        expectInvalidStatement("\(modifier)") { _ = try query.count(db) }
        expectInvalidStatement("\(modifier)") { _ = try Worker.count().filter(Worker.id.in(query)).run(db) }
        expectInvalidStatement("\(modifier)") { _ = try Worker.count().filter(exists(query)).run(db) }
        expectInvalidStatement("\(modifier)") { _ = try low.union(query).run(db) }
        #expect(query != both)
      }
      // A named query and the single parts accept these modifiers.
      let whole = both.named("whole")
      #expect(try whole.read().filter(whole.column > 1).orderBy(whole.column).run(db) == [2, 4])
      #expect(try low.filter(Worker.id > 1).union(values([9])).count(db) == 2)
      let joined = Worker.read().union(Worker.read())
      expectInvalidStatement { _ = try joined.join(boss, on: boss[Worker.id] == Worker.id).run(db) }
      expectInvalidStatement { _ = try joined.leftJoin(Person.self, on: Person.id == 1).run(db) }
      expectInvalidStatement { _ = try joined.crossJoin(Person.self).run(db) }
    }
  }

  @Test func valuesMayBeTheFirstOrLastPartOfAUnion() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let ids = Worker.select(Worker.id)
      let last = ids.unionAll(values([9, 0])).orderBy(Worker.id, .desc)
      #expect(
        last.sql == #"""
          SELECT "id" FROM "worker" UNION ALL SELECT * FROM (VALUES (?), (?)) ORDER BY "id" DESC
          """#)
      #expect(try last.run(db) == [9, 4, 3, 2, 1, 0])
      #expect(try last.first(db) == 9)
      #expect(try last.count(db) == 6)
      #expect(try last.limit(2, offset: 1).run(db) == [4, 3])
      #expect(try last.limit(2, offset: 1).count(db) == 2)
      let first = values([9, 0]).unionAll(ids)
      #expect(try first.run(db) == [9, 0, 1, 2, 3, 4])
      #expect(try first.first(db) == 9)
      let ordered = first.orderBy(Worker.id, .desc)
      #expect(
        ordered.sql == #"""
          SELECT * FROM (VALUES (?), (?)) UNION ALL SELECT "id" FROM "worker" ORDER BY 1 DESC
          """#)
      #expect(try ordered.run(db) == [9, 4, 3, 2, 1, 0])
      #expect(try ordered.first(db) == 9)
      #expect(try values([1, 2]).unionAll(values([3, 4])).limit(2, offset: 1).run(db) == [2, 3])
      #expect(try values([1, 2]).unionAll(values([3, 4])).first(db) == 1)
      #expect(try values([1, 2]).intersect(values([2, 3])).run(db) == [2])
      let whole = values([(9, "z", nil as Int?, 1.0)]).untyped.unionAll(Worker.read().untyped).orderBy(
        Worker.name, .desc)
      #expect(whole.sql.hasSuffix("ORDER BY 2 DESC"))
      #expect(try whole.first(db)?.get(at: 1, as: String.self) == "z")
      expectInvalidStatement { _ = try first.orderBy(Worker.salary).run(db) }
      expectInvalidStatement { _ = try values([1]).union(values([2])).orderBy(Worker.id).run(db) }
      // Values inside a list, a recursive query and a scalar subquery.
      #expect(try Worker.count().filter(Worker.id.in(values([1]).union(values([4])))).run(db) == 2)
      let numbers = values([1]).named("n") { n in n.read().select(n.column + 1).filter(n.column < 5) }
      #expect(try numbers.read().run(db) == [1, 2, 3, 4, 5])
      let one = scalar(values([7]).union(ids).limit(1))
      #expect(try Worker.select(one).first(db) != nil)
    }
  }

  @Test func randomCombinedQueriesMatchPlainSwift() throws {
    let seed = SeededGenerator.seed
    var random = SeededGenerator(seed: seed)
    let rows = (1...12).map {
      Pair(id: $0, a: random.chance(20) ? nil : $0 % 5, b: random.chance(20) ? nil : $0 % 3, c: 0)
    }
    try withPairs(rows) { (db: SqliteDatabase) throws -> Void in
      for round in 0..<times(600) {
        var table: TypedColumn<Pair, Int?>?
        func part() -> (Select<Int?>, [Int?]) {
          guard random.chance(50) else {
            let list = (0..<Int.random(in: 1...4, using: &random)).map { _ in
              random.chance(15) ? nil : Int.random(in: 0...6, using: &random)
            }
            return (values(list), list)
          }
          let (isA, bound) = (random.chance(50), Int.random(in: 0...12, using: &random))
          let column = isA ? Pair.a : Pair.b
          table = random.chance(50) ? table ?? column : column
          return (
            Pair.select(column).filter(Pair.id <= bound),
            rows.filter { $0.id <= bound }.map { isA ? $0.a : $0.b }
          )
        }
        var (query, expected) = part()
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          let (other, list) = part()
          func distinct(_ rows: [Int?]) -> [Int?] { rows.reduce(into: []) { if !$0.contains($1) { $0.append($1) } } }
          switch Int.random(in: 0..<4, using: &random) {
          case 0: (query, expected) = (query.union(other), distinct(expected + list))
          case 1: (query, expected) = (query.unionAll(other), expected + list)
          case 2: (query, expected) = (query.intersect(other), distinct(expected.filter(list.contains)))
          default: (query, expected) = (query.except(other), distinct(expected.filter { !list.contains($0) }))
          }
        }
        let comment: Comment = "seed \(seed), round \(round): \(query.sql)"
        func sorted(_ rows: [Int?]) -> [Int?] { rows.sorted { ($0 ?? .min) < ($1 ?? .min) } }
        #expect(try sorted(query.run(db)) == sorted(expected), comment)
        #expect(try query.count(db) == expected.count, comment)
        guard let table else { continue }
        let isDown = random.chance(50)
        let (limit, offset) = (Int.random(in: 0...4, using: &random), Int.random(in: 0...2, using: &random))
        let ordered = query.orderBy(table, isDown ? .desc : .asc)
        let all = isDown ? Array(sorted(expected).reversed()) : sorted(expected)
        #expect(try ordered.run(db) == all, comment)
        #expect(try ordered.first(db) == all.first ?? nil, comment)
        #expect(try ordered.limit(limit, offset: offset).run(db) == Array(all.dropFirst(offset).prefix(limit)), comment)
        #expect(
          try ordered.limit(limit, offset: offset).count(db) == all.dropFirst(offset).prefix(limit).count, comment)
      }
    }
  }

  // MARK: Names

  @Test func twoNamedQueriesWithOneNameAreRefused() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let first = Worker.select(Worker.id).filter(Worker.id < 3).named("x")
      let second = Worker.select(Worker.id).filter(Worker.id > 2).named("X")
      let queries: [Select<Int>] = [
        // Both queries have the same column term, so the condition would compare a column with itself.
        first.read().filter(exists(second.read().filter(second.column == first.column))),
        first.read().joining(second, on: first.column == second.column),
        first.read().union(second.read()),
        first.read().filter(first.column.in(second.read())),
      ]
      for query in queries {
        let error = expectInvalidStatement { _ = try query.run(db) }
        #expect(error?.message.contains(" are named ") == true, "\(String(describing: error))")
        #expect(error?.table != "", "\(String(describing: error))")
      }
      // The cache must not return a statement that differs only in its bound values.
      func under(_ bound: Int) -> NamedColumn<Int> { Worker.select(Worker.id).filter(Worker.id < bound).named("x") }
      func both(_ outer: Int, _ inner: Int) throws -> [Int] {
        let (outer, inner) = (under(outer), under(inner))
        return try outer.read().filter(exists(inner.read().filter(inner.column == outer.column))).run(db)
      }
      #expect(try both(3, 3).count == 2)
      expectInvalidStatement { _ = try both(3, 1) }
      // A name inside another query's definition is local. The same query used twice is one query.
      let nested = first.read().filter(first.column > 1).named("x")
      #expect(try nested.read().run(db) == [2])
      #expect(try first.read().filter(first.column.in(first.read())).orderBy(first.column).run(db) == [1, 2])
    }
  }

  @Test func anUnaliasedColumnInSQLTextIsNotBoundToAnAlias() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let boss = Alias(Worker.self, "boss")
      // The program means workers whose boss exists. SQLite would resolve `boss_id` to the alias.
      let condition = exists(boss.read().filter(boss[Worker.id] == Worker.bossId))
      let error = expectInvalidStatement { _ = try db.query("SELECT id FROM worker WHERE \(condition)", as: Int.self) }
      #expect(error?.column == "boss_id")
      #expect(error?.message.contains("might belong to alias boss") == true)
      let query = boss.read().filter(boss[Worker.id] == Worker.bossId)
      expectInvalidStatement { _ = try db.query("SELECT id FROM worker WHERE EXISTS (\(query))", as: Int.self) }
      let statement = Person.count().filter(exists(query))
      expectInvalidStatement { _ = try db.query("SELECT id FROM worker WHERE 0 < (\(statement))", as: Int.self) }
      // An explicit alias, a standalone query, and a column that no alias has are unambiguous.
      let own = exists(boss.read().filter(boss[Worker.id] == boss[Worker.bossId]))
      #expect(try db.query("SELECT id FROM worker WHERE \(own)", as: Int.self).isEmpty)
      #expect(try query.count(db) == 0)
      #expect(try query.run(db).isEmpty)
      // At the start of the text there is no enclosing query.
      #expect(try db.query("\(query)", as: Worker.self).isEmpty)
      let other = exists(Person.select(Person.name).filter(Worker.salary > 6))
      #expect(try db.query("SELECT id FROM worker WHERE \(other) ORDER BY id", as: Int.self) == [1, 3])
    }
  }
}
