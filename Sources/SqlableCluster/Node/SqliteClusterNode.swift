#if ClusterNode
import Sqlable
import Dispatch

#if SQLCipher
// Both have the same symbols: which of them encrypts, and which replicates, would be up to the linker.
#error("the trait ClusterNode excludes SQLCipher, since libdqlite brings libsqlite3: run the node in another process")
#endif

/// A node of a cluster, in this process: a copy of the cluster's databases, which it keeps in agreement with the other
/// nodes.
///
/// ```swift
/// let node = try SqliteClusterNode(id: 2, address: "127.0.0.1:9002", directory: "/var/lib/bikes/node")
/// try await node.start(joining: ["127.0.0.1:9001"])
/// …
/// try await node.stop()
/// ```
///
/// The node with the id 1 begins the cluster; all others join it. A node keeps its id, address and directory for life:
/// when its directory is lost another node joins in its place, with an id that the cluster never had. Needs the package
/// trait `ClusterNode`.
///
/// It can be used on all threads. A node that is released without ``stop()`` stops without handing over.
public final class SqliteClusterNode: Sendable {
  /// The number of the node in its cluster, from 1.
  public let id: UInt64
  /// The address under which clients and other nodes reach it.
  public let address: String
  /// The directory with its files.
  public let directory: String
  public let configuration: ClusterNodeConfiguration

  let nodeAddress: NodeAddress
  private let listening: NodeAddress
  private let queue = DispatchQueue(label: "sqlable.cluster.node")
  private let running = Guarded<RunningNode?>(nil)
  private let turns = Turns()
  private let disk = DiskWatch()
  private let leader: LeaderWatch
  private let restarting = Guarded((isUnderWay: false, count: 0))
  /// Why the node stopped by itself.
  private let failure = Guarded<SqlError?>(nil)

  /// - Parameters:
  ///   - id: A number from 1 that no other node of the cluster has, or had. The node 1 begins the cluster.
  ///   - address: `host:port`, under which the other nodes and the clients reach it. The host is an IPv4 address, or a
  ///     name that has one.
  ///   - directory: Where it keeps its files. It is created, those above it are not.
  ///
  /// Touches no file and opens no socket. Throws `.misuse` for an id below 1, a malformed address, or a value of the
  /// configuration that is out of range.
  public init(
    id: UInt64, address: String, directory: String, configuration: ClusterNodeConfiguration = .init()
  ) throws {
    guard id > 0 else { throw SqlError.misuse("the id of a node must be at least 1") }
    nodeAddress = try NodeAddress(address)
    listening = try configuration.bindAddress.map { try NodeAddress($0, "the address to listen on") } ?? nodeAddress
    guard configuration.failureDomain >= 0 else { throw SqlError.misuse("the failure domain must be at least 0") }
    guard configuration.minimumFreeBytes >= 0 else {
      throw SqlError.misuse("the free space that a node needs must be at least 0")
    }
    guard configuration.maximumStatementTime > .zero, configuration.maximumStatementTime <= .seconds(3_600) else {
      throw SqlError.misuse("the time of a statement must be above 0, and at most an hour")
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

  /// The address that the node listens on, as numbers; nil if it does not run.
  public var bindAddress: String? { running.withLock { $0?.bindAddress } }

  /// Whether the node runs.
  public var isRunning: Bool { restarting.withLock { $0.isUnderWay } || running.withLock { $0 != nil } }

  /// How many times the node has restarted itself, because the others had a leader and it had none; see the guide of
  /// clusters.
  public var restarts: Int { restarting.withLock { $0.count } }

  /// Why the node stopped by itself: `.full`, if the disk has too little space; `.io`, if its files are gone, are
  /// others, or can't be written; or the error with which it could not restart itself. Nil if it did not.
  public var stopReason: SqlError? { failure.withLock { $0 } }
}

extension SqliteClusterNode {
  /// Runs an operation after those that have begun before.
  func inTurn<Value: Sendable>(
    isCancellable: Bool = true, _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    try await turns.run(isCancellable: isCancellable, body)
  }

  /// Cancels what runs in turn.
  func cancelTurns() { turns.cancel() }

  /// Runs what blocks, on the queue of the node.
  func blocking<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Value, any Error>) in
      queue.async { continuation.resume(with: Result { try body() }) }
    }
  }

  /// Locks the directory, and checks whose it is. Returns its record; nil if it is new.
  func lockDirectory() async throws -> (directory: NodeDirectory, record: NodeDirectory.Record?) {
    let (id, address, path) = (id, address, directory)
    let addresses = [nodeAddress, listening]
    let allowsNetwork = configuration.allowsUnencryptedNetwork
    return try await blocking {
      if !allowsNetwork, let open = try addresses.first(where: { try !$0.isLoopback() }) {
        throw SqlError.misuse(
          """
          \(open) is not a loopback address, and dqlite encrypts nothing: use a tunnel, or state \
          allowsUnencryptedNetwork
          """)
      }
      let directory = try NodeDirectory(path)
      guard let record = try directory.record() else {
        // Without a record the files are of a node of another program.
        return (directory, try directory.hasLog() ? .init(id: id, address: address, hasJoined: true) : nil)
      }
      guard record.id == id else {
        throw SqlError.misuse("the directory \(path) is of node \(record.id), not of node \(id)")
      }
      guard record.address == address else {
        throw SqlError.misuse(
          """
          node \(id) has the address \(record.address), which can't be changed to \(address): let a new node join, and \
          remove this one
          """)
      }
      guard !record.hasLeft else {
        throw SqlError.misuse(
          "node \(id) has left its cluster: let a new node join, with another id and an empty directory")
      }
      guard try !record.hasJoined || directory.hasLog() else {
        throw SqlError(
          .corrupt,
          message: "the files of node \(id) are gone from \(path): let a new node join, and remove this one")
      }
      return (directory, record)
    }
  }

  /// Starts dqlite in a directory that is locked.
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
    // A restart is the watch's own.
    if !restarting.withLock({ $0.isUnderWay }) {
      leader.begin(
        term: { [weak self] in self?.lockedDirectory?.term }, restart: { [weak self] in await self?.restart() })
    }
  }

  /// Stops dqlite, and starts it again.
  func restart() async {
    try? await inTurn { [self] in
      // It may have been stopped meanwhile.
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

  /// Stops dqlite, if it runs.
  func halt() async throws {
    disk.end()
    leader.end()
    let running = running
    try await blocking { SqliteClusterNode.stop(running) }
  }

  /// The directory; nil unless the node runs.
  var lockedDirectory: NodeDirectory? { running.withLock { $0?.directory } }

  private static func stop(_ running: Guarded<RunningNode?>) {
    let node = running.withLock { running in
      defer { running = nil }
      return running
    }
    node?.stop()
  }
}
#endif
