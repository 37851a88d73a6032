import SqlableCore
import SqlableTracing
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Generic code for handles and pools that observes, traces and registers functions.
@Suite struct SharedObservingTests {
  struct Refused: Error {}

  @Test func genericCodeObservesTracesAndRegistersFunctions() throws {
    try withDatabase { db in try check(db) { try db.execute($0) } }
    try withPool { pool in try check(pool) { try pool.execute($0) } }
  }

  private func check(_ database: some LocalDatabase, _ execute: (SQL) throws -> Void) throws {
    let (failures, statements) = (Mutex(0), Mutex<[String]>([]))
    report(database) { _ in failures.withLock { $0 += 1 } }
    try database.register(ScalarFunction("twice") { (number: Int) in 2 * number })
    try execute("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)")
    let trace = database.trace { event in statements.withLock { $0.append(event.sql) } }
    let observer = database.observe(.insert, on: Observed.Note.self) { id in
      if id == 2 { throw Refused() }
    }
    try execute("INSERT INTO note (id) VALUES (twice(1))")
    database.removeTrace(trace)
    database.queue.sync {}
    #expect(failures.withLock(\.self) == 1)
    #expect(statements.withLock(\.self).contains("INSERT INTO note (id) VALUES (twice(?))"))
    database.removeObserver(observer)
    try execute("DELETE FROM note")
    try execute("INSERT INTO note (id) VALUES (twice(1))")
    database.queue.sync {}
    #expect(failures.withLock(\.self) == 1)
  }

  private func report(_ database: some ObservedDatabase, _ body: @escaping @Sendable (any Error) -> Void) {
    database.didFail = body
  }
}
