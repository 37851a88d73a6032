import Foundation
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableSchema
import SqlableTracing
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

@Suite struct TenantHealthTests {
  @Test func healthSumsUpAllTenants() async throws {
    try await withTenants(TenantsConfiguration(maximumOpen: 8)) { tenants in
      for index in 0..<10 { try await tenants["t\(index)"].add("1") }
      let health = tenants.health(slowest: 3, limits: .init(freeBytes: 0))
      #expect(health.isHealthy)
      #expect(health.statistics.open == 8)
      #expect(health.walSize >= 8 * 4_096)
      #expect(health.oldestWait == .zero)
      #expect(health.slowest.count == 3)
      let calls = health.slowest.map(\.longestCall)
      #expect(calls == calls.sorted(by: >))
      #expect(!tenants.health(limits: .init(freeBytes: .max)).isHealthy)
    }
  }

  @Test func theTenantWithTheLongestCallIsTheSlowest() async throws {
    try await withTenants { tenants in
      for name in ["a", "b", "c"] { try await tenants[name].add("1") }
      let (begun, continuation) = AsyncStream<Void>.makeStream()
      let end = DispatchSemaphore(value: 0)
      let call = Task {
        try await tenants["b"].read { db in
          _ = try Note.count().run(db)
          continuation.yield()
          end.wait()
        }
      }
      var events = begun.makeAsyncIterator()
      await events.next()
      let limits = SqlitePool.HealthLimits(read: .milliseconds(100))
      // On a busy machine, the other tenants' earlier calls can have taken longer than this call so far.
      try await until {
        let health = tenants.health(slowest: 1, limits: limits)
        return health.slowest.first?.name == "b" && !health.tenantProblems.isEmpty
      }
      let health = tenants.health(slowest: 1, limits: limits)
      #expect(health.slowest.map(\.name) == ["b"])
      #expect(health.tenantProblems.map(\.name) == ["b"])
      #expect(health.isHealthy)
      end.signal()
      try await call.value
    }
  }

  @Test func aLongWaitForATenantIsAProblem() async throws {
    try await withTenants(TenantsConfiguration(maximumOpen: 1, waitTimeout: nil)) { tenants in
      try await tenants["a"].withPool { _ in
        let call = Task { try await tenants["b"].texts() }
        try await until { tenants.health(maximumWait: .milliseconds(50)).oldestWait > .milliseconds(50) }
        #expect(tenants.health(maximumWait: .milliseconds(50)).problems == [.noAnswer(.timeout)])
        call.cancel()
        _ = await call.result
      }
      #expect(tenants.health().isHealthy)
      try await tenants.close()
      #expect(tenants.health().problems == [.closed])
    }
  }

  @Test func failedOpeningsAreProblemsOfTheirTenants() async throws {
    try await withTenants { tenants in
      try await tenants.create("a")
      let path = try tenants.directory.file(of: TenantName("a"))
      let good = try Data(contentsOf: URL(fileURLWithPath: path))
      try Data(repeating: 7, count: 4_096).write(to: URL(fileURLWithPath: path))
      await expectAsync(noDatabase) { _ = try await tenants["a"].texts() }
      let health = tenants.health()
      #expect(health.isHealthy)
      #expect(health.tenantProblems == [.init(name: "a", problem: .noAnswer(noDatabase))])
      #expect(health.statistics.failed == 1)
      try good.write(to: URL(fileURLWithPath: path))
      _ = try await tenants["a"].texts()
      #expect(tenants.health().tenantProblems.isEmpty)
    }
  }

  // MARK: Traces

  @Test func aTraceHasTheStatementsOfAllTenants() async throws {
    try await withTenants(TenantsConfiguration(maximumOpen: 2)) { tenants in
      try await tenants["a"].add("1")
      let labels = LockedValue<[String]>([])
      let token = tenants.trace { event in
        if event.kind == .write { labels.withLock { $0.append(event.label ?? "") } }
      }
      for name in ["a", "b", "c", "a"] { try await tenants[name].add("2") }
      try await until { labels.withLock { $0.count } >= 4 }
      #expect(labels.withLock { $0.filter { $0 != "" } } == ["a", "b", "c", "a"])
      tenants.removeTrace(token)
      for name in ["a", "d"] { try await tenants[name].add("3") }
      #expect(labels.withLock { $0.count } == 4)
    }
  }
}
