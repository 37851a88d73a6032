import Dispatch

/// One call on a pool: it waits, runs, and ends once. What changes is reached with the pool's lock held.
///
/// Sound as `Sendable`: see there; `work` is called by one thread at a time, while whoever made the call waits.
@usableFromInline
final class PoolCall: @unchecked Sendable {
  enum State {
    case made
    case waiting
    case running(PooledHandle)
    /// Its work is done or undone: it can't be stopped any more.
    case ending
  }

  /// Why a call is stopped.
  enum Reason {
    case cancelled, deadline, closing
  }

  /// Where a call was made.
  @usableFromInline
  struct CallSite: Sendable, CustomStringConvertible {
    let file: StaticString
    let line: UInt

    @usableFromInline
    init(file: StaticString, line: UInt) { (self.file, self.line) = (file, line) }

    @usableFromInline var description: String { "\(file):\(line)" }
  }

  /// What is done.
  @usableFromInline
  enum Kind {
    case read
    /// A transaction, or a statement of its own, which may share its commit with others.
    case write
    /// What is not done in a transaction.
    case alone
    /// The same, and no caller's affair: the writer looks for what others have committed.
    case detection

    var isRead: Bool { self == .read }
    var isAlone: Bool { self == .alone || self == .detection }
  }

  let kind: Kind
  let place: CallSite
  let begin = ContinuousClock.now
  let deadline: ContinuousClock.Instant?
  /// Until when it may wait.
  let waitEnd: ContinuousClock.Instant?
  /// What is to be done with a handle; nil when it is done, as it belongs to a thread that goes on then.
  private var work: ((SqliteDatabase) throws -> TransactionResult)?
  /// Told how it went; nil where a thread waits for it.
  let resume: (@Sendable (Result<Void, any Error>) -> Void)?

  var state = State.made
  var stopped: Reason?
  /// When it got its handle.
  var gotHandle: ContinuousClock.Instant?
  /// Whether it was reported that it goes on for long.
  var isReported = false
  /// Wakes the thread that waits for it.
  var alarm: DispatchSemaphore?
  /// How it went, for that thread.
  var outcome: Result<Void, any Error>?

  init(
    _ kind: Kind, _ configuration: PoolConfiguration, _ place: CallSite,
    resume: (@Sendable (Result<Void, any Error>) -> Void)? = nil,
    _ work: @escaping (SqliteDatabase) throws -> TransactionResult
  ) {
    self.kind = kind
    self.place = place
    self.work = work
    self.resume = resume
    let deadline = configuration.deadline.map(Deadline.after) ?? Deadline.current
    let waitEnd = configuration.waitTimeout.map { [begin] in begin.advanced(by: $0) } ?? deadline
    self.deadline = deadline
    // Not by an array: this is done for every call.
    self.waitEnd = waitEnd.map { min($0, deadline ?? $0) }
  }

  /// Does what is to be done; again when what it did was undone by no fault of its own.
  func run(_ db: SqliteDatabase) throws -> TransactionResult {
    guard let work else { throw SqlError.misuse("a call that has ended was run") }
    return try work(db)
  }

  /// To be called before whoever made the call is told that it has ended.
  func forgetWork() { work = nil }

  var isWaiting: Bool { if case .waiting = state { true } else { false } }

  /// The time at which somebody has to look at it, as long as it has not ended.
  var nextLook: ContinuousClock.Instant? {
    switch state {
    // A thread that waits has its own alarm clock.
    case .waiting: resume == nil ? nil : waitEnd
    case .running: deadline
    case .made, .ending: nil
    }
  }

  /// What a caller is told of an error: that its call was stopped, where that is what it comes from.
  func error(_ error: any Error, label: String?) -> any Error {
    guard let stopped, let cause = error as? SqlError, cause.kind == .interrupted || cause.kind == .busy else {
      return error
    }
    switch stopped {
    case .cancelled: return CancellationError()
    case .deadline:
      return SqlError(
        .timeout, message: "the deadline passed while the call made at \(place) was running", sql: cause.sql,
        transaction: cause.transaction, label: label)
    case .closing:
      return SqlError(
        .closed, message: "the pool was closed while the call made at \(place) was running",
        transaction: cause.transaction, label: label)
    }
  }
}

/// Calls in the order in which they came. Those that wait no more stay until they are passed over.
struct PoolQueue {
  private var calls: [PoolCall] = []
  private var head = 0
  /// How many wait.
  private(set) var count = 0

  mutating func append(_ call: PoolCall) {
    calls.append(call)
    count += 1
  }

  /// The first that waits.
  mutating func popFirst() -> PoolCall? {
    while head < calls.count {
      let call = calls[head]
      head += 1
      if head >= 64, head * 2 >= calls.count {
        calls.removeFirst(head)
        head = 0
      }
      guard call.isWaiting else { continue }
      count -= 1
      return call
    }
    return nil
  }

  /// The first that waits, which stays.
  var first: PoolCall? { calls[head...].first(where: \.isWaiting) }

  /// To be called for one that waits no more.
  mutating func forget() {
    count -= 1
    // Behind a handle that nobody gives back they would be kept for ever.
    guard calls.count - head > 64, (calls.count - head) / 2 > count else { return }
    calls = waiting
    head = 0
  }

  /// All that wait.
  var waiting: [PoolCall] { calls[head...].filter(\.isWaiting) }
}
