import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

@Suite struct TransactionsGuide {
  private struct OutOfStock: Error {}

  private func withTables(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try body(db)
    }
  }

  @Test func aClosureThatReturnsCommits() throws {
    try withTables { db in
      let bikeId = try db.transaction { db in
        let owner = try Person(id: nil, name: "Anna").insert().run(db)
        return try Bicycle(name: "Norco", color: "red", ownerId: owner).insert().run(db)
      }
      #expect(bikeId == 1)
      #expect(try Bicycle.count().run(db) == 1)
    }
  }

  @Test func aClosureThatThrowsRollsBack() throws {
    try withTables { db in
      do {
        try db.transaction { db in
          try Bicycle(name: "Norco", color: "red").insert().run(db)
          throw OutOfStock()
        }
      } catch is OutOfStock {
        // the closure's own error; nothing of the transaction is stored
        #expect(try Bicycle.count().run(db) == 0)
      }
      #expect(db.transactionLevel == 0)
    }
  }

  @Test func closureDecidesBetweenCommitAndRollback() throws {
    try withTables { db in
      try Bicycle.insert((1...20).map { Bicycle(name: "\($0)", color: "red") }).run(db)
      let result = try db.transaction { db in
        let deleted = try Bicycle.delete(Bicycle.color == "red").run(db)
        return deleted > 10 ? .rollback : .commit
      }
      #expect(result == .rollback)
      #expect(try Bicycle.count().run(db) == 20)
    }
  }

  @Test func longWorkYieldsToOtherWriters() throws {
    try withTables { db in
      let lines = ["Norco", "Trek"]
      var next = 0
      let transactions = try db.yieldingTransaction { db, isNew in
        guard next < lines.count else { return .stop }
        try Bicycle(name: lines[next], color: "green").insert().run(db)
        next += 1
        return .continue
      }
      #expect(transactions == 1)
      #expect(try Bicycle.count().run(db) == 2)
    }
  }

  @Test func aNestedTransactionDecides() async throws {
    let pool = try SqlitePool.inMemory()
    try await pool.transaction { db in
      try db.createTables(Person.self, Bicycle.self)
      try Bicycle.insert((1...20).map { Bicycle(name: "\($0)", color: "red") }).run(db)
    }
    let deleted = try await pool.transaction { db in
      var deleted = 0
      try db.transaction { db in
        deleted = try Bicycle.delete(Bicycle.color == "red").run(db)
        return deleted > 10 ? .rollback : .commit
      }
      return deleted
    }
    let count = try await Bicycle.count().run(pool)
    #expect(deleted == 20)
    #expect(count == 20)
  }

  @Test func transactionsNest() throws {
    try withTables { db in
      try db.transaction { db in
        try Bicycle(name: "kept", color: "red").insert().run(db)
        try? db.transaction { db in  // SAVEPOINT, ROLLBACK TO
          try Bicycle(name: "undone", color: "red").insert().run(db)
          throw OutOfStock()
        }
        try Bicycle(name: "kept too", color: "red").insert().run(db)
      }
      #expect(try Bicycle.read().run(db).map(\.name) == ["kept", "kept too"])
    }
  }

  @Test func readsOfASnapshotAgree() throws {
    try withTables { db in
      let (count, first) = try db.transaction(.deferred) { db in
        (try Bicycle.count().run(db), try Bicycle.read().first().run(db))
      }
      #expect(count == 0)
      #expect(first == nil)
    }
  }

  @Test func transactionsAreControlledManually() throws {
    try withTables { db in
      let outer = try db.beginTransaction()  // 1
      try Bicycle(name: "Norco", color: "red").insert().run(db)
      try db.beginTransaction()  // 2: a savepoint
      try Bicycle(name: "Trek", color: "red").insert().run(db)
      try db.commitTransaction()  // 2 becomes part of 1
      try db.beginTransaction()  // 2 again
      try db.rollbackTransaction(outer)  // 2 and 1 are undone
      #expect(db.transactionLevel == 0)
      #expect(try Bicycle.count().run(db) == 0)
      #expect(throws: SqlError.self) { try db.commitTransaction() }
    }
  }

  @Test func aFailingStatementLeavesTheTransactionOpen() throws {
    try withTables { db in
      try db.transaction { db in
        try Bicycle(name: "Norco", color: "red").insert().run(db)
        do {
          try Bicycle(name: "Norco", color: "red").insert().run(db)
        } catch let error as SqlError where error.kind == .constraint(.unique) {
          // error.transaction == .untouched: the first bicycle is still part of the open transaction
          #expect(error.transaction == .untouched)
        }
      }
      #expect(try Bicycle.count().run(db) == 1)
    }
  }

  @Test func errorReportsTheStateOfTheTransaction() throws {
    try withTables { db in
      let error = sqlError {
        try db.transaction { db in
          try Bicycle(name: "Norco", color: "red").insert().run(db)
          try Bicycle(name: "Norco", color: "red").insert().run(db)
        }
      }
      #expect(error?.transaction == .rolledBack)
      let alone = sqlError { _ = try Bicycle(name: "Norco", color: "red", ownerId: 7).insert().run(db) }
      #expect(alone?.kind == .constraint(.foreignKey))
      #expect(alone?.transaction == SqlError.TransactionFate.none)
    }
  }

  @Test func busyCallsAreRetried() throws {
    try withTables { db in
      let id = try retrying(attempts: 5, within: .seconds(2)) {
        try db.transaction { db in try Bicycle(name: "Trek", color: "red").insert().run(db) }
      }
      #expect(id == 1)
    }
  }

  @Test func aBatchIsOneTransaction() throws {
    try withTables { db in
      let bikes = [
        Bicycle(name: "a", color: "red"), Bicycle(name: "b", color: "red"), Bicycle(name: "a", color: "red"),
      ]
      let error = sqlError { _ = try Bicycle.insert(bikes).run(db) }
      let count = try Bicycle.count().run(db)
      #expect(error?.kind == .constraint(.unique))
      #expect(count == 0)
    }
  }
}
