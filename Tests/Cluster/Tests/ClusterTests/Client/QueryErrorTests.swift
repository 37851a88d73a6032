import Sqlable
import Testing

/// Tests of queries that fail while they run: dqlite leaves the partial result before the error.
@Suite struct QueryErrorTests {
  private static let queries: [SQL] = [
    "SELECT abs(-9223372036854775808)",
    "SELECT json(name), 1, 2, 3 FROM person",
    "SELECT id, name, CASE WHEN id = 3 THEN json(name) END AS \"a column's very long name\" FROM person ORDER BY id",
    // The error follows several parts of the result.
    "SELECT id, name, CASE WHEN id = 4000 THEN json(name) ELSE zeroblob(30) END FROM person ORDER BY id",
    "INSERT INTO person (id, name) VALUES (7, 'x') RETURNING id, name",
    "INSERT INTO person (name) VALUES (NULL) RETURNING id, name, 1, 2, 3, 4, 5, 6, 7",
    "UPDATE person SET id = id + 1 WHERE id < 9 RETURNING name",
    "DELETE FROM person WHERE id = 5 RETURNING id",
  ]

  private static func fill(_ execute: (SQL) async throws -> Void) async throws {
    try await execute(
      """
      WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
      INSERT INTO person (id, name) SELECT i, 'name ' || i FROM n
      """)
    try await execute(
      "CREATE TRIGGER kept BEFORE DELETE ON person BEGIN SELECT RAISE(ABORT, 'person is for ever: no delete'); END")
  }

  @Test func errorAgreesWithThatOfAHandle() async throws {
    let here = try SqliteDatabase.inMemory()
    try here.createTables(Person.self)
    try await QueryErrorTests.fill { try here.execute($0) }
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      try await QueryErrorTests.fill { try await cluster.execute($0) }
      for sql in QueryErrorTests.queries {
        var expected: SqlError?
        do { _ = try here.query(sql, as: DynamicRow.self) } catch let error as SqlError { expected = error }
        // At the second run, the node has the statement compiled.
        for _ in 0..<2 {
          let error = await failure { _ = try await cluster.query(sql, as: DynamicRow.self) }
          #expect(error?.kind == expected?.kind, "\(sql)")
          #expect(error?.message == expected?.message, "\(sql)")
          #expect(error?.extendedCode == expected?.extendedCode, "\(sql)")
        }
      }
      #expect(try await Person.count().run(cluster) == 5_000)
    }
  }

  /// dqlite does not answer; the guide documents this limit.
  @Test func aResultWithVeryLongNamesEndsAtItsDeadline() async throws {
    try await withClient { cluster, nodes in
      let query = SQL(verbatim: "SELECT 1 AS \"\(String(repeating: "x", count: 8_000))\"")
      let error = await failure {
        _ = try await withDeadline(.seconds(1)) { try await cluster.query(query, as: Int.self) }
      }
      #expect(error?.kind == .timeout)
      let next = try await cluster.query("SELECT 1", as: Int.self)
      #expect(next == [1])
    }
  }

  @Test func transactionContinuesAfterAFailedQuery() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      try await QueryErrorTests.fill { try await cluster.execute($0) }
      for sql in QueryErrorTests.queries.prefix(4) {
        let counts = try await cluster.read { tx in
          let before = try await Person.count().run(tx)
          let error = await failure { _ = try await tx.query(sql, as: DynamicRow.self) }
          #expect(error?.transaction == .untouched, "\(sql)")
          return (before, try await Person.count().run(tx))
        }
        #expect(counts == (5_000, 5_000))
      }
      for sql in QueryErrorTests.queries.dropFirst(4) {
        try await cluster.transaction { tx in
          _ = try await Person(id: nil, name: "new").insert().run(tx)
          let error = await failure { _ = try await tx.query(sql, as: DynamicRow.self) }
          #expect(error?.transaction == .untouched, "\(sql)")
        }
      }
      #expect(try await Person.count().run(cluster) == 5_004)
    }
  }
}
