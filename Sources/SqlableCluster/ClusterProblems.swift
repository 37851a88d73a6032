#if Cluster
import Sqlable

extension SqliteCluster.Health.Problem: CustomStringConvertible {
  public var description: String {
    switch self {
    case .closed: "the client is closed"
    case .noAnswer(.timeout): "a read was not answered in time"
    case .noAnswer(.unavailable): "a read was not answered: the cluster has no leader, or the leader is not reachable"
    case .noAnswer(let kind): "a read failed: \(kind)"
    case .noWrite(.timeout): "a write was not stored in time"
    case .noWrite(.unavailable): "a write was not stored: the leader was lost, or has no majority"
    case .noWrite(.io): "a write was not stored: the leader can't write its disk, or has no majority"
    case .noWrite(.full): "a write was not stored: the disk of the leader is full"
    case .noWrite(let kind): "a write was not stored: \(kind)"
    case .noMajority(let answering, let voters):
      "\(answering) of \(voters) voters \(answering == 1 ? "answers" : "answer"); a majority is needed"
    case .unreachable(let ids): ClusterProblemText.silentVoters(ids)
    case .fewVoters(let count): ClusterProblemText.fewVoters(count)
    }
  }
}

enum ClusterProblemText {
  static func silentVoters(_ ids: [UInt64]) -> String {
    let list = ids.map { "\($0)" }.joined(separator: ", ")
    return ids.count == 1 ? "voter \(list) does not answer" : "the voters \(list) do not answer"
  }

  static func fewVoters(_ count: Int) -> String {
    "the cluster has only \(count) \(count == 1 ? "voter" : "voters"), and can't survive the loss of one"
  }
}
#endif
