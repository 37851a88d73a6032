import Foundation
import Sqlable
import SqlableCluster
import Testing

/// Tests of calls that end early: by a deadline, a cancellation or the closing of the client.
@Suite(.timeLimit(.minutes(5))) struct EndingTests {
  @Test func missedDeadlineIsReportedAndKeepsTheLeader() async throws {
    try await withClient { cluster, nodes in
      _ = try await cluster.query("SELECT 1", as: Int.self)
      let changes = cluster.statistics.leaderChanges
      let leader = try await nodes.leader()
      // The stopped node answers no client.
      await nodes.node(leader).pause()
      let error = await failure {
        try await withDeadline(.milliseconds(150)) { _ = try await cluster.query("SELECT 2", as: Int.self) }
      }
      await nodes.node(leader).resume()
      #expect(error?.kind == .timeout, "\(String(describing: error))")
      #expect(try await cluster.query("SELECT 3", as: Int.self) == [3])
      #expect(cluster.statistics.leaderChanges == changes)
    }
  }

  @Test(arguments: [1, 2, 5, 10, 20, 40, 60])
  func shortDeadlineIsNotReportedAsAMissingLeader(_ milliseconds: Int) async throws {
    try await withClient { cluster, nodes in
      try await cluster.createTables(Person.self)
      for _ in 0..<5 {
        let other = try SqliteCluster(nodes: nodes.addresses)
        defer { other.close() }
        for call in 0..<2 {
          do {
            try await withDeadline(.milliseconds(milliseconds)) {
              if call == 0 {
                _ = try await Person.count().run(other)
              } else {
                try await Person(id: nil, name: "a").insert().run(other)
              }
            }
          } catch {
            // The commit may already be in progress.
            let kind = (error as? SqlError)?.kind
            #expect(kind == .timeout || kind == .outcomeUnknown, "\(error)")
          }
        }
      }
    }
  }

  @Test func transactionEndedBeforeItsCommitIsNotStored() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      let late = await failure {
        try await withDeadline(.milliseconds(300)) {
          try await cluster.transaction { tx in
            _ = try await Person(id: nil, name: "late").insert().run(tx)
            try? await Task.sleep(for: .milliseconds(400))
          }
        }
      }
      #expect(late?.kind == .timeout, "\(String(describing: late))")
      #expect(late?.transaction == .rolledBack, "\(String(describing: late))")
      let task = Task {
        try await cluster.transaction { tx in
          _ = try await Person(id: nil, name: "cancelled").insert().run(tx)
          withUnsafeCurrentTask { $0?.cancel() }
        }
      }
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(try await Person.count().run(cluster) == 0)
    }
  }

  @Test func closingEndsSearchesAndReads() async throws {
    let nowhere = try SqliteCluster(nodes: ["127.0.0.1:1"])
    let search = Task { try await nowhere.query("SELECT 1", as: Int.self) }
    try await Task.sleep(for: .milliseconds(200))
    let begin = ContinuousClock.now
    nowhere.close()
    #expect(await failure { _ = try await search.value }?.kind == .closed)
    #expect(.now - begin < .seconds(5))
    try await withClient { cluster, nodes in
      _ = try await cluster.query("SELECT 1", as: Int.self)
      let leader = try await nodes.leader()
      await nodes.node(leader).pause()
      let read = Task { try await cluster.query("SELECT 2", as: Int.self) }
      try await Task.sleep(for: .milliseconds(100))
      let begin = ContinuousClock.now
      cluster.close()
      #expect(await failure { _ = try await read.value }?.kind == .closed)
      #expect(.now - begin < .seconds(5))
      await nodes.node(leader).resume()
    }
  }

  /// Only the write with an unreadable answer fails.
  @Test func unreadableRowFailsOnlyItsWrite() async throws {
    try await withClient { cluster, nodes in
      try await executeElsewhere("CREATE TABLE t (id INTEGER PRIMARY KEY, flag BOOLEAN)", on: nodes)
      let outcomes = await withTaskGroup(of: (Int, SqlError.Kind?).self) { group in
        for number in 1...20 {
          group.addTask {
            do {
              if number == 10 {
                _ = try await cluster.query("INSERT INTO t (flag) VALUES (NULL) RETURNING flag", as: Int?.self)
              } else {
                try await cluster.execute("INSERT INTO t (flag) VALUES (\(number))")
              }
              return (number, nil)
            } catch { return (number, (error as? SqlError)?.kind) }
          }
        }
        return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
      }
      #expect(outcomes.keys.allSatisfy { $0 == 10 }, "\(outcomes)")
      #expect(try await cluster.query("SELECT count(*) FROM t WHERE flag IS NOT NULL", as: Int.self) == [19])
    }
  }

  @Test func transactionsOfTwoClientsNest() async throws {
    try await withClient { cluster, nodes in
      try await cluster.createTables(Person.self)
      var configuration = ClusterConfiguration()
      configuration.database = "other"
      let other = try SqliteCluster(nodes: nodes.addresses, configuration: configuration)
      defer { other.close() }
      try await other.createTables(Person.self)
      try await cluster.transaction { _ in
        try await other.transaction { _ in
          _ = try await Person(id: nil, name: "a").insert().run(cluster)
          _ = try await Person(id: nil, name: "b").insert().run(other)
          #expect(try await Person.read().run(cluster).map(\.name) == ["a"])
        }
      }
      #expect(try await Person.read().run(cluster).map(\.name) == ["a"])
      #expect(try await Person.read().run(other).map(\.name) == ["b"])
    }
  }

  /// Only the caller retains a client; the pause before the next read of the change table does not.
  @Test func releasedClientEndsByItself() async throws {
    try await withClient { _, nodes in
      var configuration = ClusterConfiguration()
      configuration.pollInterval = .seconds(600)
      var client: SqliteCluster? = try SqliteCluster(nodes: nodes.addresses, configuration: configuration)
      try await client?.createTables(Person.self)
      let changes = try await client?.changes(on: Person.self)
      // The first read of the change table.
      try await Task.sleep(for: .milliseconds(300))
      weak let released = client
      client = nil
      try await until("the client is released") { released == nil }
      var events = changes?.makeAsyncIterator()
      #expect(await events?.next() == nil)
    }
  }

  /// Most nodes report the leader; a lost machine is silent.
  @Test func leaderSearchDoesNotWaitForASilentNode() async throws {
    let (leader, follower, silent) = (try FakeNode(), try FakeNode(), try FakeNode(isSilent: true))
    defer { for node in [leader, follower, silent] { node.close() } }
    leader.name(leader: nil, voters: [follower.address, silent.address])
    follower.name(leader: leader.address, voters: [leader.address, silent.address])
    // The leader closes every connection that requests more than the leader's address.
    var durations: [Duration] = []
    for _ in 0..<5 {
      let cluster = try SqliteCluster(nodes: [leader, silent, follower].map(\.address))
      defer { cluster.close() }
      let begin = ContinuousClock.now
      #expect(await failure { _ = try await cluster.query("SELECT 1", as: Int.self) }?.kind == .unavailable)
      durations.append(begin.duration(to: .now))
    }
    #expect(durations.min()! < .milliseconds(500), "\(durations)")
  }
}
