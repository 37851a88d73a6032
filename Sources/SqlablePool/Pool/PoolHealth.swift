import Glibc
import SqlableCore

extension SqlitePool {
  /// True if a pool can serve, for the readiness probe of a service.
  public struct Health: Sendable, Hashable {
    /// Something that an operator must look at.
    public enum Problem: Sendable, Hashable {
      /// The pool is closed.
      case closed
      /// A read did not answer, for this reason; `.timeout` if it was not in time.
      case noAnswer(SqlError.Kind)
      /// The file is not at its path any more.
      case fileIsGone
      /// The file system has only so many bytes left.
      case littleSpace(bytes: Int)
      /// The WAL has grown to so many bytes.
      case largeWal(bytes: Int)
      /// A read has run for long; until it ends, the WAL can't be reused.
      case longRead(Statistics.ActiveCall)
      /// A write has kept the others waiting for long.
      case longWrite(Statistics.ActiveCall)
      /// A statement has found damaged pages, with this error. With `stopsWritesWhenDamaged` writes throw it.
      case damaged(SqlError)
      /// The pool's archive can't be written to, for this reason.
      case archiveFails(SqlError)
      /// The pool's archive has lacked commits for so long.
      case archiveIsBehind(Duration)
    }

    public let problems: [Problem]
    /// The duration of a read, including its wait for a reader; nil if the read had no answer, or if no reader was
    /// free.
    public let answer: Duration?
    /// True if calls had all readers, so that no read was tried. Not a problem by itself: see ``HealthLimits/read``.
    public let areReadersBusy: Bool
    /// The free space of the file system, in bytes; nil if it is not known.
    public let freeBytes: Int?
    /// The size of the WAL, in bytes.
    public let walSize: Int
    /// The read that has run longest.
    public let oldestRead: Statistics.ActiveCall?
    /// The write that runs.
    public let write: Statistics.ActiveCall?

    public var isHealthy: Bool { problems.isEmpty }
  }

  /// The limits beyond which a pool is not healthy.
  public struct HealthLimits: Sendable, Hashable {
    /// The least free space of the file system, in bytes. Default: 100 MiB.
    public var freeBytes: Int
    /// The largest WAL, in bytes. Default: 256 MiB.
    public var walSize: Int
    /// The longest read. Default: 60 seconds.
    public var read: Duration
    /// The longest write. Default: 10 seconds.
    public var write: Duration
    /// The longest time in which an archive may lack commits, beyond its interval. Default: 10 minutes.
    public var archiveLag: Duration

    public init(
      freeBytes: Int = 100 << 20, walSize: Int = 256 << 20, read: Duration = .seconds(60),
      write: Duration = .seconds(10), archiveLag: Duration = .seconds(600)
    ) {
      self.archiveLag = archiveLag
      (self.freeBytes, self.walSize, self.read, self.write) = (freeBytes, walSize, read, write)
    }
  }

  /// Tests whether the pool can serve: whether a read answers in time, the file is there and has shown no damage, the
  /// disk has space, the log is small, no call runs for long, and the archive works.
  ///
  /// ```swift
  /// let health = await pool.health()
  /// return health.isHealthy ? .ok : .serviceUnavailable     // health.problems say why
  /// ```
  ///
  /// The check ends within the deadline and never throws. If calls have all readers, the check does not wait for a
  /// reader: `areReadersBusy` is true, and `answer` nil.
  public func health(within deadline: Duration = .seconds(1), limits: HealthLimits = .init()) async -> Health {
    if areReadersBusy { return health(limits, answer: nil, error: nil, areReadersBusy: true) }
    let begin = ContinuousClock.now
    do {
      try await withDeadline(deadline) {
        _ = try await self.query("SELECT count(*) FROM sqlite_schema", as: Int.self)
      }
      return health(limits, answer: begin.duration(to: .now), error: nil)
    } catch { return health(limits, error: error) }
  }

  /// Tests whether the pool can serve, and waits for the answer.
  public func health(within deadline: Duration = .seconds(1), limits: HealthLimits = .init()) -> Health {
    if areReadersBusy { return health(limits, answer: nil, error: nil, areReadersBusy: true) }
    let begin = ContinuousClock.now
    do {
      try withDeadline(deadline) { _ = try self.query("SELECT count(*) FROM sqlite_schema", as: Int.self) }
      return health(limits, answer: begin.duration(to: .now), error: nil)
    } catch { return health(limits, error: error) }
  }

  private func health(_ limits: HealthLimits, error: any Error) -> Health {
    // Calls may have taken the last readers after the check above.
    let isBusy = (error as? SqlError)?.kind == .timeout && areReadersBusy
    return health(limits, answer: nil, error: isBusy ? nil : error, areReadersBusy: isBusy)
  }

  private func health(
    _ limits: HealthLimits, answer: Duration?, error: (any Error)?, areReadersBusy: Bool = false
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
    if statistics.walSize > limits.walSize { problems.append(.largeWal(bytes: statistics.walSize)) }
    if let read = statistics.oldestRead, read.age > limits.read { problems.append(.longRead(read)) }
    if let write = statistics.write, write.age > limits.write { problems.append(.longWrite(write)) }
    if let damage = root.family.corruption.first { problems.append(.damaged(damage)) }
    problems += allFileUsers.compactMap { $0.problem(limits) }
    return Health(
      problems: problems, answer: answer, areReadersBusy: areReadersBusy, freeBytes: free, walSize: statistics.walSize,
      oldestRead: statistics.oldestRead, write: statistics.write)
  }
}

/// The space of file systems.
package enum FileSpace {
  /// Returns the bytes that this process may still write to the file system of a file; nil if the system does not
  /// report them.
  package static func free(at path: String) -> Int? {
    let end = path.utf8.lastIndex(of: UInt8(ascii: "/"))
    let directory = end.map { String(decoding: path.utf8[...$0], as: UTF8.self) } ?? "."
    var info = statvfs()
    guard statvfs(directory, &info) == 0 else { return nil }
    let (bytes, isTooMany) = Int(clamping: info.f_bavail).multipliedReportingOverflow(by: Int(clamping: info.f_frsize))
    return isTooMany ? Int.max : bytes
  }
}
