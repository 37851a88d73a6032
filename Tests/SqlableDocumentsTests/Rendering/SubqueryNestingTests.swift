import SqlableCore
import SqlableDocuments
import SqlableQueries
import Testing

@testable import SqlableTestSupport

/// Queries within terms: they nest nearly as deep as SQLite's parser allows, and the library refuses deeper ones.
@Suite struct SubqueryNestingTests {
  @Test func conditionsByAssociationsNest() throws {
    try withCinema { db throws in
      let peers = Film.artists.filter(exists(Artist.films.filter(Film.title == "the small hours")))
      let studios = Studio.read().whereAny(Studio.films.filter(exists(peers)))
      #expect(try studios.run(db).map(\.name) == ["Blue Door"])
    }
  }

  @Test func sevenSubqueriesNestInFilters() throws {
    try withCinema { db throws in
      func nested(_ count: Int) -> SqlExpression {
        (0..<count).reduce(Film.id == 1) { condition, index in
          let film = Alias(Film.self, "film\(index)")
          return exists(film.read().filter(condition && film[Film.id] == 1))
        }
      }
      #expect(try Film.count(nested(7)).run(db) == 1)
      #expect(try Film.delete(nested(7)).orderBy(Film.id).limit(0).run(db) == 0)
      expectInvalidStatement { try Film.count(nested(12)).run(db) }
    }
  }

  @Test func everyClauseNestsOrIsRefusedBeforeSQLiteSeesIt() throws {
    let seed = SeededGenerator.seed
    var random = SeededGenerator(seed: seed)
    try withCinema { db throws in
      var (worked, refused) = (0, 0)
      for _ in 0..<times(60) {
        let favourites = (0..<random.pick([1, 2, 4])).map { _ in random.pick(Clause.allCases) }
        let depth = Int.random(in: 1...9, using: &random)
        var condition = TypedExpression(1) == 1
        for level in 0..<depth {
          condition = random.pick(favourites).nest(condition, level)
          if Bool.random(using: &random) { condition = TypedExpression(3) > 2 && condition }
          if Int.random(in: 0..<4, using: &random) == 0 { condition = !(condition || TypedExpression(1) == 2) }
        }
        let places: [() throws -> Void] = [
          { _ = try Film.read().filter(condition).explain(db) },
          { _ = try Film.delete(condition).orderBy(Film.id).limit(1).explain(db) },
          { _ = try Film.select(condition.typed(as: Bool.self)).orderBy(Film.id).explain(db) },
          { _ = try Film.update(Film.title.set(to: Studio.name)).from(Studio.self, on: condition).explain(db) },
          { _ = try Film.read().orderBy(condition).explain(db) },
        ]
        for place in places {
          switch sqlError(place) {
          case nil: worked += 1
          case let error?:
            refused += 1
            guard case .invalidStatement = error.kind else {
              Issue.record("seed \(seed): \(error) for \(depth) of \(favourites)")
              continue
            }
          }
        }
      }
      #expect(worked > times(60), "\(worked) worked, \(refused) were refused")
      #expect(refused > times(20), "\(worked) worked, \(refused) were refused")
    }
  }
}

/// Clauses of a subquery that can contain a condition.
private enum Clause: CaseIterable {
  case filter, column, on, leftOn, group, having, order, firstPart, lastPart, named, recursive, counted, listed, last

  func nest(_ condition: SqlExpression, _ level: Int) -> SqlExpression {
    let (a, b) = (Alias(Film.self, "a\(level)"), Alias(Film.self, "b\(level)"))
    let one = TypedExpression(1)
    let ids = a.read().select(a[Film.id])
    switch self {
    case .filter: return exists(a.read().filter(a[Film.id] > 0 && condition))
    case .column: return scalar(a.read().select(condition.typed(as: Bool.self)).limit(1)) == true
    case .on: return exists(a.read().joining(b, on: condition))
    case .leftOn: return exists(a.read().leftJoining(b, on: b[Film.id] == a[Film.id] && condition))
    case .group: return exists(ids.groupBy(a[Film.id], condition))
    case .having: return exists(ids.groupBy(a[Film.id]).having(condition))
    case .order: return one.in(ids.orderBy(a[Film.id].asc).orderBy(condition, .desc).limit(1))
    case .firstPart: return one.in(ids.filter(condition).union(b.read().select(b[Film.id])))
    case .lastPart: return one.in(ids.union(b.read().select(b[Film.id]).filter(condition)))
    case .named: return exists(ids.filter(condition).named("n\(level)").read())
    case .recursive:
      let tree = ids.named("r\(level)") { tree in b.read().select(b[Film.id]).joining(tree, on: condition) }
      return exists(tree.read())
    case .counted: return scalar(a.read().filter(condition).count()) > 0
    case .listed: return !one.in(ids.filter(condition))
    case .last: return scalar(ids.union(b.read().select(b[Film.id]).filter(condition)).count()) > 0
    }
  }
}
