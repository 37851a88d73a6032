import SqlableCore

/// The settings of a pool, with defaults for a service that runs for months.
///
/// ```swift
/// let pool = try SqlitePool(filepath: path, configuration: .init(readers: 8, waitTimeout: .seconds(2)))
/// ```
public struct PoolConfiguration: Sendable, Hashable {
  /// The configuration of the handles. The journal mode must be WAL, in which readers and the writer don't block each
  /// other.
  public var handles: Configuration

  /// The number of readers. Each reader is opened on first use. Default: 4.
  public var readers: Int

  /// The maximum wait for a handle, after which a call throws `.timeout`. Default: 10 seconds; nil waits without limit.
  public var waitTimeout: Duration?

  /// The maximum duration of a call, including its wait for a handle, after which the call throws `.timeout`; see
  /// ``withDeadline(_:_:)``. Default: nil, unlimited.
  public var deadline: Duration?

  /// The maximum number of waiting calls, separately for the readers and for the writer. A further call throws `.busy`.
  /// Default: 65,536.
  public var maximumWaiting: Int

  /// The maximum number of writes that share a commit; with 1, each write commits separately. Default: 256.
  public var maximumGroup: Int

  /// The time during which a shared commit accepts further writes. This time limits how long the first write waits for
  /// the commit. Default: 10 milliseconds.
  public var maximumGroupTime: Duration

  /// The interval at which the pool polls for commits of other processes, in file systems where the kernel might not
  /// report a write, such as network file systems. In other file systems, an idle pool checks about once a minute.
  /// Polling starts with the first sequence of changes or live result. Default: 500 milliseconds; nil neither polls nor
  /// watches the WAL.
  public var pollInterval: Duration?

  /// The duration after which a read is reported to `didFail`, once per read. Until the read ends, SQLite can't reset
  /// the WAL, and the WAL grows. While a call runs, the pool looks for long reads twice a second, and more often for a
  /// limit below two seconds. A report is therefore up to 0.6 seconds late, and a read that ends before its report
  /// is not reported. Default: 60 seconds; nil reports no read.
  public var longRead: Duration?

  /// The duration after which the pool ends a read, so that the WAL stays small. The pool interrupts the read's
  /// statement, and the read throws `.timeout`. Code between two statements continues; the next statement throws. Like
  /// a report of ``longRead``, the interruption is up to 0.6 seconds late.
  /// Default: nil, unlimited.
  public var maximumRead: Duration?

  /// The size of the WAL, in bytes, at which the pool delays new reads for up to two seconds. Without running reads, a
  /// commit can reset the WAL; with overlapping reads, the WAL would continue to grow. After the reset, the WAL file is
  /// truncated to this size. Default: 32 MiB; nil lets the WAL grow.
  public var maximumWalSize: Int?

  /// True if the pool counts statements by shape, for ``SqlitePool/topStatements(_:by:)``. Each statement then takes
  /// about one microsecond longer. Default: false.
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

  /// Throws `.misuse` for invalid settings, before the pool opens any file.
  package func validate() throws {
    guard (1...1_000).contains(readers) else { throw SqlError.misuse("the number of readers must be from 1 to 1,000") }
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
