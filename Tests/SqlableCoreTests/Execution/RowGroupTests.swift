import Foundation
import SqlableCore
import SqlableSchema
import SqlableTracing
import Testing

@testable import SqlableTestSupport

private enum Part: TableDeclaration {
  static let name = "part"
  static let id = Column("id", .integer, PrimaryKey())
  static let columns = [
    id, Column("code", .text), Column("size", .nullable(.integer), Default(7)), Column("parent", .nullable(.integer)),
  ]
}

/// Batches in which several rows share a statement: `INSERT INTO "part" (…) VALUES (?, ?), (?, ?), …`.
@Suite struct RowGroupTests {
  private static let table =
    "CREATE TABLE part (id INTEGER PRIMARY KEY, code TEXT, size INTEGER DEFAULT 7, parent INTEGER)"

  /// The statements that a batch runs, without its transaction.
  private func statements(_ db: SqliteDatabase, _ parts: [Entry<Part>]) throws -> [TraceEvent] {
    let events = Mutex<[TraceEvent]>([])
    let token = db.trace { event in events.withLock { $0.append(event) } }
    defer { db.removeTrace(token) }
    try Entry<Part>.insert(parts).run(db)
    return events.withLock { $0 }.filter { $0.kind == .write }
  }

  @Test func aLargeBatchTakesFewStatements() throws {
    try withDatabase { db in
      try db.execute(RowGroupTests.table)
      let parts = (1...1_000).map { Entry<Part>(nil, .text("\($0)"), 1, .null) }
      let large = try statements(db, parts)
      #expect(large.count == 62 + 8)
      #expect(large.reduce(0) { $0 + $1.rowsChanged } == 1_000)
      #expect(large[0].sql == #"INSERT INTO "part" ("code", "size", "parent") VALUES (?…)…"#)
      #expect(try statements(db, Array(parts.prefix(255))).count == 255)
      #expect(try Entry<Part>.insert(parts).run(db) == Array(1_256...2_255))
      #expect(try Entry<Part>.read().filter(Part.id > 1_255).run(db).map { $0.values[1] } == parts.map { $0.values[1] })
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
      let parts = (1...300).map { (id: Int64) in Entry<Part>(.integer(id), .text("\(id)"), 1, .null) }
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
        for round in 0..<3 as Range<Int64> {
          let runs = Bool.random(using: &random)
          var next: Int64 = 10_000 * (round + 1)
          let parts = (0..<Int.random(in: 250...700, using: &random)).map { place -> Entry<Part> in
            next += Int64.random(in: 1...3, using: &random)
            let hasId = runs ? place / 40 % 2 == 0 : Int.random(in: 0..<30, using: &random) == 0
            let isBroken = Int.random(in: 0..<600, using: &random) == 0
            let text = "\(round) \(place)" + String(repeating: "x", count: place % 97 == 0 ? 3_000 : 5)
            return Entry<Part>(
              hasId ? .integer(isBroken ? 10_000 * (round + 1) : next) : nil,
              isBroken ? "same" : .text(text),
              Int.random(in: 0..<8, using: &random) == 0 ? nil : (isBroken ? 97 : 5),
              .null)
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
            #expect(try Entry<Part>.insert(parts).run(batch) == ids)
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
      db.observe(.insert, on: Entry<Part>.self) { id in seen.withLock { $0.append(id) } }
      try Entry<Part>.insert((1...500).map { Entry<Part>(nil, .text("\($0)"), 1, .null) }).run(db)
      #expect(seen.withLock { $0.sorted() } == Array(1...500))
    }
  }

  /// SQLite assigns random ids once the largest id is in use.
  @Test(arguments: [1, 20]) func idsAreCorrectAfterARowWithTheLargestId(_ position: Int) throws {
    try withDatabase { db in
      try db.execute(RowGroupTests.table)
      var rows = (0..<300).map { Entry<Part>(nil, .text("\($0)"), 1, .null) }
      rows[position] = Entry<Part>(.integer(.max), .text("\(position)"), 1, .null)
      let ids = try Entry<Part>.insert(rows).run(db)
      let codes = try db.query("SELECT id, code FROM part", as: Int.self, String.self)
      let byId = Dictionary(uniqueKeysWithValues: codes.map { ($0.0, $0.1) })
      #expect(ids.enumerated().allSatisfy { byId[$1] == "\($0)" })
    }
  }

  /// The code of a row can insert other rows of the table.
  @Test(arguments: [3, 15, 16, 100]) func idsAreCorrectAfterANestedRowWithTheLargestId(_ position: Int) throws {
    try withDatabase { db in
      try db.execute(RowGroupTests.table)
      let rows = (0..<300).map { number in
        Nesting(code: "\(number)") {
          guard number == position else { return }
          do { try Entry<Part>(.integer(.max), "nested", nil, .null).insert().run(db) } catch { Issue.record(error) }
        }
      }
      let ids = try Nesting.insert(rows).run(db)
      let codes = try db.query("SELECT id, code FROM part", as: Int.self, String.self)
      let byId = Dictionary(uniqueKeysWithValues: codes.map { ($0.0, $0.1) })
      #expect(byId[.max] == "nested")
      #expect(ids.enumerated().allSatisfy { byId[$1] == "\($0)" })
    }
  }

  @Test(arguments: [false, true]) func aWriterOfAnotherRowIsRefused(isOfAnotherBatch: Bool) throws {
    try withDatabase { db in
      try db.execute("CREATE TABLE swapped (id INTEGER PRIMARY KEY, name TEXT)")
      let writers = LockedValue<[RowWriter]>([])
      if isOfAnotherBatch { try Swapped.insert((0..<300).map { Swapped($0, writers, swaps: false) }).run(db) }
      let rows = (1_000..<1_300).map { Swapped($0, writers, swaps: $0 > 1_003) }
      let error = expectSqlError { try Swapped.insert(rows).run(db) }
      #expect(error?.message.hasPrefix("a RowWriter was used after write(to:) returned") == true)
      #expect(try db.query("SELECT count(*) FROM swapped WHERE id >= 1000", as: Int.self) == [0])
    }
  }

  @Test func idsAreCorrectWhileTheLargestIdIsInUse() throws {
    try withDatabase { db in
      try db.execute(RowGroupTests.table)
      try Entry<Part>(.integer(.max), "last", nil, .null).insert().run(db)
      let ids = try Entry<Part>.insert((0..<300).map { Entry<Part>(nil, .text("\($0)"), 1, .null) }).run(db)
      let codes = try db.query("SELECT id, code FROM part", as: Int.self, String.self)
      let byId = Dictionary(uniqueKeysWithValues: codes.map { ($0.0, $0.1) })
      #expect(ids.enumerated().allSatisfy { byId[$1] == "\($0)" })
    }
  }
}

/// A model that calls a closure when it is written.
private struct Nesting: Sqlable {
  static let tableName = "part"
  static let id = Column("id", .integer, PrimaryKey())
  static let code = Column("code", .text)
  static let tableLayout = [id, code]

  let code: String
  let write: @Sendable () -> Void

  init(code: String, write: @escaping @Sendable () -> Void) { (self.code, self.write) = (code, write) }

  init(row: ReadRow) throws { self.init(code: try row.get(Nesting.code)) {} }

  func write(to row: inout RowWriter) throws {
    write()
    row.skip(Nesting.id)
    row.set(Nesting.code, code)
  }
}

/// A model that stores its writers, and can replace the writer of a row by the first stored one.
private struct Swapped: Sqlable {
  static let id = Column("id", .integer, PrimaryKey())
  static let name = Column("name", .text)
  static let tableLayout = [id, name]

  let number: Int
  let writers: LockedValue<[RowWriter]>
  let swaps: Bool

  init(_ number: Int, _ writers: LockedValue<[RowWriter]>, swaps: Bool) {
    (self.number, self.writers, self.swaps) = (number, writers, swaps)
  }

  init(row: ReadRow) throws { self.init(try row.get(Swapped.id), LockedValue([]), swaps: false) }

  func write(to row: inout RowWriter) throws {
    row.set(Swapped.id, number)
    row.set(Swapped.name, "row \(number)")
    let writer = row
    writers.withLock { $0.append(writer) }
    if swaps, let first = writers.withLock({ $0.first }) { row = first }
  }
}
