import Foundation
import Sqlable
import SqlableAdvice
import SqlableCluster
import Testing

/// Tests of the events that traces of a client report, in order.
private final class Events: Sendable {
  private let list = Locked<[TraceEvent]>([])

  func add(_ event: TraceEvent) { list.with { $0.append(event) } }

  /// Returns the events since the last call.
  func take() -> [TraceEvent] {
    list.with { list in
      defer { list = [] }
      return list
    }
  }
}

@Suite struct TraceTests {
  /// Calls `body` with a traced client that has a bicycle.
  private static func withEvents(
    _ options: TraceOptions = TraceOptions(), _ body: (SqliteCluster, Events, TestCluster) async throws -> Void
  ) async throws {
    try await withCluster(3) { nodes in
      var configuration = ClusterConfiguration()
      configuration.label = "bikes"
      let cluster = try SqliteCluster(nodes: nodes.addresses, configuration: configuration)
      defer { cluster.close() }
      try await cluster.createTables(Person.self, Bicycle.self)
      try await Bicycle(name: "Trek", color: "red").insert().run(cluster)
      let events = Events()
      cluster.trace(options) { events.add($0) }
      try await body(cluster, events, nodes)
    }
  }

  @Test func aStatementIsReportedWithTheTimesOfItsParts() async throws {
    try await TraceTests.withEvents { cluster, events, _ in
      let line: UInt = #line + 2
      try await Tracing.$context.withValue("request 17") {
        _ = try await Bicycle(name: "Norco", color: "blue").insert().run(cluster)
        _ = try await Bicycle.read().filter(Bicycle.color == "red").run(cluster)
      }
      let list = events.take()
      try #require(list.count == 2)
      let (write, read) = (list[0], list[1])
      #expect(write.kind == .write)
      #expect(write.operation == "INSERT")
      #expect(write.table == "bicycle")
      #expect(write.rowsChanged == 1)
      #expect(write.sql == #"INSERT INTO "bicycle" ("name", "color") VALUES (?…)"#)
      #expect(write.waiting > .zero)
      #expect(write.stepping > .zero)
      #expect(write.committing > .zero)
      #expect(write.callSite == "ClusterTests/TraceTests.swift:\(line)")
      #expect(write.context == "request 17")
      #expect(read.kind == .read)
      #expect(read.rowsRead == 1)
      #expect(read.committing < read.stepping)
      #expect(read.error == nil)
      #expect(read.callSite == "ClusterTests/TraceTests.swift:\(line + 1)")
      #expect(read.label == "bikes")
      #expect(write.handle == read.handle)
      #expect(read.end > write.end)
    }
  }

  @Test func anErrorIsReportedWithoutValues() async throws {
    try await TraceTests.withEvents { cluster, events, _ in
      _ = await failure { _ = try await Bicycle(name: "Trek", color: "red").insert().run(cluster) }
      _ = await failure { try await cluster.execute("ATTACH 'secret' AS other") }
      _ = await failure { _ = try await cluster.query("SELECT secret FROM bicycle", as: Int.self) }
      let list = events.take()
      #expect(list.map(\.kind) == [.write, .other, .read])
      #expect(list[0].error?.kind == .constraint(.unique))
      #expect(list[1].error?.isMisuse == true)
      #expect(list[2].error != nil)
      #expect(!list[0].description.contains("Trek"))
      #expect(!list[1].sql.contains("secret"))
    }
  }

  @Test func aHookReceivesEachErrorOnce() async throws {
    try await TraceTests.withEvents { cluster, events, _ in
      let errors = Events()
      let token = cluster.onError(atLeast: .error) { errors.add($0) }
      _ = await failure { try await cluster.transaction { tx in try await tx.execute("DELETE FROM missing") } }
      // The transaction fails with the error of its statement, which a trace reports again.
      #expect(errors.take().map(\.sql) == ["DELETE FROM missing"])
      #expect(
        events.take().map { $0.error?.kind } == [.schema(.missingTable("missing")), .schema(.missingTable("missing"))])
      // A duplicate is less than an error.
      _ = await failure { _ = try await Bicycle(name: "Trek", color: "red").insert().run(cluster) }
      _ = await failure { _ = try await Bicycle.read().limit(-1).run(cluster) }
      #expect(errors.take().map(\.operation) == ["CALL"])
      cluster.removeTrace(token)
      _ = await failure { try await cluster.execute("DELETE FROM missing") }
      #expect(errors.take().isEmpty)
    }
  }

  @Test func aTransactionIsReportedAfterItsEnd() async throws {
    struct Failure: Error {}
    try await TraceTests.withEvents { cluster, events, _ in
      try await cluster.transaction { tx in
        try await Bicycle(name: "Norco", color: "blue").insert().run(tx)
        _ = try await Bicycle.count().run(cluster)
        #expect(events.take().isEmpty)
      }
      let line: UInt = #line - 5
      let committed = events.take()
      #expect(committed.map(\.kind) == [.write, .read, .transaction(.committed)])
      #expect(committed.last?.statements == 2)
      #expect(committed.last?.rowsChanged == 1)
      #expect(committed.last?.callSite == "ClusterTests/TraceTests.swift:\(line)")
      #expect(committed.map { $0.committing > .zero } == [false, false, true])

      try await cluster.transaction { tx in
        try await Bicycle.deleteAll().run(tx)
        return TransactionResult.rollback
      }
      try? await cluster.transaction { tx in
        _ = await failure { _ = try await Bicycle(name: "Trek", color: "red").insert().run(tx) }
        throw Failure()
      }
      let undone = events.take()
      #expect(undone.map(\.kind) == [.write, .transaction(.rolledBack), .write, .transaction(.rolledBack)])
      #expect(undone.map(\.error?.kind) == [nil, nil, .constraint(.unique), .interrupted])
      #expect(undone.map(\.rowsChanged) == [2, 0, 0, 0])

      _ = try await cluster.read { tx in try await Bicycle.count().run(tx) }
      #expect(events.take().map(\.kind) == [.read, .transaction(.committed)])
    }
  }

  @Test func aBatchIsATransactionOfItsStatements() async throws {
    try await TraceTests.withEvents { cluster, events, _ in
      let bikes = ["blue", "green", "black"].map { Bicycle(name: "Norco", color: $0) }
      try await Bicycle.insert(bikes).run(cluster)
      let list = events.take()
      #expect(list.map(\.kind) == [.write, .write, .write, .transaction(.committed)])
      #expect(list.last?.statements == 3)
      #expect(list.last?.rowsChanged == 3)
      #expect(Set(list.dropLast().map(\.stepping)).count == 1)

      let twice = [Bicycle(name: "Scott", color: "red"), bikes[1], Bicycle(name: "Giant", color: "red")]
      _ = await failure { try await Bicycle.insert(twice).run(cluster) }
      let failed = events.take()
      #expect(failed.map(\.kind) == [.write, .write, .transaction(.rolledBack)])
      #expect(failed.map(\.error?.kind) == [nil, .constraint(.unique), .constraint(.unique)])
    }
  }

  @Test func aLoopCountsItsRows() async throws {
    try await TraceTests.withEvents { cluster, events, _ in
      try await Bicycle(name: "Norco", color: "blue").insert().run(cluster)
      _ = events.take()
      try await Bicycle.read().forEach(cluster) { _ in Iteration.stop }
      try await cluster.read { tx in try await Bicycle.read().forEach(tx) { _ in } }
      let line: UInt = #line - 2
      let list = events.take()
      #expect(list.map(\.kind) == [.read, .read, .transaction(.committed)])
      #expect(list.map(\.rowsRead) == [1, 2, 0])
      #expect(list.map(\.callSite) == [line, line + 1, line + 1].map { "ClusterTests/TraceTests.swift:\($0)" })
    }
  }

  @Test func traceReportsPlansAdviceAndValuesOnRequest() async throws {
    let options = TraceOptions(
      explains: true, advises: true, values: [.of(Bicycle.self, Bicycle.color, Bicycle.ownerId)])
    try await TraceTests.withEvents(options) { cluster, events, _ in
      let query = Bicycle.read().filter(Bicycle.ownerId == 7)
      _ = try await query.run(cluster)
      let list = Locked<[TraceEvent]>([])
      try await until("the advice has come") {
        list.with { $0 += events.take() }
        return !list.with { $0 }.isEmpty
      }
      let event = try #require(list.with { $0 }.first)
      #expect(event.plan == ["SCAN bicycle"])
      #expect(event.advice == [#"CREATE INDEX "bicycle_owner_id" ON "bicycle" ("owner_id")"#])
      #expect(event.values.map(\.description) == ["bicycle.owner_id = 7"])
      // The trace's own statements are not traced.
      #expect(list.with { $0.count } == 1)
      #expect(events.take().isEmpty)
    }
  }

  @Test func statementsRunByATraceAreNotTraced() async throws {
    try await TraceTests.withEvents { cluster, events, _ in
      let counts = Locked<[Int]>([])
      let token = cluster.trace { _ in
        Task {
          let count = try await Bicycle.count().run(cluster)
          counts.with { $0.append(count) }
        }
      }
      _ = try await Bicycle.count().run(cluster)
      try await until("the trace has read") { counts.with { $0 } == [1] }
      cluster.removeTrace(token)
      _ = try await Bicycle.count().run(cluster)
      #expect(events.take().count == 2)
      try await Task.sleep(for: .milliseconds(50))
      #expect(counts.with { $0 } == [1])
    }
  }

  @Test func aStatementWithAnIdIsReportedOnce() async throws {
    try await TraceTests.withEvents { cluster, events, _ in
      let id = UUID()
      for _ in 0..<2 { _ = try await cluster.run(Bicycle(name: "Norco", color: "blue").insert(), id: id) }
      #expect(events.take().map(\.kind) == [.write])
      let other = UUID()
      for _ in 0..<2 {
        _ = try await cluster.transaction(id: other) { tx in
          try await Bicycle(name: "Scott", color: "blue").insert().run(tx)
        }
      }
      #expect(events.take().map(\.kind) == [.write, .transaction(.committed)])
    }
  }

  @Test func allClientsAndHandlesAreTracedTogether() async throws {
    try await withClient { cluster, _ in
      let events = Events()
      let token = SqliteDatabase.traceAll { event in if event.sql.contains("traced_here") { events.add(event) } }
      defer { SqliteDatabase.removeTraceOfAll(token) }
      try await cluster.execute("CREATE TABLE traced_here (id INTEGER PRIMARY KEY)")
      try SqliteDatabase.inMemory().execute("CREATE TABLE traced_here (id INTEGER PRIMARY KEY)")
      #expect(events.take().map(\.kind) == [.schema, .schema])
    }
  }

  @Test func aTransactionThatIsRepeatedIsReportedEachTime() async throws {
    try await TraceTests.withEvents { cluster, events, nodes in
      let attempts = Locked(0)
      try await cluster.transaction { tx in
        try await Bicycle(name: "Norco", color: "blue").insert().run(tx)
        if attempts.with({
          $0 += 1
          return $0
        }) == 1 {
          await nodes.node(try nodes.leader()).kill()
        }
        _ = try await Bicycle.count().run(tx)
      }
      let list = events.take()
      #expect(list.map(\.kind).suffix(3) == [.write, .read, .transaction(.committed)])
      #expect(list.map(\.kind).prefix(3) == [.write, .read, .transaction(.rolledBack)])
      #expect(list[1].error?.kind == .unavailable)
      #expect(list[2].error?.kind == .unavailable)
    }
  }

  @Test func aCommitWithoutAnAnswerIsReportedAsUnknown() async throws {
    try await withCluster(1, delay: .init(milliseconds: 0...0, bytesPerSecond: 1e9)) { nodes in
      let cluster = try SqliteCluster(nodes: nodes.addresses)
      defer { cluster.close() }
      try await cluster.createTables(Person.self)
      let events = Events()
      cluster.trace { events.add($0) }
      nodes.link(1).loseCommit {}
      let error = await failure {
        try await cluster.transaction { tx in _ = try await Person(id: nil, name: "a").insert().run(tx) }
      }
      let list = events.take()
      #expect(error?.kind == .outcomeUnknown)
      #expect(list.map(\.kind) == [.write, .transaction(.unknown)])
      #expect(list.last?.error?.kind == .outcomeUnknown)
      #expect(list.last?.rowsChanged == 0)
    }
  }

  @Test func withoutANodeACallIsReportedWithItsWait() async throws {
    let cluster = try SqliteCluster(nodes: [freeAddress()])
    let events = Events()
    cluster.trace { events.add($0) }
    _ = await failure {
      try await withDeadline(.milliseconds(200)) {
        _ = try await Bicycle(name: "Norco", color: "blue").insert().run(cluster)
      }
    }
    let list = events.take()
    #expect(list.map(\.error?.kind) == [.unavailable])
    #expect(list.map(\.kind) == [.write])
    #expect(list[0].waiting >= .milliseconds(190))
    #expect(list[0].stepping == .zero)
  }
}
