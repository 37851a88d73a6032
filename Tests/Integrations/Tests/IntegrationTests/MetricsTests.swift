import Foundation
import Metrics
import MetricsTestKit
import Sqlable
import Testing

@testable import SqlableCore
@testable import SqlableIntegrations
@testable import SqlablePool
@testable import SqlableTracing

extension TestMetrics {
  /// Returns the values of all series of a histogram with these dimensions.
  func values(_ label: String, _ dimensions: [String: String] = [:]) -> [Double] {
    recorders(label: label).filter { $0.dimensions.has(dimensions) }.flatMap(\.values)
  }

  func gauge(_ label: String, _ dimensions: [String: String] = [:]) -> Double? {
    meters(label: label).first { $0.dimensions.has(dimensions) }?.values.last
  }
}

extension [(String, String)] {
  fileprivate func has(_ wanted: [String: String]) -> Bool {
    wanted.allSatisfy { name, value in contains { $0 == (name, value) } }
  }
}

@Suite(.timeLimit(.minutes(30))) struct MetricsTests {
  @Test func durationsUseSecondsAndConventionalNames() async throws {
    try await withPool { pool in
      let metrics = TestMetrics()
      pool.reportMetrics(to: metrics)
      _ = try await Bicycle.read().filter(Bicycle.color == "red").run(pool)
      let read = [
        "db.system.name": "sqlite", "db.namespace": "bikes", "db.operation.name": "SELECT",
        "db.collection.name": "bicycle", "db.query.summary": "SELECT bicycle",
      ]
      try await until { !metrics.values("db.client.operation.duration", read).isEmpty }
      let duration = try #require(metrics.values("db.client.operation.duration", read).first)
      #expect((0.000_001...600).contains(duration))
      try await until { metrics.values("db.client.response.returned_rows", read) == [1] }

      _ = try? await Bicycle(name: "Trek", color: "blue").insert().run(pool)
      let failed = ["db.operation.name": "INSERT", "error.type": "constraint(unique)"]
      try await until { metrics.values("db.client.operation.duration", failed).count == 1 }
      try await until {
        !metrics.values("sqlable.transaction.duration", ["sqlable.outcome": "rolled_back"]).isEmpty
      }
    }
  }

  @Test func allSeriesOfAMetricHaveTheSameNames() async throws {
    try await withPool { pool in
      let metrics = TestMetrics()
      pool.reportMetrics(to: metrics)
      _ = try await Bicycle.count().run(pool)
      try? await pool.execute("DELETE FROM bike")
      try await pool.execute("PRAGMA optimize")
      try await until { metrics.recorders(label: "db.client.operation.duration").count >= 3 }
      let names = Set(
        metrics.recorders(label: "db.client.operation.duration").map { $0.dimensions.map(\.0).joined(separator: " ") })
      #expect(names.count == 1)
    }
  }

  @Test func aPoolReportsItsHandlesWaitsAndTimeouts() async throws {
    let configuration = PoolConfiguration(
      handles: .init(label: "bikes"), readers: 1, waitTimeout: .seconds(5))
    try await withPool(configuration) { pool in
      let metrics = TestMetrics()
      pool.reportMetrics(to: metrics, every: .milliseconds(10))
      let read = Task { try await pool.read { db in try db.query(endless, as: Int.self) } }
      try await until {
        metrics.gauge("db.client.connection.count", ["db.client.connection.state": "used"]) == 1
      }
      let waiting = Task { try await pool.read { db in try Bicycle.count().run(db) } }
      try await until { metrics.gauge("db.client.connection.pending_requests") == 1 }
      await #expect(throws: SqlError.self) { try await waiting.value }
      let pools = [("db.client.connection.pool.name", "bikes")]
      try await until { (try? metrics.expectCounter("db.client.connection.timeouts", pools).totalValue) == 1 }
      #expect((metrics.gauge("sqlable.wal.size") ?? 0) > 0)
      #expect((metrics.gauge("sqlable.statement_cache.hit_rate") ?? -1) >= 0)
      read.cancel()
      _ = await read.result
      try await until { !metrics.values("db.client.connection.use_time").isEmpty }
      #expect(metrics.values("db.client.connection.wait_time").allSatisfy { (0...3_600).contains($0) })
      #expect((metrics.values("db.client.connection.use_time").max() ?? 0) > 0.05)
    }
  }

  @Test func aBackEndHasABoundedNumberOfSeries() async throws {
    try await withPool { pool in
      let metrics = TestMetrics()
      pool.reportMetrics(to: metrics)
      let db = try SqliteDatabase(filepath: pool.filepath)
      db.reportMetrics(to: metrics)
      for number in 1...2_000 {
        try db.execute(SQL(verbatim: "SELECT \(number) FROM bicycle WHERE name = 'x\(number)'"))
        try? db.execute(SQL(verbatim: "DELETE FROM bike\(number)"))
      }
      let other = ["db.operation.name": "_OTHER", "db.collection.name": "_OTHER"]
      try await until { metrics.values("db.client.operation.duration", other).count >= 1_000 }
      #expect(metrics.recorders(label: "db.client.operation.duration").count <= 1_002)
      let texts = ["db.query.summary": "SELECT bicycle"]
      #expect(metrics.recorders(label: "db.client.operation.duration").filter { $0.dimensions.has(texts) }.count == 1)
    }
  }

  @Test func aBackEndThatUsesThePoolDoesNotBlockIt() async throws {
    try await withPool { pool in
      let metrics = DatabaseBackEnd(pool)
      pool.reportMetrics(to: metrics, every: .milliseconds(10))
      for number in 1...20 { try await Bicycle(name: "Bike \(number)", color: "red").insert().run(pool) }
      try await until { metrics.calls.value > 20 }
      #expect(metrics.errors.value == [])
    }
  }

  @Test func withoutABackEndNothingIsMeasured() async throws {
    try await withPool { pool in
      pool.reportMetrics()
      #expect(!(pool.root.functions?.traces.isActive == true))
      #expect(!pool.events.isActive)
    }
  }

  @Test func removedReportStops() async throws {
    try await withPool { pool in
      let metrics = TestMetrics()
      let token = pool.reportMetrics(to: metrics, every: .milliseconds(10))
      try await until { metrics.gauge("sqlable.wal.size") != nil }
      pool.removeTrace(token)
      // A report that has begun can still end.
      var count: Int?
      for _ in 1...100 {
        let before = metrics.meters(label: "sqlable.wal.size").first?.values.count
        try await Task.sleep(for: .milliseconds(100))
        count = metrics.meters(label: "sqlable.wal.size").first?.values.count
        if count == before { break }
      }
      _ = try await Bicycle.count().run(pool)
      try await Task.sleep(for: .milliseconds(100))
      #expect(metrics.meters(label: "sqlable.wal.size").first?.values.count == count)
      #expect(metrics.values("db.client.operation.duration", ["db.operation.name": "SELECT"]).isEmpty)
    }
  }
}

/// A back end that stores its values in the measured database, on its own thread and on another.
private final class DatabaseBackEnd: MetricsFactory, RecorderHandler, MeterHandler, CounterHandler, TimerHandler {
  private let pool: SqlitePool
  let calls = Shared(0)
  let errors = Shared<[String]>([])

  init(_ pool: SqlitePool) { self.pool = pool }

  /// Returns a different number for each call, because bicycles have unique names.
  private func nextNumber() -> Int {
    var number = 0
    calls.change { calls in
      calls += 1
      number = calls
    }
    return number
  }

  private func store() {
    let number = nextNumber()
    do {
      try Bicycle(name: "Metric \(number)", color: "red").insert().run(pool)
      let done = DispatchSemaphore(value: 0)
      Task {
        do { try await Bicycle(name: "Task \(number)", color: "red").insert().run(pool) } catch {
          errors.change { $0.append("\(error)") }
        }
        done.signal()
      }
      if done.wait(timeout: .now() + 600) == .timedOut { errors.change { $0.append("a deadlock") } }
    } catch { errors.change { $0.append("\(error)") } }
  }

  func record(_ value: Int64) { store() }
  func record(_ value: Double) { store() }
  func set(_ value: Int64) { store() }
  func set(_ value: Double) { store() }
  func increment(by: Double) {}
  func decrement(by: Double) {}
  func increment(by: Int64) { store() }
  func reset() {}
  func recordNanoseconds(_ duration: Int64) { store() }

  func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler { self }
  func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler { self }
  func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler { self }
  func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler { self }
  func destroyCounter(_ handler: any CounterHandler) {}
  func destroyMeter(_ handler: any MeterHandler) {}
  func destroyRecorder(_ handler: any RecorderHandler) {}
  func destroyTimer(_ handler: any TimerHandler) {}
}
