import Foundation
import Sqlable
import SqlableAdvice
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Code that is generic over statements and executors.
@Suite struct ExecutorTests {
  /// A store for handles and pools.
  private struct Garage<Database: SqlDatabase> {
    let db: Database

    func fill() throws {
      try Person(id: nil, name: "Ann").insert().run(db)
      try Bicycle.insert([Bicycle(name: "Trek", color: "red", ownerId: 1), Bicycle(name: "Giant", color: "blue")]).run(
        db)
    }

    func colors() throws -> [String] { try db.query("SELECT color FROM bicycle ORDER BY id", as: String.self) }

    /// Swaps the colors of two bicycles; false if one is missing.
    func swap(_ one: Int, _ other: Int) throws -> Bool {
      try db.transaction { db in
        guard var a = try Bicycle.byId(one).run(db), var b = try Bicycle.byId(other).run(db) else { return false }
        Swift.swap(&a.color, &b.color)
        try a.update().run(db)
        try b.update().run(db)
        return true
      }
    }

    func both() throws -> (Int, Int) { try db.read { db in (try Bicycle.count().run(db), try Person.count().run(db)) } }

    func paint(_ name: String, _ color: String) throws {
      try db.execute("UPDATE bicycle SET color = \(color) WHERE name = \(name)")
    }
  }

  private static func createTables(_ db: SqliteDatabase) throws {
    try db.createTables(Person.self, Bicycle.self)
  }

  @Test func aGenericStoreWorksOnHandlesAndPools() throws {
    func use(_ garage: Garage<some SqlDatabase>) throws {
      try garage.fill()
      try garage.paint("Giant", "green")
      #expect(try garage.colors() == ["red", "green"])
      #expect(try garage.swap(1, 2))
      #expect(try garage.both() == (2, 1))
      #expect(try garage.colors() == ["green", "red"])
      #expect(try !garage.swap(1, 9))
      let advice = try Bicycle.read().filter(Bicycle.ownerId == 1).advice(garage.db)
      #expect(advice.map(\.columns) == [["owner_id"]])
      #expect(try Bicycle.read().filter(Bicycle.color == "red").explain(garage.db).scans == [])
    }
    try withDatabase { db in
      try ExecutorTests.createTables(db)
      try use(Garage(db: db))
    }
    try withPool { pool in
      try pool.transaction { db in try ExecutorTests.createTables(db) }
      try use(Garage(db: pool))
    }
  }

  /// A wrapper that records the SQL of any work.
  private final class Journal: Sendable {
    let lines = Mutex<[String]>([])

    func timed<Work: Runnable>(_ work: Work, on db: some SqlExecutor) throws -> Work.Output {
      defer { lines.withLock { $0.append("\(work.isReadOnly ? "read" : "write") \(work.sql)") } }
      return try work.run(db)
    }

    func timed<Work: Runnable>(
      _ work: Work, on db: some AsyncSqlExecutor
    ) async throws -> Work.Output where Work.Output: Sendable {
      defer { lines.withLock { $0.append("\(work.isReadOnly ? "read" : "write") \(work.sql)") } }
      return try await work.run(db)
    }
  }

  @Test(.enabled(if: SQLiteLibrary.isAtLeast(35), "RETURNING")) func aGenericWrapperRunsAnyStatement() throws {
    try withDatabase { db in
      try ExecutorTests.createTables(db)
      let journal = Journal()
      let bike = Bicycle(name: "Trek", color: "red")
      let id: Int = try journal.timed(bike.insert(), on: db)
      let ids: [Int] = try journal.timed(Bicycle.insert([Bicycle(name: "Giant", color: "blue")]), on: db)
      let bikes: [Bicycle] = try journal.timed(Bicycle.read().orderBy(Bicycle.id), on: db)
      let one: Bicycle? = try journal.timed(Bicycle.byId(2), on: db)
      let none: Bicycle? = try journal.timed(Bicycle.byId(9), on: db)
      let isThere: Bool = try journal.timed(Bicycle.exists(), on: db)
      let names: [DynamicRow] = try journal.timed(Bicycle.select(Bicycle.name).orderBy(Bicycle.name), on: db)
      let gone: [DynamicRow] = try journal.timed(Bicycle.delete(Bicycle.id == 1).returning(Bicycle.name), on: db)
      let counts: [Int] = try journal.timed(SQL("SELECT count(*) FROM bicycle").rows(as: Int.self), on: db)
      try journal.timed(SQL("DELETE FROM bicycle"), on: db)
      #expect((id, ids, bikes.map(\.name), one?.name) == (1, [2], ["Trek", "Giant"], "Giant"))
      #expect(none == nil)
      #expect(isThere)
      #expect(counts == [1])
      #expect(names.map(\.values) == [[.text("Giant")], [.text("Trek")]])
      #expect(gone.map(\.values) == [[.text("Trek")]])
      #expect(
        journal.lines.withLock { $0 } == [
          #"write INSERT INTO "bicycle" ("name", "color") VALUES (?, ?)"#,
          #"write INSERT INTO "bicycle" ("name", "color") VALUES (?, ?)"#,
          #"read SELECT "id", "name", "color", "owner_id" FROM "bicycle" ORDER BY "id""#,
          #"read SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "id" = ? LIMIT ?"#,
          #"read SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "id" = ? LIMIT ?"#,
          #"read SELECT EXISTS (SELECT 1 FROM "bicycle")"#,
          #"read SELECT "name" FROM "bicycle" ORDER BY "name""#,
          #"write DELETE FROM "bicycle" WHERE "id" = ? RETURNING "name""#,
          "read SELECT count(*) FROM bicycle",
          "write DELETE FROM bicycle",
        ])
    }
  }

  @Test func aWrapperInAsyncCodeRunsOnPools() async throws {
    try await withMembers { pool in
      try await pool.transaction { db in try ExecutorTests.createTables(db) }
      let journal = Journal()
      let id = try await journal.timed(Bicycle(name: "Trek", color: "red").insert(), on: pool)
      let bikes = try await journal.timed(Bicycle.read(), on: pool)
      #expect(id == 1)
      #expect(bikes.map(\.name) == ["Trek"])
      try await pool.execute("UPDATE bicycle SET color = \("blue"); DELETE FROM bicycle WHERE color = \("red")")
      let pairs = try await pool.query("SELECT color, id FROM bicycle", as: String.self, Int.self)
      let blue = try await pool.query("SELECT * FROM bicycle", as: Bicycle.self)
      #expect(pairs.map(\.1) == [1])
      #expect(blue.map(\.color) == ["blue"])
    }
  }

  /// A pool runs raw SQL on a reader unless its keywords show a write.
  @Test(.enabled(if: SQLiteLibrary.isAtLeast(35), "RETURNING")) func rawQueriesThatWriteRunOnTheWriter() throws {
    try withPool { pool in
      try pool.transaction { db in try ExecutorTests.createTables(db) }
      let sql: SQL = "INSERT INTO person (name) VALUES (\("Ann")) RETURNING id"
      #expect(try pool.query(sql, as: Int.self) == [1])
      #expect(
        try pool.query("WITH p AS (SELECT 2 AS n) INSERT INTO person SELECT n, 'Bob' FROM p RETURNING id", as: Int.self)
          == [2])
      #expect(try pool.query("/* insert */ SELECT count(*) FROM person", as: Int.self) == [2])
      #expect(try pool.query("WITH p AS (SELECT id FROM person) SELECT count(*) FROM p", as: Int.self) == [2])
      #expect(pool.statistics.reads == 2)
    }
  }

  /// On a pool a long list is one value, and the value of a parameter is unknown.
  @Test func aPoolExplainsLikeItsHandles() throws {
    try withPool { pool in
      try pool.transaction { db in try ExecutorTests.createTables(db) }
      let listed = Bicycle.read().filter(Bicycle.id.in(Array(1...100)))
      let given = Bicycle.read().filter(Bicycle.color == Parameter("color"))
      let change = Bicycle.delete(Bicycle.id == 1).returning(Bicycle.name)
      let owners = Person.read().filter(Person.id == 1).including(Bicycle.read(), by: Bicycle.ownerId)
      let text = SQL("SELECT name FROM bicycle WHERE id IN (SELECT id FROM (\(listed)))").rows(as: String.self)
      func same(_ work: some Runnable) throws {
        let (pools, handles) = (try work.explain(pool), try pool.read { db in try work.explain(db) })
        #expect(pools == handles, "\(work.sql)")
        #expect(pools.sql == work.sql, "\(work.sql)")
        #expect(!pools.steps.isEmpty, "\(work.sql)")
      }
      try same(listed)
      try same(given)
      try same(change)
      try same(owners)
      try same(text)
      let advice = try Bicycle.read().filter(Bicycle.ownerId == 1).advice(pool)
      #expect(advice.map(\.columns) == [["owner_id"]])
      let error = sqlError { _ = try text.advice(pool) }
      #expect(error?.message == "index advice needs a statement or query, not SQL text")
    }
  }
}
