#if ClusterNode
import Foundation
import Sqlable
import SqlableCluster

struct NodeLog: Sendable {
  private let node: SqliteClusterNode

  private static let interval = Duration.seconds(1)

  init(_ node: SqliteClusterNode) { self.node = node }

  func write(_ text: String) {
    let time = Date.now.formatted(.iso8601)
    // A statement can contain control characters, which the log escapes.
    Output.write("\(time) node \(node.id) \(text)".visible(keeping: []) + "\n", to: STDERR_FILENO)
  }

  func writeRefusals() async {
    for await refusal in node.refusals() { write("refused a statement: \(refusal)") }
  }

  /// Logs changes of role, leader and problems. Returns true if the node was removed from its cluster, and false if the
  /// node was stopped or the task was cancelled.
  func writeChanges() async -> Bool {
    var (situation, problems): (String?, [SqliteClusterNode.Health.Problem]) = (nil, [])
    // A leader that was cut off might not know this node. Such a leader steps down within the time of an election.
    let patience = max(.seconds(3), node.configuration.networkLatency * 60)
    var removed: ContinuousClock.Instant?
    while node.isRunning, (try? await Task.sleep(for: NodeLog.interval)) != nil {
      let health = await node.health()
      guard node.isRunning, !Task.isCancelled else { return false }
      if let new = NodeLog.situation(of: health), new != situation {
        write(new)
        situation = new
      }
      for problem in health.problems where !problems.contains(problem) { write("has a problem: \(problem)") }
      if health.problems.isEmpty, !problems.isEmpty { write("has no problems") }
      problems = health.problems
      removed = problems.contains(.notAMember) ? removed ?? .now : nil
      if let removed, removed + patience < .now {
        write("was removed from its cluster, and stops")
        return true
      }
    }
    return false
  }

  /// Returns the node's role and the leader in words; nil if the node did not answer.
  private static func situation(of health: SqliteClusterNode.Health) -> String? {
    guard let role = health.role else { return nil }
    let term = health.term.map { ", in term \($0)" } ?? ""
    guard let leader = health.leader else { return "is a \(role), and knows no leader" }
    return health.isLeader ? "is a \(role), and leads\(term)" : "is a \(role), and follows node \(leader.id)\(term)"
  }
}
#endif
