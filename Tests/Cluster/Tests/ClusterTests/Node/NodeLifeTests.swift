import Foundation
import Sqlable
import SqlableCluster
import Testing

/// Tests of a node in this process: its start, its restart and its refusals.
@Suite(.timeLimit(.minutes(2))) struct NodeLifeTests {
  @Test func firstNodeStartsAClusterAndRestarts() async throws {
    try await withDirectory { path in
      let address = freeAddress()
      let node = try SqliteClusterNode(id: 1, address: address, directory: path + "/node")
      #expect(node.bindAddress == nil)
      try await node.start()
      #expect(node.bindAddress == address)
      try await node.start()
      try await node.stop()
      #expect(node.bindAddress == nil)
      try await node.stop()
      try await node.start()
      #expect(node.isRunning)
      try await node.stop()
      let other = try SqliteClusterNode(id: 1, address: address, directory: path + "/node")
      try await other.start()
      try await other.stop()
    }
  }

  @Test func aNodeThatFindsNoClusterStopsAtItsDeadline() async throws {
    try await withDirectory { path in
      let node = try SqliteClusterNode(id: 2, address: freeAddress(), directory: path + "/node")
      let nobody = freeAddress()
      let begin = ContinuousClock.now
      let error = await failure {
        try await withDeadline(.milliseconds(300)) { try await node.start(joining: [nobody]) }
      }
      #expect(error?.kind == .unavailable)
      #expect(begin.duration(to: .now) < .seconds(20))
      #expect(!node.isRunning)
    }
  }

  @Test func anIdBelowOneIsRefused() throws {
    for id: UInt64 in [0] {
      #expect(
        throws: SqlError(.misuse("the id of a node must be at least 1"), message: "the id of a node must be at least 1")
      ) {
        try SqliteClusterNode(id: id, address: "127.0.0.1:9001", directory: "/tmp/node")
      }
    }
  }

  @Test(arguments: [
    "", ":", "127.0.0.1", "127.0.0.1:", ":9001", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:90x", "127.0.0.1:+1",
    "127.0.0.1:-1", "::1:9001", "[::1]:9001", "@abstract", "127.0.0.1 :9001", "127.0.0.1\0:9001", "hôst:9001",
    "127.0.0.1:9001\n", "http://127.0.0.1:9001", String(repeating: "a", count: 300) + ":9001",
    "127.0.0.1:" + String(repeating: "9", count: 3_000),
  ])
  func aMalformedAddressIsRefused(address: String) throws {
    let error = #expect(throws: SqlError.self) {
      try SqliteClusterNode(id: 1, address: address, directory: "/tmp/node")
    }
    guard case .misuse = error?.kind else {
      Issue.record("\(address): \(String(describing: error))")
      return
    }
  }

  @Test func anAddressOnTheNetworkIsRefusedUnlessStated() async throws {
    try await withDirectory { path in
      for address in ["0.0.0.0:9001", "10.1.2.3:9001"] {
        let node = try SqliteClusterNode(id: 1, address: address, directory: path + "/node")
        let error = await failure { try await node.start() }
        #expect(
          error?.message == """
            \(address) is not a loopback address, and dqlite sends data unencrypted; use a tunnel, or set \
            allowsUnencryptedNetwork
            """)
      }
      let address = freeAddress()
      let port = address.split(separator: ":")[1]
      var configuration = ClusterNodeConfiguration(bindAddress: "0.0.0.0:\(port)")
      let refused = try SqliteClusterNode(
        id: 1, address: address, directory: path + "/node", configuration: configuration)
      #expect(await failure { try await refused.start() }?.message.hasPrefix("0.0.0.0") == true)
      configuration.allowsUnencryptedNetwork = true
      let node = try SqliteClusterNode(
        id: 1, address: address, directory: path + "/node", configuration: configuration)
      try await node.start()
      #expect(node.bindAddress == "0.0.0.0:\(port)")
      try await node.stop()
    }
  }

  @Test func hostNameIsAValidAddress() async throws {
    try await withDirectory { path in
      let port = freePort()
      let node = try SqliteClusterNode(id: 1, address: "localhost:\(port)", directory: path + "/node")
      try await node.start()
      #expect(node.bindAddress == "127.0.0.1:\(port)")
      try await node.stop()
      let unknown = try SqliteClusterNode(id: 1, address: "no-such-host.invalid:\(port)", directory: path + "/other")
      #expect(await failure { try await unknown.start() }?.kind == .cannotOpen)
    }
  }

  @Test func valuesOutOfRangeAreRefused() throws {
    let wrong: [ClusterNodeConfiguration] = [
      .init(networkLatency: .zero), .init(networkLatency: .microseconds(500)), .init(networkLatency: .seconds(3_601)),
      .init(networkLatency: .seconds(Int64.max)), .init(networkLatency: .seconds(Int64.max) * 10),
      .init(networkLatency: .milliseconds(-1)),
      .init(snapshotThreshold: 0), .init(snapshotThreshold: -1), .init(snapshotTrailing: -1),
      .init(snapshotThreshold: 1 << 33), .init(failureDomain: -1), .init(bindAddress: "nowhere"),
    ]
    for configuration in wrong {
      #expect(throws: SqlError.self, "\(configuration)") {
        try SqliteClusterNode(id: 1, address: "127.0.0.1:1", directory: "/tmp/node", configuration: configuration)
      }
    }
  }

  @Test func unusableDirectoryIsNamed() async throws {
    try await withDirectory { path in
      let file = path + "/file"
      try "".write(toFile: file, atomically: false, encoding: .utf8)
      let foreign = path + "/foreign"
      try FileManager.default.createDirectory(atPath: foreign, withIntermediateDirectories: true)
      try "mine".write(toFile: foreign + "/letter.txt", atomically: false, encoding: .utf8)
      let wrong: [(String, String)] = [
        (path + "/no/node", "can't create \(path)/no/node: No such file or directory"),
        (file, "the path of the node is not a directory: \(file)"),
        (file + "/node", "can't create \(file)/node: Not a directory"),
        (foreign, "the directory of a new node must be empty, but \(foreign) has other files"),
        ("", "the path of a node's directory can't be empty or contain a NUL byte"),
        ("/proc", "can't create /proc/sqlable-node.lock: No such file or directory"),
      ]
      for (directory, message) in wrong {
        let node = try SqliteClusterNode(id: 1, address: freeAddress(), directory: directory)
        #expect(await failure { try await node.start() }?.message == message)
        #expect(!node.isRunning)
      }
    }
  }

  @Test func nodeWaitsForAPredecessorThatIsStopping() async throws {
    try await withDirectory { path in
      let address = freeAddress()
      let first = try SqliteClusterNode(id: 1, address: address, directory: path + "/node")
      let second = try SqliteClusterNode(id: 1, address: address, directory: path + "/node")
      try await first.start()
      let ending = Task {
        try await Task.sleep(for: .milliseconds(300))
        try await first.stop()
      }
      try await second.start()
      try await ending.value
      #expect(second.isRunning)
      try await second.stop()
    }
  }

  @Test func aSecondNodeInADirectoryIsRefused() async throws {
    try await withDirectory { path in
      let address = freeAddress()
      let first = try SqliteClusterNode(id: 1, address: address, directory: path + "/node")
      let second = try SqliteClusterNode(id: 1, address: address, directory: path + "/node")
      try await first.start()
      let error = await failure { try await second.start() }
      #expect(error?.kind == .busy)
      #expect(error?.message == "another node runs in the directory \(path)/node")
      try await first.stop()
      try await second.start()
      #expect(await failure { try await first.start() }?.kind == .busy)
      try await second.stop()
    }
  }

  @Test func addressInUseIsRefusedUntilItIsFree() async throws {
    try await withDirectory { path in
      let address = freeAddress()
      let first = try SqliteClusterNode(id: 1, address: address, directory: path + "/first")
      let second = try SqliteClusterNode(id: 1, address: address, directory: path + "/second")
      try await first.start()
      let error = await failure { try await second.start() }
      #expect(error?.kind == .cannotOpen)
      #expect(error?.message == "can't listen on \(address): Address already in use")
      // The directory does not belong to the address yet.
      let third = try SqliteClusterNode(id: 1, address: freeAddress(), directory: path + "/second")
      try await third.start()
      try await third.stop()
      try await first.stop()
      try FileManager.default.removeItem(atPath: path + "/second")
      try await second.start()
      try await second.stop()
    }
  }

  @Test func aDirectoryIsFreeOnceItsNodeHasStopped() async throws {
    try await withDirectory { path in
      let address = freeAddress()
      for _ in 0..<20 {
        let node = try SqliteClusterNode(id: 1, address: address, directory: path + "/node")
        try await node.start()
        try await node.stop()
      }
    }
  }

  @Test func idOrAddressThatContradictsTheDirectoryIsRefused() async throws {
    try await withDirectory { path in
      let (address, other) = (freeAddress(), freeAddress())
      let node = try SqliteClusterNode(id: 1, address: address, directory: path + "/node")
      try await node.start()
      try await node.stop()
      let wrongId = try SqliteClusterNode(id: 2, address: address, directory: path + "/node")
      #expect(
        await failure { try await wrongId.start() }?.message
          == "the directory \(path)/node belongs to node 1, not to node 2"
      )
      let wrongAddress = try SqliteClusterNode(id: 1, address: other, directory: path + "/node")
      #expect(
        await failure { try await wrongAddress.start() }?.message == """
          can't change the address of node 1 from \(address) to \(other); join a new node, and remove this \
          one
          """)
      try await node.start()
      try await node.stop()
    }
  }

  @Test func nodeWithMissingFilesStartsNoNewCluster() async throws {
    try await withDirectory { path in
      let address = freeAddress()
      let node = try SqliteClusterNode(id: 1, address: address, directory: path + "/node")
      try await node.start()
      try await node.stop()
      for name in try FileManager.default.contentsOfDirectory(atPath: path + "/node")
      where !name.hasPrefix("sqlable") {
        try FileManager.default.removeItem(atPath: path + "/node/" + name)
      }
      let error = await failure { try await node.start() }
      #expect(error?.kind == .corrupt)
      #expect(
        error?.message
          == "the files of node 1 are gone from \(path)/node; join a new node, and remove node 1")
    }
  }

  @Test func damagedRaftLogIsReportedAndNotSkipped() async throws {
    try await withDirectory { path in
      let node = try SqliteClusterNode(id: 1, address: freeAddress(), directory: path + "/node")
      try await node.start()
      try await node.stop()
      let names = try FileManager.default.contentsOfDirectory(atPath: path + "/node")
      let segment = try #require(names.first { $0.hasPrefix("0000") })
      let file = try #require(FileHandle(forUpdatingAtPath: path + "/node/" + segment))
      try file.seek(toOffset: 8)
      try file.write(contentsOf: Data("garbage".utf8))
      try file.close()
      for _ in 0..<2 {
        let error = await failure { try await node.start() }
        #expect(error?.kind == .corrupt)
        #expect(error?.message.hasPrefix("the Raft log of the node is damaged, and commits may be missing") == true)
        #expect(!node.isRunning)
      }
    }
  }

  @Test func aDamagedMetadataFileIsAnError() async throws {
    try await withDirectory { path in
      let node = try SqliteClusterNode(id: 1, address: freeAddress(), directory: path + "/node")
      try await node.start()
      try await node.stop()
      for name in try FileManager.default.contentsOfDirectory(atPath: path + "/node") where name.hasPrefix("metadata") {
        try "garbage".write(toFile: path + "/node/" + name, atomically: false, encoding: .utf8)
      }
      #expect(await failure { try await node.start() } != nil)
      #expect(!node.isRunning)
    }
  }

  @Test func aNewNodeThatIsNotTheFirstMustJoin() async throws {
    try await withDirectory { path in
      let node = try SqliteClusterNode(id: 2, address: freeAddress(), directory: path + "/node")
      let error = await failure { try await node.start() }
      #expect(error?.message == "node 2 has not joined a cluster; pass addresses of the cluster's nodes")
    }
  }

  @Test func startAndStopFromManyTasksEndWithAStoppedNode() async throws {
    try await withDirectory { path in
      let node = try SqliteClusterNode(id: 1, address: freeAddress(), directory: path + "/node")
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<40 {
          group.addTask {
            do {
              if number % 2 == 0 { try await node.start() } else { try await node.stop() }
            } catch is CancellationError {}
          }
        }
        try await group.waitForAll()
      }
      try await node.stop()
      #expect(!node.isRunning)
      try await node.start()
      try await node.stop()
    }
  }

  @Test func aNodeThatIsReleasedFreesItsDirectory() async throws {
    try await withDirectory { path in
      let address = freeAddress()
      do {
        let node = try SqliteClusterNode(id: 1, address: address, directory: path + "/node")
        try await node.start()
      }
      let other = try SqliteClusterNode(id: 1, address: address, directory: path + "/node")
      try await until("the directory is free") {
        do { try await other.start() } catch let error as SqlError where error.kind == .busy { return false }
        return true
      }
      try await other.stop()
    }
  }
}
