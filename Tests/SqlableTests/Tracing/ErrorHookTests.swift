import Foundation
import Sqlable
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// `onError`: one closure for every error of a severity or above.
@Suite struct ErrorHookTests {
  @Test func aHookReceivesErrorsFromItsSeverityOn() throws {
    try withDatabase(Configuration(label: "main")) { db in
      try db.createTables(Person.self, Bicycle.self)
      let (errors, all) = (TraceLog(), TraceLog())
      let token = db.onError(atLeast: .error, errors.receive)
      let other = db.onError(atLeast: .debug, all.receive)
      _ = try Bicycle.read().run(db)
      let bike = Bicycle(id: 1, name: "Trek", color: "red")
      try bike.insert().run(db)
      expectSqlError { try bike.insert().run(db) }
      expectInvalidStatement { _ = try Bicycle.read().limit(-1).run(db) }
      expectSqlError { try db.createChild().execute("DELETE FROM missing") }
      let received = errors.take()
      #expect(received.map(\.operation) == ["CALL", "DELETE"])
      #expect(received.map(\.severity) == [.error, .error])
      #expect(received.map(\.label) == ["main", "main"])
      #expect(received.last?.callSite?.hasPrefix("SqlableTests/ErrorHookTests.swift:") == true)
      #expect(all.take().map(\.severity) == [.info, .error, .error])
      db.removeTrace(token)
      expectInvalidStatement { _ = try Bicycle.read().limit(-1).run(db) }
      #expect(errors.take() == [])
      #expect(all.take().count == 1)
      db.removeTrace(other)
    }
  }

  @Test func eachErrorIsReportedOnce() throws {
    try withDatabase { db in
      try db.execute(
        """
        CREATE TABLE parent (id INTEGER PRIMARY KEY);
        CREATE TABLE child (parent_id REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)
        """)
      let log = TraceLog()
      db.onError(atLeast: .debug, log.receive)
      // The COMMIT fails, and then the ROLLBACK succeeds.
      expectError(.constraint(.foreignKey)) {
        try db.transaction { db in try db.execute("INSERT INTO child VALUES (1)") }
      }
      #expect(log.take().map(\.sql) == ["COMMIT"])
      expectSqlError { try db.transaction { db in try db.transaction { db in try db.execute("DELETE FROM missing") } } }
      #expect(log.take().map(\.sql) == ["DELETE FROM missing"])
    }
  }

  @Test func errorsThatNoCallThrowsReachHooksAndNoTrace() throws {
    try withTraced { db, traced in
      let (hooked, failed) = (TraceLog(), Collected<String>())
      db.onError(atLeast: .warning, hooked.receive)
      db.didFail = { error in failed.append("\(error)") }
      db.observe(.insert, on: Bicycle.self) { [unowned db] id in
        if id == 1 { throw SqlError(.full, message: "the disk is full") }
        if id == 2 { throw CancellationError() }
        try db.execute("DELETE FROM missing")
      }
      for id in 1...3 { try Bicycle(id: id, name: "\(id)", color: "red").insert().run(db) }
      #expect(failed.values.count == 3)
      let events = hooked.take()
      // The statement of the third call reports its error itself.
      #expect(events.map(\.severity) == [.critical, .error])
      #expect(events.map(\.operation) == ["CALL", "DELETE"])
      #expect(events.first?.label == "main")
      #expect(traced.take().compactMap { $0.error?.message }.contains("the disk is full") == false)
    }
  }

  @Test func aHookOfTheProcessReceivesErrorsOfAllHandlesAndPools() throws {
    let label = UUID().uuidString
    let log = TraceLog()
    let token = SqliteDatabase.onError(atLeast: .warning) { event in if event.label == label { log.receive(event) } }
    try withDirectory { directory in
      let configuration = Configuration(label: label, createsDirectories: false)
      expectError(.cannotOpen) {
        _ = try SqliteDatabase(filepath: directory + "/missing/a.sqlite", configuration: configuration)
      }
      #expect(log.take().map { $0.error?.kind } == [.cannotOpen])
      let pool = try SqlitePool(
        filepath: directory + "/a.sqlite", configuration: PoolConfiguration(handles: configuration))
      expectSqlError { _ = try Bicycle.read().run(pool) }
      let events = log.take()
      #expect(events.count == 1)
      #expect(events.first?.error?.kind == .schema(.missingTable("bicycle")))
      try pool.close()
    }
    SqliteDatabase.removeTraceOfAll(token)
  }

  @Test func aHookOfAPoolReceivesTimeouts() throws {
    try withPool(PoolConfiguration(readers: 1, waitTimeout: .milliseconds(20))) { pool in
      let log = TraceLog()
      pool.onError(atLeast: .warning, log.receive)
      // On a loaded machine, a read can wait for longer than the timeout before it begins.
      try whileHeld({ held in while (try? pool.read { _ in held() }) == nil { usleep(1_000) } }) {
        _ = log.take()
        expectError(.timeout) { _ = try Member.count().run(pool) }
      }
      #expect(log.take().map(\.severity) == [.warning])
    }
  }

  @Test func aTraceLimitsTheReportsOfAnError() throws {
    try withDatabase { db in
      let log = TraceLog()
      db.trace(TraceOptions(interval: .seconds(3_600), errorsAtLeast: .warning), log.receive)
      for _ in 1...3 { expectSqlError { try db.execute("DELETE FROM missing") } }
      #expect(log.take().count == 1)
    }
  }

  @Test func aFullDiskIsCritical() {
    for kind in [.full, .corrupt, .notADatabase, .handleLost] as [SqlError.Kind] {
      #expect(SqlError(kind, message: "").severity == .critical)
    }
    #expect(SqlError(.io, message: "").severity == .error)
  }
}
