import Hummingbird
import Sqlable

/// GET /health: how the pool is.
struct Health: ResponseCodable {
  var openReaders: Int
  var idleReaders: Int
  var waitingReads: Int
  var waitingWrites: Int
  var writes: Int
  var commits: Int
  var walBytes: Int
  var oldestReadSeconds: Double?

  init(_ statistics: SqlitePool.Statistics) {
    openReaders = statistics.openReaders
    idleReaders = statistics.idleReaders
    waitingReads = statistics.waitingReads
    waitingWrites = statistics.waitingWrites
    writes = statistics.writes
    commits = statistics.commits
    walBytes = statistics.walSize
    oldestReadSeconds = statistics.oldestRead.map { $0.age / .seconds(1) }
  }
}
