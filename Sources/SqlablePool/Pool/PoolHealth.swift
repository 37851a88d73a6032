import Glibc
import SqlableCore

extension SqlitePool {
  /// The result of a health check of a pool, for the readiness probe of a service.
  public struct Health: Sendable, Hashable {
    /// A problem that an operator must investigate.
    public enum Problem: Sendable, Hashable {
      /// The pool is closed.
      case closed
      /// A test read failed with this kind of error; `.timeout` if the read missed the deadline.
      case noAnswer(SqlError.Kind)
      /// The file is no longer at its path.
      case fileIsGone
      /// The file system has only this many bytes left.
      case littleSpace(bytes: Int)
      /// The WAL has grown to this many bytes.
      case largeWal(bytes: Int)
      /// A read has run for too long; the WAL can't be reset until the read ends.
      case longRead(Statistics.ActiveCall)
      /// A write has run for too long, and other writes wait until it ends.
      case longWrite(Statistics.ActiveCall)
      /// A statement has found damaged pages, with this error. With `stopsWritesWhenDamaged`, writes throw the error.
      case damaged(SqlError)
      /// The pool's archive can't be written, because of this error.
      case archiveFails(SqlError)
      /// The pool's archive has been missing commits for this long.
      case archiveIsBehind(Duration)
      /// A consumer of the change log is behind by `lag` changes, and its oldest unacknowledged change has the age
      /// `delay`. If `isNew`, the consumer started `delay` ago and has not acknowledged its first snapshot of the rows.
      /// `error` is the error of a change that the consumer retries; nil if no attempt has failed.
      case consumerIsBehind(String, lag: Int, delay: Duration, isNew: Bool, error: String?)
      /// A consumer of the change log has this many changes in quarantine.
      case changesInQuarantine(String, count: Int)
    }

    public let problems: [Problem]
    /// The duration of the test read, including its wait for a reader; nil if the read failed or no reader was free.
    public let answer: Duration?
    /// True if calls held all readers, so no test read ran. Busy readers alone are no problem: see
    /// ``HealthLimits/read``.
    public let areReadersBusy: Bool
    /// The free space of the file system, in bytes; nil if unknown.
    public let freeBytes: Int?
    /// The size of the WAL, in bytes.
    public let walSize: Int
    /// The read that has run the longest.
    public let oldestRead: Statistics.ActiveCall?
    /// The running write.
    public let write: Statistics.ActiveCall?

    public var isHealthy: Bool { problems.isEmpty }
  }

  /// The limits beyond which a pool is unhealthy.
  public struct HealthLimits: Sendable, Hashable {
    /// The minimum free space of the file system, in bytes. Default: 100 MiB.
    public var freeBytes: Int
    /// The maximum size of the WAL, in bytes. Default: 256 MiB.
    public var walSize: Int
    /// The maximum duration of a read. Default: 60 seconds.
    public var read: Duration
    /// The maximum duration of a write that makes other writes wait. Default: 10 seconds.
    public var write: Duration
    /// The maximum time that an archive can lag behind the database, in addition to the archive's interval. Default: 10
    /// minutes.
    public var archiveLag: Duration
    /// The maximum age of a change that a consumer of the change log has not acknowledged. Also the maximum time in
    /// which a new consumer acknowledges its first snapshot of the rows. Default: 10 minutes.
    public var consumerDelay: Duration
    /// The maximum number of changes that a consumer has in quarantine. Default: 0.
    public var quarantinedChanges: Int

    public init(
      freeBytes: Int = 100 << 20, walSize: Int = 256 << 20, read: Duration = .seconds(60),
      write: Duration = .seconds(10), archiveLag: Duration = .seconds(600), consumerDelay: Duration = .seconds(600),
      quarantinedChanges: Int = 0
    ) {
      (self.archiveLag, self.consumerDelay) = (archiveLag, consumerDelay)
      self.quarantinedChanges = quarantinedChanges
      (self.freeBytes, self.walSize, self.read, self.write) = (freeBytes, walSize, read, write)
    }
  }

  /// Checks the health of the pool: reads, the file, free disk space, the WAL's size, long calls, the archive, and the
  /// consumers of the change log.
  ///
  /// ```swift
  /// let health = await pool.health()
  /// return health.isHealthy ? .ok : .serviceUnavailable     // health.problems say why
  /// ```
  ///
  /// The check ends within the deadline and never throws. If calls hold all readers, the check does not wait for a
  /// reader: `areReadersBusy` is true and `answer` is nil. A long write is a problem only if it delays other writes:
  /// writes of this pool, or of other pools and handles, in any process. The check does not notice waits of other
  /// programs.
  public func health(within deadline: Duration = .seconds(1), limits: HealthLimits = .init()) async -> Health {
    if areReadersBusy { return health(limits, answer: nil, error: nil, areReadersBusy: true) }
    let begin = ContinuousClock.now
    do {
      let found = try await withDeadline(deadline) {
        try await self.read { [self] db in try monitoredProblems(db, limits) }
      }
      return health(limits, answer: begin.duration(to: .now), error: nil, found: found)
    } catch { return health(limits, error: error) }
  }

  /// Checks the pool's health and blocks the thread until the result is available.
  public func health(within deadline: Duration = .seconds(1), limits: HealthLimits = .init()) -> Health {
    if areReadersBusy { return health(limits, answer: nil, error: nil, areReadersBusy: true) }
    let begin = ContinuousClock.now
    do {
      let found = try withDeadline(deadline) { try read { db in try monitoredProblems(db, limits) } }
      return health(limits, answer: begin.duration(to: .now), error: nil, found: found)
    } catch { return health(limits, error: error) }
  }

  private func health(_ limits: HealthLimits, error: any Error) -> Health {
    // Calls might have taken the last readers after the caller's check.
    let isBusy = (error as? SqlError)?.kind == .timeout && areReadersBusy
    return health(limits, answer: nil, error: isBusy ? nil : error, areReadersBusy: isBusy)
  }

  private func health(
    _ limits: HealthLimits, answer: Duration?, error: (any Error)?, areReadersBusy: Bool = false,
    found: [Health.Problem] = []
  ) -> Health {
    let statistics = statistics
    var problems: [Health.Problem] = []
    if let error {
      let kind = (error as? SqlError)?.kind ?? .interrupted
      problems.append(kind == .closed ? .closed : .noAnswer(kind))
    }
    let isFile = !filepath.isEmpty
    if isFile, access(filepath, F_OK) != 0 { problems.append(.fileIsGone) }
    let free = isFile ? FileSpace.free(at: filepath) : nil
    if let free, free < limits.freeBytes { problems.append(.littleSpace(bytes: free)) }
    problems += self.problems(limits, statistics) + found
    return Health(
      problems: problems, answer: answer, areReadersBusy: areReadersBusy, freeBytes: free, walSize: statistics.walSize,
      oldestRead: statistics.oldestRead, write: statistics.write)
  }
}

extension SqlitePool {
  /// Returns the problems that a check finds without a test read: a large WAL, long calls, damage, and the problems
  /// that each ``FileUser`` reports.
  package func problems(_ limits: HealthLimits, _ statistics: Statistics) -> [Health.Problem] {
    var problems: [Health.Problem] = []
    if statistics.walSize > limits.walSize { problems.append(.largeWal(bytes: statistics.walSize)) }
    if let read = statistics.oldestRead, read.age > limits.read { problems.append(.longRead(read)) }
    if let write = statistics.write, write.age > limits.write,
      statistics.waitingWrites > 0 || gate.delaysOthers
    {
      problems.append(.longWrite(write))
    }
    if let damage = root.family.corruption.first { problems.append(.damaged(damage)) }
    return problems + allFileUsers.compactMap { $0.problem(limits) }
  }
}

package enum FileSpace {
  /// Returns the bytes that this process can still write to a file's file system; nil if unknown.
  package static func free(at path: String) -> Int? {
    let end = path.utf8.lastIndex(of: UInt8(ascii: "/"))
    let directory = end.map { String(decoding: path.utf8[...$0], as: UTF8.self) } ?? "."
    var info = statvfs()
    guard statvfs(directory, &info) == 0 else { return nil }
    let (bytes, isTooMany) = Int(clamping: info.f_bavail).multipliedReportingOverflow(by: Int(clamping: info.f_frsize))
    return isTooMany ? Int.max : bytes
  }
}
