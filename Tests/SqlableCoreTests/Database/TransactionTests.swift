import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

@Suite struct TransactionTests {
  struct Refused: Error, Equatable { let reason: String }

  private func names(_ db: SqliteDatabase) throws -> [String] {
    try Person.read().orderBy(Person.id).run(db).map(\.name)
  }

  private func add(_ name: String, _ db: SqliteDatabase) throws { try Person(id: nil, name: name).insert().run(db) }

  @Test func transactionReturnsTheClosuresValueAndCommits() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let id = try db.transaction { db in
        #expect(db.transactionLevel == 1)
        return try Person(id: nil, name: "Ann").insert().run(db)
      }
      #expect(id == 1)
      #expect(try db.transaction { _ in "text" } == "text")
      #expect(try db.transaction { _ in Int?.none } == nil)
      #expect(try db.transaction { db in try Person.read().run(db) }.map(\.name) == ["Ann"])
      try db.transaction { _ in }
      #expect(db.transactionLevel == 0)
      #expect(try names(db.createChild()) == ["Ann"])
    }
  }

  @Test func transactionRethrowsTheClosuresErrorAndRollsBack() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      #expect(throws: Refused(reason: "because")) {
        try db.transaction { db in
          try add("Ann", db)
          throw Refused(reason: "because")
        }
      }
      let own = SqlError(.timeout, message: "my own", code: 3, table: "t", transaction: .none)
      #expect(throws: own) {
        try db.transaction { db in
          try add("Bob", db)
          try db.transaction { _ in throw own }
        }
      }
      #expect(db.transactionLevel == 0)
      #expect(try names(db) == [])
    }
  }

  @Test func anInnerTransactionIsASavepoint() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try db.transaction { db in
        try add("outer", db)
        #expect(throws: Refused.self) {
          try db.transaction { db in
            #expect(db.transactionLevel == 2)
            try add("inner", db)
            throw Refused(reason: "inner")
          }
        }
        #expect(try names(db) == ["outer"])
        try db.transaction(.exclusive) { db in try add("second", db) }
        try db.transaction { db in
          try add("third", db)
          return .rollback
        }
        #expect(db.transactionLevel == 1)
      }
      #expect(try names(db) == ["outer", "second"])
    }
  }

  @Test func anOuterRollbackUndoesInnerTransactions() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try db.transaction { db in
        try db.transaction { db in try add("inner", db) }
        return .rollback
      }
      #expect(try names(db) == [])
    }
  }

  @Test func everyFormOfReturningRollbackRollsBack() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let yes = true
      try db.transaction { db in
        try add("literal", db)
        return .rollback
      }
      try db.transaction { db in
        try add("ternary", db)
        return yes ? .rollback : .commit
      }
      try db.transaction { db in
        try add("variable", db)
        let result = TransactionResult.rollback
        return result
      }
      try db.transaction { db -> TransactionResult in
        try add("declared", db)
        return .rollback
      }
      let result: TransactionResult? = try db.transaction { db -> TransactionResult? in
        try add("optional", db)
        return .rollback
      }
      #expect(result == .rollback)
      #expect(try db.transaction(.exclusive) { _ in TransactionResult.rollback } == .rollback)
      #expect(try names(db) == [])
      try db.transaction { db in
        try add("kept", db)
        return .commit
      }
      #expect(try names(db) == ["kept"])
    }
  }

  /// Adds a row at every level. Level 90 rolls back, and with it all deeper levels.
  private func nest(_ level: Int, _ db: SqliteDatabase) throws {
    try db.transaction { db -> TransactionResult in
      #expect(db.transactionLevel == level)
      try add("level \(level)", db)
      if level < 100 { try nest(level + 1, db) }
      return level == 90 ? .rollback : .commit
    }
  }

  @Test func transactionsNestAHundredLevelsDeep() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try nest(1, db)
      #expect(try names(db) == (1..<90).map { "level \($0)" })
      #expect(db.transactionLevel == 0)
    }
  }

  @Test func aDeferredTransactionReadsOneSnapshot() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let other = try db.createChild()
      try db.transaction(.deferred) { db in
        #expect(try Person.count().run(db) == 0)
        try add("meanwhile", other)
        #expect(try Person.count().run(db) == 0)
      }
      #expect(try Person.count().run(db) == 1)
    }
  }

  /// SQLite returns SQLITE_BUSY at once: waiting does not make an old snapshot current.
  @Test func aDeferredTransactionThatWritesOnAnOldSnapshotIsBusy() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let other = try db.createChild()
      let error = sqlError {
        try db.transaction(.deferred) { db in
          _ = try Person.count().run(db)
          try add("meanwhile", other)
          try add("late", db)
        }
      }
      #expect(error?.kind == .busy)
      #expect(error?.isRetryable == true)
      #expect(try names(db) == ["meanwhile"])
    }
  }

  @Test(arguments: [TransactionKind.immediate, .exclusive])
  func aWritingTransactionKeepsOtherWritersOut(kind: TransactionKind) throws {
    try withDatabase(.init(busyTimeout: 0.01)) { db in
      try db.createTable(Person.self)
      let other = try db.createChild()
      try db.transaction(kind) { db in
        expectError(.busy) { try add("other", other) }
        expectError(.busy) { try other.transaction { _ in } }
        #expect(try Person.count().run(other) == 0)
        try add("mine", db)
      }
      try add("other", other)
      #expect(try names(db) == ["mine", "other"])
    }
  }

  // MARK: Errors inside

  @Test func aFailingStatementLeavesTheTransactionAndItsWorkUntouched() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try db.transaction { db in
        try Person(id: 1, name: "Ann").insert().run(db)
        let error = sqlError { try Person(id: 1, name: "twice").insert().run(db) }
        #expect(error?.kind == .constraint(.primaryKey))
        #expect(error?.transaction == .untouched)
        let syntax = expectError(.syntax) { try db.execute("SELEKT 1") }
        #expect(syntax?.transaction == .untouched)
        #expect(db.transactionLevel == 1)
        try Person(id: 2, name: "Bob").insert().run(db)
      }
      #expect(try names(db) == ["Ann", "Bob"])
    }
  }

  /// The transaction is rolled back by the time that the caller of `transaction` sees the error.
  @Test func anErrorOfTheOutermostClosureReportsRolledBack() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let error = sqlError {
        try db.transaction { db in
          try Person(id: 1, name: "Ann").insert().run(db)
          try db.transaction { db in try Person(id: 1, name: "twice").insert().run(db) }
        }
      }
      #expect(error?.kind == .constraint(.primaryKey))
      #expect(error?.transaction == .rolledBack)
      #expect(try names(db) == [])
    }
  }

  @Test func anErrorOutsideATransactionHasNoFate() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try Person(id: 1, name: "Ann").insert().run(db)
      let batch = [Person(id: 2, name: "Bob"), Person(id: 1, name: "twice")]
      // The library opens the transaction of a batch or an observed write, so the caller has none.
      for isObserved in [false, true] {
        let token = isObserved ? db.observe(on: Person.self) { _ in } : nil
        let single = expectError(.constraint(.primaryKey)) { try Person(id: 1, name: "twice").insert().run(db) }
        let many = expectError(.constraint(.primaryKey)) { try Person.insert(batch).run(db) }
        #expect(single?.transaction == SqlError.TransactionFate.none)
        #expect(many?.transaction == SqlError.TransactionFate.none)
        if let token { db.removeObserver(token) }
      }
      #expect(try names(db) == ["Ann"])
    }
  }

  @Test func aForeignKeyViolationAtCommitRollsTheClosureBack() throws {
    try withDatabase { db in
      try db.execute(
        """
        CREATE TABLE a(id INTEGER PRIMARY KEY);
        CREATE TABLE b(a_id INTEGER REFERENCES a(id) DEFERRABLE INITIALLY DEFERRED);
        """)
      let error = sqlError {
        try db.transaction { db in
          try db.execute("INSERT INTO a VALUES (1)")
          try db.execute("INSERT INTO b VALUES (2)")
        }
      }
      #expect(error?.kind == .constraint(.foreignKey))
      #expect(error?.transaction == .rolledBack)
      #expect(db.transactionLevel == 0)
      #expect(try db.query("SELECT count(*) FROM a", as: Int.self) == [0])
      #expect(try db.query("SELECT count(*) FROM b", as: Int.self) == [0])
      // A violation that is repaired before the commit is no error.
      try db.transaction { db in
        try db.execute("INSERT INTO b VALUES (2)")
        try db.execute("INSERT INTO a VALUES (2)")
      }
      #expect(try db.query("SELECT a_id FROM b", as: Int.self) == [2])
    }
  }

  /// A loop reads the snapshot of its start. SQLite refuses a write once another connection has committed after that
  /// snapshot.
  @Test func aWriteInALoopOnAnOldSnapshotIsNotRetryable() throws {
    for observed in [false, true] {
      try withDatabase { db in
        try db.createTable(Person.self)
        for name in ["Ann", "Bob"] { try add(name, db) }
        if observed { db.observe(on: Person.self) { _ in } }
        let other = try SqliteDatabase(filepath: db.filepath)
        try Person.read().forEach(db) { person in
          try add("other", other)
          for _ in 1...2 {
            for write in [{ try add("own", db) }, { try db.transaction { try add("own", $0) } }] {
              let error = expectError(.busy) { try write() }
              #expect(error?.extendedCode == 517)
              #expect(error?.transaction == SqlError.TransactionFate.none)
              #expect(error?.isRetryable == false)
            }
          }
        }
        try add("own", db)
        // A deferred transaction can be retried as a whole.
        let error = expectError(.busy) {
          try db.transaction(.deferred) { db in
            _ = try names(db)
            try add("other", other)
            try add("own", db)
          }
        }
        #expect(error?.extendedCode == 517)
        #expect(error?.isRetryable == true)
      }
    }
  }

  @Test func aRollbackInsideAnotherValueDoesNotRollBack() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      try db.transaction { db in
        try add("tuple", db)
        return (TransactionResult.rollback, 1)
      }
      try db.transaction { db in
        try add("array", db)
        return [TransactionResult.rollback]
      }
      try db.transaction { db -> Any in
        try add("any", db)
        return TransactionResult.rollback
      }
      #expect(try names(db) == ["tuple", "array"])
    }
  }

  @Test func onConflictFailKeepsTheRowsBeforeTheConflict() throws {
    for observed in [false, true] {
      try withDatabase { db in
        try db.execute("CREATE TABLE person(id INTEGER PRIMARY KEY, name TEXT UNIQUE ON CONFLICT FAIL)")
        if observed { db.observe(on: Person.self) { _ in } }
        try add("Ann", db)
        let alone = expectError(.constraint(.unique)) {
          try db.execute("INSERT INTO person VALUES (2, 'Bob'), (3, 'Ann')")
        }
        #expect(alone?.transaction == SqlError.TransactionFate.none)
        try db.transaction { db in
          let error = expectError(.constraint(.unique)) {
            try db.execute("INSERT INTO person VALUES (4, 'Cid'), (5, 'Ann')")
          }
          #expect(error?.transaction == .untouched)
          let batch = Person.insert([Person(id: nil, name: "Dan"), Person(id: nil, name: "Ann")])
          expectError(.constraint(.unique)) { try batch.run(db) }
        }
        #expect(try names(db) == ["Ann", "Bob", "Cid"])
      }
    }
  }
}
