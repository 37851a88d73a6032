import SqlableCodable
import SqlableCore
import SqlablePool
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Live results of SQL text.
struct LiveSQLTests {
  private static let alone = PoolConfiguration(pollInterval: nil)

  private struct Entry: Decodable, Equatable, Sendable {
    let id: Int
    let memberName: String?
  }

  /// A pool with three members and a table of wheels.
  private func withWheels(_ body: (SqlitePool) async throws -> Void) async throws {
    try await withMembers(LiveSQLTests.alone) { pool in
      try await pool.execute(
        """
        CREATE TABLE wheel (id INTEGER PRIMARY KEY, member_id INTEGER, size INTEGER, note TEXT);
        INSERT INTO member VALUES (1, 'Anna'), (2, 'Bo'), (3, 'Cid');
        INSERT INTO wheel VALUES (1, 1, 26, NULL), (2, 2, 28, 'flat')
        """)
      try await body(pool)
    }
  }

  @Test func everyTypeOfRowsIsReadAgainAfterACommit() async throws {
    try await withWheels { pool in
      let least = 2
      let names = Follower(
        SQL("SELECT name FROM member WHERE id >= \(least) ORDER BY id").rows(as: String.self).updates(in: pool))
      let notes = Follower(SQL("SELECT note FROM wheel ORDER BY id").rows(as: String?.self).updates(in: pool))
      let members = Follower(
        SQL("SELECT name, id, 5 AS more FROM member WHERE id IN (\([2, 3])) ORDER BY id").rows(as: Member.self)
          .updates(in: pool))
      let pairs = Follower(
        SQL("SELECT m.name, max(w.size) FROM member m LEFT JOIN wheel w ON w.member_id = m.id GROUP BY m.id ORDER BY 1")
          .rows(as: String.self, Int?.self).updates(in: pool))
      let rows = Follower(SQL("SELECT * FROM wheel WHERE id = 2").rows(as: DynamicRow.self).updates(in: pool))
      let entries = Follower(
        SQL("WITH last AS (SELECT id, name AS member_name FROM member ORDER BY id DESC LIMIT 1) SELECT * FROM last")
          .rows(as: Entry.self).updates(in: pool))
      try await until {
        [names.values.count, notes.values.count, members.values.count, pairs.values.count, rows.values.count]
          == [1, 1, 1, 1, 1] && entries.values.count == 1
      }
      #expect(names.latest == ["Bo", "Cid"])
      #expect(notes.latest == [nil, "flat"])
      #expect(members.latest == [Member(id: 2, name: "Bo"), Member(id: 3, name: "Cid")])
      #expect(pairs.latest?.map(\.0) == ["Anna", "Bo", "Cid"])
      #expect(pairs.latest?.map(\.1) == [26, 28, nil])
      #expect(rows.latest?.map(\.description) == ["id: 2, member_id: 2, size: 28, note: flat"])
      #expect(entries.latest == [Entry(id: 3, memberName: "Cid")])
      try await pool.execute("UPDATE member SET name = 'Cleo' WHERE id = 3; UPDATE wheel SET size = 29, note = 'new'")
      try await until { names.latest == ["Bo", "Cleo"] && notes.latest == ["new", "new"] }
      try await until { members.latest?.last == Member(id: 3, name: "Cleo") }
      try await until { pairs.latest?.map(\.0) == ["Anna", "Bo", "Cleo"] && pairs.latest?.map(\.1) == [29, 29, nil] }
      try await until { rows.latest?.map(\.description) == ["id: 2, member_id: 2, size: 29, note: new"] }
      try await until { entries.latest == [Entry(id: 3, memberName: "Cleo")] }
      try await pool.execute("DELETE FROM member; DELETE FROM wheel")
      try await until { names.latest == [] && notes.latest == [] && members.latest == [] && rows.latest == [] }
      try await until { pairs.latest?.isEmpty == true && entries.latest == [] }
    }
  }

  @Test(.needsPreupdateHook) func commitsOfOtherTablesAndColumnsCauseNoRead() async throws {
    try await withWheels { pool in
      try await pool.execute("CREATE VIEW flat AS SELECT member_id FROM wheel WHERE note = 'flat'")
      let sql: SQL = "SELECT id FROM member WHERE id IN (SELECT member_id FROM flat) OR id = \(3) ORDER BY id"
      let ids = Follower(sql.rows(as: Int.self).updates(in: pool))
      // This loop reads every column, so that its results show that a commit was delivered.
      let all = Follower(
        SQL("SELECT m.*, w.* FROM member m, wheel w ORDER BY 1, 3").rows(as: DynamicRow.self).updates(in: pool))
      try await until { ids.values == [[2, 3]] && all.values.count == 1 }
      for (number, change) in [
        "UPDATE member SET name = 'x'", "UPDATE wheel SET size = 20", "UPDATE wheel SET note = 'flat' WHERE id = 1",
        "UPDATE member SET name = 'y'", "INSERT INTO member VALUES (9, 'z')",
      ].enumerated() {
        try await pool.execute(change)
        try await until { all.values.count == number + 2 }
        // The loop must read before the next commit: it skips results that it has not read yet.
        if number == 2 { try await until { ids.values.count >= 2 } }
      }
      try await until { ids.values.count >= 3 }
      #expect(ids.values == [[2, 3], [1, 2, 3], [1, 2, 3]])
    }
  }

  @Test func onlyChangesSkipsEqualRows() async throws {
    try await withWheels { pool in
      let shared: SQL = "SELECT count(*) FROM member WHERE name <> \("none")"
      let all = Follower(shared.rows(as: Int.self).updates(in: pool))
      let changed = Follower(shared.rows(as: Int.self).updates(in: pool, onlyChanges: true))
      try await until { all.values == [[3]] && changed.values == [[3]] }
      try await pool.execute("UPDATE member SET name = 'x' WHERE id = 1")
      try await until { all.values == [[3], [3]] }
      try await pool.execute("DELETE FROM member WHERE id = 1")
      try await until { all.values == [[3], [3], [2]] && changed.latest == [2] }
      #expect(changed.values == [[3], [2]])
    }
  }

  @Test func equalTextsWithEqualValuesShareTheirReads() async throws {
    try await withWheels { pool in
      let text: @Sendable (Int) -> SQL = { "SELECT name FROM member WHERE id > \($0) ORDER BY id" }
      let equal = (0..<20).map { _ in Follower(text(1).rows(as: String.self).updates(in: pool)) }
      let otherValue = Follower(text(2).rows(as: String.self).updates(in: pool))
      let otherType = Follower(text(1).rows(as: String?.self).updates(in: pool))
      try await until { equal.allSatisfy { $0.values.count == 1 } }
      try await until { otherValue.values.count == 1 && otherType.values.count == 1 }
      let before = pool.statistics.reads
      try await pool.execute("UPDATE member SET name = 'x' WHERE id = 3")
      try await until { equal.allSatisfy { $0.latest == ["Bo", "x"] } }
      try await until { otherValue.latest == ["x"] && otherType.latest == ["Bo", "x"] }
      #expect(pool.statistics.reads == before + 3)
    }
  }

  @Test func schemaChangesAreFollowed() async throws {
    try await withWheels { pool in
      let rows = Follower(SQL("SELECT * FROM member WHERE id = 1").rows(as: DynamicRow.self).updates(in: pool))
      try await until { rows.latest?.map(\.description) == ["id: 1, name: Anna"] }
      try await pool.execute("ALTER TABLE member ADD COLUMN age INTEGER DEFAULT 30")
      try await until { rows.latest?.map(\.description) == ["id: 1, name: Anna, age: 30"] }
      try await pool.execute("UPDATE member SET age = 31")
      try await until { rows.latest?.map(\.description) == ["id: 1, name: Anna, age: 31"] }
    }
  }

  @Test func longListsOfEmbeddedQueriesAreFollowed() async throws {
    try await withWheels { pool in
      let ids = Array(1...20_000)
      let sql: SQL = "SELECT count(*) FROM (\(Member.read().filter(Member.id ∈ ids)))"
      let count = Follower(sql.rows(as: Int.self).updates(in: pool))
      try await until { count.values == [[3]] }
      try await pool.execute("INSERT INTO member VALUES (20000, 'x'), (20001, 'y')")
      try await until { count.values == [[3], [4]] }
    }
  }

  /// The error of following SQL text as integers.
  private func error(_ text: SQL, _ pool: SqlitePool) async -> SqlError? {
    var updates = text.rows(as: Int.self).updates(in: pool).makeAsyncIterator()
    do { _ = try await updates.next() } catch { return error as? SqlError }
    return nil
  }

  @Test func onlyAQueryOfTheRightColumnsHasALiveResult() async throws {
    try await withWheels { pool async throws in
      let refused = SqlError.Kind.invalidStatement("a live result of SQL text needs a query: SELECT or VALUES")
      for text: SQL in [
        "DELETE FROM member RETURNING id", "WITH one AS (SELECT 1) DELETE FROM member RETURNING id",
        "PRAGMA user_version = 5", "CREATE TABLE other (id INTEGER)",
      ] { #expect(await error(text, pool)?.kind == refused) }
      let several = await error("SELECT 1; DELETE FROM member", pool)
      #expect(several?.message == "the SQL text contains more than one statement; use execute(_:)")
      let quoted = await error("SELECT '\(1)'", pool)
      #expect(quoted?.message.contains("quotes") == true)
      let parameter = await error("SELECT \(Parameter<Int>("x"))", pool)
      #expect(parameter?.kindIsMisuse == true)
      let columns = await error("SELECT id, name FROM member", pool)
      #expect(columns?.message == "the result has 2 columns, but 1 is read")
      let missing = await error("SELECT id FROM nosuch", pool)
      #expect(missing?.kind == .schema(.missingTable("nosuch")))
      #expect(try await Member.count().run(pool) == 3)
    }
  }
}
