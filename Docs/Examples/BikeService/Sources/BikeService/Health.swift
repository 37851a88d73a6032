import Foundation
import Hummingbird
import Sqlable

/// GET /health: how the pool is. 200, or 503 with the problems.
struct Health: ResponseCodable {
  var isHealthy: Bool
  var problems: [String]
  /// How long a read took; nil without an answer.
  var answerSeconds: Double?
  var openReaders: Int
  var idleReaders: Int
  var waitingReads: Int
  var waitingWrites: Int
  var writes: Int
  var commits: Int
  var walBytes: Int
  var freeBytes: Int?
  var oldestReadSeconds: Double?
  /// Who has held the write lock for how long, if a process does.
  var writeLock: String?

  init(of pool: SqlitePool) async {
    let health = await pool.health(within: .seconds(1))
    let statistics = pool.statistics
    isHealthy = health.isHealthy
    problems = health.problems.map { "\($0)" }
    answerSeconds = health.answer.map { $0 / .seconds(1) }
    openReaders = statistics.openReaders
    idleReaders = statistics.idleReaders
    waitingReads = statistics.waitingReads
    waitingWrites = statistics.waitingWrites
    writes = statistics.writes
    commits = statistics.commits
    walBytes = statistics.walSize
    freeBytes = health.freeBytes
    oldestReadSeconds = statistics.oldestRead.map { $0.age / .seconds(1) }
    writeLock = pool.writeLockHolder.map { "\($0)" }
  }

  func response(from request: Request, context: some RequestContext) throws -> Response {
    Response(
      status: isHealthy ? .ok : .serviceUnavailable, headers: [.contentType: "application/json; charset=utf-8"],
      body: ResponseBody(byteBuffer: ByteBuffer(data: try JSONEncoder().encode(self))))
  }
}
