import Glibc
import Sqlable

/// Migrations of which each may run once, in two processes.
struct MigrationSteps: SteppedWork {
  private let path: String
  var processes: Int { 2 }

  init(_ directory: String) { path = directory + "/migrated.sqlite" }

  private static let migrations: Migrations = {
    var all = [Migration("table", sql: "CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER NOT NULL DEFAULT 0)")]
    all.append(
      Migration("rows") { db in
        try db.execute(
          """
          WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 600) INSERT INTO t (id) \
          SELECT i FROM n
          """)
      })
    all.append(
      Migration(batches: "batches") { db, last in
        let begin = last ?? 0
        // A batch that ran twice shows.
        try db.execute("UPDATE t SET a = a + 1 WHERE id > \(begin) AND id <= \(begin + 50)")
        return begin >= 550 ? nil : begin + 50
      })
    all += (0..<10).map { Migration("column \($0)", sql: "ALTER TABLE t ADD COLUMN c\($0); UPDATE t SET c\($0) = a") }
    return Migrations(all)
  }()

  func prepare() throws {}

  func work() throws {
    let db = try SqliteDatabase(filepath: path, configuration: Configuration(busyTimeout: 60, walAutocheckpoint: 20))
    try MigrationSteps.migrations.apply(db)
    try db.close()
  }

  /// The next kill hits a new file every third time.
  func check(_ round: Round, turn: Int) throws {
    let db = try SqliteDatabase(filepath: path, configuration: Configuration(busyTimeout: 60))
    if try db.query("PRAGMA integrity_check", as: String.self) != ["ok"] { round.report(.wrong, "the file is damaged") }
    if turn % 3 == 2 {
      if round.flaw != nil, try db.tableExists("t") { try db.execute("UPDATE t SET a = a + 1 WHERE id = 7") }
      try MigrationSteps.migrations.apply(db)
      let count = try db.query("SELECT count(*) FROM t WHERE a = 1 AND c9 = 1", as: Int.self)
      if count != [600] { round.report(.wrong, "\(count) of 600 rows were migrated once") }
      try db.close()
      for end in ["", "-wal", "-shm"] { unlink(path + end) }
    } else {
      try db.close()
    }
  }
}

/// A plan that rebuilds a table. The file has the old schema or the new one, and all rows.
struct PlanSteps: SteppedWork {
  private enum Before: TableDeclaration {
    static let columns = [Column("id", .integer, PrimaryKey()), Column("a", .text), Column("b", .nullable(.text))]
    static let indexes = [Index(columns[1])]
  }

  private enum After: TableDeclaration {
    static let columns = [
      Column("id", .integer, PrimaryKey()), Column("a", .text, Collate.nocase), Column("b", .text),
    ]
    static let indexes = [Index(columns[2])]
  }

  private let path: String

  init(_ directory: String) { path = directory + "/plan.sqlite" }

  private func open() throws -> SqliteDatabase {
    try SqliteDatabase(filepath: path, configuration: Configuration(busyTimeout: 60, walAutocheckpoint: 20))
  }

  func prepare() throws {
    let db = try open()
    try db.createTable(Entry<Before>.self)
    try db.transaction { db in
      for id in 1...400 { try Entry<Before>(.integer(Int64(id)), .text("\(id) text"), .text("b")).insert().run(db) }
    }
    try db.close()
  }

  func work() throws {
    let db = try open()
    for schema in [Schema(Entry<After>.self), Schema(Entry<Before>.self)] {
      try schema.plan(db, dropping: .indexes).apply(db)
    }
    try db.close()
  }

  func check(_ round: Round, turn: Int) throws {
    let db = try open()
    if round.flaw != nil { try db.execute("DELETE FROM t WHERE id = 1") }
    let isOld = try Schema(Entry<Before>.self).differences(db).isEmpty
    let isNew = try Schema(Entry<After>.self).differences(db).allSatisfy(\.isHarmless)
    if isOld == isNew { round.report(.wrong, "the schema is neither the old nor the new one") }
    let rows = try db.query("SELECT count(*), sum(id), sum(a = id || ' text'), sum(b = 'b') FROM t") { row in
      try (0..<4).map { try row.get(at: $0, as: Int.self) }
    }
    if rows != [[400, 80_200, 400, 400]] { round.report(.lost, "the rows are \(rows)") }
    if try db.query("PRAGMA integrity_check", as: String.self) != ["ok"] { round.report(.wrong, "the file is damaged") }
    let tables = try db.schema().tables.map(\.name)
    if tables != ["t"] { round.report(.wrong, "the tables are \(tables)") }
    try db.close()
  }
}
