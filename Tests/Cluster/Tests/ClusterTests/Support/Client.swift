import Sqlable

/// Calls `body` with a client of a cluster of three nodes.
func withClient(_ body: (SqliteCluster, TestCluster) async throws -> Void) async throws {
  try await withCluster(3) { nodes in
    let cluster = try SqliteCluster(nodes: nodes.addresses)
    defer { cluster.close() }
    try await body(cluster, nodes)
  }
}
