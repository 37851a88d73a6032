#if Cluster
import Sqlable

/// A node of a cluster.
public struct ClusterMember: Sendable, Hashable, Codable {
  public var id: UInt64
  /// `host:port`.
  public var address: String
  public var role: ClusterRole

  public init(id: UInt64, address: String, role: ClusterRole) {
    (self.id, self.address, self.role) = (id, address, role)
  }
}

/// The role of a node in its cluster.
public enum ClusterRole: String, Sendable, Hashable, Codable, CaseIterable {
  /// Stores all commits, and votes for the leader.
  case voter
  /// Stores all commits, and can become a voter immediately.
  case standby
  /// Stores nothing.
  case spare

  var code: UInt64 {
    switch self {
    case .voter: 0
    case .standby: 1
    case .spare: 2
    }
  }

  init(code: UInt64) {
    switch code {
    case 0: self = .voter
    case 1: self = .standby
    default: self = .spare
    }
  }
}
#endif
