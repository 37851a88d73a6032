import CSqlableSQLite
import Foundation
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableCore
@testable import SqlableTestSupport

@Suite struct StatementCacheTests {
  func people(_ db: SqliteDatabase, _ count: Int = 10) throws {
    try db.createTable(Person.self)
    try Person.insert((0..<count).map { Person(id: nil, name: "name \($0)") }).run(db)
  }

  private func select(_ number: Int, _ db: SqliteDatabase) throws {
    #expect(try db.query(SQL(verbatim: "SELECT \(number)"), as: Int.self) == [number])
  }

  @Test func theCacheEvictsTheLeastRecentlyUsedStatement() throws {
    try withDatabase { db in
      try select(1, db)
      let size = try db.statementCacheUse.bytes
      #expect(size > 500)
      // The cache holds three statements, not four.
      try withDatabase(.init(statementCacheBytes: size * 7 / 2)) { db in
        // The lock keeps other tests from releasing the statements: `releaseMemory` skips handles in use.
        try db.locked {
          let cache = try db.openConnection().cache
          for number in 1...3 { try select(number, db) }
          #expect(cache.count == 3)
          #expect(cache.evictions == 0)
          try select(1, db)
          try select(4, db)  // evicts 2
          #expect(cache.count == 3)
          #expect(cache.evictions == 1)
          var (hits, misses) = (cache.hits, cache.misses)
          for number in [1, 3, 4] { try select(number, db) }
          #expect(cache.hits == hits + 3)
          try select(2, db)
          #expect(cache.misses == misses + 1)
          for number in 100..<1_000 { try select(number, db) }
          let use = try db.statementCacheUse
          #expect(use.statements == 3)
          #expect(use.evictions == use.misses - 3)
          #expect(use.bytes <= size * 7 / 2)
          (hits, misses) = (cache.hits, cache.misses)
          try select(999, db)
          #expect(cache.hits == hits + 1)
          #expect(cache.misses == misses)
          // A statement larger than the cache is not kept, and evicts no other.
          try people(db)
          let conditions = (1...200).map { "id = \($0)" }.joined(separator: " OR ")
          let long = SQL(verbatim: "SELECT name FROM person WHERE \(conditions)")
          let count = cache.count
          _ = try db.query(long, as: String.self)
          #expect(cache.count == count)
          #expect(cache.size <= cache.capacity)
        }
      }
    }
  }

  /// Statements with different columns, conditions and orders, like those of a service.
  private func shapes(_ count: Int) -> [Select<DynamicRow>] {
    let columns = [Bicycle.id, Bicycle.name, Bicycle.color, Bicycle.ownerId]
    return (0..<count).map { number in
      func column(_ place: Int) -> Column { columns[number / place % 4] }
      let shape = Bicycle.read().select(column(1), column(4)).filter(column(16) == nil || column(64) != nil)
        .orderBy(column(16), number.isMultiple(of: 2) ? .asc : .desc)
      return number < 256 ? shape.limit(1) : shape
    }
  }

  @Test func fiveHundredStatementsFitTheDefaultCache() throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      let shapes = shapes(500)
      let distinct = Set(shapes.map(\.sql)).count
      #expect(distinct == 500)
      // The lock keeps other tests from releasing the statements: `releaseMemory` skips handles in use.
      try db.locked {
        for shape in shapes { _ = try shape.run(db) }
        let first = try db.statementCacheUse
        #expect(first.evictions == 0)
        #expect(first.statements >= 500)
        #expect(first.bytes < 4 << 20)
        for shape in shapes { _ = try shape.run(db) }
        let second = try db.statementCacheUse
        #expect(second.misses == first.misses)
        #expect(second.hits == first.hits + 500)
        #expect(second.bytes == first.bytes)
      }
    }
  }

  @Test func oneTimeStatementsStayWithinTheCacheLimit() throws {
    try withDatabase(.init(statementCacheBytes: 100_000)) { db in
      try people(db)
      // The lock keeps other tests from releasing the statements: `releaseMemory` skips handles in use.
      try db.locked {
        for start in 1...2_000 {
          let names = try Person.read().select(Person.name.substr(-start)).filter(Person.id == 1).run(db)
          #expect(names.count == 1)
        }
        let use = try db.statementCacheUse
        #expect(use.bytes <= 100_000)
        #expect(use.evictions > 1_900)
        #expect(use.statements < 60)
      }
    }
  }

  @Test func statementCacheUseCountsHitsAndMisses() throws {
    try withDatabase { db in
      #expect(try db.createChild().statementCacheUse.hitRate == 0)
      try people(db)
      // The lock keeps other tests from releasing the statements: `releaseMemory` skips handles in use.
      try db.locked {
        let before = try db.statementCacheUse
        for id in 1...10 { _ = try Person.byId(id).run(db) }
        let after = try db.statementCacheUse
        #expect(after.misses == before.misses + 1)
        #expect(after.hits == before.hits + 9)
        #expect(after.statements == before.statements + 1)
        #expect(after.bytes > before.bytes)
        #expect(after.evictions == 0)
        #expect(after.hitRate == Double(after.hits) / Double(after.hits + after.misses))
      }
      try db.releaseMemory()
      let released = try db.statementCacheUse
      #expect(released.statements == 0)
      #expect(released.bytes == 0)
      #expect(released.evictions == 0)
      try db.close()
      #expect(sqlError { _ = try db.statementCacheUse }?.kind == .closed)
    }
  }

  @Test func aCacheOfZeroBytesWorks() throws {
    try withDatabase(.init(statementCacheBytes: 0)) { db in
      try people(db)
      for _ in 0..<10 { #expect(try Person.count().run(db) == 10) }
      #expect(try db.openConnection().cache.count == 0)
    }
  }

  @Test func statementsThatDifferInValuesShareOneEntry() throws {
    try withDatabase { db in
      try people(db)
      // The lock keeps other tests from releasing the statements: `releaseMemory` skips handles in use.
      try db.locked {
        _ = try Person.byId(1).run(db)
        let cache = try db.openConnection().cache
        let (count, misses) = (cache.count, cache.misses)
        for id in 1...10 { #expect(try Person.byId(id).run(db)?.id == id) }
        #expect(cache.count == count)
        #expect(cache.misses == misses)
      }
    }
  }

  @Test(arguments: [0, 4_000, 1 << 20])
  func aStatementMayRunInsideItsOwnLoop(capacity: Int) throws {
    try withDatabase(.init(statementCacheBytes: capacity)) { db in
      try people(db, 4)
      let read = Person.read().filter(Person.id > 0).orderBy(Person.id)
      var pairs: [String] = []
      try read.forEach(db) { outer in
        try read.forEach(db) { inner in
          pairs.append("\(outer.id ?? 0)\(inner.id ?? 0)")
          return inner.id == 2 ? .stop : .continue
        }
        #expect(try read.run(db).count == 4)
      }
      #expect(pairs == ["11", "12", "21", "22", "31", "32", "41", "42"])
    }
  }

  /// Runs loops inside loops, each with another statement. Returns the depth that was reached.
  private func nest(_ depth: Int, _ db: SqliteDatabase) throws -> Int {
    var deepest = depth
    try Person.read().filter(.all((0...depth).map { Person.id > -$0 })).forEach(db) { person in
      #expect(person.name == "name 0")
      if depth < 20 { deepest = try nest(depth + 1, db) }
      return .stop
    }
    try select(depth, db)
    return deepest
  }

  @Test func openStatementsMayExceedTheCache() throws {
    try withDatabase(.init(statementCacheBytes: 6_000)) { db in
      try people(db, 3)
      #expect(try nest(0, db) == 20)
      let cache = try db.openConnection().cache
      #expect(cache.count <= 3)
      #expect(cache.size <= 6_000)
      #expect(try Person.count().run(db) == 3)
    }
  }

  @Test func everyFormOfStopEndsALoop() throws {
    try withDatabase { db in
      try people(db, 3)
      let read = Person.read().orderBy(Person.id)
      var seen: [Int?] = []
      try read.forEach(db) { person in
        let id = person.id
        seen.append(id)
      }
      try read.forEach(db) { person in
        seen.append(person.id)
        return person.id == 2 ? .stop : .continue
      }
      try read.forEach(db) { person in
        seen.append(person.id)
        let outcome = Iteration.stop
        return outcome
      }
      try read.forEach(db) { _ in .stop }
      try read.forEach(db) { _ in
        defer { seen.append(nil) }
        return Iteration.stop
      }
      #expect(seen == [1, 2, 3, 1, 2, 1, nil])
    }
  }

  /// SQLite's memory for a connection, in bytes: pages and statements.
  private func memory(_ db: SqliteDatabase) throws -> (pages: Int, statements: Int) {
    let handle = try db.openConnection().handle
    func bytes(_ what: Int32) -> Int {
      var (now, most): (Int32, Int32) = (0, 0)
      return sqlite3_db_status(handle, what, &now, &most, 0) == SQLITE_OK ? Int(now) : -1
    }
    return (bytes(SQLITE_DBSTATUS_CACHE_USED), bytes(SQLITE_DBSTATUS_STMT_USED))
  }

  @Test func releaseMemoryFreesPagesAndStatements() throws {
    try withDatabase { db in
      try people(db, 20_000)
      for number in 0..<100 { try select(number, db) }
      _ = try Person.read().run(db)
      let before = try memory(db)
      #expect(before.pages > 300_000)
      #expect(before.statements > 100_000)
      try db.releaseMemory()
      let after = try memory(db)
      // The connection keeps its control statements, such as BEGIN.
      #expect(after.pages < 50_000, "\(before) \(after)")
      #expect(after.statements < 30_000, "\(before) \(after)")
      #expect(try Person.count().run(db) == 20_000)
    }
  }

  @Test func memoryIsReleasedWhileRowsAreRead() throws {
    try withDatabase { db in
      try people(db)
      var seen = 0
      for number in 0..<100 { try select(number, db) }
      let before = try memory(db).statements
      try Person.read().forEach(db) { _ in
        try db.releaseMemory()
        #expect(try memory(db).statements < before / 2)
        seen += try Person.count().filter(Person.id == 1).run(db)
      }
      #expect(seen == 10)
    }
  }
}
