import SqlableCore
import SqlableSchema
import SqlableTracing
import Testing

@testable import SqlableChanges
@testable import SqlableTestSupport

/// Batches of a logged table, in which several rows share a statement.
@Suite struct LoggedBatchTests {
  private struct Part: TableDeclaration {
    static let name = "part"
    static let columns = [Column("id", .integer, PrimaryKey()), Column("code", .text), Column("size", .integer)]
  }

  private static let definition = "CREATE TABLE part (id INTEGER PRIMARY KEY, code TEXT, size INTEGER)"

  private func withLog(_ definition: String, _ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.execute(SQL(verbatim: definition))
      try ChangeLog(Entry<Part>.self).create(db)
      try body(db)
    }
  }

  private func part(_ id: Int64?, _ code: String) -> Entry<Part> {
    Entry<Part>(id.map { .integer($0) }, .text(code), 1)
  }

  /// Returns the kinds and values in the log, and the candidates of REPLACE.
  private func log(_ db: SqliteDatabase) throws -> [DynamicRow] {
    try db.query("SELECT seq, kind, v0, v1, v2 FROM sqlable_changes ORDER BY seq", as: DynamicRow.self)
      + db.query("SELECT \"row\" FROM sqlable_change_candidates", as: DynamicRow.self)
  }

  @Test func aLargeBatchTakesFewStatements() throws {
    try withLog(Self.definition) { db in
      let count = LockedValue(0)
      let token = db.trace { event in if event.kind == .write { count.withLock { $0 += 1 } } }
      let ids = try Entry<Part>.insert((1...800).map { part(nil, "\($0)") }).run(db)
      db.removeTrace(token)
      #expect(ids == Array(1...800))
      #expect(count.withLock { $0 } == 25)
      let numbers = try db.query("SELECT v0 FROM sqlable_changes WHERE kind = 1 ORDER BY seq", as: Int.self)
      #expect(numbers == ids)
    }
  }

  /// Compares a batch with single inserts: ids, rows, the log, and the positions of errors.
  @Test(arguments: [definition, "\(definition); CREATE UNIQUE INDEX part_code ON part (code)"], 0..<6)
  func aBatchIsLoggedLikeSingleInserts(_ definition: String, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var next: Int64 = 1_000
    let parts = (0..<Int.random(in: 256...600, using: &random)).map { place in
      next += 1
      let isBroken = place > 300 && Int.random(in: 0..<300, using: &random) == 0
      return part(place / 40 % 2 == 0 ? (isBroken ? 1_001 : next) : nil, isBroken ? "0" : "\(place)")
    }
    try withLog(definition) { batch in
      try withLog(definition) { single in
        for db in [batch, single] {
          try db.execute("INSERT INTO part VALUES (1, 'a', 1), (2, 'b', 1)")
          // A candidate of REPLACE that stays.
          try db.execute("INSERT OR IGNORE INTO part VALUES (2, 'c', 1)")
        }
        var failed: (place: Int, kind: SqlError.Kind)?
        let ids = try? single.transaction { db in
          try parts.enumerated().map { place, part in
            do { return try part.insert().run(db) } catch let error as SqlError {
              failed = (place, error.kind)
              throw error
            }
          }
        }
        do {
          #expect(try Entry<Part>.insert(parts).run(batch) == ids)
        } catch let error as SqlError {
          #expect(error.batchIndex == failed?.place && error.kind == failed?.kind)
        }
        #expect(try log(batch) == log(single))
        #expect(
          try batch.query("SELECT * FROM part", as: DynamicRow.self)
            == single.query("SELECT * FROM part", as: DynamicRow.self))
      }
    }
  }

  @Test func anExpressionThatFailsNamesItsRow() throws {
    for isLogged in [true, false] {
      try withDatabase { db in
        try db.execute(SQL(verbatim: Self.definition))
        try db.execute("CREATE INDEX part_name ON part (json_extract(code, '$.name'))")
        if isLogged { try ChangeLog(Entry<Part>.self).create(db) }
        let error = sqlError {
          try Entry<Part>.insert((0..<300).map { part(nil, $0 == 45 ? "{" : "{}") }).run(db)
        }
        #expect(error?.batchIndex == 45, "\(isLogged)")
        #expect(try Entry<Part>.count().run(db) == 0)
      }
    }
  }

  /// RAISE(IGNORE) skips a row; a change of the table by a trigger changes the ids of later rows.
  @Test(arguments: [
    "CREATE TRIGGER sqlable_changes_skip BEFORE INSERT ON part WHEN new.code = '40' BEGIN SELECT RAISE(IGNORE); END",
    """
    CREATE TRIGGER cap AFTER INSERT ON sqlable_changes WHEN new.kind = 1 AND new.v1 = '40'
    BEGIN DELETE FROM part WHERE id = new.v0; END
    """,
    """
    CREATE TEMP TRIGGER cap AFTER INSERT ON sqlable_changes WHEN new.kind = 1 AND new.v1 = '40'
    BEGIN DELETE FROM part WHERE id = new.v0; END
    """,
  ])
  func idsAreThoseOfSingleInserts(_ trigger: String) throws {
    func ids(_ insert: (SqliteDatabase, [Entry<Part>]) throws -> [Int]) throws -> [Int] {
      var ids: [Int] = []
      try withLog(Self.definition) { db in
        try db.execute(SQL(verbatim: trigger))
        ids = try insert(db, (1...300).map { part(nil, "\($0)") })
      }
      return ids
    }
    let single = try ids { db, parts in try parts.map { try $0.insert().run(db) } }
    #expect(try ids { db, parts in try Entry<Part>.insert(parts).run(db) } == single)
  }

  @Test func aTriggerOfTheProgramStillGetsTheRowsOneByOne() throws {
    try withLog(Self.definition) { db in
      try db.execute("CREATE TRIGGER count AFTER INSERT ON part BEGIN SELECT 1; END")
      try ChangeLog(Entry<Part>.self).create(db)
      let count = LockedValue(0)
      let token = db.trace { event in if event.kind == .write { count.withLock { $0 += 1 } } }
      try Entry<Part>.insert((1...300).map { part(nil, "\($0)") }).run(db)
      db.removeTrace(token)
      #expect(count.withLock { $0 } == 300)
    }
  }
}
