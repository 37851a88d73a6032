import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries
import Testing

@testable import SqlableTestSupport

/// Queries beyond SQLite's limits, which must throw an error and never end the process.
@Suite struct SelectLimitTests {
  @Test func manyCombinedQueriesWorkUpToTheLimitOfSQLite() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      func union(_ count: Int) -> Select<Int> {
        (1..<count).reduce(Worker.select(Worker.id)) { query, _ in query.unionAll(Worker.select(Worker.id)) }
      }
      #expect(try union(500).run(db).count == 2000)
      let error = sqlError { _ = try union(501).run(db) }
      #expect(error?.message == "too many terms in compound SELECT")
    }
  }

  @Test func manyJoinedTablesWorkUpToTheLimitOfSQLite() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      func joined(_ count: Int) -> Select<Int> {
        (1..<count).reduce(Worker.select(Worker.id)) { query, index in
          let other = Alias(Worker.self, "w\(index)")
          return query.joining(other, on: other[Worker.id] == Worker.id)
        }
      }
      #expect(try joined(64).run(db).count == 4)
      let error = sqlError { _ = try joined(65).run(db) }
      #expect(error?.message == "at most 64 tables in a join")
    }
  }

  @Test func namedQueriesNestUpToALimit() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      for count in [1, 2, 3, 5, 8] {
        #expect(try chain(count).run(db).sorted() == [1, 2, 3, 4].map { $0 + count }, "\(count)")
      }
      expectInvalidStatement { _ = try chain(12).run(db) }
      for query in [chain(101), try onThread(stackSize: smallStack) { chain(20_000) }] {
        let text = try onThread(stackSize: smallStack) { query.sql }
        #expect(text.contains("named queries are nested more than 100 deep"), "\(text.prefix(200))")
      }
    }
  }

  @Test func deeplyNestedCombinedQueriesAreRefused() throws {
    let text = try onThread(stackSize: smallStack) {
      let query = (0..<20_000).reduce(Worker.select(Worker.id)) { query, _ in Worker.select(Worker.id).except(query) }
      #expect(query == query)
      #expect(query.hashValue == query.hashValue)
      return query.sql
    }
    #expect(text.contains("nested too deeply for SQLite's parser"), "\(text.prefix(200))")
  }

  /// SQLite's parser allows only a few levels.
  @Test func theDeepestCombinedQueryIsWrittenOnASmallStack() throws {
    let (text, isSame) = try onThread(stackSize: smallStack) {
      let query = (0..<8).reduce(Worker.select(Worker.id)) { query, _ in Worker.select(Worker.id).except(query) }
      let document = try Select<Int>(json: query.json(), rules: StatementRules(models: [Worker.self]))
      return (query.sql, document == query)
    }
    #expect(text.hasPrefix("SELECT"), "\(text.prefix(200))")
    #expect(isSame, "\(text.prefix(200))")
    try withCompany { (db: SqliteDatabase) throws -> Void in
      _ = try db.query(SQL(verbatim: text), as: Int.self)
    }
  }

  @Test func deeplyNestedSubqueriesAreRefused() throws {
    let text = try onThread(stackSize: smallStack) {
      let query = (0..<20_000).reduce(Worker.read()) { query, _ in Worker.read().filter(exists(query)) }
      return query.sql
    }
    #expect(text.contains("deep"), "\(text.prefix(200))")
  }

  @Test func emptyValuesAndNegativeLimitsAreRefused() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      #expect(try values(1...30_000).run(db).count == 30_000)
      expectInvalidStatement { _ = try values([Int]()).run(db) }
      expectInvalidStatement { _ = try Worker.count().filter(Worker.id.in(values([Int]()))).run(db) }
      #expect(try Worker.count().filter(Worker.id.in(values([1, 2, 9]))).run(db) == 2)
      #expect(try values([3, 1, 2]).first(db) == 3)
      expectInvalidStatement { _ = try Worker.read().limit(-1).run(db) }
      expectInvalidStatement { _ = try Worker.read().limit(1, offset: .min).run(db) }
      #expect(try Worker.read().limit(.max, offset: .max).run(db).isEmpty)
    }
  }
}

/// Returns a query over `count` named queries, each of which reads the previous one.
private func chain(_ count: Int) -> Select<Int> {
  (0..<count).reduce(Worker.select(Worker.id)) { query, index in
    let named = query.named("step_\(index)")
    return named.read().select(named.column + 1).filter(named.column > 0)
  }
}
