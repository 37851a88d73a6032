import SqlableCore
import SqlablePool
import Testing

@testable import SqlableTestSupport

/// The transaction fate in errors that the library throws itself, without SQLite.
@Suite struct FateTests {
  private static let failures: [@Sendable (SqliteDatabase) throws -> Void] = [
    { db in _ = try Worker.read().limit(-1).run(db) },
    { db in try Worker(id: 9, name: "x", bossId: nil, salary: .nan).insert().run(db) },
    { db in try Worker.insert([Worker(id: 9, name: "x", bossId: nil, salary: .nan)]).run(db) },
    { db in _ = try Worker.count().filter(Worker.salary == .nan).run(db) },
    { db in _ = try db.query("SELECT NULL", as: Int.self) },
    { db in _ = try Worker.select(Worker.bossId.expression.typed(as: Int.self)).run(db) },
    { db in _ = try db.query("SELECT 1; SELECT 2", as: Int.self) },
    { db in _ = try Worker.read().filter(Person.name == "x").run(db) },
    { db in _ = try Worker.read().filter(Worker.name == Parameter("name")).run(db) },
    { db in _ = try db.prepare(Worker.read().filter(Worker.name == Parameter("name"))).run(["x": "y"]) },
    { db in try db.execute("SAVEPOINT a") },
    { db in try db.execute("SELECT ?") },
    { db in _ = try db.query("SELECT ?", as: Int.self) },
    { db in _ = try db.rollbackTransaction(9) },
    { db in _ = try Worker.select(Worker.name, Person.self).run(db) },
    { db in _ = try Worker.read().cursor(db).next().map { _ in try Worker.read().limit(-1).run(db) } },
  ]

  private typealias Failure = @Sendable (SqliteDatabase) throws -> Void

  private func error(_ fail: Failure, _ db: SqliteDatabase) -> SqlError? {
    do {
      try fail(db)
      return nil
    } catch { return error as? SqlError }
  }

  private func errorOfTransaction(_ fail: @escaping Failure, _ db: SqliteDatabase) -> SqlError? {
    let body: Failure = { db in
      _ = try db.transaction { db -> Int in
        try fail(db)
        return 1
      }
    }
    return error(body, db)
  }

  @Test(arguments: FateTests.failures.indices) func errorsReportTheFateOfTheOpenTransaction(_ index: Int) throws {
    let fail = FateTests.failures[index]
    try withCompany { db in
      let without = error(fail, db)
      #expect(without?.transaction == SqlError.TransactionFate.none)
      let outside = errorOfTransaction(fail, db)
      #expect(outside?.transaction == .rolledBack)
      #expect(outside?.kind == without?.kind)
      #expect(db.transactionLevel == 0)
      try db.beginTransaction()
      let inside = error(fail, db)
      let savepoint = errorOfTransaction(fail, db)
      #expect(inside?.transaction == .untouched)
      #expect(inside?.kind == without?.kind)
      #expect(savepoint?.transaction == .untouched)
      #expect(db.transactionLevel == 1)
      try db.rollbackTransaction()
    }
  }

  @Test(.needs(35, "RETURNING")) func anObservedChangeReportsNoTransaction() throws {
    try withCompany { db in
      // An observed change runs in a transaction of the library.
      db.observe(.update, on: Worker.self) { _ in }
      let error = sqlError {
        _ = try Worker.updateAll(Worker.salary.set(to: 1)).returning(Worker.bossId.expression.typed(as: Int.self)).run(
          db)
      }
      #expect(error?.transaction == SqlError.TransactionFate.none)
      #expect(db.transactionLevel == 0)
    }
  }

  /// The behaviour of pools that Transactions.md and Statements.md describe.
  @Test func aPoolRollsBackAFailedStatement() throws {
    try withDirectory { directory in
      let pool = try SqlitePool(filepath: directory + "/pool.sqlite")
      try pool.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, n CHECK (n > 0))")
      let error = sqlError { try pool.execute("INSERT INTO t VALUES (1, 1); INSERT INTO t VALUES (2, 0)") }
      #expect(error?.kind == .constraint(.check))
      #expect(error?.transaction == .rolledBack)
      let stored = try pool.query("SELECT count(*) FROM t", as: Int.self)
      #expect(stored == [0])
      let begin = sqlError { try pool.execute("BEGIN; COMMIT") }
      #expect(begin?.message == "can't run BEGIN inside a transaction; use transaction(_:)")
      try pool.execute("PRAGMA foreign_keys = OFF")
      let isOn = try pool.withWriter { db in try db.query("PRAGMA foreign_keys", as: Int.self) }
      #expect(isOn == [1])
      try pool.close()
    }
  }
}
