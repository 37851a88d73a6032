import Foundation
import Sqlable
import SqlableCluster
import Testing

/// Tests with writers while nodes are killed, stopped and isolated: acknowledged rows are stored, refused rows are not.
///
/// `SQLABLE_KILLS` is the number of rounds, `SQLABLE_SEED` the seed of their order; both are printed.
@Suite(.serialized, .timeLimit(.minutes(30))) struct KillTests {
  private static let environment = ProcessInfo.processInfo.environment
  static let rounds = environment["SQLABLE_KILLS"].flatMap { Int($0) } ?? 7
  static let seed = environment["SQLABLE_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1...99_999)

  enum Trouble: CaseIterable {
    case killLeader, killFollower, pauseLeader, pauseFollower, stopLeader, handOver, killAll
  }

  @Test func acknowledgedRowsSurviveKilledAndPausedNodes() async throws {
    try await withWriters { cluster, writer, generator in
      for round in 0..<KillTests.rounds {
        let trouble =
          round < Trouble.allCases.count
          ? Trouble.allCases[round] : Trouble.allCases.randomElement(using: &generator) ?? .killLeader
        let leader = try await cluster.leader()
        let follower = leader % 3 + 1
        let pause = Duration.milliseconds(Int.random(in: 100...3_000, using: &generator))
        switch trouble {
        case .killLeader, .killFollower, .stopLeader:
          let id = trouble == .killFollower ? follower : leader
          if trouble == .stopLeader { try await cluster.node(id).stop() } else { await cluster.node(id).kill() }
          try await Task.sleep(for: pause)
          try await cluster.restart(id)
        case .pauseLeader, .pauseFollower:
          let id = trouble == .pauseFollower ? follower : leader
          await cluster.node(id).pause()
          try await Task.sleep(for: pause)
          await cluster.node(id).resume()
        case .handOver:
          let client = try SqliteCluster(nodes: cluster.addresses)
          for _ in 0..<10 {
            try await client.transferLeadership()
            try await Task.sleep(for: .milliseconds(100))
          }
          client.close()
        case .killAll:
          for node in cluster.nodes { await node.kill() }
          try await withThrowingTaskGroup(of: Void.self) { group in
            for id in 1...3 { group.addTask { try await cluster.restart(id) } }
            try await group.waitForAll()
          }
        }
        try await writer.goesOn("round \(round), \(trouble) for \(pause)")
      }
    }
  }

  @Test(.enabled(if: TestNetwork.isAvailable))
  func acknowledgedRowsSurviveNetworkPartitions() async throws {
    try await withWriters(isolated: true) { cluster, writer, generator in
      let network = try #require(cluster.network)
      for round in 0..<KillTests.rounds {
        let leader = try await cluster.leader()
        let followers = (1...3).filter { $0 != leader }
        let pause = Duration.milliseconds(Int.random(in: 500...4_000, using: &generator))
        switch round % 5 {
        // The leader loses its majority but still reaches the client.
        case 0: try network.split([leader], from: followers)
        // One follower is isolated, and the others continue.
        case 1: try network.split([followers[0]], from: [leader, followers[1]])
        // Every node is isolated.
        case 2:
          try network.split([leader], from: followers)
          try network.split([followers[0]], from: [followers[1]])
        // The leader receives nothing from one follower.
        case 3: for follower in followers { try network.cut(from: follower, to: leader) }
        // The followers receive nothing from the leader.
        default: for follower in followers { try network.cut(from: leader, to: follower) }
        }
        try await Task.sleep(for: pause)
        try network.heal()
        try await writer.goesOn("round \(round), a cut of kind \(round % 5) for \(pause)")
      }
    }
  }

  /// An isolated leader has a last uncommitted entry, which dqlite 1.11 may confuse with another entry. Raft then
  /// stops, and the node restarts itself.
  @Test(.enabled(if: TestNetwork.isAvailable))
  func everyNodeHasALeaderAgainAfterACut() async throws {
    try await withCluster(3, isolated: true) { nodes in
      let network = try #require(nodes.network)
      let client = try SqliteCluster(nodes: nodes.addresses)
      defer { client.close() }
      try await client.execute("CREATE TABLE counter (id INTEGER PRIMARY KEY, value INTEGER NOT NULL)")
      try await client.execute("INSERT INTO counter VALUES (1, 0)")
      var longest = Duration.zero
      for round in 0..<KillTests.rounds * 2 {
        let leader = try await nodes.leader()
        try network.split([leader], from: (1...3).filter { $0 != leader })
        for _ in 0..<2 { _ = try? await client.execute("UPDATE counter SET value = \(round)") }
        try await Task.sleep(for: .milliseconds(Int.random(in: 500...3_000)))
        try network.heal()
        let healed = ContinuousClock.now
        for node in nodes.nodes {
          try await until("node \(node.id) has a leader after round \(round)", within: .seconds(20)) {
            Probe.leader(at: node.address)?.isEmpty == false
          }
        }
        longest = max(longest, .now - healed)
      }
      print("\(KillTests.rounds * 2) cuts: each node had a leader within \(longest)")
    }
  }

  @Test(.enabled(if: TestDisk.isAvailable))
  func fullDiskStopsOneNodeAndTheOthersContinue() async throws {
    try await withWriters(megabytes: 200) { cluster, writer, _ in
      for isLeader in Array(repeating: [false, true], count: (KillTests.rounds + 6) / 7).joined() {
        let leader = try await cluster.leader()
        let id = isLeader ? leader : leader % 3 + 1
        try cluster.disk(id).fill()
        try await writer.goesOn("the disk of the \(isLeader ? "leader" : "follower") is full")
        try await until("the process has ended", within: .seconds(20)) { await !cluster.node(id).isRunning }
        try await writer.goesOn("the node has stopped")
        try cluster.disk(id).free()
        try await cluster.restart(id)
        try await writer.goesOn("the node is back")
      }
    }
  }

  @Test(.enabled(if: KillTests.environment["SQLABLE_HANDOVERS"] != nil))
  func writesContinueWhileLeadersStopRepeatedly() async throws {
    try await withWriters { cluster, writer, generator in
      for round in 0..<KillTests.rounds {
        let leader = try await cluster.leader()
        try await cluster.node(leader).stop()
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...500, using: &generator)))
        try await cluster.restart(leader)
        try await writer.goesOn("round \(round)")
      }
    }
  }

  @Test func nodesThatFellFarBehindReceiveSnapshots() async throws {
    try await withWriters(snapshots: 32) { cluster, writer, generator in
      for round in 0..<KillTests.rounds {
        let leader = try await cluster.leader()
        let id = round % 2 == 0 ? leader % 3 + 1 : leader
        await cluster.node(id).kill()
        let before = writer.count
        try await until("a thousand writes", within: .seconds(40)) { writer.count > before + 1_000 }
        try await cluster.restart(id)
        let pause = Duration.milliseconds(Int.random(in: 0...1_000, using: &generator))
        try await Task.sleep(for: pause)
        // The node has caught up if writes succeed without the other follower.
        let now = try await cluster.leader()
        let other = (1...3).first { $0 != id && $0 != now } ?? id
        if now != id {
          await cluster.node(other).kill()
          try await writer.goesOn("round \(round): node \(id) was away, \(other) is gone, \(now) leads")
          try await cluster.restart(other)
        }
        try await writer.goesOn("round \(round): all are back")
      }
    }
  }

  /// Messages take 20 to 60 ms each way at 2 MB/s, and some are held up for up to one second.
  @Test func acknowledgedRowsSurviveSlowLinks() async throws {
    let delay = SlowLink.Delay(milliseconds: 20...60, bytesPerSecond: 2_000_000, stalls: (0.002, 200...1_000))
    try await withWriters(latency: 100, delay: delay) { cluster, writer, _ in
      for round in 0..<(KillTests.rounds + 3) / 4 {
        let leader = try await cluster.leader()
        try await writer.goesOn("round \(round)")
        await cluster.node(leader).kill()
        try await writer.goesOn("the leader is killed")
        try await cluster.restart(leader)
        try await writer.goesOn("the leader is back")
      }
    }
  }

  /// Each node's clock jumps by up to ten years, ahead and back.
  @Test(.enabled(if: TestClock.isAvailable))
  func acknowledgedRowsSurviveClockJumps() async throws {
    try await withWriters(clocks: true) { cluster, writer, generator in
      let client = try SqliteCluster(nodes: cluster.addresses)
      defer { client.close() }
      for round in 0..<KillTests.rounds {
        let id = UUID()
        try await client.run(Entry(writer: 100, number: round).insert(), id: id)
        for node in 1...3 {
          let days = [-3_650, -8, 0, 8, 3_650].randomElement(using: &generator) ?? 0
          try cluster.clock(node).jump(by: days * 86_400)
        }
        // One of 64 transactions deletes expired ids.
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<200 {
            group.addTask { _ = try await client.run(Entry(writer: 101, number: number).insert(), id: UUID()) }
          }
          try await group.waitForAll()
        }
        let again = try await client.run(Entry(writer: 100, number: round).insert(), id: id)
        #expect(again == nil, "stored twice, in round \(round)")
        try await writer.goesOn("round \(round)")
      }
    }
  }

  /// Runs writers during a disturbance, then compares the reported outcomes with the stored rows.
  private func withWriters(
    isolated: Bool = false, megabytes: Int? = nil, latency: Int = 50, snapshots: Int? = nil,
    delay: SlowLink.Delay? = nil, clocks: Bool = false,
    _ trouble: (TestCluster, CountingWriter, inout SeededGenerator) async throws -> Void
  ) async throws {
    try await withCluster(
      3, isolated: isolated, megabytes: megabytes, latency: latency, snapshots: snapshots, delay: delay, clocks: clocks
    ) { cluster in
      var generator = SeededGenerator(seed: KillTests.seed)
      let client = try SqliteCluster(nodes: cluster.addresses)
      try await client.createTables(Entry.self)
      let writer = CountingWriter(client)
      writer.begin(writers: 8)
      let begin = ContinuousClock.now
      do { try await trouble(cluster, writer, &generator) } catch {
        print("seed \(KillTests.seed); errors so far \(writer.errors)")
        for node in cluster.nodes {
          let leader = Probe.leader(at: node.address) ?? "no answer"
          print("node \(node.id), \(await node.isRunning ? "running" : "ended"), names the leader \(leader)")
        }
        let other = try SqliteCluster(nodes: cluster.addresses)
        do {
          let rows = try await withDeadline(.seconds(5)) { try await Entry.count().run(other) }
          let id = try await withDeadline(.seconds(5)) { try await Entry(writer: -1, number: 1).insert().run(other) }
          print("another client reads \(rows) rows, and writes row \(id)")
        } catch { print("another client: \(error)") }
        _ = await writer.end()
        throw error
      }
      let report = await writer.end()
      let took = begin.duration(to: .now)

      let stored = try await Dictionary(grouping: Entry.read().run(client), by: \.writer)
      var (lost, wrong, twice, found) = (0, 0, 0, 0)
      for number in 0..<8 {
        let rows = (stored[number] ?? []).map(\.number)
        let set = Set(rows)
        twice += rows.count - set.count
        lost += report.acknowledged[number, default: []].subtracting(set).count
        wrong += report.refused[number, default: []].intersection(set).count
        found += report.unknown[number, default: []].intersection(set).count
      }
      #expect(lost == 0, "seed \(KillTests.seed)")
      #expect(wrong == 0, "seed \(KillTests.seed)")
      #expect(twice == 0, "seed \(KillTests.seed)")
      let pauses = report.pauses.sorted()
      func quantile(_ part: Double) -> Duration {
        pauses.isEmpty ? .zero : pauses[min(pauses.count - 1, Int(Double(pauses.count) * part))]
      }
      print(
        """
        seed \(KillTests.seed), \(KillTests.rounds) rounds in \(took): \
        acknowledged \(report.acknowledgedCount), stored \
        \(stored.values.reduce(0) { $0 + $1.count }), of them \(found) of \(report.unknownCount) of unknown outcome; \
        lost \(lost), stored though refused \(wrong), stored twice \(twice); \(pauses.count) pauses over 200 ms: \
        p50 \(quantile(0.5)), p99 \(quantile(0.99)), errors \(report.errors)
        """)
    }
  }
}

extension CountingWriter {
  /// Waits until more rows are acknowledged.
  func goesOn(_ what: String) async throws {
    let before = count
    try await until("writes go on after \(what)", within: .seconds(40)) { count > before + 40 }
  }
}
