import CBaseline
import CSQLite3
import Sqlable
import Synchronization

extension Suite {
  var writes: [Workload] {
    let inserts = fixture.rows
    let lone = fixture.scaled(2_000)
    let updates = fixture.scaled(20_000)
    return [
      workload("W4", "inserts of mixed rows in one transaction", operations: inserts) { try insertsInOne(inserts) },
      workload("W5", "inserts, each its own transaction, synchronous=OFF", operations: lone) { try loneInserts(lone) },
      workload("W6", "updates by key in one transaction", operations: updates) { try updatesByKey(updates) },
    ]
  }

  var observed: [Workload] {
    let count = fixture.scaled(20_000)
    return [
      workload("W10", "inserts in one transaction with an observer on the table", operations: count) {
        try observedInserts(count)
      }
    ]
  }

  /// A contender that writes to its family's file, which is put into the same state before every round.
  func writing(
    _ name: String, _ family: Fixture.Family, rows: Int = 0, setUp: @escaping () throws -> Void = {},
    tearDown: @escaping () throws -> Void = {}, run: @escaping () throws -> UInt64
  ) -> Workload.Contender {
    .init(
      name,
      setUp: { [fixture] in
        try fixture.reset(family, rows: rows)
        try setUp()
      }, tearDown: tearDown, verify: { [fixture] in try fixture.digest(of: family) }, run: run)
  }

  private func insertsInOne(_ count: Int) throws -> [Workload.Contender] {
    let rows = (1...count).map { MixedRow(number: $0) }
    let (untyped, typed, coded) = (rows.map { Untyped($0) }, rows.map { Typed($0) }, rows.map { Coded($0) })
    let rawRows = RawRows(rows)
    let (c, swift, db) = (try fixture.rawWriter(.c), try fixture.rawWriter(.swift), try fixture.writer())
    return [
      writing(Name.c, .c) {
        try c.transaction("BEGIN IMMEDIATE") { baseline_insert(c.db, rawRows.rows.baseAddress, rawRows.count) }
      },
      writing(Name.c + " by 16 rows", .c) {
        try c.transaction("BEGIN IMMEDIATE") {
          baseline_insert_together(c.db, rawRows.rows.baseAddress, rawRows.count, 16)
        }
      },
      writing(Name.swift, .swift) { try swift.transaction("BEGIN IMMEDIATE") { try RawSwift.insert(swift, rows) } },
      writing(Name.untyped, .sqlable) {
        try db.transaction { db -> UInt64 in
          var sum: UInt64 = 0
          for row in untyped { sum &+= UInt64(try row.insert().run(db)) }
          return sum
        }
      },
      writing(Name.typed, .sqlable) {
        try db.transaction { db -> UInt64 in
          var sum: UInt64 = 0
          for row in typed { sum &+= UInt64(try row.insert().run(db)) }
          return sum
        }
      },
      writing(Name.untyped + " batch", .sqlable) {
        try Untyped.insert(untyped).run(db).reduce(0) { $0 &+ UInt64($1) }
      },
      writing(Name.typed + " batch", .sqlable) { try Typed.insert(typed).run(db).reduce(0) { $0 &+ UInt64($1) } },
      writing(Name.codable, .sqlable) {
        try db.transaction { db -> UInt64 in
          var sum: UInt64 = 0
          for row in coded { sum &+= UInt64(try row.insert().run(db)) }
          return sum
        }
      },
      writing(Name.codable + " batch", .sqlable) { try Coded.insert(coded).run(db).reduce(0) { $0 &+ UInt64($1) } },
    ]
  }

  private func loneInserts(_ count: Int) throws -> [Workload.Contender] {
    let rows = (1...count).map { MixedRow(number: $0) }
    let (untyped, typed) = (rows.map { Untyped($0) }, rows.map { Typed($0) })
    let rawRows = RawRows(rows)
    let (c, swift, db) = (try fixture.rawWriter(.c), try fixture.rawWriter(.swift), try fixture.writer())
    for raw in [c, swift] { try raw.execute("PRAGMA synchronous = OFF") }
    try db.execute("PRAGMA synchronous = OFF")
    return [
      writing(Name.c, .c) { baseline_insert(c.db, rawRows.rows.baseAddress, rawRows.count) },
      writing(Name.swift, .swift) { try RawSwift.insert(swift, rows) },
      writing(Name.untyped, .sqlable) {
        var sum: UInt64 = 0
        for row in untyped { sum &+= UInt64(try row.insert().run(db)) }
        return sum
      },
      writing(Name.typed, .sqlable) {
        var sum: UInt64 = 0
        for row in typed { sum &+= UInt64(try row.insert().run(db)) }
        return sum
      },
    ]
  }

  private func updatesByKey(_ count: Int) throws -> [Workload.Contender] {
    let rows = (1...count).map { MixedRow(number: $0).changed }
    let (untyped, typed) = (rows.map { Untyped($0) }, rows.map { Typed($0) })
    let rawRows = RawRows(rows)
    let (c, swift, db) = (try fixture.rawWriter(.c), try fixture.rawWriter(.swift), try fixture.writer())
    return [
      writing(Name.c, .c, rows: count) {
        try c.transaction("BEGIN IMMEDIATE") { baseline_update(c.db, rawRows.rows.baseAddress, rawRows.count) }
      },
      writing(Name.swift, .swift, rows: count) {
        let statement = try swift.prepare(
          "UPDATE mixed SET name = ?2, bio = ?3, price = ?4, active = ?5, nick = ?6, at = ?7 WHERE id = ?1")
        defer { sqlite3_finalize(statement) }
        return try swift.transaction("BEGIN IMMEDIATE") {
          var changed: UInt64 = 0
          for row in rows {
            RawSwift.bind(row, statement)
            try RawSwift.step(statement)
            changed &+= UInt64(sqlite3_changes(swift.db))
          }
          return changed
        }
      },
      writing(Name.untyped, .sqlable, rows: count) {
        try db.transaction { db -> UInt64 in
          var sum: UInt64 = 0
          for row in untyped { sum &+= UInt64(try row.update().run(db)) }
          return sum
        }
      },
      writing(Name.typed, .sqlable, rows: count) {
        try db.transaction { db -> UInt64 in
          var sum: UInt64 = 0
          for row in typed { sum &+= UInt64(try row.update().run(db)) }
          return sum
        }
      },
    ]
  }

  private func observedInserts(_ count: Int) throws -> [Workload.Contender] {
    let rows = (1...count).map { MixedRow(number: $0) }
    let (untyped, typed) = (rows.map { Untyped($0) }, rows.map { Typed($0) })
    let rawRows = RawRows(rows)
    let (c, db) = (try fixture.rawWriter(.c), try fixture.writer())
    let seen = Tally()
    // An observer of its own for every round: what puts the file into its state would be told to it otherwise.
    let observer = Box<ObserverToken?>(nil)
    func observing(_ name: String, _ insert: @escaping (SqliteDatabase) throws -> Void) -> Workload.Contender {
      writing(
        name, .sqlable,
        setUp: {
          seen.clear()
          observer.value = db.observe(.insert, on: Untyped.self) { id in seen.add(UInt64(id)) }
        },
        tearDown: { if let token = observer.value { db.removeObserver(token) } },
        run: {
          try db.transaction { db in try insert(db) }
          return seen.value
        })
    }
    return [
      writing(Name.c, .c) { baseline_insert_observed(c.db, rawRows.rows.baseAddress, rawRows.count) },
      observing(Name.untyped) { db in for row in untyped { try row.insert().run(db) } },
      observing(Name.typed) { db in for row in typed { try row.insert().run(db) } },
    ]
  }
}

/// A sum that observers add to.
final class Tally: Sendable {
  private let sum = Mutex<UInt64>(0)

  var value: UInt64 { sum.withLock { $0 } }

  func add(_ number: UInt64) { sum.withLock { $0 &+= number } }
  func clear() { sum.withLock { $0 = 0 } }
}

/// A variable that closures share.
final class Box<Value> {
  var value: Value

  init(_ value: Value) { self.value = value }
}

extension RawSwift {
  /// Inserts rows one after the other; the sum of their ids.
  static func insert(_ raw: RawSwift, _ rows: [MixedRow]) throws -> UInt64 {
    let statement = try raw.prepare("INSERT INTO mixed (\(mixedColumns)) VALUES (?, ?, ?, ?, ?, ?, ?)")
    defer { sqlite3_finalize(statement) }
    var sum: UInt64 = 0
    for row in rows {
      bind(row, statement)
      try step(statement)
      sum &+= UInt64(sqlite3_last_insert_rowid(raw.db))
    }
    return sum
  }
}
