import InMemoryTracing
import Logging
import ServiceLifecycle
import Sqlable
import SqlableIntegrations
import Testing
import Tracing

/// The Swift blocks of Docs/Integrations.md; `GuidesTests` compares them with the guide.
@Suite(.timeLimit(.minutes(30))) struct IntegrationsGuide {
  @Test func allIntegrationsAreInstalledTogether() async throws {
    try await withPool { pool in
      let logger = RecordingHandler().logger
      pool.log(to: logger, .slow(.milliseconds(50)))
      pool.reportMetrics(every: .seconds(10))
      let token = pool.traceSpans()
      pool.removeTrace(token)
      _ = try await Bicycle.count().run(pool)
    }
  }

  @Test func loggerReceivesSlowStatementsAndErrors() async throws {
    try await withPool { pool in
      let logger = Logger(label: "bikes")
      pool.log(to: logger)  // what took 100 ms, and what failed
      _ = try await Bicycle.count().run(pool)
    }
  }

  @Test func tenantsReportInTotal() async throws {
    try await withTenants { tenants in
      let logger = Logger(label: "bikes")
      tenants.log(to: logger)
      tenants.reportMetrics(every: .seconds(10), slowest: 10)
      _ = try await Bicycle.count().run(tenants["acme"])
    }
  }

  @Test func spanOfACallHasItsTasksParent() async throws {
    try await withPool { pool in
      let tracer = InMemoryTracer()
      pool.traceSpans(with: tracer)
      let bikes = try await tracer.withSpan("GET /bicycles") { _ in
        try await Bicycle.read().filter(Bicycle.color == "red").run(pool)
      }
      #expect(bikes.count == 1)
      let span = try #require(try await tracer.spans("SELECT bicycle").first)
      let parent = try await tracer.spans("GET /bicycles").first
      #expect(span.parentSpanID == parent?.spanID)
    }
  }

  @Test func serviceGroupStopsThePool() async throws {
    try await withPool { pool in
      let logger = RecordingHandler().logger
      let server = ClosureService { try? await gracefulShutdown() }
      let run = Task {
        let group = ServiceGroup(services: [pool, server], logger: logger)
        try await group.run()
      }
      run.cancel()
      _ = await run.result
      try await until { !pool.isOpen }
    }
  }

  @Test func cancelledServiceClosesThePool() async throws {
    try await withPool { pool in
      let service = ClosureService { try await pool.run(closingWithin: .seconds(2)) }
      let run = Task { try await service.run() }
      run.cancel()
      try await run.value
      #expect(!pool.isOpen)
    }
  }
}
