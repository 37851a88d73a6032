import SqlableCore

/// The settings of a pool; the defaults suit a service that runs for months.
///
/// ```swift
/// let pool = try SqlitePool(filepath: path, configuration: .init(readers: 8, waitTimeout: .seconds(2)))
/// ```
public struct PoolConfiguration: Sendable, Hashable {
  /// The configuration of the handles. Must be in WAL mode, where readers and the writer don't block each other.
  public var handles: Configuration

  /// The number of readers, each opened on first use. Default: 4.
  public var readers: Int

  /// The time for which a call waits for a handle before it throws `.timeout`. Default: 10 seconds; nil waits forever.
  public var waitTimeout: Duration?

  /// The time that a call may take, waiting and running together, before it throws `.timeout`; see
  /// ``withDeadline(_:_:)``. Default: nil, no limit.
  public var deadline: Duration?

  /// The maximum number of calls that wait for a reader, and of those that wait for the writer. A further call throws
  /// `.busy`. Default: 65,536.
  public var maximumWaiting: Int

  /// The maximum number of writes that share a commit; 1 gives each write its own. Default: 256.
  public var maximumGroup: Int

  /// The time for which a shared commit accepts further writes; it bounds how long the first write waits for the
  /// others. Default: 10 milliseconds.
  public var maximumGroupTime: Duration

  /// Polling interval for other processes' commits, in case the kernel does not report a write. Polling begins with the
  /// first loop over changes or updates. Default: 500 milliseconds; nil neither polls nor watches the WAL.
  public var pollInterval: Duration?

  /// The running time after which a read is reported to `didFail`, once. Until the read ends, the WAL can't
  /// be reused, and grows. Default: 60 seconds; nil reports none.
  public var longRead: Duration?

  /// The running time after which a read is ended, so that the WAL stays small. The read's statement is
  /// interrupted, and the read throws `.timeout`. Code between two statements is not stopped; the next statement
  /// throws. Default: nil, no limit.
  public var maximumRead: Duration?

  /// The size of the WAL, in bytes, at which the pool holds back new reads, for one second at most. A
  /// commit can then reset the log; overlapping reads would keep the log growing. After the reset the log file is cut
  /// to this size. Default: 32 MiB; nil lets the log grow.
  public var maximumWalSize: Int?

  /// Counts statements by their shapes, for ``SqlitePool/topStatements(_:by:)``; each statement then takes about a
  /// microsecond more. Default: false.
  public var keepsTotals: Bool

  public init(
    handles: Configuration = .init(),
    readers: Int = 4,
    waitTimeout: Duration? = .seconds(10),
    deadline: Duration? = nil,
    maximumWaiting: Int = 65_536,
    maximumGroup: Int = 256,
    maximumGroupTime: Duration = .milliseconds(10),
    pollInterval: Duration? = .milliseconds(500),
    longRead: Duration? = .seconds(60),
    maximumRead: Duration? = nil,
    maximumWalSize: Int? = 33_554_432,
    keepsTotals: Bool = false
  ) {
    self.handles = handles
    self.readers = readers
    self.waitTimeout = waitTimeout
    self.deadline = deadline
    self.maximumWaiting = maximumWaiting
    self.maximumGroup = maximumGroup
    self.maximumGroupTime = maximumGroupTime
    self.pollInterval = pollInterval
    self.longRead = longRead
    self.maximumRead = maximumRead
    self.maximumWalSize = maximumWalSize
    self.keepsTotals = keepsTotals
  }

  /// Throws `.misuse` for invalid settings, before any file is touched.
  func validate() throws {
    guard (1...1_000).contains(readers) else { throw SqlError.misuse("readers must be from 1 to 1,000") }
    guard maximumWaiting >= 0 else { throw SqlError.misuse("maximumWaiting can't be negative") }
    guard maximumGroup >= 1 else { throw SqlError.misuse("maximumGroup must be at least 1") }
    guard longRead.map({ $0 >= .milliseconds(1) }) ?? true else {
      throw SqlError.misuse("longRead must be at least 1 millisecond")
    }
    guard maximumRead.map({ $0 >= .milliseconds(1) }) ?? true else {
      throw SqlError.misuse("maximumRead must be at least 1 millisecond")
    }
    guard waitTimeout.map({ $0 >= .zero }) ?? true, deadline.map({ $0 >= .zero }) ?? true,
      maximumGroupTime >= .zero
    else {
      throw SqlError.misuse("waitTimeout, deadline and maximumGroupTime can't be negative")
    }
    guard pollInterval.map({ $0 >= .milliseconds(1) }) ?? true else {
      throw SqlError.misuse("pollInterval must be at least 1 millisecond")
    }
    guard maximumWalSize.map({ $0 >= 65_536 }) ?? true else {
      throw SqlError.misuse("maximumWalSize must be at least 65,536 bytes")
    }
    guard handles.journalMode == .wal else { throw SqlError.misuse("a pool needs journalMode .wal") }
    guard !handles.isReadOnly else { throw SqlError.misuse("a pool can't be read-only; open handles instead") }
  }
}
