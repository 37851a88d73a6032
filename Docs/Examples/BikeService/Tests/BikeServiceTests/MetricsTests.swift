import Foundation
import Hummingbird
import Sqlable
import Testing

@testable import BikeService

struct MetricsTests {
  @Test("GET /metrics has the durations of statements in the text form of Prometheus", .timeLimit(.minutes(30)))
  func metrics() async throws {
    let text = try await withService { service, _ in
      try await withServer(service) { server in try await metrics(of: server) }
    }
    let lines = text.split(separator: "\n").map(String.init)
    #expect(lines.filter { $0 == "# TYPE db_client_operation_duration_seconds histogram" }.count == 1)
    #expect(lines.contains("# TYPE db_client_connection_count gauge"))
    let labels = #"db_operation_name="INSERT",db_collection_name="bicycle",db_query_summary="INSERT bicycle""#
    let insert = lines.filter { $0.contains(labels) && $0.hasPrefix("db_client_operation_duration_seconds") }
    let count = insert.first { $0.hasPrefix("db_client_operation_duration_seconds_count{") }
    #expect(count?.hasSuffix(" 1") == true)
    let buckets = insert.filter { $0.hasPrefix("db_client_operation_duration_seconds_bucket{") }
    #expect(buckets.count == PrometheusMetrics.seconds.count + 1)
    #expect(buckets.first?.contains(#"le="5e-06""#) == true)
    #expect(buckets.last?.hasSuffix(#"le="+Inf"} 1"#) == true)
    // Buckets count what is below them, too.
    let counts = buckets.compactMap { line in line.split(separator: " ").last.flatMap { Int($0) } }
    #expect(counts == counts.sorted())
  }

  @Test(
    "GET / shows health, figures and statements, without values and without anything from elsewhere",
    .timeLimit(.minutes(30)))
  func status() async throws {
    try await withService { service, _ in
      try await withServer(service) { server in
        var (page, text, number) = (try await server.send(.get, "/"), "", 0)
        // The page shows the statements that took most, and the search index writes at the same time.
        while !text.contains("INSERT INTO &quot;bicycle&quot;") || !text.contains("<b>Write lock</b>free") {
          number += 1
          try await server.send(.post, "/bicycles", Bicycle(name: "<b>Trek \(number)", color: "red", price: 100))
          try await server.send(.get, "/bicycles?color=red")
          page = try await server.send(.get, "/")
          text = String(buffer: page.body)
        }
        #expect(page.status == .ok)
        #expect(page.headers[.contentType] == "text/html; charset=utf-8")
        #expect(text.contains(#"<span class="state good">healthy</span>"#))
        #expect(text.contains(#"http-equiv="refresh""#))
        for part in ["Trek", "http:", "https:", "<script"] { #expect(!text.contains(part)) }
        #expect(page.headers[.contentSecurityPolicy] == "default-src 'none'; style-src 'unsafe-inline'")
      }
    }
  }

  @Test("the page's rates are those between its requests, for two minutes, and begin anew after a pause")
  func rates() async throws {
    try await withService { service, _ in
      let (history, start) = (StatusHistory(), ContinuousClock.now)
      func add(_ seconds: Double) -> [Double] {
        history.add(service.pool.statistics, at: start + .seconds(seconds)).map(\.reads)
      }
      #expect(add(0) == [])
      for _ in 0..<10 { try await service.pool.read { _ in } }
      #expect(add(0.1) == [], "too early")
      #expect(add(2) == [5])
      #expect(add(4) == [5, 0])
      #expect(add(20) == [5, 0], "a pause has no rate")
      for _ in 0..<3 { try await service.pool.read { _ in } }
      #expect(add(21) == [5, 0, 3])
      #expect(add(122.5) == [0, 3], "the first one is too old")
    }
  }

  @Test("GET /health is 503 with the reason when a person must look")
  func unhealthy() async throws {
    try await withService { service, filepath in
      try await withServer(service) { server in
        try await server.send(.get, "/bicycles?color=red")
        let well = try await server.decode(Health.self, "/health")
        #expect(well.isHealthy)
        #expect(well.problems == [])
        #expect(well.answerSeconds != nil)
        #expect(well.freeBytes != nil)
        try FileManager.default.moveItem(atPath: filepath, toPath: filepath + ".moved")
        let ill = try await server.send(.get, "/health")
        #expect(ill.status == .serviceUnavailable)
        let problems = try JSONDecoder().decode(Health.self, from: ill.body).problems
        #expect(problems.contains("the database file is no longer at its path"))
        #expect(String(buffer: try await server.send(.get, "/").body).contains("not healthy"))
        try FileManager.default.moveItem(atPath: filepath + ".moved", toPath: filepath)
      }
    }
  }

  @Test("labels are escaped, and empty ones left out")
  func labels() {
    let metrics = PrometheusMetrics()
    metrics.makeCounter(label: "a.b", dimensions: [("c.d", "\"\\\n"), ("e", "")]).increment(by: Int64(2))
    #expect(metrics.text == "# TYPE a_b_total counter\na_b_total{c_d=\"\\\"\\\\\\n\"} 2.0\n")
  }

  /// What the service says after it has stored and read a bicycle. Another thread writes the metrics, and those of the
  /// pool's state once a second.
  private func metrics(of server: Server) async throws -> String {
    try await server.send(.post, "/bicycles", Bicycle(name: "Trek", color: "red", price: 100))
    try await server.send(.get, "/bicycles?color=red")
    while true {
      let text = String(buffer: try await server.send(.get, "/metrics").body)
      if text.contains("db_client_connection_count{"), text.contains("SELECT bicycle") { return text }
      try await Task.sleep(for: .milliseconds(50))
    }
  }
}
