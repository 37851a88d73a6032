import InMemoryTracing
import Logging
import Metrics
import MetricsTestKit
import ServiceLifecycle
import ServiceLifecycleTestKit
import Sqlable
import SqlableIntegrations
import Testing
import Tracing

@testable import SqlableCluster
@testable import SqlableCore

/// Tests of logs, metrics, spans and services of clients and nodes.
@Suite struct IntegrationTests {
  private struct RecordingHandler: LogHandler {
    let lines = Locked<[(level: Logger.Level, text: String)]>([])
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    func log(event: LogEvent) {
      let text = "\(event.message) \(event.metadata ?? [:])"
      lines.with { $0.append((event.level, text)) }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }
  }

  @Test func clientLogsSlowAndFailedStatements() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self, Bicycle.self)
      let handler = RecordingHandler()
      cluster.log(to: Logger(label: "tests") { _ in handler }, .slow(.nanoseconds(1)))
      try await Bicycle(name: "Trek", color: "red").insert().run(cluster)
      _ = await failure { _ = try await Bicycle(name: "Trek", color: "red").insert().run(cluster) }
      _ = try await Bicycle.count().run(cluster)
      try await until("three lines are logged") { handler.lines.with { $0.count } == 3 }
      let lines = handler.lines.with { $0 }
      #expect(lines.map(\.level) == [.warning, .info, .warning])
      #expect(lines[0].text.hasPrefix("slow write of bicycle"))
      #expect(lines[2].text.contains("SCAN bicycle"))
      #expect(!lines.contains { $0.text.contains("Trek") })
    }
  }

  @Test func aClientReportsMetrics() async throws {
    try await withClient { cluster, nodes in
      try await cluster.createTables(Person.self, Bicycle.self)
      let metrics = TestMetrics()
      let token = cluster.reportMetrics(to: metrics, every: .milliseconds(50))
      for color in ["red", "green"] { try await Bicycle(name: "Trek", color: color).insert().run(cluster) }
      await nodes.node(try await nodes.leader()).kill()
      _ = try await Bicycle.count().run(cluster)
      func counted(_ name: String) -> Int64 { metrics.counters(label: name).reduce(0) { $0 + $1.totalValue } }
      try await until("the commits are counted") {
        counted("sqlable.cluster.commits") == 2 && counted("sqlable.cluster.writes") == 2
      }
      try await until("the new leader is counted") { counted("sqlable.cluster.leader_changes") >= 1 }
      let durations = metrics.recorders(label: "db.client.operation.duration").flatMap(\.values)
      #expect(durations.count == 3)
      #expect(durations.allSatisfy { $0 > 0 })
      cluster.removeTrace(token)
    }
  }

  @Test func callIsAChildOfTheSpanOfItsTask() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self, Bicycle.self)
      let tracer = InMemoryTracer()
      cluster.traceSpans(with: tracer)
      let parent = try await tracer.withSpan("request") { span in
        try await Bicycle(name: "Trek", color: "red").insert().run(cluster)
        try await cluster.transaction { tx in _ = try await Bicycle.count().run(tx) }
        return span.context.inMemorySpanContext?.spanID
      }
      try await until("the spans are made") { tracer.finishedSpans.count == 4 }
      let spans = tracer.finishedSpans.filter { $0.operationName != "request" }
      #expect(spans.map(\.operationName) == ["INSERT bicycle", "SELECT bicycle", "transaction"])
      #expect(spans.allSatisfy { $0.parentSpanID == parent })
    }
  }

  @Test func aServiceGroupStopsTheNodeAfterItsClient() async throws {
    try await withDirectory { path in
      let address = freeAddress()
      let node = try SqliteClusterNode(id: 1, address: address, directory: path + "/node")
      try await node.start()
      let cluster = try SqliteCluster(nodes: [address])
      _ = try await cluster.query("SELECT 1", as: Int.self)
      try await testGracefulShutdown { trigger in
        let group = ServiceGroup(services: [node, cluster], logger: Logger(label: "tests") { _ in RecordingHandler() })
        let run = Task { try await group.run() }
        try await Task.sleep(for: .milliseconds(100))
        #expect(node.isRunning)
        trigger.triggerGracefulShutdown()
        try await run.value
      }
      #expect(!node.isRunning)
      #expect(await failure { _ = try await cluster.query("SELECT 1", as: Int.self) }?.kind == .closed)
    }
  }
}
