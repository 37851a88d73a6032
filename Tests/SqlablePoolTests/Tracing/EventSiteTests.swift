import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import SqlableTracing
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// The call sites and contexts of events.
@Suite struct EventSiteTests {
  @Test func eventsOfAPoolHaveCallSiteAndContext() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/test.sqlite")
      try await pool.withWriter { try $0.createTables(Person.self, Bicycle.self) }
      let log = TraceLog()
      let token = pool.trace(.init(), log.receive)
      try await Tracing.$context.withValue("request 7") {
        try await Bicycle(name: "Trek", color: "red").insert().run(pool)
        _ = try await Bicycle.count().run(pool)
      }
      let events = log.take().filter { $0.kind == .write || $0.table == "bicycle" }
      #expect(events.map(\.kind) == [.write, .read])
      for event in events {
        #expect(event.context == "request 7")
        let site = event.callSite ?? "nil"
        #expect(site.hasPrefix("SqlablePoolTests/EventSiteTests.swift:"), "\(site)")
      }
      try Tracing.$context.withValue("request 8") { _ = try Bicycle.count().run(pool) }
      #expect(log.take().last?.context == "request 8")

      try await Tracing.$context.withValue("request 9") {
        try await Bicycle(name: "Norco", color: "red").insert().run(pool)
      }
      let transaction = try #require(log.take().first { $0.kind == .transaction(.committed) })
      #expect(transaction.operation == "TRANSACTION")
      #expect(transaction.context == "request 9")
      #expect(transaction.callSite?.hasPrefix("SqlablePoolTests/EventSiteTests.swift:") == true)
      pool.removeTrace(token)
      try await pool.close()
    }
  }

  @Test func eventsOfAHandleHaveTheCallSite() throws {
    try withTraced { db, log in
      func sites(_ body: () throws -> Void) throws -> Set<String?> {
        _ = log.take()
        try body()
        return Set(log.take().map(\.callSite))
      }
      func here(_ line: UInt = #line) -> Set<String?> { ["SqlablePoolTests/EventSiteTests.swift:\(line)"] }
      let bike = Bicycle(name: "Trek", color: "red")
      #expect(try sites { try bike.insert().run(db) } == here())
      #expect(try sites { _ = try Bicycle.read().run(db) } == here())
      #expect(try sites { _ = try Bicycle.byId(1).run(db) } == here())
      #expect(try sites { _ = try Bicycle.select(Bicycle.name).run(db) } == here())
      #expect(try sites { _ = try Bicycle.select(Bicycle.name).first(db) } == here())
      #expect(try sites { try Bicycle.read().forEach(db) { _ in } } == here())
      #expect(try sites { try db.execute("DELETE FROM person") } == here())
      #expect(try sites { _ = try db.query("SELECT 1", as: Int.self) } == here())
      #expect(try sites { _ = try db.run(Bicycle.count()) } == here())
      #expect(try sites { _ = try SQL("SELECT 1").rows(as: Int.self).run(db) } == here())
      #expect(try sites { try db.transaction { _ in } } == here())
      let (prepared, line) = (try db.prepare(Bicycle.count()), here())
      #expect(try sites { _ = try prepared.run() } == line)
      let (cursor, place) = (try Bicycle.read().cursor(db), here())
      #expect(try sites { while try cursor.next() != nil {} } == place)
      // Generic code that runs any work has no call site unless it passes one.
      func any<Work: Runnable>(_ work: Work) throws -> Set<String?> { try sites { _ = try work.run(db) } }
      #expect(try any(Bicycle.select(Bicycle.name)) == [nil])
    }
  }

  @Test func aStatementInATransactionHasItsOwnCallSite() throws {
    try withTraced { db, log in
      let line: UInt = #line
      try db.transaction { db in
        try Bicycle(name: "Trek", color: "red").insert().run(db)
        try Person(id: nil, name: "Kim").insert().run(db)
      }
      let lines = log.take().map { $0.callSite?.split(separator: ":").last.flatMap { UInt($0) } }
      #expect(lines == [line + 1, line + 2, line + 3, line + 1, line + 1])
    }
  }
}
