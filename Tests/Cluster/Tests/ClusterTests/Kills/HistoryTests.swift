import Foundation
import Sqlable
import SqlableCluster
import Testing

/// Histories of a counter and a list that several clients change and read while nodes are killed, stopped and
/// isolated. No update is lost or applied twice, and every later read sees an acknowledged write.
///
/// `SQLABLE_KILLS` is the number of rounds, `SQLABLE_SEED` the seed of their order; both are printed.
@Suite(.serialized, .timeLimit(.minutes(30))) struct HistoryTests {
  @Test func counterAndListLoseNothingWhileNodesAreKilled() async throws {
    try await withHistory { nodes, generator in
      for round in 0..<KillTests.rounds {
        let leader = try await nodes.leader()
        let pause = Duration.milliseconds(Int.random(in: 300...2_500, using: &generator))
        if round % 2 == 0 {
          await nodes.node(leader).kill()
          try await Task.sleep(for: pause)
          try await nodes.restart(leader)
        } else {
          await nodes.node(leader).pause()
          try await Task.sleep(for: pause)
          await nodes.node(leader).resume()
        }
        try await Task.sleep(for: .milliseconds(1_500))
      }
    }
  }

  @Test(.enabled(if: TestNetwork.isAvailable))
  func counterAndListLoseNothingWhileTheLeaderIsIsolated() async throws {
    try await withHistory(isolated: true) { nodes, generator in
      let network = try #require(nodes.network)
      for _ in 0..<KillTests.rounds {
        let leader = try await nodes.leader()
        try network.split([leader], from: (1...3).filter { $0 != leader })
        try await Task.sleep(for: .milliseconds(Int.random(in: 500...4_000, using: &generator)))
        try network.heal()
        try await Task.sleep(for: .milliseconds(1_500))
      }
    }
  }

  private struct Counts {
    /// The highest acknowledged value.
    var acknowledged = 0
    /// The values of all acknowledged increments.
    var values: [Int] = []
    /// The increments that threw; each may be stored.
    var failed = 0
    var reads = 0
    /// The reads that missed a value acknowledged before their start.
    var stale = 0
  }

  private func withHistory(
    isolated: Bool = false, _ trouble: (TestCluster, inout SeededGenerator) async throws -> Void
  ) async throws {
    try await withCluster(3, isolated: isolated) { nodes in
      var generator = SeededGenerator(seed: KillTests.seed)
      let client = try SqliteCluster(nodes: nodes.addresses)
      defer { client.close() }
      try await client.execute("CREATE TABLE counter (id INTEGER PRIMARY KEY, value INTEGER NOT NULL)")
      try await client.execute("CREATE TABLE list (place INTEGER PRIMARY KEY, client INTEGER NOT NULL)")
      try await client.execute("INSERT INTO counter VALUES (1, 0)")
      let counts = Locked(Counts())
      let tasks = try (0..<3).map { number in
        let own = try SqliteCluster(nodes: nodes.addresses)
        return [
          Task {
            while !Task.isCancelled {
              do {
                let value = try await own.transaction(id: UUID()) { tx in
                  let old = try await tx.query("SELECT value FROM counter WHERE id = 1", as: Int.self)[0]
                  try await tx.execute("UPDATE counter SET value = \(old + 1) WHERE id = 1")
                  try await tx.execute("INSERT INTO list (place, client) VALUES (\(old + 1), \(number))")
                  return old + 1
                }
                counts.with { counts in
                  counts.values.append(value ?? 0)
                  counts.acknowledged = max(counts.acknowledged, value ?? 0)
                }
              } catch {
                counts.with { $0.failed += 1 }
              }
            }
            own.close()
          },
          Task {
            let reader = try SqliteCluster(nodes: nodes.addresses)
            while !Task.isCancelled {
              let floor = counts.with { $0.acknowledged }
              if let value = try? await reader.query("SELECT value FROM counter WHERE id = 1", as: Int.self).first {
                counts.with { counts in
                  counts.reads += 1
                  if value < floor { counts.stale += 1 }
                }
              }
              try? await Task.sleep(for: .milliseconds(2))
            }
            reader.close()
          },
        ]
      }.joined()
      do { try await trouble(nodes, &generator) } catch {
        for task in tasks { task.cancel() }
        throw error
      }
      for task in tasks { task.cancel() }
      for task in tasks { _ = await task.result }
      let history = counts.with { $0 }
      let value = try await client.query("SELECT value FROM counter", as: Int.self)[0]
      let list = try await client.query("SELECT place FROM list ORDER BY place", as: Int.self)
      print(
        """
        seed \(KillTests.seed), \(KillTests.rounds) rounds: \(history.values.count) increments acknowledged, \
        \(history.failed) failed, the counter is \(value); \(history.reads) reads, of them stale: \(history.stale)
        """)
      #expect(Set(history.values).count == history.values.count, "two increments gave the same value")
      #expect(value >= history.values.count)
      #expect(value <= history.values.count + history.failed)
      #expect(Set(history.values).isSubset(of: list))
      #expect(list == Array(1...max(1, value)))
      #expect(history.stale == 0)
    }
  }
}
