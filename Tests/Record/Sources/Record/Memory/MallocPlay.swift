import Foundation
import SqlableCore
import SqlablePool

import struct Synchronization.Atomic

/// The work that runs while memory is short.
enum MallocScenario: String, CaseIterable {
  case closures, byHand, deferred, pool, sharedCommits

  var isOfPools: Bool { self == .pool || self == .sharedCommits }
}

/// One run of a scenario, and its reported results. Its rows are numbered from the first id.
struct MallocPlay: Sendable {
  let scenario: MallocScenario
  let firstId: Int
  /// The planted fault: a write that throws is taken for a stored one.
  let ignoresErrors: Bool
  let ledger = MallocLedger()

  func run(_ db: SqliteDatabase) {
    switch scenario {
    case .byHand: byHand(db)
    case .deferred: deferred(db)
    default: closures(db)
    }
  }

  func run(_ pool: SqlitePool) { if scenario == .pool { calls(pool) } else { shared(pool) } }

  /// The id of the row that is inserted after memory is available again.
  var lastId: Int { firstId + 90 }

  func insertLast(_ db: SqliteDatabase) throws {
    try insert(90, db)
    acknowledge([90])
  }

  func insertLast(_ pool: SqlitePool) throws {
    try insert(90, pool)
    acknowledge([90])
  }

  // MARK: Steps

  /// A row whose name is its id.
  private func member(_ row: Int) -> Member { Member(id: firstId + row, name: "\(firstId + row)") }

  private func insert(_ row: Int, _ db: SqliteDatabase) throws { try member(row).insert().run(db) }

  private func insert(_ row: Int, _ pool: SqlitePool) throws { try member(row).insert().run(pool) }

  /// Runs a write of these rows and records its result.
  private func note(_ rows: [Int], _ body: () throws -> Void) {
    do {
      try body()
      acknowledge(rows)
    } catch {
      if ignoresErrors { return acknowledge(rows) }
      refuse(rows)
      ledger.check(error)
    }
  }

  private func acknowledge(_ rows: [Int]) {
    ledger.change { state in for row in rows { state.stored[firstId + row] = "\(firstId + row)" } }
  }

  /// Records rows whose write fails, or that the program rolls back.
  private func refuse(_ rows: [Int]) { ledger.change { $0.refused.formUnion(rows.map { firstId + $0 }) } }

  /// Runs work that may fail for lack of memory, and whose success acknowledges nothing.
  private func attempt(_ body: () throws -> Void) { do { try body() } catch { ledger.check(error) } }

  /// Runs a transaction that the program rolls back with an error.
  private func undone(_ db: SqliteDatabase, _ body: (SqliteDatabase) throws -> Void) {
    attempt {
      try db.transaction { db in
        try body(db)
        throw MallocLedger.Cancelled()
      }
    }
  }

  private func undone(_ pool: SqlitePool, _ body: (SqliteDatabase) throws -> Void) {
    attempt {
      try pool.transaction { db in
        try body(db)
        throw MallocLedger.Cancelled()
      }
    }
  }

  /// Runs and rolls back a transaction with a row and a schema change.
  private func undoneTable(_ db: SqliteDatabase, with row: Int) {
    undone(db) { db in
      try insert(row, db)
      try db.execute("CREATE TABLE undone(a)")
    }
  }

  /// Expects that a read inside a transaction returns the rows written there, or throws.
  private func expect(_ rows: [Int], _ db: SqliteDatabase) {
    attempt {
      let found = try Member.read().filter(Member.id >= firstId && Member.id < lastId).orderBy(Member.id).run(db)
      let foundRows = found.map { $0.id - firstId }
      if foundRows != rows { ledger.complain("\(foundRows) was read, not \(rows)") }
      if found.contains(where: { $0.name != "\($0.id)" }) { ledger.complain("another name was read") }
    }
  }

  // MARK: Handles

  private func closures(_ db: SqliteDatabase) {
    refuse([1, 4, 10, 11, 22])
    note([0, 2, 3]) {
      try db.transaction { db in
        try insert(0, db)
        undoneTable(db, with: 1)
        expect([0], db)
        try insert(2, db)
        try db.transaction { db in
          try insert(3, db)
          undone(db) { db in try insert(4, db) }
        }
        expect([0, 2, 3], db)
      }
    }
    // The outer transaction is rolled back after a rolled-back schema change, so SQLite recompiles ROLLBACK.
    undone(db) { db in
      try insert(10, db)
      undone(db) { db in try db.execute("CREATE TABLE undone(a)") }
      try insert(11, db)
    }
    note([20]) { try insert(20, db) }
    note([21]) {
      try db.transaction { db in
        try insert(21, db)
        attempt {
          try db.transaction { db in
            try insert(22, db)
            return TransactionResult.rollback
          }
        }
      }
    }
    note([30, 31]) { try Member.insert([member(30), member(31)]).run(db) }
    attempt {
      try Member.delete(Member.id == firstId + 20).run(db)
      ledger.change { _ = $0.deleted.insert(firstId + 20) }
    }
  }

  private func byHand(_ db: SqliteDatabase) {
    refuse([1, 3])
    note([0, 2]) {
      try db.beginTransaction()
      do {
        try insert(0, db)
        try db.beginTransaction()
        try insert(1, db)
        try db.execute("CREATE TABLE undone(a)")
        try db.rollbackTransaction()
        expect([0], db)
        try db.beginTransaction()
        try insert(2, db)
        try db.commitTransaction()
        try db.beginTransaction()
        try insert(3, db)
        try db.rollbackTransaction(2)
        try db.commitTransaction()
      } catch {
        // A program rolls back after an error in between.
        if db.transactionLevel > 0 { attempt { try db.rollbackTransaction(1) } }
        throw error
      }
    }
    note([5]) { try insert(5, db) }
  }

  /// A deferred transaction that writes first is restarted as an immediate one.
  private func deferred(_ db: SqliteDatabase) {
    refuse([1])
    note([0, 2]) {
      try db.transaction(.deferred) { db in
        try db.transaction { db in try insert(0, db) }
        undoneTable(db, with: 1)
        try insert(2, db)
      }
    }
    note([5]) { try insert(5, db) }
  }

  // MARK: Pools

  private func calls(_ pool: SqlitePool) {
    refuse([2, 6])
    note([0]) { try insert(0, pool) }
    note([1]) {
      try pool.transaction { db in
        try insert(1, db)
        undoneTable(db, with: 2)
      }
    }
    attempt { try pool.read { db in expect(ledger.state.stored.keys.map { $0 - firstId }.sorted(), db) } }
    undone(pool) { db in try insert(6, db) }
    note([3]) { try pool.withWriter { db in try db.transaction { db in try insert(3, db) } } }
    note([4]) { try insert(4, pool) }
  }

  /// Writes that wait for the first one and share its commit. One of them throws, and another has an inner transaction
  /// that throws.
  private func shared(_ pool: SqlitePool) {
    refuse([10, 21])
    let works: [@Sendable () -> Void] = [
      { note([1]) { try insert(1, pool) } },
      { undone(pool) { db in try insert(10, db) } },
      {
        note([20]) {
          try pool.transaction { db in
            try insert(20, db)
            undone(db) { db in try insert(21, db) }
          }
        }
      },
      { note([30]) { try insert(30, pool) } },
    ]
    let group = DispatchGroup()
    note([0]) {
      let hasStarted = Atomic(false)
      try pool.transaction { db in
        // The closure runs again after the shared transaction was rolled back.
        if !hasStarted.exchange(true, ordering: .relaxed) {
          for (number, work) in works.enumerated() {
            group.enter()
            // Each work has a separate thread. A dispatch queue has as many threads as cores, and takes a second to
            // detect that they wait.
            Thread {
              work()
              group.leave()
            }.start()
            waitUntil { pool.statistics.waitingWrites > number }
          }
        }
        try insert(0, db)
      }
    }
    group.wait()
  }
}
