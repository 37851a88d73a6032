import FoundationEssentials
import SqlableCore

/// Options for archiving a pool's commits. The defaults are for a service that runs for months.
///
/// ```swift
/// let archive = try pool.archive(to: "/backups/bikes", ArchiveOptions(keep: .seconds(7 * 86_400)))
/// ```
public struct ArchiveOptions: Sendable, Hashable {
  /// The interval at which commits are archived. If the machine is lost, the commits that were not archived are lost:
  /// normally the commits of at most one interval, see ``ArchiveStatus/lag``. Default: 250 milliseconds.
  public var interval: Duration

  /// The time after which the archive creates a new copy of the database. Until then, the archive adds commits to the
  /// last copy. With a longer time, a restore has to apply more commits. Default: 24 hours.
  public var baseInterval: Duration

  /// The time for which commits can be restored. After each new copy, the archive finds the last copy that is older
  /// than `keep`, and deletes all earlier copies and commits. Default: nil, for an unlimited time.
  public var keep: Duration?

  /// The size of a log file of the archive, in bytes, at which the archive starts a new file. Default: 64 MiB.
  public var fileSize: Int

  /// The maximum size of the pool's WAL, in bytes, while the archive can't be written. If the WAL is larger, the
  /// archive skips the commits in the WAL, and creates a new copy of the database as soon as possible. Default: 1 GiB.
  public var maximumWalSize: Int

  /// True if an archive of one database can continue with another database, such as a database that was moved to
  /// another path. If false, archiving another database throws `.misuse`. Default: false.
  public var acceptsOtherDatabase: Bool

  public init(
    interval: Duration = .milliseconds(250), baseInterval: Duration = .seconds(86_400), keep: Duration? = nil,
    fileSize: Int = 64 << 20, maximumWalSize: Int = 1 << 30, acceptsOtherDatabase: Bool = false
  ) {
    self.acceptsOtherDatabase = acceptsOtherDatabase
    (self.interval, self.baseInterval, self.keep) = (interval, baseInterval, keep)
    (self.fileSize, self.maximumWalSize) = (fileSize, maximumWalSize)
  }

  func validate() throws {
    guard interval >= .milliseconds(1), baseInterval > .zero, keep.map({ $0 > .zero }) ?? true else {
      throw SqlError.misuse("interval must be at least 1 millisecond, and baseInterval and keep must be above 0")
    }
    guard fileSize > 0, maximumWalSize > 0 else {
      throw SqlError.misuse("fileSize and maximumWalSize must be above 0")
    }
  }
}

/// The progress of an archive.
public struct ArchiveStatus: Sendable, Hashable {
  /// The number and time of the last archived commit.
  public internal(set) var commit = 0
  public internal(set) var time: Date?
  /// The error of the last attempt to archive; nil if the attempt succeeded.
  public internal(set) var error: SqlError?
  /// The number of WAL bytes that were not archived at the last attempt. The number keeps growing if commits arrive
  /// faster than the archive can write.
  public internal(set) var pendingBytes = 0
  /// The number of times that the archive skipped commits, because the archive was not writable for too long or was
  /// removed.
  public internal(set) var gaps = 0
  /// True while the archive copies the database. No commits are archived during the copy.
  public internal(set) var isCopying = false
  /// The time since the archive last contained all commits of the database. Normally at most the interval.
  public internal(set) var lag = Duration.zero
}
