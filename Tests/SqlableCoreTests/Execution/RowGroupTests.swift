import Foundation
import SqlableCore
import SqlableSchema
import SqlableTracing
import Testing

@testable import SqlableTestSupport

/// A model whose columns are set or left out.
private struct Part: Sqlable, Equatable {
  var id: Int?
  var code: String
  var size: Int?
  var parent: Int?

  static let id = Column("id", .integer, PrimaryKey())
  static let code = Column("code", .text)
  static let size = Column("size", .nullable(.integer), Default(7))
  static let parent = Column("parent", .nullable(.integer))
  static let tableName = "part"
  static let tableLayout = [id, code, size, parent]

  init(id: Int?, code: String, size: Int?, parent: Int?) {
    (self.id, self.code, self.size, self.parent) = (id, code, size, parent)
  }

  func valueForColumn(_ column: Column) -> SqlValue? {
    switch column {
    case Part.id: return id
    case Part.code: return code
    case Part.size: return size
    case Part.parent: return parent ?? Null()
    case _: return nil
    }
  }

  init(row: ReadRow) throws {
    id = try row.get(Part.id)
    code = try row.get(Part.code)
    size = try row.get(Part.size)
    parent = try row.get(Part.parent)
  }
}

/// Batches in which several rows share a statement: `INSERT INTO "part" (…) VALUES (?, ?), (?, ?), …`.
@Suite struct RowGroupTests {
  private static let table =
    "CREATE TABLE part (id INTEGER PRIMARY KEY, code TEXT, size INTEGER DEFAULT 7, parent INTEGER)"

  /// The statements that a batch runs, without its transaction.
  private func statements(_ db: SqliteDatabase, _ parts: [Part]) throws -> [TraceEvent] {
    let events = Mutex<[TraceEvent]>([])
    let token = db.trace { event in events.withLock { $0.append(event) } }
    defer { db.removeTrace(token) }
    try Part.insert(parts).run(db)
    return events.withLock { $0 }.filter { $0.kind == .write }
  }

  @Test func aLargeBatchTakesFewStatements() throws {
    try withDatabase { db in
      try db.execute(RowGroupTests.table)
      let parts = (1...1_000).map { Part(id: nil, code: "\($0)", size: 1, parent: nil) }
      let large = try statements(db, parts)
      #expect(large.count == 62 + 8)
      #expect(large.reduce(0) { $0 + $1.rowsChanged } == 1_000)
      #expect(large[0].sql == #"INSERT INTO "part" ("code", "size", "parent") VALUES (?…)…"#)
      #expect(try statements(db, Array(parts.prefix(255))).count == 255)
      #expect(try Part.insert(parts).run(db) == Array(1_256...2_255))
      #expect(try Part.read().filter(Part.id > 1_255).run(db).map(\.code) == parts.map(\.code))
    }
  }

  /// Tables on which one statement for several rows would have another effect.
  @Test(arguments: [
    "CREATE TABLE part (id INTEGER PRIMARY KEY, code TEXT UNIQUE ON CONFLICT IGNORE, size INTEGER, parent INTEGER)",
    "CREATE TABLE part (id INTEGER PRIMARY KEY, code TEXT, size INTEGER, parent INTEGER REFERENCES \"PART\" (id))",
    "CREATE TABLE part (id INTEGER PRIMARY KEY, code TEXT, size INTEGER, parent INTEGER) WITHOUT ROWID",
    "CREATE TABLE part (id INT PRIMARY KEY, code TEXT, size INTEGER, parent INTEGER)",
    "\(table); CREATE TRIGGER t AFTER INSERT ON part BEGIN SELECT 1; END",
    "\(table); CREATE TEMP TRIGGER t AFTER INSERT ON part BEGIN SELECT 1; END",
    "\(table); CREATE TEMP TABLE part (id INTEGER PRIMARY KEY, code TEXT, size INTEGER, parent INTEGER)",
  ])
  func tablesWithSpecialRulesGetTheirRowsOneByOne(_ sql: String) throws {
    try withDatabase { db in
      try db.execute(sql)
      let parts = (1...300).map { (id: Int) in Part(id: id, code: "\(id)", size: 1, parent: nil) }
      #expect(try statements(db, parts).count == 300)
    }
  }

  /// Compares a batch with single inserts: ids, rows, and the positions of errors.
  @Test(arguments: 0..<24)
  func aBatchStoresTheSameAsSingleInserts(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let tables = [
      RowGroupTests.table,
      """
      CREATE TABLE part (id INTEGER PRIMARY KEY AUTOINCREMENT, code TEXT UNIQUE,
        size INTEGER DEFAULT 7 CHECK (size < 90), parent INTEGER)
      """,
      "\(RowGroupTests.table); CREATE UNIQUE INDEX part_code ON part (code, size)",
      """
      \(RowGroupTests.table);
      CREATE TRIGGER t BEFORE INSERT ON part WHEN new.size > 95 BEGIN SELECT RAISE(ABORT, 'no'); END
      """,
    ]
    let table = tables[Int(seed) % tables.count]
    for _ in 0..<4 {
      try withDatabase { batch in
        let single = try SqliteDatabase.inMemory()
        for db in [batch, single] { try db.execute(table) }
        for round in 0..<3 {
          let runs = Bool.random(using: &random)
          var next = 10_000 * (round + 1)
          let parts = (0..<Int.random(in: 250...700, using: &random)).map { place -> Part in
            next += Int.random(in: 1...3, using: &random)
            let hasId = runs ? place / 40 % 2 == 0 : Int.random(in: 0..<30, using: &random) == 0
            let isBroken = Int.random(in: 0..<600, using: &random) == 0
            return Part(
              id: hasId ? (isBroken ? 10_000 * (round + 1) : next) : nil,
              code: isBroken
                ? "same" : "\(round) \(place)" + String(repeating: "x", count: place % 97 == 0 ? 3_000 : 5),
              size: Int.random(in: 0..<8, using: &random) == 0 ? nil : (isBroken ? 97 : 5), parent: nil)
          }
          var (ids, error): ([Int], SqlError?) = ([], nil)
          do {
            try single.transaction { db in
              for (place, part) in parts.enumerated() {
                do { ids.append(try part.insert().run(db)) } catch var failed as SqlError {
                  failed.batchIndex = place
                  error = failed
                  throw failed
                }
              }
            }
          } catch {}
          do {
            #expect(try Part.insert(parts).run(batch) == ids)
            #expect(error == nil)
          } catch let failed as SqlError {
            #expect(failed.kind == error?.kind)
            #expect(failed.batchIndex == error?.batchIndex)
            #expect(failed.column == error?.column)
          }
          #expect(try batch.dump() == single.dump())
        }
      }
    }
  }

  @Test func observersSeeEachRow() throws {
    try withDatabase { db in
      try db.execute(RowGroupTests.table)
      let seen = Mutex<[Int]>([])
      db.observe(.insert, on: Part.self) { id in seen.withLock { $0.append(id) } }
      try Part.insert((1...500).map { Part(id: nil, code: "\($0)", size: 1, parent: nil) }).run(db)
      #expect(seen.withLock { $0.sorted() } == Array(1...500))
    }
  }

  /// SQLite assigns random ids once the largest id is in use.
  @Test func idsAreCorrectWhileTheLargestIdIsInUse() throws {
    try withDatabase { db in
      try db.execute(RowGroupTests.table)
      try Part(id: .max, code: "last", size: nil, parent: nil).insert().run(db)
      let ids = try Part.insert((0..<300).map { Part(id: nil, code: "\($0)", size: 1, parent: nil) }).run(db)
      let codes = try db.query("SELECT id, code FROM part", as: Int.self, String.self)
      let byId = Dictionary(uniqueKeysWithValues: codes.map { ($0.0, $0.1) })
      #expect(ids.enumerated().allSatisfy { byId[$1] == "\($0)" })
    }
  }
}
