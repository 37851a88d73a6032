import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Transactions that are lost while a statement takes its values: nothing of the statement is stored.
@Suite struct LostMeanwhileTests {
  private func careful(_ id: Int) -> HookedPerson { HookedPerson(id: id, name: "careful") }

  /// Returns a row whose `write(to:)` makes SQLite roll back the transaction.
  private func careless(_ id: Int, _ db: SqliteDatabase) -> HookedPerson {
    HookedPerson(id: id, name: "careless") { _ in
      try? db.execute("INSERT OR ROLLBACK INTO worker VALUES (1, 'again', NULL, 1)")
    }
  }

  private func expectNothingStored(_ insert: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Worker.self)
      try Worker.insert(Worker.all).run(db)
      try db.createTable(HookedPerson.self)
      let error = sqlError { try db.transaction { db in try insert(db) } }
      #expect(error?.message.contains("an earlier error rolled back the whole transaction") == true)
      #expect(error?.transaction == .rolledBack)
      let stored = try HookedPerson.read().run(db).map(\.id)
      #expect(stored == [])
      #expect(db.transactionLevel == 0)
      try careful(9).insert().run(db)
    }
  }

  @Test func aModelThatLosesTheTransactionIsNotStored() throws {
    try expectNothingStored { db in
      try careful(1).insert().run(db)
      try careless(2, db).insert().run(db)
    }
  }

  @Test func aBatchThatLosesTheTransactionStoresNothing() throws {
    try expectNothingStored { db in
      try HookedPerson.insert([careful(1), careless(2, db), careful(3)]).run(db)
    }
  }

  @Test(.needs(35, "RETURNING")) func aReturningBatchThatLosesTheTransactionStoresNothing() throws {
    try expectNothingStored { db in
      _ = try HookedPerson.insert([careful(1), careless(2, db), careful(3)]).returning().run(db)
    }
  }
}
