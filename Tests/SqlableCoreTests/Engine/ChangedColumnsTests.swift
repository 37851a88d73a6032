import SqlableCore
import Testing

@testable import SqlableTestSupport

/// Queries with `*` after another connection has changed the table. A handle with a cached statement must return the
/// rows and errors of a new handle.
@Suite struct ChangedColumnsTests {
  private struct Shifting: Sqlable, CustomStringConvertible {
    static let tableName = "t"
    static let a = column("a", Int?.self)
    static let b = column("b", String?.self)
    static let tableLayout = [a.column, b.column]
    let a: Int?
    let b: String?

    init(row: ReadRow) throws { (a, b) = (try row.get(Self.a), try row.get(Self.b)) }
    func write(to row: inout RowWriter) throws {}
    var description: String { "(a: \(String(describing: a)), b: \(String(describing: b)))" }
  }

  /// A model that reads its columns in another order than the table's.
  private struct Backwards: Sqlable, CustomStringConvertible {
    static let tableName = "t"
    static let a = column("a", Int?.self)
    static let b = column("b", String?.self)
    static let tableLayout = [a.column, b.column]
    let a: Int?
    let b: String?

    init(row: ReadRow) throws { (b, a) = (try row.get(Self.b), try row.get(Self.a)) }
    func write(to row: inout RowWriter) throws {}
    var description: String { "(a: \(String(describing: a)), b: \(String(describing: b)))" }
  }

  private static let changes: [SQL] = [
    "ALTER TABLE t ADD COLUMN c DEFAULT 5",
    "ALTER TABLE t ADD COLUMN d",
    "INSERT INTO t (a, b, c) VALUES (4, 'four', X'00FF')",
    "ALTER TABLE t DROP COLUMN c",
    "ALTER TABLE t DROP COLUMN b",
    "ALTER TABLE t RENAME COLUMN a TO z",
    "ALTER TABLE t RENAME COLUMN z TO a",
    "ALTER TABLE t DROP COLUMN d",
    "DROP TABLE t; CREATE TABLE t (b TEXT, a INTEGER); INSERT INTO t VALUES ('x', 1), (NULL, 2), ('', NULL)",
    "DROP TABLE t; CREATE TABLE t (b, x, y, a, c); INSERT INTO t VALUES ('x', 1.5, NULL, 9, 0), ('w', 2, 3, 4, 5)",
    "DELETE FROM t",
    "ALTER TABLE t DROP COLUMN y",
    "INSERT INTO t VALUES ('back', 1, 2, 3)",
    "DROP TABLE t; CREATE VIEW t AS SELECT 1 AS a, 'view' AS b, 3 AS c UNION ALL SELECT 2, 'row', NULL",
    "DROP VIEW t; CREATE TABLE t (a)",
    "INSERT INTO t VALUES (1), ('word'), (NULL)",
    "DROP TABLE t",
    "CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, NULL)",
    SQL(verbatim: "DROP TABLE t; CREATE TABLE t (\((0..<100).map { "c\($0)" }.joined(separator: ", ")), b, a)"),
    SQL(verbatim: "INSERT INTO t (c0, c99, b, a) VALUES (1, 99, 'wide', 7), (2, 98, 'row', 8)"),
    "DROP TABLE t; CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES (3, 'narrow'), (4, 'again')",
  ]

  /// The result or the error message of `body`.
  private func outcome<Result>(_ body: () throws -> Result) -> String {
    do { return "\(try body())" } catch { return (error as? SqlError)?.message ?? "\(error)" }
  }

  /// The results of every way to read the table's rows.
  private func outcomes(_ db: SqliteDatabase) -> [String] {
    let sql: SQL = "SELECT * FROM t"
    return [
      outcome { try db.query(sql, as: DynamicRow.self).map(\.values) },
      outcome { try db.query(sql, as: Shifting.self) },
      outcome { try db.query(sql, as: Backwards.self) },
      outcome { try db.query(sql, as: Int?.self) },
      outcome { try db.query(sql, as: Int?.self, String?.self) },
      outcome { try db.query(sql, as: Shifting.self, Double?.self) },
      outcome { try db.query(sql) { row in try (row.columnNames, row.get("a", as: Int?.self)) } },
      outcome { try db.query(sql) { try $0.get(at: 1, as: String?.self) } },
      outcome {
        try db.query("SELECT t.*, 'end' FROM t ORDER BY rowid DESC LIMIT 2", as: DynamicRow.self).map(\.values)
      },
      // If t is a view of constants, SQLite 3.46 and later do not check whether the schema has changed.
      outcome {
        try db.query(
          SQLiteLibrary.isAtLeast(41)
            ? "SELECT count(*) FROM (SELECT * FROM t), (SELECT count(*) FROM sqlite_schema)"
            : "SELECT count(*) FROM (SELECT * FROM t)", as: Int.self)
      },
    ]
  }

  private func prepared(_ db: SqliteDatabase) throws -> [() throws -> String] {
    let pairs = try db.prepare("SELECT * FROM t", as: Int?.self, String?.self)
    // As above: the subquery makes SQLite check the schema.
    let first = try db.prepare(
      SQLiteLibrary.isAtLeast(41)
        ? "SELECT count(*) FROM t, (SELECT count(*) FROM sqlite_schema)" : "SELECT count(*) FROM t", as: Int?.self)
    let models = try db.prepare("SELECT *, 'end' FROM t", as: Shifting.self, String?.self)
    return [
      { "\(try pairs.run())" }, { "\(try first.run())" }, { "\(try models.run())" },
      { "\(String(describing: try pairs.first()))" },
      {
        var rows: [Int?] = []
        try first.forEach([:]) {
          rows.append($0)
          return .continue
        }
        return "\(rows)"
      },
    ]
  }

  @Test(.needs(35, "DROP COLUMN"), arguments: [0, 3_000, 1 << 20])
  func cachedQueriesMatchANewHandleAfterSchemaChanges(capacity: Int) throws {
    try withDatabase(Configuration(statementCacheBytes: capacity)) { db throws in
      try db.execute("CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, NULL), (NULL, '')")
      let known = outcomes(db)
      #expect(
        known[1] == "[(a: Optional(1), b: Optional(\"x\")), (a: Optional(2), b: nil), (a: nil, b: Optional(\"\"))]")
      let kept = try prepared(db)
      let other = try SqliteDatabase(filepath: db.filepath)
      for (number, change) in Self.changes.enumerated() {
        try other.execute(change)
        let new = try SqliteDatabase(filepath: db.filepath)
        let expected = outcomes(new)
        #expect(outcomes(db) == expected, "\(number): \(change)")
        // The second read uses the columns that the first one has cached.
        #expect(outcomes(db) == expected, "\(number): \(change)")
        for (index, run) in kept.enumerated() {
          let fresh = outcome { try prepared(new)[index]() }
          let found = outcome(run)
          #expect(found == fresh || fresh.contains("columns, but"), "\(number), \(index): \(found), not \(fresh)")
        }
        let columns = try new.query("SELECT count(*) FROM pragma_table_info('t')", as: Int.self)
        let wrong = try? db.query("SELECT * FROM t", as: DynamicRow.self).filter { $0.values.count != columns[0] }
        #expect(wrong?.isEmpty != false, "\(number): \(change)")
      }
      #expect(
        outcomes(db)[1] == "[(a: Optional(3), b: Optional(\"narrow\")), (a: Optional(4), b: Optional(\"again\"))]")
    }
  }

  @Test(.needs(35, "DROP COLUMN")) func aDroppedColumnIsNeverReadAsNull() throws {
    try withDatabase { db throws in
      try db.execute("CREATE TABLE t (a INTEGER, b TEXT); INSERT INTO t VALUES (1, 'x'), (2, 'y')")
      let pairs = try db.prepare("SELECT * FROM t", as: Int?.self, String?.self)
      #expect(try pairs.run().map(\.1) == ["x", "y"])
      #expect(try db.query("SELECT * FROM t", as: Int?.self, String?.self).map(\.1) == ["x", "y"])
      #expect(try db.query("SELECT * FROM t", as: Shifting.self).map(\.b) == ["x", "y"])
      let other = try SqliteDatabase(filepath: db.filepath)
      try other.execute("ALTER TABLE t DROP COLUMN b")
      let says = "the result has 1 columns, but 2 are read"
      #expect(expectMisuse { _ = try pairs.run() }?.message == says)
      #expect(expectMisuse { _ = try pairs.first() }?.message == says)
      #expect(expectMisuse { try pairs.forEach([:]) { _ in .continue } }?.message == says)
      #expect(expectMisuse { _ = try db.query("SELECT * FROM t", as: Int?.self, String?.self) }?.message == says)
      expectError(.schema(.missingColumn("b"))) { _ = try db.query("SELECT * FROM t", as: Shifting.self) }
      expectMisuse { _ = try db.query("SELECT * FROM t") { try $0.get(at: 1, as: String?.self) } }
      expectError(.schema(.missingColumn("b"))) {
        _ = try db.query("SELECT * FROM t") { try $0.get("b", as: Int?.self) }
      }
      try other.execute("ALTER TABLE t ADD COLUMN b TEXT DEFAULT 'back'")
      #expect(try pairs.run().map(\.1) == ["back", "back"])
      #expect(try db.query("SELECT * FROM t", as: Shifting.self).map(\.b) == ["back", "back"])
    }
  }
}
