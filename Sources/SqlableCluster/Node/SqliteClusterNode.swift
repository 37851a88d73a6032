#if ClusterNode
import Sqlable
import Dispatch

#if SQLCipher
// SQLCipher and dqlite's SQLite define the same symbols. The linker would decide which library encrypts and which
// library replicates.
#error("the package traits ClusterNode and SQLCipher can't be combined; run the node in another process")
#endif

/// A node of a cluster, in this process. The node stores a copy of the cluster's databases, and keeps the copy
/// consistent with the other nodes.
///
/// ```swift
/// let node = try SqliteClusterNode(id: 2, address: "127.0.0.1:9002", directory: "/var/lib/bikes/node")
/// try await node.start(joining: ["127.0.0.1:9001"])
/// …
/// try await node.stop()
/// ```
///
/// The node with the id 1 creates the cluster; all other nodes join. The id, address and directory of a node never
/// change. If the directory is lost, a new node joins in its place, with an id that the cluster never had. Needs the
/// package trait `ClusterNode`.
///
/// A node can be used from any thread. A node that is released without ``stop()`` stops without transferring
/// leadership.
public final class SqliteClusterNode: Sendable {
  /// The number of the node in its cluster, from 1.
  public let id: UInt64
  /// The address at which clients and other nodes reach this node.
  public let address: String
  /// The directory with the node's files.
  public let directory: String
  public let configuration: ClusterNodeConfiguration

  let nodeAddress: NodeAddress
  private let listening: NodeAddress
  private let queue = DispatchQueue(label: "sqlable.cluster.node")
  private let running = LockedValue<RunningNode?>(nil)
  private let turns = Turns()
  private let disk = DiskWatch()
  private let leader: LeaderWatch
  private let restarting = LockedValue((isUnderWay: false, count: 0))
  private let failure = LockedValue<SqlError?>(nil)

  /// - Parameters:
  ///   - id: A number from 1 that no other node of the cluster has, or has ever had. Node 1 creates the cluster.
  ///   - address: `host:port`, at which clients and other nodes reach this node. The host is an IPv4 address, or a name
  ///     with an IPv4 address.
  ///   - directory: The directory for the node's files. A missing directory is created; missing parent directories are
  ///     not.
  ///
  /// The initializer touches no file and opens no socket. Throws `.misuse` for an id below 1, a malformed address, or a
  /// configuration value that is out of range.
  public init(
    id: UInt64, address: String, directory: String, configuration: ClusterNodeConfiguration = .init()
  ) throws {
    guard id > 0 else { throw SqlError.misuse("the id of a node must be at least 1") }
    nodeAddress = try NodeAddress(address)
    listening = try configuration.bindAddress.map { try NodeAddress($0, "the address to listen on") } ?? nodeAddress
    guard configuration.failureDomain >= 0 else { throw SqlError.misuse("the failure domain must be at least 0") }
    guard configuration.minimumFreeBytes >= 0 else {
      throw SqlError.misuse("the minimum free space of a node must be at least 0")
    }
    guard configuration.maximumStatementTime > .zero, configuration.maximumStatementTime <= .seconds(3_600) else {
      throw SqlError.misuse("the time limit of a statement must be above 0, and at most an hour")
    }
    _ = try configuration.latencyMilliseconds()
    _ = try configuration.snapshotParameters()
    (self.id, self.address, self.directory) = (id, "\(nodeAddress)", directory)
    self.configuration = configuration
    leader = LeaderWatch(id, nodeAddress, networkLatency: configuration.networkLatency)
  }

  deinit {
    disk.end()
    leader.end()
    let (queue, running) = (queue, running)
    queue.async { SqliteClusterNode.stop(running) }
  }

  /// The address that the node listens on, as an IPv4 address with a port; nil if the node is not running.
  public var bindAddress: String? { running.withLock { $0?.bindAddress } }

  /// True if the node is running.
  public var isRunning: Bool { restarting.withLock { $0.isUnderWay } || running.withLock { $0 != nil } }

  /// The number of automatic restarts. The node restarts if it has no leader while other nodes have a leader, or if it
  /// has had no leader for too long. See the guide of clusters.
  public var restarts: Int { restarting.withLock { $0.count } }

  /// The error that stopped the node; nil if no error stopped the node. `.full` means too little disk space. `.io`
  /// means that the node's files are missing, replaced or not writable. After a failed restart, this is the restart's
  /// error.
  public var stopReason: SqlError? { failure.withLock { $0 } }
}

extension SqliteClusterNode {
  /// Runs an operation after all operations that started earlier.
  func inTurn<Value: Sendable>(
    isCancellable: Bool = true, _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    try await turns.run(isCancellable: isCancellable, body)
  }

  func cancelTurns() { turns.cancel() }

  func blocking<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
      queue.async { continuation.resume(with: Result { try body() }) }
    }
  }

  /// Locks the directory, and checks that this node is the owner. The record is nil in a new directory.
  func lockDirectory() async throws -> (directory: NodeDirectory, record: NodeDirectory.Record?) {
    let (id, address, path) = (id, address, directory)
    let addresses = [nodeAddress, listening]
    let allowsNetwork = configuration.allowsUnencryptedNetwork
    return try await blocking {
      if !allowsNetwork, let open = try addresses.first(where: { try !$0.isLoopback() }) {
        throw SqlError.misuse(
          """
          \(open) is not a loopback address, and dqlite sends data unencrypted; use a tunnel, or set \
          allowsUnencryptedNetwork
          """)
      }
      let directory = try NodeDirectory(path)
      guard let record = try directory.record() else {
        return (directory, try directory.hasLog() ? .init(id: id, address: address, hasJoined: true) : nil)
      }
      guard record.id == id else {
        throw SqlError.misuse("the directory \(path) belongs to node \(record.id), not to node \(id)")
      }
      guard record.address == address else {
        throw SqlError.misuse(
          """
          can't change the address of node \(id) from \(record.address) to \(address); join a new node, and remove \
          this one
          """)
      }
      guard !record.hasLeft else {
        throw SqlError.misuse(
          "node \(id) has left its cluster; join a new node with another id and an empty directory")
      }
      guard try !record.hasJoined || directory.hasLog() else {
        throw SqlError(
          .corrupt,
          message: "the files of node \(id) are gone from \(path); join a new node, and remove node \(id)")
      }
      return (directory, record)
    }
  }

  func launch(in directory: NodeDirectory) async throws {
    let (id, address, listening, configuration) = (id, nodeAddress, listening, configuration)
    let running = running
    try await blocking {
      if let error = DiskWatch.error(directory, configuration.minimumFreeBytes) { throw error }
      let node = try RunningNode(id, address, bind: listening, configuration, in: directory)
      running.withLock { $0 = node }
    }
    failure.withLock { $0 = nil }
    disk.begin(directory, configuration.minimumFreeBytes) { [weak self] error in
      guard let self else { return }
      failure.withLock { $0 = error }
      Task { try await self.stop() }
    }
    // During a restart, the leader watch is already running, because only the watch starts restarts.
    if !restarting.withLock({ $0.isUnderWay }) {
      leader.begin(
        term: { [weak self] in self?.lockedDirectory?.term }, restart: { [weak self] in await self?.restart() })
    }
  }

  func restart() async {
    try? await inTurn { [self] in
      // The node might have been stopped while this restart waited for its turn.
      guard lockedDirectory != nil else { return }
      restarting.withLock { $0 = (true, $0.count + 1) }
      defer { restarting.withLock { $0.isUnderWay = false } }
      do {
        let running = running
        try await blocking { SqliteClusterNode.stop(running) }
        try await launch(in: try await lockDirectory().directory)
      } catch {
        failure.withLock { $0 = error as? SqlError ?? SqlError(.cannotOpen, message: "\(error)") }
        disk.end()
        leader.end()
      }
    }
  }

  func halt() async throws {
    disk.end()
    leader.end()
    let running = running
    try await blocking { SqliteClusterNode.stop(running) }
  }

  var lockedDirectory: NodeDirectory? { running.withLock { $0?.directory } }

  private static func stop(_ running: LockedValue<RunningNode?>) {
    let node = running.withLock { running in
      defer { running = nil }
      return running
    }
    node?.stop()
  }
}
#endif
