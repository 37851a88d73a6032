import Sqlable

@testable import SqlableCluster

/// Calls `body` with a client of a cluster of three nodes.
func withClient(_ body: (SqliteCluster, TestCluster) async throws -> Void) async throws {
  try await withCluster(3) { nodes in
    let cluster = try SqliteCluster(nodes: nodes.addresses)
    defer { cluster.close() }
    try await body(cluster, nodes)
  }
}

/// Runs SQL like a program without this library: no checks, no rewriting.
func executeElsewhere(_ sql: String, on nodes: TestCluster) async throws {
  try await withSession(to: nodes.addresses) { session in
    try await session.execute(sql, before: .now + .seconds(30))
  }
}

/// Calls `body` while a silent client holds the write lock.
func withLockElsewhere(on nodes: TestCluster, _ body: () async throws -> Void) async throws {
  try await withSession(to: nodes.addresses) { session in
    try await session.beginWriting(before: .now + .seconds(30))
    try await body()
  }
}

/// Calls `body` with a separate connection to the leader that accepts any SQL.
func withSession<Value>(
  to addresses: [String], database: String = "main", _ body: (ClusterSession) async throws -> Value
) async throws -> Value {
  var configuration = ClusterConfiguration()
  configuration.database = database
  let leader = try ClusterLeader(nodes: addresses.map { try NodeAddress($0) })
  let session = try await ClusterSession.open(leader, configuration, before: .now + .seconds(30))
  defer { session.close() }
  return try await body(session)
}
