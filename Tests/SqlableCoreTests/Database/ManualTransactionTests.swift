import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct ManualTransactionTests {
  private func names(_ db: SqliteDatabase) throws -> [String] {
    try Person.read().orderBy(Person.id).run(db).map(\.name)
  }

  private func add(_ name: String, _ db: SqliteDatabase) throws { try Person(id: nil, name: name).insert().run(db) }

  @Test func beginAndCommitStore() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      #expect(try db.beginTransaction() == 1)
      try add("Ann", db)
      #expect(try names(db.createChild()) == [])
      try db.commitTransaction()
      #expect(try names(db.createChild()) == ["Ann"])
    }
  }

  @Test func levelsAreSavepoints() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      #expect(try db.beginTransaction(.exclusive) == 1)
      try add("one", db)
      #expect(try db.beginTransaction() == 2)
      try add("two", db)
      #expect(try db.beginTransaction() == 3)
      try add("three", db)
      try db.commitTransaction()
      #expect(db.transactionLevel == 2)
      try db.rollbackTransaction()
      #expect(db.transactionLevel == 1)
      #expect(try names(db) == ["one"])
      try db.commitTransaction()
      #expect(try names(db) == ["one"])
    }
  }

  @Test func rollbackToAnOuterLevelUndoesAllInsideIt() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      for target in 1...4 {
        for level in 1...4 {
          try db.beginTransaction()
          try add("level \(level)", db)
        }
        try db.rollbackTransaction(target)
        #expect(db.transactionLevel == target - 1)
        #expect(try names(db) == (1..<target).map { "level \($0)" })
        if target > 1 { try db.rollbackTransaction(1) }
      }
      #expect(try names(db) == [])
    }
  }

  @Test func endingAMissingTransactionIsMisuse() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      expectMisuse { try db.commitTransaction() }
      expectMisuse { try db.rollbackTransaction() }
      expectMisuse { try db.rollbackTransaction(1) }
      try db.beginTransaction()
      for level in [0, -1, 2, .max, .min] { expectMisuse { try db.rollbackTransaction(level) } }
      try add("Ann", db)
      try db.commitTransaction()
      expectMisuse { try db.commitTransaction() }
      #expect(try names(db) == ["Ann"])
    }
  }

  @Test func aClosuresTransactionCannotBeEndedByHand() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try db.transaction { db in
        try add("Ann", db)
        expectMisuse { try db.commitTransaction() }
        expectMisuse { try db.rollbackTransaction() }
        expectMisuse { try db.execute("COMMIT") }
        expectMisuse { try db.execute("ROLLBACK") }
        let level = try db.beginTransaction()
        expectMisuse { try db.rollbackTransaction(1) }
        #expect(level == 2)
        try add("undone", db)
        try db.rollbackTransaction(level)
        try db.beginTransaction()
        try add("Bob", db)
        try db.commitTransaction()
      }
      #expect(try names(db) == ["Ann", "Bob"])
    }
  }

  @Test func aLevelLeftOpenInAClosureRollsTheClosureBack() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      expectMisuse {
        try db.transaction { db in
          try add("Ann", db)
          try db.beginTransaction()
          try add("Bob", db)
        }
      }
      #expect(db.transactionLevel == 0)
      #expect(try names(db) == [])
      try add("after", db)
      #expect(try names(db.createChild()) == ["after"])
    }
  }

  @Test func aForeignKeyBrokenAtTheCommitLeavesTheTransactionOpen() throws {
    try withDatabase { db in
      try db.execute(
        """
        CREATE TABLE a(id INTEGER PRIMARY KEY);
        CREATE TABLE b(a_id INTEGER REFERENCES a(id) DEFERRABLE INITIALLY DEFERRED);
        """)
      try db.beginTransaction()
      try db.execute("INSERT INTO b VALUES (2)")
      let error = sqlError { try db.commitTransaction() }
      #expect(error?.kind == .constraint(.foreignKey))
      #expect(error?.transaction == .untouched)
      #expect(db.transactionLevel == 1)
      try db.execute("INSERT INTO a VALUES (2)")
      try db.commitTransaction()
      #expect(db.transactionLevel == 0)
      #expect(try db.createChild().query("SELECT a_id FROM b", as: Int.self) == [2])
    }
  }

  // MARK: As SQL

  @Test func beginCommitAndRollbackWorkAsSQLText() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try db.execute("BEGIN; INSERT INTO person(name) VALUES ('Ann'); COMMIT")
      for begin in ["begin immediate", "BEGIN EXCLUSIVE TRANSACTION;", "/* c */ BEGIN DEFERRED -- d\n"] {
        try db.execute(SQL(verbatim: begin))
        #expect(db.transactionLevel == 1)
        try add("undone", db)
        try db.execute("ROLLBACK")
        #expect(db.transactionLevel == 0)
      }
      try db.execute("BEGIN")
      try db.transaction { db in try add("Bob", db) }
      try db.execute("END TRANSACTION")
      #expect(try names(db.createChild()) == ["Ann", "Bob"])
      try db.beginTransaction()
      try db.beginTransaction()
      try db.execute("ROLLBACK TRANSACTION")
      #expect(db.transactionLevel == 0)
    }
  }

  @Test func savepointsAsTextAreRefused() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try db.beginTransaction()
      try db.beginTransaction()
      try add("kept", db)
      for text in [
        "SAVEPOINT x",
        "RELEASE sqlable",
        "ROLLBACK TO sqlable",
        "rollback transaction to savepoint sqlable",
        "ROLLBACK/**/TO/**/sqlable",
        "ROLLBACK--\nTO sqlable",
      ] {
        expectMisuse("\(text)") { try db.execute(SQL(verbatim: text)) }
        #expect(db.transactionLevel == 2)
      }
      try db.commitTransaction()
      try db.commitTransaction()
      #expect(try names(db) == ["kept"])
    }
  }

  @Test func aQueryCannotEndATransaction() throws {
    try withDatabase { db in
      try db.beginTransaction()
      for text in ["COMMIT", "ROLLBACK", "BEGIN", "SAVEPOINT x", " -- c\n END"] {
        expectMisuse { _ = try db.query(SQL(verbatim: text), as: Int.self) }
      }
      #expect(db.transactionLevel == 1)
      try db.rollbackTransaction()
    }
  }

  // MARK: During a statement

  @TaskLocal private static var end: @Sendable () throws -> Void = {}
  private static let meddler = HookedPerson(id: 7, name: "meddler") { _ in try end() }

  /// Runs a statement whose model calls `end` while it is written or read.
  private func meddling(by end: @escaping @Sendable () throws -> Void, _ statement: () throws -> Void) throws {
    try Self.$end.withValue(end) { try HookedPerson.$whileRead.withValue({ _ in try end() }, operation: statement) }
  }

  @Test(.needs(35, "RETURNING")) func aModelCannotEndTheTransactionDuringItsStatement() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let log = EventLog()
      log.listenToAll(of: db)
      let ends: [@Sendable () throws -> Void] = [
        { try db.commitTransaction() },
        { try db.rollbackTransaction() },
        { try db.rollbackTransaction(1) },
        { try db.execute("COMMIT") },
        { try db.execute("ROLLBACK") },
      ]
      let meddler = Self.meddler
      let statements: [(String, (SqliteDatabase) throws -> Void)] = [
        ("insert", { try meddler.insert().run($0) }),
        ("save", { try meddler.save().run($0) }),
        ("update", { try meddler.update().run($0) }),
        ("delete", { try meddler.delete().run($0) }),
        ("batch", { try HookedPerson.insert([meddler, meddler]).run($0) }),
        ("read", { _ = try HookedPerson.read().run($0) }),
        ("first", { _ = try HookedPerson.read().first().run($0) }),
        ("query", { _ = try $0.query("SELECT * FROM person", as: HookedPerson.self) }),
        ("rows", { try $0.query("INSERT INTO person VALUES (8, 'x') RETURNING id") { _ in try Self.end() } }),
      ]
      for (name, statement) in statements {
        for end in ends {
          for level in 1...2 {
            for _ in 1...level { try db.beginTransaction() }
            try add("Ann", db)
            expectMisuse("\(name)") { try meddling(by: end) { try statement(db) } }
            #expect(db.transactionLevel == level, "\(name)")
            #expect(try names(db) == ["Ann"], "\(name)")
            try db.rollbackTransaction(1)
          }
        }
      }
      try db.transaction { db in
        expectMisuse { try meddling(by: ends[1]) { try meddler.insert().run(db) } }
      }
      #expect(log.take() == [])
      try add("Bob", db)
      #expect(log.take() == ["insert person 1"])
    }
  }

  @Test func aModelMayRunNestedTransactionsDuringItsStatement() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try db.beginTransaction()
      let own: @Sendable () throws -> Void = {
        try db.beginTransaction()
        try Person(id: 1, name: "kept").insert().run(db)
        try db.commitTransaction()
        try db.beginTransaction()
        try Person(id: 2, name: "undone").insert().run(db)
        try db.rollbackTransaction()
      }
      try meddling(by: own) { try Self.meddler.insert().run(db) }
      try db.commitTransaction()
      #expect(try names(db) == ["kept", "meddler"])
    }
  }
}
