import Foundation

/// A private network: a bridge with this process, and a network namespace for each node. Requires root.
///
/// A wrong entry in the sender's neighbour table cuts one direction between two nodes. The packets go to a missing
/// machine, as in a partition, and the sender sees no error.
final class TestNetwork: Sendable {
  /// Whether this machine can create such a network.
  static let isAvailable: Bool = {
    guard geteuid() == 0 else { return false }
    guard let network = try? TestNetwork(1) else { return false }
    network.remove()
    return true
  }()

  private let number: Int
  private let count: Int
  private var bridge: String { TestNetwork.bridge(number) }

  /// - Parameter count: The number of nodes.
  init(_ count: Int) throws {
    self.count = count
    number = try TestNetwork.newBridge()
    do {
      // The name contains the owner's process id. The next process removes the networks of a killed process.
      try command("ip", "link", "set", bridge, "alias", "\(getpid())")
      try command("ip", "addr", "add", "10.231.\(number).254/24", "dev", bridge)
      try command("ip", "link", "set", bridge, "up")
      for node in 1...count {
        let (outer, inner) = ("sqo\(number)n\(node)", "sqi\(number)n\(node)")
        try command("ip", "netns", "add", name(node))
        try command("ip", "link", "add", outer, "type", "veth", "peer", "name", inner)
        try command("ip", "link", "set", inner, "netns", name(node))
        try command("ip", "link", "set", outer, "master", bridge, "up")
        try command("ip", "-n", name(node), "addr", "add", "\(host(node))/24", "dev", inner)
        try command("ip", "-n", name(node), "link", "set", inner, "up")
        try command("ip", "-n", name(node), "link", "set", "lo", "up")
      }
    } catch {
      remove()
      throw error
    }
  }

  deinit { remove() }

  func name(_ node: Int) -> String { "sqlable-\(number)-\(node)" }

  func host(_ node: Int) -> String { "10.231.\(number).\(node)" }

  /// Drops the packets from `sender` to `receiver`. The other direction stays open.
  func cut(from sender: Int, to receiver: Int) throws {
    try command(
      "ip", "-n", name(sender), "neigh", "replace", host(receiver), "lladdr", "02:00:00:00:00:99", "dev",
      "sqi\(number)n\(sender)", "nud", "permanent")
  }

  func heal(from sender: Int, to receiver: Int) throws {
    // The entry is missing if the direction was not cut.
    _ = try? command("ip", "-n", name(sender), "neigh", "del", host(receiver), "dev", "sqi\(number)n\(sender)")
  }

  /// Cuts both directions between the nodes of two sides. Both sides still reach this process.
  func split(_ one: [Int], from other: [Int]) throws {
    for (first, second) in one.flatMap({ first in other.map { (first, $0) } }) {
      try cut(from: first, to: second)
      try cut(from: second, to: first)
    }
  }

  /// Restores all connections.
  func heal() throws {
    for sender in 1...count {
      for receiver in 1...count where receiver != sender { try heal(from: sender, to: receiver) }
    }
  }

  func remove() { TestNetwork.remove(number, count: count) }

  private static func bridge(_ number: Int) -> String { "sqb\(number)" }

  /// Creates a bridge with a number that no other process uses.
  private static func newBridge() throws -> Int {
    _ = removedLeftovers
    for _ in 1..<numbers.count {
      let number = numbers.next()
      do {
        try command("ip", "link", "add", bridge(number), "type", "bridge")
        return number
      } catch  where "\(error)".contains("File exists") {
        continue
      }
    }
    throw CommandFailure(description: "every number of a network is taken")
  }

  private static func remove(_ number: Int, count: Int) {
    for node in 1...count {
      _ = try? command("ip", "netns", "del", "sqlable-\(number)-\(node)")
      _ = try? command("ip", "link", "del", "sqo\(number)n\(node)")
    }
    _ = try? command("ip", "link", "del", bridge(number))
  }

  /// Removes the networks of processes that have ended.
  private static let removedLeftovers: Void = {
    for number in 0..<numbers.count {
      guard let owner = try? String(contentsOfFile: "/sys/class/net/\(bridge(number))/ifalias", encoding: .utf8),
        let process = pid_t(owner.trimmingCharacters(in: .whitespacesAndNewlines)),
        kill(process, 0) != 0, errno == ESRCH
      else { continue }
      remove(number, count: 9)
    }
  }()

  /// Numbers for networks that exist at the same time.
  private final class Numbers: @unchecked Sendable {
    let count = 250
    private let lock = NSLock()
    private var number = Int(getpid()) % 100

    func next() -> Int {
      lock.withLock {
        number = (number + 1) % count
        return number
      }
    }
  }

  private static let numbers = Numbers()
}
