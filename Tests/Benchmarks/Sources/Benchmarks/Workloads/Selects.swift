import CBaseline
import CSQLite3
import Sqlable

extension Suite {
  var pointSelects: [Workload] {
    let count = fixture.scaled(50_000)
    return [
      workload("W3", "selects by key in one read transaction", operations: count) { pointSelects(count) },
      workload("W3a", "selects by key, each on its own", operations: count) { lonePointSelects(count) },
    ]
  }

  var queries: [Workload] {
    let queries = fixture.scaled(5_000)
    let counts = fixture.scaled(20_000)
    return [
      workload("W7", "filtered queries of 50 mixed rows in one read transaction", operations: queries) {
        filteredQueries(queries)
      },
      workload("W8", "filtered counts over 100 rows in one read transaction", operations: counts) {
        filteredCounts(counts)
      },
    ]
  }

  private func pointSelects(_ count: Int) -> [Workload.Contender] {
    let (raw, db) = (fixture.raw, fixture.db)
    let ids = fixture.keys(count)
    let ids64 = ids.map { Int64($0) }
    return [
      .init(Name.c) { try raw.transaction { baseline_point_selects(raw.db, ids64, Int32(count)) } },
      .init(Name.swift) { try raw.transaction { try RawSwift.pointSelects(raw, ids) } },
      .init(Name.untyped) {
        try db.transaction(.deferred) { db in try ids.reduce(0) { $0 &+ (try Untyped.byId($1).run(db)?.digest ?? 0) } }
      },
      .init(Name.typed) {
        try db.transaction(.deferred) { db in try ids.reduce(0) { $0 &+ (try Typed.byId($1).run(db)?.digest ?? 0) } }
      },
      .init(Name.typed + " filter") {
        try db.transaction(.deferred) { db in
          try ids.reduce(0) { $0 &+ (try Typed.read().filter(Typed.id == $1).first().run(db)?.digest ?? 0) }
        }
      },
      .init(Name.prepared) {
        let byId = try db.prepare(Typed.read().filter(Typed.id == Parameter("id")).first())
        return try db.transaction(.deferred) { _ in try ids.reduce(0) { $0 &+ (try byId.run($1)?.digest ?? 0) } }
      },
    ]
  }

  private func lonePointSelects(_ count: Int) -> [Workload.Contender] {
    let (raw, db) = (fixture.raw, fixture.db)
    let ids = fixture.keys(count)
    let ids64 = ids.map { Int64($0) }
    return [
      .init(Name.c) { baseline_point_selects(raw.db, ids64, Int32(count)) },
      .init(Name.swift) { try RawSwift.pointSelects(raw, ids) },
      .init(Name.untyped) { try ids.reduce(0) { $0 &+ (try Untyped.byId($1).run(db)?.digest ?? 0) } },
      .init(Name.typed) { try ids.reduce(0) { $0 &+ (try Typed.byId($1).run(db)?.digest ?? 0) } },
      .init(Name.prepared) {
        let byId = try db.prepare(Typed.read().filter(Typed.id == Parameter("id")).first())
        return try ids.reduce(0) { $0 &+ (try byId.run($1)?.digest ?? 0) }
      },
    ]
  }

  /// Where the windows of a number of queries begin.
  static func starts(_ count: Int, width: Int, rows: Int) -> [Int] {
    (0..<count).map { ($0 &* 97) % (rows - width) + 1 }
  }

  private func filteredQueries(_ count: Int) -> [Workload.Contender] {
    let (raw, db) = (fixture.raw, fixture.db)
    let starts = Suite.starts(count, width: 50, rows: fixture.rows)
    let starts64 = starts.map { Int64($0) }
    return [
      .init(Name.c) { try raw.transaction { baseline_queries(raw.db, starts64, Int32(count), 50) } },
      .init(Name.swift) {
        let statement = try raw.prepare("SELECT \(RawSwift.mixedColumns) FROM mixed WHERE id >= ? AND id < ?")
        defer { sqlite3_finalize(statement) }
        return try raw.transaction {
          starts.reduce(0) { sum, start in
            sqlite3_bind_int64(statement, 1, Int64(start))
            sqlite3_bind_int64(statement, 2, Int64(start + 50))
            return sum &+ RawSwift.rows(statement).digest()
          }
        }
      },
      .init(Name.untyped) {
        try db.transaction(.deferred) { db in
          try starts.reduce(0) { sum, start in
            sum &+ (try Untyped.read().filter(Untyped.id >= start && Untyped.id < start + 50).run(db).digest())
          }
        }
      },
      .init(Name.typed) {
        try db.transaction(.deferred) { db in
          try starts.reduce(0) { sum, start in
            sum &+ (try Typed.read().filter(Typed.id >= start && Typed.id < start + 50).run(db).digest())
          }
        }
      },
      .init(Name.prepared) {
        let window = try db.prepare(
          Typed.read().filter(Typed.id >= Parameter("start") && Typed.id < Parameter("end")))
        return try db.transaction(.deferred) { _ in
          try starts.reduce(0) { $0 &+ (try window.run($1, $1 + 50).digest()) }
        }
      },
    ]
  }

  private func filteredCounts(_ count: Int) -> [Workload.Contender] {
    let (raw, db) = (fixture.raw, fixture.db)
    let starts = Suite.starts(count, width: 100, rows: fixture.rows)
    let starts64 = starts.map { Int64($0) }
    return [
      .init(Name.c) { try raw.transaction { baseline_counts(raw.db, starts64, Int32(count), 100) } },
      .init(Name.swift) {
        let statement = try raw.prepare("SELECT count(*) FROM mixed WHERE id >= ? AND id < ? AND active = ?")
        defer { sqlite3_finalize(statement) }
        return try raw.transaction {
          var sum: UInt64 = 0
          for start in starts {
            sqlite3_bind_int64(statement, 1, Int64(start))
            sqlite3_bind_int64(statement, 2, Int64(start + 100))
            sqlite3_bind_int64(statement, 3, 1)
            if sqlite3_step(statement) == SQLITE_ROW { sum &+= UInt64(sqlite3_column_int64(statement, 0)) }
            sqlite3_reset(statement)
          }
          return sum
        }
      },
      .init(Name.untyped) {
        try db.transaction(.deferred) { db in
          try starts.reduce(0) { sum, start in
            let window = Untyped.id >= start && Untyped.id < start + 100 && Untyped.active == true
            return sum &+ UInt64(try Untyped.count().filter(window).run(db))
          }
        }
      },
      .init(Name.typed) {
        try db.transaction(.deferred) { db in
          try starts.reduce(0) { sum, start in
            let window = Typed.id >= start && Typed.id < start + 100 && Typed.active == true
            return sum &+ UInt64(try Typed.count().filter(window).run(db))
          }
        }
      },
      .init(Name.prepared) {
        let window = try db.prepare(
          Typed.count().filter(
            Typed.id >= Parameter("start") && Typed.id < Parameter("end") && Typed.active == Parameter("active")))
        return try db.transaction(.deferred) { _ in
          try starts.reduce(0) { $0 &+ UInt64(try window.run($1, $1 + 100, true)) }
        }
      },
    ]
  }
}

extension RawSwift {
  /// Reads rows by key, one after the other.
  static func pointSelects(_ raw: RawSwift, _ ids: [Int]) throws -> UInt64 {
    let statement = try raw.prepare("SELECT \(mixedColumns) FROM mixed WHERE id = ?")
    defer { sqlite3_finalize(statement) }
    var sum: UInt64 = 0
    for id in ids {
      sqlite3_bind_int64(statement, 1, Int64(id))
      if sqlite3_step(statement) == SQLITE_ROW { sum &+= mixed(statement).digest }
      sqlite3_reset(statement)
    }
    return sum
  }
}
