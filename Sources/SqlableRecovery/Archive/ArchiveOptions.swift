import FoundationEssentials
import SqlableCore

/// Options for archiving a pool's commits. The defaults suit a service that runs for months.
///
/// ```swift
/// let archive = try pool.archive(to: "/backups/bikes", ArchiveOptions(keep: .seconds(7 * 86_400)))
/// ```
public struct ArchiveOptions: Sendable, Hashable {
  /// The interval at which commits are archived. A loss of the machine loses at most this much. Default: 250
  /// milliseconds.
  public var interval: Duration

  /// The time for which commits are added to one copy of the database before the archive makes another. With a longer
  /// time, a restore must apply more commits. Default: 24 hours.
  public var baseInterval: Duration

  /// The time for which commits can be restored. Older copies are deleted, with the commits up to the next copy.
  /// Default: nil, for ever.
  public var keep: Duration?

  /// The size of a file of the archive, in bytes, at which the archive starts another file. Default: 64 MiB.
  public var fileSize: Int

  /// The size of the pool's WAL, in bytes, up to which the WAL is kept for an archive that can't be written
  /// to. Beyond this size the archive skips the commits, and makes a new copy of the database as soon as possible.
  /// Default: 1 GiB.
  public var maximumWalSize: Int

  /// Lets an archive of one database go on with another, such as one that was moved to another path. Default: false:
  /// it throws `.misuse`.
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
      throw SqlError.misuse("the times of an archive must be above 0, and its interval at least 1 millisecond")
    }
    guard fileSize > 0, maximumWalSize > 0 else {
      throw SqlError.misuse("the sizes of an archive must be above 0")
    }
  }
}

/// The progress of an archive.
public struct ArchiveStatus: Sendable, Hashable {
  /// The number of the last commit that is archived, and when it was.
  public internal(set) var commit = 0
  public internal(set) var time: Date?
  /// Why the last attempt failed; nil if it did not.
  public internal(set) var error: SqlError?
  /// The number of bytes of the WAL that were not archived yet at the last attempt. The number keeps
  /// growing if commits come faster than the archive can write them.
  public internal(set) var pendingBytes = 0
  /// The number of times that commits were skipped: the archive could not be written to for too long, or was removed.
  public internal(set) var gaps = 0
  /// True if the database is being copied for a new range. Until the copy ends, no commit is archived.
  public internal(set) var isCopying = false
  /// The time since the archive had all commits of the database; at most the interval if it works.
  public internal(set) var lag = Duration.zero
}
