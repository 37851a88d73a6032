import Foundation
import Sqlable
import SqlablePolicies
import Testing

@testable import SqlablePoliciesTestSupport
@testable import SqlableTestSupport

/// Limits of time, steps, values and scans on statements that run under a policy.
@Suite struct LimitedRunTests {
  private func withAccounts(_ count: Int = 300, _ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.fillAccounts(count)
      try body(db)
    }
  }

  private func policy(_ change: (inout StatementPolicy.Limits) -> Void = { _ in }) -> StatementPolicy {
    var policy = tenantPolicy(features: [.joins, .aggregates])
    // A loaded machine can stop a thread for longer than the default limit of a second.
    policy.limits.time = .seconds(600)
    change(&policy.limits)
    return policy
  }

  /// A query that visits 300⁴ rows, which would take days.
  private var endless: Select<Int> {
    let (a, b, c) = (Alias(Account.self, "a"), Alias(Account.self, "b"), Alias(Account.self, "c"))
    return Account.crossJoin(a).crossJoin(b).crossJoin(c).select(countAll())
  }

  private let scanned = "the statement would scan more rows than the policy allows"

  @Test func aRunStopsAtTheTimeLimit() throws {
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      let limits = policy { ($0.time, $0.steps) = (.milliseconds(30), nil) }
      let error = sqlError { try endless.limited(by: limits).run(db) }
      #expect(error?.kind == .timeout)
      #expect(error?.message == "the statement ran longer than the policy allows")
      #expect(try Account.count().run(db) == 300)
    }
  }

  @Test func aRunStopsAtTheStepLimit() throws {
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      let limits = policy { ($0.time, $0.steps) = (nil, 5_500) }
      let error = sqlError { try endless.limited(by: limits).run(db) }
      #expect(error?.kind == .timeout)
      #expect(error?.message == "the statement took more steps than the policy allows")
      // 300 rows take a few steps each. The count of steps restarts with each run.
      for _ in 0..<5 { #expect(try Account.count().filter(Account.name != "x").limited(by: limits).run(db) == 300) }
    }
  }

  @Test func aLimitedRunLeavesNoLimitOnTheHandle() throws {
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      let limits = policy { ($0.time, $0.steps, $0.valueBytes) = (.milliseconds(1), 1_000, 40) }
      _ = sqlError { try endless.limited(by: limits).run(db) }
      let other = Alias(Account.self, "other")
      #expect(try Account.crossJoin(other).select(countAll()).first(db) == 300 * 300)
      try Account(id: 1_000, tenant: 1, name: String(repeating: "n", count: 1_000), owed: 0).insert().run(db)
    }
  }

  @Test func aValueThatIsTooLargeIsNotRead() throws {
    try withAccounts(3) { (db: SqliteDatabase) throws -> Void in
      try Account(id: 9, tenant: 1, name: String(repeating: "n", count: 5_000), owed: 0).insert().run(db)
      let names = Account.select(Account.name)
      let limits = policy { $0.valueBytes = 1_000 }
      #expect(sqlError { try names.limited(by: limits).run(db) }?.kind == .tooBig)
      #expect(try names.filter(Account.id < 9).limited(by: limits).run(db).count == 3)
      #expect(try names.run(db).count == 4)
    }
  }

  @Test func aPlanThatScansALargeTableIsRefusedBeforeItRuns() throws {
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      let limits = policy { $0.scannedRows = 299 }
      for scan in [
        Account.select(Account.id).filter(Account.name == "x"),
        Account.select(Account.id).orderBy(Account.name).limit(1),
        Account.select(countAll()), Account.select(Account.id).filter(Account.owed > 1).limit(1),
        // An index holds all rows too.
        Account.select(Account.id).filter(Account.color.like("%x")),
      ] {
        let error = sqlError { try scan.limited(by: limits).run(db) }
        #expect(error?.message == scanned, "\(scan.sql)")
      }
      #expect(sqlError { try Account.read().filter(Account.name == "x").limited(by: limits).run(db) } != nil)
      let some = Account.select(Account.id)
      #expect(try some.filter(Account.id == 7).limited(by: limits).run(db) == [7])
      #expect(try some.filter(Account.color == "red").limited(by: limits).run(db) == [])
      // With an order by the key, SQLite visits only as many rows as the limit.
      #expect(
        try some.orderBy(Account.id).limit(2).limited(by: policy { $0.scannedRows = 2 }).run(db).count == 2)
      // The check counts rows, not the range of keys: a key of 1 000 000 adds one row.
      try Account(id: 1_000_000, tenant: 1, name: "x", owed: 0).insert().run(db)
      try Account.delete(Account.id == 1).run(db)
      #expect(
        try some.filter(Account.name == "x").limited(by: policy { $0.scannedRows = 300 }).run(db) == [1_000_000])
    }
  }

  /// Neither the collection of the rows nor the values of parameters change the plan.
  @Test func thePlanOfACollectedOrBoundQueryIsChecked() throws {
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      let (few, many) = (policy { $0.scannedRows = 299 }, policy { $0.scannedRows = 300 })
      let scan = Account.select(Account.id).filter(Account.name == "x")
      let named = Account.select(Account.id).filter(Account.name == Parameter("name")).binding(["name": "x"])
      let decoded = scan.decoded(as: [String: Int].self)
      #expect(sqlError { try scan.first().limited(by: few).run(db) }?.message == scanned)
      #expect(sqlError { try named.limited(by: few).run(db) }?.message == scanned)
      #expect(sqlError { try decoded.limited(by: few).run(db) }?.message == scanned)
      #expect(try scan.first().limited(by: many).run(db) == nil)
      #expect(try named.limited(by: many).run(db) == [])
      #expect(try decoded.limited(by: many).run(db) == [])
    }
  }

  @Test func aPlanIsCheckedAgainAfterTheSchemaOrItsStatisticsChanged() throws {
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      let limits = policy { $0.scannedRows = 299 }
      let red = Account.select(Account.name).filter(Account.color == "red").limited(by: limits)
      #expect(try red.run(db) == [])
      let other = try db.createChild()
      let index = try #require(
        try db.query("SELECT name FROM sqlite_master WHERE sql LIKE '%color\", \"owed%'", as: String.self).first)
      try other.execute(SQL(verbatim: "DROP INDEX \"\(index)\""))
      #expect(sqlError { try red.run(db) }?.message == scanned)
      try db.createTable(Account.self)
      #expect(try red.run(db) == [])
      // By the statistics, the index finds all rows.
      try db.execute("ANALYZE")
      #expect(sqlError { try red.run(db) }?.message == scanned)
    }
  }

  @Test func aPlanThatDependsOnAValueIsCheckedWithIt() throws {
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      let limits = policy { $0.scannedRows = 299 }
      func colors(like pattern: String) throws -> Int {
        try Account.select(Account.id).filter(Account.color.glob(pattern)).limited(by: limits).run(db).count
      }
      for _ in 0..<2 {
        #expect(try colors(like: "red*") == 0)
        #expect(sqlError { _ = try colors(like: "*red") }?.message == scanned)
      }
    }
  }

  @Test func everyTableWithTheSameAliasIsChecked() throws {
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Payment.self)
      let limits = policy { $0.scannedRows = 299 }
      let (account, payment) = (Alias(Account.self, "x"), Alias(Payment.self, "x"))
      let accounts = account.read().select(account[Account.id]).filter(account[Account.name] == "x")
      let payments = payment.read().select(payment[Payment.id])
      let inside = Payment.select(Payment.id).filter(exists(payments) && exists(accounts))
      let returned = Payment.delete(Payment.id == 1).returning(scalar(accounts))
      for error in [
        sqlError { try inside.limited(by: limits.limits).run(db) },
        sqlError { try returned.limited(by: limits.limits).run(db) },
      ] { #expect(error?.message == "the statement would scan more rows than the policy allows") }
    }
  }

  /// SQLite's authorizer applies the policy too. These statements skip the check of a document.
  @Test func sqliteCompilesOnlyStatementsThatThePolicyAllows() throws {
    try withAccounts(3) { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Person.self)
      let limits = policy()
      let tokens = Account.select(Account.owed)
      for _ in 0..<2 {
        // Compiles the statement without the authorizer and leaves it in the cache.
        #expect(try tokens.run(db) == [0, 0, 0])
        for work in [
          Account.select(Account.id).filter(Account.owed == 1), Person.select(countAll()),
          Account.select(Account.id).filter(Account.note == nil),
          Account.select(Account.id).filter(exists(Person.read())),
        ] {
          let error = sqlError { try work.limited(by: limits).run(db) }
          #expect(error?.message == "the policy does not allow this", "\(work.sql)")
          #expect(error?.sql == nil, "\(work.sql)")
        }
        #expect(sqlError { try tokens.limited(by: limits).run(db) }?.message == "the policy does not allow this")
        // The policy's condition reads the tenant.
        #expect(try Account.select(Account.id).filter(Account.tenant == 1).limited(by: limits).run(db) == [1, 2, 3])
      }
      let change = Account.updateAll(Account.name.set(to: "x"))
      #expect(sqlError { try change.limited(by: limits).run(db) }?.message == "the policy does not allow this")
      #expect(try Account.count().filter(Account.name == "x").run(db) == 0)
    }
  }

  /// SQLite reports the reads of a named query under the query's name, like those of a view.
  @Test func aNamedQueryReadsWhatThePolicyAllows() throws {
    try withAccounts(3) { (db: SqliteDatabase) throws -> Void in
      let policy = tenantPolicy(features: [.namedQueries, .aggregates, .literalRows])
      func read(_ table: String, _ query: String) throws -> [DynamicRow] {
        let text =
          #"{"read":{"from":[{"as":"\#(table)","columns":["integer"],"query":{\#(query)}}],"#
          + #""select":[{"column":"c1","of":"\#(table)"}]},"sqlable":1}"#
        let found = try policy.statement(Select<DynamicRow>.self, json: Data(text.utf8))
        return try found.limited(by: policy).run(db)
      }
      let constant = #""from":"account","groupBy":[1],"select":[7]"#
      #expect(try read("levels", constant).map(\.values) == [[.integer(7)]])
      #expect(try read("payment", constant).map(\.values) == [[.integer(7)]])
      let hidden = Account.select(Account.owed, Account.id).named("levels")
      let error = sqlError { try hidden.read().limited(by: policy).run(db) }
      #expect(error?.message == "the policy does not allow this", "\(String(describing: error))")
    }
  }

  @Test func aStoppedChangeChangesNothing() throws {
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      var limits = policy { ($0.time, $0.steps) = (nil, 2_000) }
      limits.kinds = [.updateAll]
      let error = sqlError { try Account.updateAll(Account.name.set(to: "x")).limited(by: limits).run(db) }
      #expect(error?.kind == .timeout)
      #expect(try Account.count().filter(Account.name == "x").run(db) == 0)
      // SQLite rolls back the transaction around a change that is interrupted.
      let inside = sqlError {
        try db.transaction { db in
          try Account.updateAll(Account.color.set(to: "red")).run(db)
          try Account.updateAll(Account.name.set(to: "x")).limited(by: limits).run(db)
        }
      }
      #expect(inside?.kind == .timeout)
      #expect(inside?.transaction == .rolledBack)
      #expect(try Account.count().filter(Account.color == "red" || Account.name == "x").run(db) == 0)
    }
  }

  @Test func theTimeCoversTheWaitForALock() throws {
    try withDatabase(Configuration(busyTimeout: 600)) { db in
      try db.fillAccounts(3)
      let other = try db.createChild()
      let limits = policy { $0.time = .milliseconds(30) }
      try other.transaction { other in
        try Account.updateAll(Account.name.set(to: "x")).run(other)
        let change = Account.updateAll(Account.name.set(to: "y"))
        #expect(sqlError { try change.limited(by: limits.limits).run(db) }?.kind == .timeout)
      }
      #expect(try Account.count().filter(Account.name == "x").run(db) == 3)
    }
  }

  /// The check of the plan reads the schema and the table, so it may wait for a lock too.
  @Test func theTimeCoversTheWaitOfThePlansCheck() throws {
    try withDatabase(Configuration(busyTimeout: 600, journalMode: .delete)) { db in
      try db.fillAccounts(3)
      let other = try db.createChild()
      let limits = policy { $0.time = .milliseconds(30) }
      try other.transaction(.exclusive) { other in
        try Account.updateAll(Account.name.set(to: "x")).run(other)
        let read = Account.select(Account.id).filter(Account.name == "x")
        #expect(sqlError { try read.limited(by: limits).run(db) }?.kind == .timeout)
      }
    }
  }

  @Test func aLimitedRunWithinAnotherKeepsTheLimitsOfBoth() throws {
    try withAccounts { (db: SqliteDatabase) throws -> Void in
      let loose = policy { ($0.time, $0.steps) = (nil, 50_000_000) }
      let tight = policy { ($0.time, $0.steps) = (nil, 5_500) }
      let other = Alias(Account.self, "other")
      let some = Account.crossJoin(other).select(countAll())
      #expect(try some.limited(by: loose).limited(by: loose).run(db) == [90_000])
      for error in [
        sqlError { try some.limited(by: loose).limited(by: tight).run(db) },
        sqlError { try some.limited(by: tight).limited(by: loose).run(db) },
      ] { #expect(error?.message == "the statement took more steps than the policy allows") }
      // A run under two policies needs the permission of both.
      let names = Account.select(Account.name)
      let narrow = StatementPolicy(.table(Account.self).reading(Account.id))
      #expect(try names.limited(by: loose).limited(by: loose).run(db).count == 300)
      for error in [
        sqlError { try names.limited(by: loose).limited(by: narrow).run(db) },
        sqlError { try names.limited(by: narrow).limited(by: loose).run(db) },
      ] { #expect(error?.message == "the policy does not allow this") }
      #expect(try names.run(db).count == 300)
    }
  }

  /// One match of a long pattern is a single step that may last for minutes.
  @Test func aPatternThatIsTooLongIsNotMatched() throws {
    try withAccounts(3) { (db: SqliteDatabase) throws -> Void in
      let limits = policy { $0.patternBytes = 10 }
      for (pattern, matches) in [("%123456789", true), ("%1234567890", false)] {
        let glob = pattern.replacing("%", with: "*")
        for work in [
          Account.count().filter(Account.name.like(pattern)), Account.count().filter(Account.name.glob(glob)),
        ] {
          let error = sqlError { try work.limited(by: limits).run(db) }
          #expect((error == nil) == matches)
          #expect((matches || error?.message == "LIKE or GLOB pattern too complex"))
          #expect(try work.run(db) == 0)
        }
      }
    }
  }

  @Test func aPoolsReadersAreLimited() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/a.sqlite", configuration: .init(waitTimeout: nil))
      try await pool.transaction { db in try db.fillAccounts(300) }
      let limits = policy { ($0.time, $0.steps) = (.milliseconds(30), nil) }
      for _ in 0..<3 {
        await #expect { try await endless.limited(by: limits).run(pool) } throws: {
          ($0 as? SqlError)?.kind == .timeout
        }
        #expect(sqlError { let _: [Int] = try endless.limited(by: limits).run(pool) }?.kind == .timeout)
      }
      #expect(try await Account.count().limited(by: policy()).run(pool) == 300)
      // The pool's deadline still applies.
      let long = policy { ($0.time, $0.steps) = (.seconds(600), nil) }
      let error = sqlError {
        let _: [Int] = try withDeadline(.milliseconds(30)) { try endless.limited(by: long).run(pool) }
      }
      #expect(error?.kind == .timeout)
      try await pool.close()
    }
  }
}

extension SqliteDatabase {
  fileprivate func fillAccounts(_ count: Int) throws {
    try createTable(Account.self)
    try Account.insert((1...count).map { Account(id: $0, tenant: 1, name: "a\($0)", owed: 0) }).run(self)
  }
}
