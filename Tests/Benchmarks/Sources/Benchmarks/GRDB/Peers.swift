#if GRDB
import Foundation
import GRDB

typealias Contender = Workload.Contender

/// GRDB's contenders for a workload, each written as GRDB documents it; "cached" uses its statement cache directly.
func peers(of id: String, fixture: Fixture, operations: Int) throws -> [Workload.Contender] {
  let peers = Peers(fixture: fixture, count: operations)
  switch id {
  case "W1": return try peers.integers()
  case "W2": return try peers.mixed(RealDates.self)
  case "W2n": return try peers.mixed(TextDates.self)
  case "W3": return try peers.pointSelects()
  case "W3a": return try peers.lonePointSelects()
  case "W7": return try peers.filteredQueries()
  case "W8": return try peers.filteredCounts()
  case "W4": return try peers.insertsInOne()
  case "W5": return try peers.loneInserts()
  case "W6": return try peers.updatesByKey()
  case "W10": return try peers.observedInserts()
  case "W9": return try peers.throughput()
  case "S1": return try peers.readModifyWrite()
  case "S2": return try peers.pages()
  case "S3": return try peers.joins()
  case "S4": return try peers.documents()
  case "S5": return try peers.attachments()
  case "S6": return try peers.inLists()
  case "S7": return peers.opens()
  case "S8": return try peers.coldStatements()
  case "S11": return try peers.booksWithLoans()
  default: return []
  }
}

struct Peers {
  let fixture: Fixture
  let count: Int

  static let columns = RawSwift.mixedColumns
  static let insert = "INSERT INTO mixed (\(columns)) VALUES (?, ?, ?, ?, ?, ?, ?)"

  static var configuration: Configuration {
    var configuration = Configuration()
    configuration.journalMode = .wal
    configuration.busyMode = .timeout(5)
    configuration.maximumReaderCount = Threads.readers
    configuration.prepareDatabase { db in
      try db.execute(
        sql: """
          PRAGMA secure_delete = fast; PRAGMA synchronous = normal; PRAGMA cache_size = -8192; \
          PRAGMA wal_autocheckpoint = 1000
          """)
    }
    return configuration
  }

  func reader() throws -> DatabaseQueue {
    try DatabaseQueue(path: fixture.path, configuration: Peers.configuration)
  }

  func writer() throws -> DatabaseQueue {
    try fixture.reset(.grdb)
    return try DatabaseQueue(path: fixture.path(of: .grdb), configuration: Peers.configuration)
  }

  func writing(
    _ name: String, rows: Int = 0, setUp: @escaping () throws -> Void = {}, tearDown: @escaping () throws -> Void = {},
    run: @escaping () throws -> UInt64
  ) -> Contender {
    Suite(fixture: fixture).writing(name, .grdb, rows: rows, setUp: setUp, tearDown: tearDown, run: run)
  }

  /// Reads whole tables, once: so that a measurement of memory begins with a full page cache.
  private func filling(_ queue: DatabaseQueue) -> () throws -> Void {
    let isDone = Box(false)
    return {
      guard !isDone.value else { return }
      isDone.value = true
      try queue.read { db in for sql in Memory.fillingPageCache { _ = try Row.fetchOne(db, sql: sql) } }
    }
  }

  // MARK: - Scans

  func integers() throws -> [Contender] {
    let queue = try reader()
    let setUp = filling(queue)
    return [
      Contender(Name.grdbIndex, setUp: setUp) { try queue.read { try IntegersByIndex.fetchAll($0).digest() } },
      Contender(Name.grdbName, setUp: setUp) { try queue.read { try IntegersByName.fetchAll($0).digest() } },
      Contender(Name.grdbCodable, setUp: setUp) { try queue.read { try Integers.fetchAll($0).digest() } },
    ]
  }

  func mixed<Dates: DateForm>(_ dates: Dates.Type) throws -> [Contender] {
    let queue = try reader()
    let setUp = filling(queue)
    return [
      Contender(Name.grdbIndex, setUp: setUp) { try queue.read { try ByIndex<Dates>.fetchAll($0).digest() } },
      Contender(Name.grdbName, setUp: setUp) { try queue.read { try ByName<Dates>.fetchAll($0).digest() } },
      Contender(Name.grdbCodable, setUp: setUp) { try queue.read { try ByCodable<Dates>.fetchAll($0).digest() } },
    ]
  }

  // MARK: - Selects

  /// Calls `one` for each key, in one read transaction.
  private func selecting(
    _ name: String, _ queue: DatabaseQueue, _ one: @escaping (Database, Int) throws -> UInt64
  ) -> Contender {
    let ids = fixture.keys(count)
    return Contender(name) { try queue.read { db in try ids.reduce(0) { $0 &+ (try one(db, $1)) } } }
  }

  static func cachedSelect(_ db: Database, _ id: Int) throws -> UInt64 {
    let statement = try db.cachedStatement(sql: "SELECT \(columns) FROM mixed WHERE id = ?")
    return try ByIndex<RealDates>.fetchOne(statement, arguments: [id])?.digest ?? 0
  }

  func pointSelects() throws -> [Contender] {
    let queue = try reader()
    return [
      selecting(Name.grdbIndex, queue) { try ByIndex<RealDates>.fetchOne($0, key: $1)?.digest ?? 0 },
      selecting(Name.grdbName, queue) { try ByName<RealDates>.fetchOne($0, key: $1)?.digest ?? 0 },
      selecting(Name.grdbCodable, queue) { try ByCodable<RealDates>.fetchOne($0, key: $1)?.digest ?? 0 },
      selecting(Name.grdbCached, queue) { try Peers.cachedSelect($0, $1) },
    ]
  }

  func lonePointSelects() throws -> [Contender] {
    let queue = try reader()
    let ids = fixture.keys(count)
    func alone(_ name: String, _ one: @escaping (Database, Int) throws -> UInt64) -> Contender {
      Contender(name) { try ids.reduce(0) { sum, id in sum &+ (try queue.read { try one($0, id) }) } }
    }
    return [
      alone(Name.grdbIndex) { try ByIndex<RealDates>.fetchOne($0, key: $1)?.digest ?? 0 },
      alone(Name.grdbName) { try ByName<RealDates>.fetchOne($0, key: $1)?.digest ?? 0 },
      alone(Name.grdbCodable) { try ByCodable<RealDates>.fetchOne($0, key: $1)?.digest ?? 0 },
      alone(Name.grdbCached) { try Peers.cachedSelect($0, $1) },
    ]
  }

  func filteredQueries() throws -> [Contender] {
    let queue = try reader()
    let starts = Suite.starts(count, width: 50, rows: fixture.rows)
    func querying(_ name: String, _ one: @escaping (Database, Int) throws -> UInt64) -> Contender {
      Contender(name) { try queue.read { db in try starts.reduce(0) { $0 &+ (try one(db, $1)) } } }
    }
    func window(_ start: Int) -> SQLExpression { Column("id") >= start && Column("id") < start + 50 }
    return [
      querying(Name.grdbIndex) { try ByIndex<RealDates>.filter(window($1)).fetchAll($0).digest() },
      querying(Name.grdbName) { try ByName<RealDates>.filter(window($1)).fetchAll($0).digest() },
      querying(Name.grdbCodable) { try ByCodable<RealDates>.filter(window($1)).fetchAll($0).digest() },
      querying(Name.grdbCached) { db, start in
        let sql = "SELECT \(Peers.columns) FROM mixed WHERE id >= ? AND id < ?"
        let statement = try db.cachedStatement(sql: sql)
        return try ByIndex<RealDates>.fetchAll(statement, arguments: [start, start + 50]).digest()
      },
    ]
  }

  func filteredCounts() throws -> [Contender] {
    let queue = try reader()
    let starts = Suite.starts(count, width: 100, rows: fixture.rows)
    return [
      Contender(Name.grdb + " request") {
        try queue.read { db in
          try starts.reduce(0) { sum, start in
            let window = Column("id") >= start && Column("id") < start + 100 && Column("active") == true
            return sum &+ UInt64(try ByIndex<RealDates>.filter(window).fetchCount(db))
          }
        }
      },
      Contender(Name.grdbCached) {
        try queue.read { db in
          try starts.reduce(0) { sum, start in
            let sql = "SELECT count(*) FROM mixed WHERE id >= ? AND id < ? AND active = ?"
            let statement = try db.cachedStatement(sql: sql)
            return sum &+ UInt64(try Int.fetchOne(statement, arguments: [start, start + 100, true]) ?? 0)
          }
        }
      },
    ]
  }
}
#endif
