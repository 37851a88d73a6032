import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct PoolOpeningTests {
  private static let schema = Schema(Person.self, Bicycle.self)
  private static let migrations = Migrations([
    Migration("tables") { db in try db.createTables(Person.self, Bicycle.self) }
  ])

  @Test func openingMigratesAndVerifies() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/bikes.sqlite"
      for _ in 0..<2 {
        let pool = try await SqlitePool(
          filepath: path, schema: PoolOpeningTests.schema, migrations: PoolOpeningTests.migrations)
        #expect(try await pool.read { db in try PoolOpeningTests.migrations.status(db) } == .current)
        try await Bicycle(name: "Norco", color: "red").insert().onConflict(.ignore).run(pool)
        #expect(try await Bicycle.count().run(pool) == 1)
        try await pool.close(within: .seconds(5))
      }
      // The migrations no longer agree with the models.
      let other = Schema(Person.self, Bicycle.self, Car.self)
      let error = await #expect(throws: SqlError.self) {
        _ = try await SqlitePool(filepath: path, schema: other, migrations: PoolOpeningTests.migrations)
      }
      #expect(error?.message == "the database differs from the models: car: the table is missing")
      let reopened = try await SqlitePool(filepath: path, schema: other)
      #expect(try await Car.count().run(reopened) == 0)
      try await reopened.close(within: .seconds(5))
    }
  }

  @Test func openingWithoutMigrationsCreatesTables() throws {
    try withDirectory { directory in
      let path = directory + "/bikes.sqlite"
      let pool = try SqlitePool(filepath: path, schema: PoolOpeningTests.schema)
      #expect(try Bicycle.count().run(pool) == 0)
      #expect(try PoolOpeningTests.schema.create(pool).map(\.isEmpty) == [true, true])
      try pool.execute("DROP TABLE bicycle; CREATE TABLE bicycle (id INTEGER PRIMARY KEY AUTOINCREMENT)")
      try pool.close()
      let error = sqlError { _ = try SqlitePool(filepath: path, schema: PoolOpeningTests.schema) }
      #expect(error?.table == "bicycle")
      #expect(error?.column == "name")
    }
  }

  @Test func poolInMemoryHasTheTables() async throws {
    let pool = try await SqlitePool.inMemory(
      schema: PoolOpeningTests.schema, migrations: PoolOpeningTests.migrations)
    #expect(try await Person.count().run(pool) == 0)
    #expect(try await PoolOpeningTests.schema.create(pool).map(\.isEmpty) == [true, true])
    try await pool.close()
  }
}
