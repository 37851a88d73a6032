import Foundation
import Sqlable
import SqlableCluster
import Testing

/// Tests that statements on a cluster of three nodes have the same results as on a handle.
@Suite struct ConformanceTests {
  /// Calls `body` with a client of a cluster and a handle, both with the models' tables.
  private func withTwins(_ body: (TransportTwins<SqliteCluster>) async throws -> Void) async throws {
    try await withClient { cluster, _ in
      let here = try SqliteDatabase.inMemory()
      let models = TransportTwins<SqliteCluster>.models
      try await cluster.createTables(of: Schema(models))
      try here.createTables(of: Schema(models))
      // A NUL in a text is refused.
      try await body(TransportTwins(there: cluster, here: here, text: "é\nñ 'x' \u{1F6B2}"))
    }
  }

  @Test func everyKindOfStatementAgreesWithAHandle() async throws {
    try await withTwins { try await $0.compareStatements() }
  }

  @Test func queriesAndRawSQLAgreeWithAHandle() async throws {
    try await withTwins { try await $0.compareQueries() }
  }

  @Test func parentsComeWithTheirChildren() async throws { try await withTwins { try await $0.compareChildren() } }

  @Test func resultsAreCollected() async throws { try await withTwins { try await $0.compareResults() } }

  /// Every value of every storage class is read back unchanged.
  @Test func valuesAreExact() async throws {
    try await withClient { cluster, _ in
      try await cluster.execute("CREATE TABLE value (id INTEGER PRIMARY KEY, value)")
      var values: [DatabaseValue] = [
        .null, .integer(.min), .integer(.max), .integer(0), .integer(-1), .real(0.1), .real(-0.0), .real(.infinity),
        .real(-.infinity), .real(.leastNonzeroMagnitude), .real(.greatestFiniteMagnitude), .text(""), .text("1234567"),
        .text("12345678"), .text("é\u{1F6B2}\r\n\t'\"\\"), .blob(Data()), .blob(Data([0])), .blob(Data(0...255)),
      ]
      var random = SystemRandomNumberGenerator()
      for length in 0..<40 {
        values.append(.blob(Data((0..<length).map { _ in UInt8.random(in: 0...255, using: &random) })))
        values.append(.text(String(repeating: "ß", count: length)))
      }
      // The rows exceed one message.
      values.append(.text(String(repeating: "x", count: 3_000_000)))
      values.append(.blob(Data(repeating: 7, count: 3_000_001)))
      for (id, value) in values.enumerated() {
        try await cluster.execute("INSERT INTO value (id, value) VALUES (\(id), \(value))")
      }
      let rows = try await cluster.query("SELECT value FROM value ORDER BY id", as: DynamicRow.self)
      #expect(rows.map { $0.values[0] } == values)
      let many = try await cluster.query(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) SELECT i FROM n", as: Int.self)
      #expect(many == Array(1...50_000))
      let wide = (1...100).map { "\($0) AS c\($0)" }.joined(separator: ", ")
      let row = try await cluster.query(SQL(verbatim: "SELECT \(wide)"), as: DynamicRow.self)
      #expect(row.first?.values == (1...100).map { .integer($0) })
    }
  }

  @Test func valuesThatTheProtocolCannotCarryAreRefused() async throws {
    try await withClient { cluster, nodes in
      try await executeElsewhere("CREATE TABLE t (a TEXT, b BOOLEAN, d DATETIME)", on: nodes)
      let nul = await failure { try await cluster.execute("INSERT INTO t (a) VALUES (\("a\0b"))") }
      #expect(
        nul?.kind
          == .encoding(.init(expected: "TEXT", found: "TEXT with U+0000, at which dqlite would truncate the text")))
      let list = Array(0..<256).map { _ in 0.5 }
      let many = await failure {
        _ = try await cluster.query("SELECT 1 WHERE 0.5 IN (\(list))", as: Int.self)
      }
      #expect(many?.message.contains("binds 256 values, but dqlite allows at most 255") == true)
      // dqlite reports NULL as 0 or '' in a column of such a type.
      try await cluster.execute("INSERT INTO t (b, d) VALUES (NULL, NULL)")
      let boolean = await failure { _ = try await cluster.query("SELECT b FROM t", as: Bool?.self) }
      #expect(boolean?.column == "b")
      #expect(boolean?.message.contains("select +\"b\"") == true)
      let date = await failure { _ = try await cluster.query("SELECT d FROM t", as: String?.self) }
      #expect(date?.column == "d")
      #expect(try await cluster.query("SELECT +b FROM t", as: Bool?.self) == [nil])
      // A text that another program stored: the node truncates it.
      #expect(try await cluster.query("SELECT 'a' || char(0) || 'b'", as: String.self) == ["a"])
      let function = await failure { _ = try await cluster.query("SELECT mine(1)", as: Int.self) }
      #expect(
        function?.message
          == "no such function: mine; a cluster can't use functions, collations or tokenizers that the program "
          + "registers"
      )
      #expect(try await cluster.query("SELECT count(*) FROM t", as: Int.self) == [1])
    }
  }

  /// dqlite reads NULL in such a column as 0 or an empty text, and crashes at a real.
  @Test func columnsThatDqliteHasTypesForKeepAllValues() async throws {
    try await withClient { cluster, _ in
      try await cluster.execute(
        """
        ;CREATE TABLE "moment" (id INTEGER PRIMARY KEY, date DATE, at datetime NOT NULL DEFAULT (1.5), flag "BOOLEAN",
          stamp TIMESTAMP UNIQUE, long DATETIME(6), "DATETIME" TEXT, CHECK (flag <> 'DATE'))
        """)
      try await cluster.execute("ALTER TABLE moment ADD COLUMN last BOOLEAN")
      try await cluster.execute("ALTER TABLE moment ADD later timestamp DEFAULT NULL")
      try await cluster.execute(
        """
        INSERT INTO moment (date, flag, long, last, "DATETIME") VALUES
          (1.5, x'00', 2.5, 'yes', 'a'), (NULL, NULL, NULL, NULL, NULL), ('2026-11-26', '', 1, 0, '')
        """)
      let rows = try await cluster.query(
        #"SELECT date, at, flag, long, last, later, "DATETIME" FROM moment"#, as: DynamicRow.self)
      #expect(
        rows.map(\.values) == [
          [.real(1.5), .real(1.5), .blob(.init([0])), .real(2.5), .text("yes"), .null, .text("a")],
          [.null, .real(1.5), .null, .null, .null, .null, .null],
          [.text("2026-11-26"), .real(1.5), .text(""), .integer(1), .integer(0), .null, .text("")],
        ])
      let types = try await cluster.query("SELECT type FROM pragma_table_info('moment')", as: String.self)
      #expect(
        types == ["INTEGER"] + Array(repeating: "NUMERIC", count: 4) + ["DATETIME(6)", "TEXT", "NUMERIC", "NUMERIC"])
    }
  }

  /// 400 ids travel as one text value, because a node accepts at most 255 values.
  @Test func longListsAreOneValue() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      try await Person.insert((1...500).map { Person(id: nil, name: "é'\"\($0)") }).run(cluster)
      #expect(try await Person.count().filter(Person.id.in(Array(1...400))).run(cluster) == 400)
      let names = (1...300).map { "é'\"\($0)" } + ["none"]
      #expect(try await Person.count().filter(Person.name.in(names)).run(cluster) == 300)
      #expect(try await Person.delete(Person.id.in(Array(101...500))).run(cluster) == 400)
    }
  }

  @Test(arguments: [
    ("BEGIN", "a cluster does not support BEGIN; use transaction { }"),
    ("commit", "a cluster does not support COMMIT; use transaction { }"),
    ("SAVEPOINT a", "a cluster does not support SAVEPOINT; use transaction { }"),
    ("ATTACH 'x' AS y", "a cluster does not support ATTACH"),
    ("VACUUM", "a cluster does not support VACUUM"),
    (
      "CREATE TEMP TABLE t (a)",
      "a cluster does not support temporary tables, views or triggers: each call may use another connection"
    ),
    (
      "PRAGMA journal_mode = DELETE", "a cluster does not support this PRAGMA: it applies to one connection or one file"
    ),
    (
      "PRAGMA main.foreign_keys = 0", "a cluster does not support this PRAGMA: it applies to one connection or one file"
    ),
    ("PRAGMA page_size = 512", "a cluster can't set PRAGMA page_size"),
    ("; PRAGMA main.Encoding('UTF-16')", "a cluster can't set PRAGMA encoding"),
    ("EXPLAIN QUERY PLAN PRAGMA page_size = 512", "a PRAGMA can't be explained"),
    (
      "SELECT 1; DELETE FROM t", "the SQL text contains more than one statement; a cluster runs one statement at a time"
    ),
    ("-- nothing\n ;", "the SQL text contains no statement"),
    ("\u{FEFF}COMMIT", "a cluster does not support COMMIT; use transaction { }"),
    (
      "CREATE TABLE u (trigger); COMMIT",
      "the SQL text contains more than one statement; a cluster runs one statement at a time"
    ),
  ])
  func unsupportedStatementsAreRefusedBeforeTheyAreSent(_ sql: String, _ message: String) async throws {
    var configuration = ClusterConfiguration()
    configuration.label = "bikes"
    // Nothing listens there.
    let cluster = try SqliteCluster(nodes: ["127.0.0.1:1"], configuration: configuration)
    let error = await failure { try await cluster.execute(SQL(verbatim: sql)) }
    #expect(error?.kind == .misuse(message))
    #expect(error?.sql == sql)
    #expect(error?.label == "bikes")
    cluster.close()
  }

  @Test func pragmasThatMeanTheSameAreSent() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      try await cluster.execute("PRAGMA user_version = 7")
      #expect(try await cluster.query("PRAGMA user_version", as: Int.self) == [7])
      try await cluster.execute("PRAGMA main.user_version(10)")
      #expect(try await cluster.query("PRAGMA user_version", as: Int.self) == [10])
      #expect(try await cluster.query("WITH replace AS (SELECT 3 AS x) SELECT x FROM replace", as: Int.self) == [3])
      #expect(try await cluster.query("PRAGMA table_info(person)", as: DynamicRow.self).count == 2)
      #expect(try await cluster.query("PRAGMA integrity_check", as: String.self) == ["ok"])
      #expect(try await cluster.query("PRAGMA page_size;", as: Int.self) == [4_096])
    }
  }

  /// A text that writes and returns rows would crash the node outside of a transaction.
  @Test func returningInAnyFormHarmsNoNode() async throws {
    try await withClient { cluster, nodes in
      try await cluster.createTables(Person.self)
      let one = try await cluster.query("INSERT INTO person (name) VALUES ('a') RETURNING id", as: Int.self)
      let two = try await cluster.query(
        "WITH n(x) AS (VALUES ('b')) INSERT INTO person (name) SELECT x FROM n RETURNING \"id\"", as: Int.self)
      try await cluster.execute("UPDATE person SET name = 'c' /* returning */ RETURNING name")
      try await cluster.execute("DELETE FROM person WHERE name = 'RETURNING'")
      let people = try await Person.read().orderBy(Person.id).run(cluster)
      // The text claims to read, but writes.
      let three = try await cluster.answers(to: [
        SqlRequest(sql: "INSERT INTO person (name) VALUES ('d') RETURNING id", values: [], isReadOnly: true)
      ])
      #expect(three.first?.rows == [[.integer(3)]])
      try await Person.delete(Person.id == 3).run(cluster)
      let replaced = try await cluster.query(
        "WITH n(x) AS (VALUES ('a-b')) SELECT replace(x, '-', '+') FROM n", as: String.self)
      #expect(replaced == ["a+b"])
      #expect(one == [1])
      #expect(two == [2])
      #expect(people.map(\.name) == ["c", "c"])
      for node in nodes.nodes { #expect(await node.isRunning) }
    }
  }
}
