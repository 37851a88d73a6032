import Foundation
import SqlableCore
import SqlableSchema
import SqlableTracing
import Testing

@testable import SqlableTestSupport

/// Errors after which SQLite has rolled back the whole transaction. SQLite is in autocommit mode then, and would store
/// every later statement.
@Suite struct LostTransactionTests {
  private func prepare(_ db: SqliteDatabase) throws {
    try db.createTable(Person.self)
    try db.execute("CREATE TABLE big(data BLOB)")
    try Person(id: nil, name: "before").insert().run(db)
    try db.execute(
      """
      CREATE TRIGGER tr BEFORE INSERT ON person WHEN new.name = 'poison'
      BEGIN SELECT RAISE(ROLLBACK, 'poisoned'); END
      """)
  }

  private func names(_ db: SqliteDatabase) throws -> [String] {
    try Person.read().orderBy(Person.id).run(db).map(\.name)
  }

  private func fill(_ db: SqliteDatabase) throws {
    for _ in 0..<10_000 { try db.execute("INSERT INTO big VALUES (randomblob(100000))") }
  }

  /// A cause of a lost transaction.
  enum Cause: CaseIterable {
    case trigger, pageLimit

    var kind: SqlError.Kind { self == .trigger ? .constraint(.trigger) : .full }
  }

  private func lose(_ db: SqliteDatabase, _ cause: Cause) throws {
    switch cause {
    case .trigger: try Person(id: nil, name: "poison").insert().run(db)
    case .pageLimit: try fill(db)
    }
  }

  @Test(arguments: Cause.allCases, [false, true])
  func statementsAfterALostTransactionStoreNothing(cause: Cause, isObserved: Bool) throws {
    try withDatabase(.init(maximumPageCount: 200)) { db in
      try prepare(db)
      let token = isObserved ? db.observe(on: Person.self) { _ in Issue.record("nothing was committed") } : nil
      let error = sqlError {
        try db.transaction { db in
          try Person(id: nil, name: "in the transaction").insert().run(db)
          let first = expectError(cause.kind) { try lose(db, cause) }
          // SQLite undoes only the statement that fills the database if it can. RAISE(ROLLBACK) undoes everything.
          guard first?.transaction == .rolledBack else {
            #expect(cause == .pageLimit)
            throw try #require(first)
          }
          let later: [() throws -> Void] = [
            { try Person(id: nil, name: "after").insert().run(db) },
            { try Person.insert([Person(id: nil, name: "after")]).run(db) },
            { try Person.deleteAll().run(db) },
            { try db.execute("INSERT INTO person(name) VALUES ('after')") },
            { try db.execute("PRAGMA user_version = 7") },
            { try db.execute("COMMIT") },
            { _ = try Person.count().run(db) },
            { _ = try db.query("INSERT INTO person(name) VALUES ('after') RETURNING id", as: Int.self) },
            { _ = try db.query("SELECT 1", as: Int.self) },
            { try db.transaction { db in _ = try Person(id: nil, name: "after").insert().run(db) } },
            { try db.beginTransaction() },
            { try db.createTable(Bicycle.self) },
          ]
          for call in later { #expect(sqlError(call) != nil) }
          let again = expectError(cause.kind) { try Person(id: nil, name: "after").insert().run(db) }
          #expect(again?.transaction == .rolledBack)
        }
      }
      #expect(error?.kind == cause.kind)
      #expect(error?.transaction == .rolledBack)
      #expect(db.transactionLevel == 0)
      if let token { db.removeObserver(token) }
      #expect(try names(db) == ["before"])
      #expect(try db.query("PRAGMA user_version", as: Int.self) == [0])
      #expect(try db.query("SELECT count(*) FROM big", as: Int.self) == [0])
      try db.transaction { db in try Person(id: nil, name: "usable").insert().run(db) }
      #expect(try names(db.createChild()) == ["before", "usable"])
    }
  }

  @Test func aLossInsideASavepointLosesTheWholeTransaction() throws {
    try withDatabase { db in
      try prepare(db)
      let error = sqlError {
        try db.transaction { db in
          try Person(id: nil, name: "outer").insert().run(db)
          let inner = expectError(.constraint(.trigger)) {
            try db.transaction { db in
              try Person(id: nil, name: "inner").insert().run(db)
              try lose(db, .trigger)
            }
          }
          #expect(inner?.transaction == .rolledBack)
          #expect(db.transactionLevel == 1)
          expectError(.constraint(.trigger)) { try Person(id: nil, name: "after").insert().run(db) }
        }
      }
      #expect(error?.transaction == .rolledBack)
      #expect(try names(db) == ["before"])
    }
  }

  @Test func aManualTransactionStaysLostUntilRollback() throws {
    try withDatabase { db in
      try prepare(db)
      try db.beginTransaction()
      try db.beginTransaction()
      let error = expectError(.constraint(.trigger)) { try lose(db, .trigger) }
      #expect(error?.transaction == .rolledBack)
      expectError(.constraint(.trigger)) { try Person(id: nil, name: "after").insert().run(db) }
      expectError(.constraint(.trigger)) { try db.commitTransaction() }
      #expect(db.transactionLevel == 2)
      try db.rollbackTransaction(1)
      #expect(db.transactionLevel == 0)
      try Person(id: nil, name: "usable").insert().run(db)
      #expect(try names(db.createChild()) == ["before", "usable"])
    }
  }

  @Test func raiseRollbackOutsideATransactionUndoesItsStatement() throws {
    try withDatabase { db in
      try prepare(db)
      let error = expectError(.constraint(.trigger)) {
        try Person.insert([Person(id: nil, name: "first"), Person(id: nil, name: "poison")]).run(db)
      }
      #expect(error?.transaction == SqlError.TransactionFate.none)
      expectError(.constraint(.trigger)) { try lose(db, .trigger) }
      #expect(db.transactionLevel == 0)
      #expect(try names(db) == ["before"])
      try Person(id: nil, name: "usable").insert().run(db)
      #expect(try names(db.createChild()) == ["before", "usable"])
    }
  }

  @Test func aFullDatabaseThrowsAndStaysUsable() throws {
    try withDatabase(.init(maximumPageCount: 100)) { db in
      try prepare(db)
      let error = expectError(.full) { try fill(db) }
      #expect(error?.transaction == SqlError.TransactionFate.none)
      #expect(error?.code == 13)
      let many = (0..<5_000).map { Person(id: nil, name: String(repeating: "x", count: 200) + "\($0)") }
      expectError(.full) { try Person.insert(many).run(db) }
      #expect(try names(db) == ["before"])
      try db.execute("DELETE FROM big")
      try Person(id: nil, name: "usable").insert().run(db)
      #expect(try names(db.createChild()) == ["before", "usable"])
      #expect(try db.query("PRAGMA integrity_check", as: String.self) == ["ok"])
    }
  }

  @Test(.enabled(if: Administrator.canMount, "no small disk can be mounted here"))
  func aFullDiskThrowsAndKeepsCommittedRows() throws {
    try withSmallDisk(size: "2m") { disk in
      let db = try SqliteDatabase(filepath: disk + "/db.sqlite")
      try prepare(db)
      let error = sqlError {
        try db.transaction { db in
          try Person(id: nil, name: "in the transaction").insert().run(db)
          try fill(db)
        }
      }
      #expect(error?.kind == .full)
      #expect(error?.transaction == .rolledBack)
      #expect(db.transactionLevel == 0)
      #expect(try names(db) == ["before"])
      expectError(.full) { try fill(db) }
      #expect(db.transactionLevel == 0)
      try db.execute("DELETE FROM big")
      try Person(id: nil, name: "usable").insert().run(db)
      #expect(try names(db.createChild()) == ["before", "usable"])
      #expect(try db.query("PRAGMA integrity_check", as: String.self) == ["ok"])
      try db.close()
    }
  }

  @Test(.enabled(if: Administrator.canMount, "no small disk can be mounted here"))
  func aCommitThatFailsOnAFullDiskIsTracedAsRolledBack() throws {
    try withSmallDisk(size: "2m") { disk in
      let db = try SqliteDatabase(filepath: disk + "/db.sqlite")
      try prepare(db)
      let log = TraceLog()
      let token = db.trace(.init(), log.receive)
      defer { db.removeTrace(token) }
      // The row stays in the page cache until the COMMIT.
      let error = sqlError {
        try db.transaction { db in
          try db.execute("CREATE TABLE filling (a); INSERT INTO filling VALUES (zeroblob(4000000))")
        }
      }
      #expect(error?.kind == .full)
      #expect(error?.sql == "COMMIT")
      let kinds = log.take().map(\.kind).filter { if case .transaction = $0 { true } else { false } }
      #expect(kinds == [.transaction(.rolledBack)])
      #expect(try names(db) == ["before"])
      try db.close()
    }
  }

  @Test(.enabled(if: Administrator.canMount, "no small disk can be mounted here"))
  func openingADatabaseOnAFullDiskThrows() throws {
    try withSmallDisk(size: "4k") { disk in
      _ = FileManager.default.createFile(atPath: disk + "/filler", contents: Data(count: 4096))
      let error = expectSqlError {
        let db = try SqliteDatabase(filepath: disk + "/db.sqlite")
        try db.createTable(Person.self)
      }
      #expect([.full, .io, .cannotOpen].contains(error?.kind))
    }
  }
}
