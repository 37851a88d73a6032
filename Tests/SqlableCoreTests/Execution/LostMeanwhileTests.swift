import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// A model whose code makes SQLite roll back the transaction while the model is written.
private struct Careless: Sqlable {
  let id: Int
  var db: SqliteDatabase?
  static let id = column("id", Int.self, PrimaryKey())
  static let tableLayout = [id.column]

  init(id: Int, db: SqliteDatabase? = nil) { (self.id, self.db) = (id, db) }
  init(row: ReadRow) throws { id = try row.get(Careless.id) }

  func write(to row: inout RowWriter) throws {
    try? db?.execute("INSERT OR ROLLBACK INTO worker VALUES (1, 'again', NULL, 1)")
    row.set(Careless.id, id)
  }
}

/// Transactions that are lost while a statement takes its values: nothing of the statement is stored.
@Suite struct LostMeanwhileTests {
  private func expectNothingStored(_ insert: (SqliteDatabase) throws -> Void) throws {
    try withCompany { db in
      try db.createTable(Careless.self)
      let error = sqlError { try db.transaction { db in try insert(db) } }
      #expect(error?.message.contains("an earlier error rolled back the whole transaction") == true)
      #expect(error?.transaction == .rolledBack)
      let stored = try Careless.read().run(db).map(\.id)
      #expect(stored == [])
      #expect(db.transactionLevel == 0)
      try Careless(id: 9).insert().run(db)
    }
  }

  @Test func aModelThatLosesTheTransactionIsNotStored() throws {
    try expectNothingStored { db in
      try Careless(id: 1).insert().run(db)
      try Careless(id: 2, db: db).insert().run(db)
    }
  }

  @Test func aBatchThatLosesTheTransactionStoresNothing() throws {
    try expectNothingStored { db in
      try Careless.insert([Careless(id: 1), Careless(id: 2, db: db), Careless(id: 3)]).run(db)
    }
  }

  @Test(.needs(35, "RETURNING")) func aReturningBatchThatLosesTheTransactionStoresNothing() throws {
    try expectNothingStored { db in
      _ = try Careless.insert([Careless(id: 1), Careless(id: 2, db: db), Careless(id: 3)]).returning().run(db)
    }
  }
}
