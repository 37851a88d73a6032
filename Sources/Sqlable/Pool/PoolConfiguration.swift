/// How a pool is opened; the defaults, all of them here, are chosen for a service that runs for months.
///
/// ```swift
/// let pool = try SqlitePool(filepath: path, configuration: .init(readers: 8, waitTimeout: .seconds(2)))
/// ```
public struct PoolConfiguration: Sendable, Hashable {
  /// How the handles are opened. They are in WAL mode, where readers and the writer do not wait for one another.
  public var handles: Configuration

  /// How many handles read at the same time; each is opened when it is first needed. Default: 4.
  public var readers: Int

  /// How long a call waits for a handle before it throws `.timeout`. Default: 10 seconds; nil waits for ever.
  public var waitTimeout: Duration?

  /// How long a call may take, waiting and running together, before it throws `.timeout`; see ``withDeadline(_:_:)``.
  /// Default: nil, as long as it takes.
  public var deadline: Duration?

  /// How many calls may wait for a reader, and how many for the writer; one more throws `.busy` at once. Default: 65,536.
  public var maximumWaiting: Int

  /// How many writes share a commit at most; 1 gives each its own. Default: 256.
  public var maximumGroup: Int

  /// For how long more of them are taken into a commit: who comes first waits for those who come after. Default: 10
  /// milliseconds.
  public var maximumGroupTime: Duration

  /// How often it is looked whether other processes have committed, in case the kernel did not tell; from when on somebody
  /// loops over changes or updates. Default: 500 milliseconds; nil does not look for other processes at all.
  public var pollInterval: Duration?

  /// After how long a read that has not ended is reported to `didFail`, once: as long as it goes on, the write-ahead log can't
  /// be reused, and grows. Default: 60 seconds; nil reports none.
  public var longRead: Duration?

  public init(
    handles: Configuration = .init(),
    readers: Int = 4,
    waitTimeout: Duration? = .seconds(10),
    deadline: Duration? = nil,
    maximumWaiting: Int = 65_536,
    maximumGroup: Int = 256,
    maximumGroupTime: Duration = .milliseconds(10),
    pollInterval: Duration? = .milliseconds(500),
    longRead: Duration? = .seconds(60)
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
  }

  /// Throws what can't be meant, before a file is touched.
  func validate() throws {
    guard (1...1_000).contains(readers) else { throw SqlError.misuse("a pool has 1 to 1,000 readers") }
    guard maximumWaiting >= 0 else { throw SqlError.misuse("fewer than 0 calls can't wait") }
    guard maximumGroup >= 1 else { throw SqlError.misuse("a commit is shared by 1 write or more") }
    guard longRead.map({ $0 >= .milliseconds(1) }) ?? true else {
      throw SqlError.misuse("a read is long after a millisecond or more")
    }
    guard waitTimeout.map({ $0 >= .zero }) ?? true, deadline.map({ $0 >= .zero }) ?? true,
      maximumGroupTime >= .zero
    else {
      throw SqlError.misuse("a time can't be below zero")
    }
    guard pollInterval.map({ $0 >= .milliseconds(1) }) ?? true else {
      throw SqlError.misuse("other processes are looked for every millisecond at most")
    }
    guard handles.journalMode == .wal else { throw SqlError.misuse("a pool works in WAL mode only") }
    guard !handles.isReadOnly else { throw SqlError.misuse("a pool has a writer; for reading only, open handles") }
  }
}
