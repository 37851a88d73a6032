import CBaseline
import CSQLite3
import Foundation
import Sqlable

/// The workloads, each with the loop in C as its first contender.
struct Workloads {
  let path: String
  let raw: RawSwift
  let db: SqliteDatabase
  let rows: Int = 100_000

  init(path: String) throws {
    self.path = path
    db = try SqliteDatabase(filepath: path)
    try db.createTable(Ints.self)
    try db.createTable(Typed.self)
    try Ints.insert((1...rows).map { Ints($0) }).run(db)
    try Typed.insert((1...rows).map { Typed(MixedRow($0)) }).run(db)
    try db.execute("CREATE TABLE written AS SELECT * FROM mixed WHERE 0")
    raw = try RawSwift(path: path)
  }

  var all: [(String, [Benchmarks.Contender])] {
    [
      ("W1 scan 100k x 10 Int", scanInts),
      ("W2 scan 100k mixed", scanMixed),
      ("W3 50k point selects", pointSelects),
      ("W4 insert 100k mixed", inserts),
      ("W6 update 20k by key", updates),
      ("W7 1k queries of 50 rows", filteredQueries),
    ]
  }

  private var scanInts: [Benchmarks.Contender] {
    [
      .init(name: "raw C") { baseline_scan_integers(raw.db) },
      .init(name: "raw Swift") {
        let statement = try raw.prepare("SELECT a, b, c, d, e, f, g, h, i, j FROM ints")
        defer { sqlite3_finalize(statement) }
        var result: [Ints] = []
        while sqlite3_step(statement) == SQLITE_ROW {
          func column(_ index: Int32) -> Int { Int(sqlite3_column_int64(statement, index)) }
          result.append(
            Ints(
              a: column(0), b: column(1), c: column(2), d: column(3), e: column(4), f: column(5), g: column(6),
              h: column(7), i: column(8), j: column(9)))
        }
        return result.reduce(0) { $0 &+ $1.checksum }
      },
      .init(name: "Sqlable") { try Ints.read().run(db).reduce(0) { $0 &+ $1.checksum } },
    ]
  }

  private var scanMixed: [Benchmarks.Contender] {
    [
      .init(name: "raw C") { baseline_scan_mixed(raw.db) },
      .init(name: "raw Swift") {
        let statement = try raw.prepare("SELECT \(RawSwift.mixedColumns) FROM mixed")
        defer { sqlite3_finalize(statement) }
        var result: [MixedRow] = []
        while sqlite3_step(statement) == SQLITE_ROW { result.append(RawSwift.mixed(statement)) }
        return result.reduce(0) { $0 &+ $1.checksum }
      },
      .init(name: "Sqlable, untyped") { try Untyped.read().run(db).reduce(0) { $0 &+ $1.row.checksum } },
      .init(name: "Sqlable, typed") { try Typed.read().run(db).reduce(0) { $0 &+ $1.row.checksum } },
    ]
  }

  private var pointSelects: [Benchmarks.Contender] {
    let ids = (0..<50_000).map { ($0 &* 7919) % rows + 1 }
    let ids64 = ids.map { Int64($0) }
    return [
      .init(name: "raw C") { baseline_point_selects(raw.db, ids64, Int32(ids64.count)) },
      .init(name: "raw Swift") {
        let statement = try raw.prepare("SELECT \(RawSwift.mixedColumns) FROM mixed WHERE id = ?")
        defer { sqlite3_finalize(statement) }
        try raw.execute("BEGIN")
        var sum: UInt64 = 0
        for id in ids {
          sqlite3_bind_int64(statement, 1, Int64(id))
          if sqlite3_step(statement) == SQLITE_ROW { sum &+= RawSwift.mixed(statement).checksum }
          sqlite3_reset(statement)
        }
        try raw.execute("COMMIT")
        return sum
      },
      .init(name: "Sqlable, untyped, byId") {
        try db.transaction(.deferred) { db in
          var sum: UInt64 = 0
          for id in ids { sum &+= try Untyped.byId(id).run(db)?.row.checksum ?? 0 }
          return sum
        }
      },
      .init(name: "Sqlable, typed, filter first") {
        try db.transaction(.deferred) { db in
          var sum: UInt64 = 0
          for id in ids { sum &+= try Typed.read().filter(Typed.id == id).first().run(db)?.row.checksum ?? 0 }
          return sum
        }
      },
    ]
  }

  private var inserts: [Benchmarks.Contender] {
    let rows = (1...self.rows).map { MixedRow($0) }
    let untyped = rows.map { Untyped($0) }
    let typed = rows.map { Typed($0) }
    let sum = rows.reduce(0) { $0 &+ UInt64($1.id) }
    let rawRows = RawCRows(rows)
    return [
      .init(name: "raw C") {
        try raw.execute("BEGIN; DELETE FROM mixed")
        defer { try? raw.execute("COMMIT") }
        return baseline_insert(raw.db, rawRows.rows.baseAddress, Int32(rawRows.rows.count))
      },
      .init(name: "raw Swift") {
        try raw.execute("BEGIN; DELETE FROM mixed")
        let statement = try raw.prepare("INSERT INTO mixed (\(RawSwift.mixedColumns)) VALUES (?, ?, ?, ?, ?, ?, ?)")
        for row in rows {
          RawSwift.bind(row, statement)
          sqlite3_step(statement)
          sqlite3_reset(statement)
        }
        sqlite3_finalize(statement)
        try raw.execute("COMMIT")
        return sum
      },
      .init(name: "Sqlable, untyped, one by one") {
        try db.transaction { db in
          try Untyped.delete().run(db)
          return try untyped.reduce(0) { $0 &+ UInt64(try $1.insert().run(db)) }
        }
      },
      .init(name: "Sqlable, typed, one by one") {
        try db.transaction { db in
          try Typed.delete().run(db)
          return try typed.reduce(0) { $0 &+ UInt64(try $1.insert().run(db)) }
        }
      },
      .init(name: "Sqlable, untyped, batch") {
        try db.transaction { db in
          try Untyped.delete().run(db)
          return try Untyped.insert(untyped).run(db).reduce(0) { $0 &+ UInt64($1) }
        }
      },
      .init(name: "Sqlable, typed, batch") {
        try db.transaction { db in
          try Typed.delete().run(db)
          return try Typed.insert(typed).run(db).reduce(0) { $0 &+ UInt64($1) }
        }
      },
    ]
  }

  private var updates: [Benchmarks.Contender] {
    let rows = (0..<20_000).map { MixedRow(($0 &* 7919) % self.rows + 1) }
    let untyped = rows.map { Untyped($0) }
    let typed = rows.map { Typed($0) }
    let rawRows = RawCRows(rows)
    return [
      .init(name: "raw C") {
        try raw.execute("BEGIN")
        defer { try? raw.execute("COMMIT") }
        return baseline_update(raw.db, rawRows.rows.baseAddress, Int32(rawRows.rows.count))
      },
      .init(name: "raw Swift") {
        try raw.execute("BEGIN")
        let statement = try raw.prepare(
          "UPDATE mixed SET name = ?2, bio = ?3, price = ?4, active = ?5, nick = ?6, at = ?7 WHERE id = ?1")
        var changed: UInt64 = 0
        for row in rows {
          RawSwift.bind(row, statement)
          sqlite3_step(statement)
          changed += UInt64(sqlite3_changes(raw.db))
          sqlite3_reset(statement)
        }
        sqlite3_finalize(statement)
        try raw.execute("COMMIT")
        return changed
      },
      .init(name: "Sqlable, untyped") {
        try db.transaction { db in try untyped.reduce(0) { $0 &+ UInt64(try $1.update().run(db)) } }
      },
      .init(name: "Sqlable, typed") {
        try db.transaction { db in try typed.reduce(0) { $0 &+ UInt64(try $1.update().run(db)) } }
      },
    ]
  }

  private var filteredQueries: [Benchmarks.Contender] {
    let starts = (0..<1_000).map { ($0 &* 97) % (rows - 50) + 1 }
    let starts64 = starts.map { Int64($0) }
    return [
      .init(name: "raw C") { baseline_queries(raw.db, starts64, Int32(starts64.count)) },
      .init(name: "raw Swift") {
        let statement = try raw.prepare("SELECT \(RawSwift.mixedColumns) FROM mixed WHERE id >= ? AND id < ?")
        defer { sqlite3_finalize(statement) }
        var sum: UInt64 = 0
        for start in starts {
          sqlite3_bind_int64(statement, 1, Int64(start))
          sqlite3_bind_int64(statement, 2, Int64(start + 50))
          var result: [MixedRow] = []
          while sqlite3_step(statement) == SQLITE_ROW { result.append(RawSwift.mixed(statement)) }
          sqlite3_reset(statement)
          sum = result.reduce(sum) { $0 &+ $1.checksum }
        }
        return sum
      },
      .init(name: "Sqlable, untyped") {
        try starts.reduce(0) { sum, start in
          try Untyped.read().filter(Untyped.id >= start && Untyped.id < start + 50).run(db)
            .reduce(sum) { $0 &+ $1.row.checksum }
        }
      },
      .init(name: "Sqlable, typed") {
        try starts.reduce(0) { sum, start in
          try Typed.read().filter(Typed.id >= start && Typed.id < start + 50).run(db)
            .reduce(sum) { $0 &+ $1.row.checksum }
        }
      },
    ]
  }
}
