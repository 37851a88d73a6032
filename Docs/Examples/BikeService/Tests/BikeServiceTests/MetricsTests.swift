import Foundation
import Hummingbird
import Sqlable
import Testing

@testable import BikeService

struct MetricsTests {
  @Test("GET /metrics has the durations of statements in the text form of Prometheus", .timeLimit(.minutes(1)))
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
