import Foundation
import Sqlable
import SqlableAdvice
import SqlableBackup
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Events of errors that SQLite does not report.
@Suite struct ErrorEventTests {
  /// A model of bicycles that accepts any name.
  private struct Lenient: Sqlable {
    let name: String

    static let tableName = "bicycle"
    static let name = column("name", String.self)
    static let tableLayout = [name.column]

    init(row: ReadRow) throws { name = (try? row.get(Lenient.name)) ?? "?" }
    func write(to row: inout RowWriter) throws { row.set(Lenient.name, name) }
  }

  @Test func aRowThatCannotBeReadFailsItsStatement() throws {
    try withTraced { db, log in
      try db.execute("INSERT INTO bicycle (name, color) VALUES (x'00', 'red'), ('secret', 'red')")
      _ = log.take()
      expectSqlError { _ = try Bicycle.read().run(db) }
      let events = log.take()
      let failed = try #require(events.first)
      #expect(events.count == 1)
      #expect(failed.kind == .read)
      #expect(failed.table == "bicycle")
      #expect(failed.sql.hasPrefix("SELECT"))
      guard case .decoding = failed.error?.kind else { throw try #require(failed.error) }
      #expect(failed.error?.column == "name")
      #expect(failed.severity == .error)
      #expect(!failed.description.contains("secret"))
      expectSqlError { _ = try Bicycle.read().filter(Bicycle.color == "red").first(db) }
      #expect(log.take().map { $0.error?.column } == ["name"])
      let prepared = try db.prepare(Bicycle.read())
      expectSqlError { _ = try prepared.run() }
      #expect(log.take().map { $0.error?.column } == ["name"])
    }
  }

  @Test func aModelThatCatchesDecodingErrorsReportsNone() throws {
    try withTraced { db, log in
      try db.execute("INSERT INTO bicycle (name, color) VALUES (x'00', 'red'), (x'00', 'blue')")
      _ = log.take()
      #expect(try Lenient.read().run(db).map(\.name) == ["?", "?"])
      #expect(try Lenient.read().first(db)?.name == "?")
      try Lenient.read().forEach(db) { _ in Iteration.stop }
      let events = log.take()
      #expect(events.count == 3)
      #expect(events.allSatisfy { $0.error == nil })
      #expect(events.allSatisfy { $0.severity == nil })
    }
  }

  @Test func backupsSendNoErrors() throws {
    try withTraced { db, log in
      try Bicycle(name: "Trek", color: "red").insert().run(db)
      try withDirectory { directory in try db.backup(to: directory + "/copy.sqlite") }
      #expect(log.take().compactMap { $0.error?.message } == [])
    }
  }

  @Test func anErrorBeforeAStatementHasASeparateEvent() throws {
    try withTraced { db, log in
      try db.createTable(Sample.self)
      _ = log.take()
      expectSqlError { try Sample(id: 1, real: .nan).insert().run(db) }
      var events = log.take()
      guard case .encoding = events.first?.error?.kind else { return expectOne(events) }
      #expect(events.count == 1)
      #expect(events[0].error?.table == "sample")
      #expect(events[0].label == "main")
      #expect(events[0].kind == .other)
      #expect(events[0].table == "sample")
      #expect(events[0].operation == "CALL")
      #expect(events[0].description.contains("call sample in "))
      expectInvalidStatement { _ = try Bicycle.read().limit(-1).run(db) }
      events = log.take()
      expectOne(events)
      #expect(events.first?.callSite?.hasPrefix("SqlableTests/ErrorEventTests.swift:") == true)
    }
  }

  private func expectOne(_ events: [TraceEvent]) {
    #expect(events.count == 1, "\(events)")
    #expect(events.first?.error != nil, "\(events)")
  }

  @Test func anErrorThatATransactionPassesOnHasOneEvent() throws {
    try withTraced { db, log in
      expectInvalidStatement {
        try db.transaction { db in
          try db.transaction { db in _ = try Bicycle.read().limit(-1).run(db) }
        }
      }
      let failed = log.take().filter { $0.error != nil }
      #expect(failed.count == 1, "\(failed)")
      #expect(failed.first?.kind == .other, "\(failed)")
    }
  }

  @Test func aFileThatCannotBeOpenedReachesTracesOfTheProcess() throws {
    try withDirectory { directory in
      let log = TraceLog()
      let token = SqliteDatabase.traceAll { event in if event.label == "unopened" { log.receive(event) } }
      defer { SqliteDatabase.removeTraceOfAll(token) }
      let path = directory + "/no/such/file.db"
      var configuration = Configuration(label: "unopened", createsDirectories: false)
      expectSqlError { _ = try SqliteDatabase(filepath: path, configuration: configuration) }
      let events = log.take()
      #expect(events.count == 1)
      #expect(events.first?.error?.kind == .cannotOpen)
      #expect(events.first?.severity == .error)
      configuration.opensLazily = true
      let lazy = try SqliteDatabase(filepath: path, configuration: configuration)
      expectSqlError { _ = try Bicycle.count().run(lazy) }
      #expect(log.take().map { $0.error?.kind } == [.cannotOpen])
    }
  }

  @Test func aCallThatWaitsTooLongReachesTracesOfItsPool() throws {
    try withPool(PoolConfiguration(readers: 1, waitTimeout: .milliseconds(20))) { pool in
      let log = TraceLog()
      let token = pool.trace(.init(), log.receive)
      let (isHeld, mayEnd, isOver) = (
        DispatchSemaphore(value: 0), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0)
      )
      Thread.detachNewThread {
        func hold() throws {
          try pool.read { _ in
            isHeld.signal()
            mayEnd.wait()
          }
        }
        // On a loaded machine, a read can wait for longer than the timeout before it begins.
        while (try? hold()) == nil { usleep(1_000) }
        isOver.signal()
      }
      isHeld.wait()
      _ = log.take()
      let error = sqlError { _ = try Member.count().run(pool) }
      mayEnd.signal()
      isOver.wait()
      pool.removeTrace(token)
      #expect(error?.kind == .timeout)
      let failed = log.take().filter { $0.error != nil }
      #expect(failed.map { $0.error?.kind } == [.timeout])
      #expect(failed.first?.severity == .warning)
    }
  }

  @Test func severitiesOrderErrors() {
    let kinds: [(SqlError.Kind, SqlError.Severity)] = [
      (.interrupted, .debug),
      (.constraint(.unique), .info),
      (.busy, .warning),
      (.misuse("x"), .error),
      (.corrupt, .critical),
    ]
    for (kind, severity) in kinds { #expect(SqlError(kind, message: "").severity == severity) }
    #expect(kinds.map(\.1) == SqlError.Severity.allCases)
    #expect(kinds.map(\.1).sorted() == kinds.map(\.1))
  }

  // MARK: Events that are left out

  @Test func anAbandonedQuickReadIsCountedOnce() async throws {
    try await withMembers(PoolConfiguration(keepsTotals: true)) { pool in
      for id in 1...400 { try await Member(id: id, name: "\(id)").insert().run(pool) }
      _ = try await Member.count().run(pool)
      pool.resetStatistics()
      let other = Alias(Member.self, "other")
      let pairs = Member.join(other, on: Member.name < other[Member.name]).select(countAll())
      #expect(try await pairs.run(pool) == [79_800])
      let reads = pool.topStatements().filter { $0.kind == .read }
      #expect(reads.count == 1, "\(reads)")
      #expect(reads.first?.count == 1, "\(reads)")
      #expect(reads.first?.failures == 0, "\(reads)")
      #expect(pool.statistics.reads == 1)
    }
  }

  @Test(.timeLimit(.minutes(30))) func aTraceThatEndsLeavesDeadlinesInForce() throws {
    let token = SqliteDatabase.traceAll { _ in }
    try withPool(PoolConfiguration(readers: 1, deadline: .milliseconds(200))) { pool in
      // A loaded machine can stop a thread for longer than the deadline.
      waitUntil(within: .seconds(900)) { (try? pool.query("SELECT 1", as: Int.self)) == [1] }
      SqliteDatabase.removeTraceOfAll(token)
      let error = sqlError {
        _ = try pool.query(
          "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n", as: Int.self)
      }
      #expect(error?.kind == .timeout)
    }
  }

  @Test func adviceEmitsNoEventsForItsStatements() throws {
    try withTraced { db, log in
      let advice = try Bicycle.read().filter(Bicycle.ownerId == 1).advice(db)
      #expect(advice.map(\.columns) == [["owner_id"]])
      #expect(log.take() == [])
    }
  }

  @Test func transactionEventsNameBeginAndEnd() throws {
    try withTraced { db, log in
      struct Failure: Error {}
      try db.transaction { db in _ = try Bicycle.count().run(db) }
      _ = try? db.transaction(.deferred) { db in
        _ = try Bicycle.count().run(db)
        throw Failure()
      }
      let transactions = log.take().filter { if case .transaction = $0.kind { true } else { false } }
      #expect(transactions.map(\.sql) == ["BEGIN IMMEDIATE … COMMIT", "BEGIN DEFERRED … ROLLBACK"])
      #expect(transactions.first?.description.hasSuffix("BEGIN IMMEDIATE … COMMIT") == true)
    }
  }
}
