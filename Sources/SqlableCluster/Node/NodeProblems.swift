#if ClusterNode
import Sqlable

extension SqliteClusterNode.Health.Problem: CustomStringConvertible {
  public var description: String {
    switch self {
    case .stopped(nil): "the node does not run"
    case .stopped(.full?): "the node has stopped: its disk is full"
    case .stopped(.io?): "the node has stopped: its files are gone, or its disk can't be written"
    case .stopped(let kind?): "the node has stopped: \(kind)"
    case .noAnswer: "the node did not answer in time"
    case .noLeader: "the node does not know the leader"
    case .notAMember: "the node was removed from its cluster"
    case .unreachable(let ids): ClusterProblemText.silentVoters(ids)
    case .fewVoters(let count): ClusterProblemText.fewVoters(count)
    case .littleSpace(let bytes): "the file system has only \(bytes) bytes left"
    }
  }
}
#endif
