import Foundation
import SqlableCore
import SqlableQueries
import Testing

@testable import SqlableTestSupport

/// A query with any type of rows.
private protocol AnySelect {
  var untyped: Select<DynamicRow> { get }
}

extension Select: AnySelect {}

/// Shapes of queries, by which the cache finds compiled queries. Queries that differ in more than values must not mix.
@Suite struct SelectShapeTests {
  /// Queries, each of which differs from its neighbours in one detail.
  private static func queries(_ x: Int, _ text: String) -> [any AnySelect] {
    let (other, boss) = (Alias(Bicycle.self, "other"), Alias(Worker.self, "boss"))
    let (id, name, salary) = (Worker.id, Worker.name, Worker.salary)
    let all = Worker.read().asSelect()
    let pairs = Bicycle.join(Person.self, on: Bicycle.ownerId == Person.id)
    let bosses = Worker.join(boss, on: Worker.bossId == boss[Worker.id])
    let team = { (start: Int, name: String) in
      Alias(Worker.self, name) { team in
        Worker.read().filter(Worker.id == start)
          .unionAll(Worker.read().joining(team, on: Worker.bossId == team[Worker.id]))
      }
    }
    let below = { (start: Int) in
      Alias(Worker.self, "team") { _ in Worker.read().filter(Worker.id > start) }
    }
    let sums = { (frame: WindowFrame?) in
      Worker.select(id, salary.sum().over(orderBy: id.asc, frame: frame)).orderBy(id)
    }
    return [
      all, all.distinct(), all.orderBy(id), all.orderBy(id, .desc), all.orderBy(id).limit(2),
      all.orderBy(id).limit(2, offset: 1), all.filter(id > x), all.filter(id >= x), all.filter(name == text),
      Worker.select(id), Worker.select(name), Worker.select(salary), Worker.select(id, name), Worker.select(name, id),
      Worker.select(id, id), Worker.select(id + x), Worker.select(id - x), Worker.select(name).distinct(),
      Bicycle.select(Bicycle.id, Bicycle.name), Bicycle.select(Bicycle.name, Bicycle.id), Bicycle.select(Bicycle.id),
      pairs, Bicycle.leftJoin(Person.self, on: Bicycle.ownerId == Person.id), Bicycle.crossJoin(Person.self),
      Bicycle.join(Person.self, on: Bicycle.id == Person.id), pairs.filter(Person.id > x),
      pairs.filter(Bicycle.id > x), pairs.select(Bicycle.name, Person.name), pairs.select(Person.name, Bicycle.name),
      pairs.filter(Person.name == text).orderBy(Bicycle.id), pairs.orderBy(Person.id, .desc),
      Bicycle.read().joining(Person.self, on: Bicycle.ownerId == Person.id),
      Bicycle.join(other, on: Bicycle.color == other[Bicycle.color]), Bicycle.crossJoin(other),
      Bicycle.join(other, on: Bicycle.color == other[Bicycle.color]).filter(Bicycle.id < other[Bicycle.id]),
      Bicycle.join(other, on: Bicycle.color == other[Bicycle.color]).filter(other[Bicycle.id] < Bicycle.id),
      Bicycle.join(Alias(Bicycle.self, "another"), on: Bicycle.id == Bicycle.id), bosses,
      bosses.select(Worker.name, boss[Worker.name]), bosses.select(boss[Worker.name], Worker.name),
      Worker.select(countAll()), Worker.select(countAll(where: id > x)), Worker.select(id.count()),
      Worker.select(salary.count(distinct: true)), Worker.select(salary.sum()),
      Worker.select(salary.sum(distinct: true)),
      Worker.select(salary.min()), Worker.select(salary.max()), Worker.select(salary.total(where: id < x)),
      Worker.select(salary.total(where: id <= x)), Worker.select(name.groupConcat("-")),
      Worker.select(salary, countAll()).groupBy(salary).orderBy(salary),
      Worker.select(salary, countAll()).groupBy(salary).having(countAll() > 1).orderBy(salary),
      Worker.select(salary, countAll()).groupBy(salary, Worker.bossId).orderBy(salary),
      Worker.select(id, rank().over(orderBy: salary.asc)).orderBy(id),
      Worker.select(id, rank().over(orderBy: salary.desc)).orderBy(id),
      Worker.select(id, denseRank().over(orderBy: salary.asc)).orderBy(id),
      Worker.select(id, rank().over(partitionBy: Worker.bossId, orderBy: salary.asc)).orderBy(id),
      sums(nil), sums(.rows(.preceding(1), .currentRow)), sums(.rows(.preceding(2), .currentRow)),
      sums(.rows(.currentRow, .following(1))), sums(.range(.preceding(1), .currentRow)),
      sums(.groups(.preceding(1), .currentRow)), sums(.rows(.unboundedPreceding, .unboundedFollowing)),
      Worker.select(Case.when(id > x, then: "a").else("b")), Worker.select(Case.when(id > x, then: "a").end()),
      Worker.select(salary.cast(to: Int.self)), Worker.select(salary.cast(to: String.self)), Worker.select(name.hex()),
      Worker.select(name.substr(2, 2)), Worker.select(name.substr(2, 3)), Worker.select(name.substr(3)),
      Worker.select(name.trim("a")), Worker.select(name.trim("A")), Worker.select(name.ltrim("A")),
      Worker.select((salary / 3).round(1)), Worker.select((salary / 3).round(2)), all.filter(name.hasPrefix(text)),
      all.filter(name.contains(text)), all.filter(name.like("A%", escape: "!")),
      all.filter(name.like("A%", escape: "d")), Worker.select(name.replace("a", with: text)),
      Worker.select(name.trim()),
      Worker.select(Worker.bossId.ifNull(x)), Worker.select(Worker.bossId.ifNull(x + 1)),
      all.filter(exists(Bicycle.read().filter(Bicycle.ownerId == Worker.id.expression))),
      all.filter(!exists(Bicycle.read().filter(Bicycle.ownerId == Worker.id.expression))),
      all.filter(exists(Bicycle.read().filter(Bicycle.id == Worker.id.expression))),
      all.filter(id.in(Worker.select(id).filter(salary > Double(x)))),
      all.filter(id.notIn(Worker.select(id).filter(salary > Double(x)))),
      all.filter(id.in(Worker.select(id).filter(salary < Double(x)))), all.filter(id.in([x, 2, 3])),
      all.filter(salary == scalar(Worker.select(salary.max()))),
      all.filter(salary == scalar(Worker.select(salary.min()))),
      Worker.select(name).union(Worker.select(name).filter(id > x)),
      Worker.select(name).unionAll(Worker.select(name).filter(id > x)),
      Worker.select(name).intersect(Worker.select(name).filter(id > x)),
      Worker.select(name).except(Worker.select(name).filter(id > x)),
      Worker.select(name).except(Worker.select(name).filter(id > x)).orderBy(name).limit(1),
      team(1, "team").read(), team(2, "team").read(), team(1, "crew").read(), below(x).read(),
      team(2, "team").read().filter(name == text), Worker.join(team(2, "team"), on: id == id),
      Worker.join(below(x), on: id == id).filter(id > x), all.filter(name.collate(.nocase) == text),
      all.filter(name.collate(.rtrim) == text), all.filter(name.like("%a%")), all.filter(name.glob("*a*")),
    ]
  }

  /// Returns the values of the rows, or the error's message as the only value.
  private func outcome(_ query: Select<DynamicRow>, _ db: SqliteDatabase) -> [[DatabaseValue]] {
    do { return try query.run(db).map(\.values) } catch { return [[.text("\((error as? SqlError)?.message ?? "?")")]] }
  }

  @Test func queriesThatDifferInOneDetailDoNotMix() throws {
    try withDirectory { directory in
      let cold = try SqliteDatabase(
        filepath: directory + "/company.sqlite", configuration: Configuration(statementCacheBytes: 0))
      try fillCompany(cold)
      let warm = try SqliteDatabase(
        filepath: directory + "/company.sqlite", configuration: Configuration(statementCacheBytes: 64 << 20))
      var random = SeededGenerator(seed: SeededGenerator.seed)
      for (x, text) in [(1, "Ada"), (3, "Ben"), (0, "Anna"), (2, "x")] {
        for query in SelectShapeTests.queries(x, text).map(\.untyped).shuffled(using: &random) {
          let found = outcome(query, warm)
          #expect(outcome(query, cold) == found, "\(query.sql) \(query.bindings)")
          #expect(try warm.query("\(query)", as: DynamicRow.self).map(\.values) == found, "\(query.sql)")
        }
      }
    }
  }

  @Test func aQueryWithOtherValuesIsNotCompiledAgain() throws {
    try withCompany { db in
      // The lock keeps other tests from releasing the statements: `releaseMemory` skips handles in use.
      try db.locked {
        for query in SelectShapeTests.queries(1, "Ada").map(\.untyped) { _ = outcome(query, db) }
        let before = try db.statementCacheUse
        let queries = SelectShapeTests.queries(2, "Ben").map(\.untyped)
        for query in queries { _ = outcome(query, db) }
        let after = try db.statementCacheUse
        #expect(after.misses == before.misses)
        #expect(after.hits == before.hits + queries.count)
      }
    }
  }

  @Test func modelsWithComputedColumnsAreRead() throws {
    // The columns of `Stored` are new objects at each access; the address of one may be reused for another.
    typealias Row = Stored<String, TextForm>
    try withDatabase { db in
      try db.createTable(Row.self)
      try Row.insert([Row("Anna"), Row("Bo"), Row("Cid")]).run(db)
      for _ in 1...3 {
        let rows = try Row.select(Row.value).filter(Row.id > 1).orderBy(Row.id).run(db)
        #expect(rows.map(\.values) == [[.text("Bo")], [.text("Cid")]])
        #expect(try Row.read().filter(Row.value == "Bo").run(db).map(\.id) == [2])
      }
    }
  }
}
