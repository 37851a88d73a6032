/// What the connection that looks for other processes' commits concludes from what it sees, and when it looks again: a
/// value without time, threads and files, so that a test can go through every order of events.
///
/// 1. A commit is written to the log before it can be seen, and the kernel tells of the write only. One event may stand
///   for the writes of several commits. So neither a look that finds nothing nor one that finds a commit shows that no
///   other is on its way: after each event there are looks after pauses that double, until the next poll is as near.
/// 2. The connection's `data_version` does not tell the pool's own commits from others. Where the pool has committed
///   between two looks the answer is open until the writer looks, whose `data_version` others move only.
/// 3. A doubt stays until a look of the writer begins after it, or until the loops were told. A writer that has just
///   been opened can't answer it: what was committed before it opened does not move its `data_version`.
struct CommitDetector: Hashable, Sendable {
  enum Finding {
    case nothing, others
    /// It may have been the pool itself.
    case unsure
  }

  /// In microseconds, as all pauses here.
  static let shortestPause = 50
  /// How long the log is not listened to after an open answer: each commit of the pool would wake the connection.
  static let pauseAfterDoubt = 2_000

  /// The poll's interval: there is no look after a pause as long as that.
  private let limit: Int
  private let shortest: Int
  private var version: Int64?
  private var ownCommits = 0
  /// Before the next look; nil when none is due before the next poll.
  private var pause: Int?
  /// How many looks the writer had begun when the answer was last open.
  private var looksBeforeDoubt: Int?
  private(set) var isListening = true
  private var isWriterAsked = false

  init(limit: Int, shortestPause shortest: Int = CommitDetector.shortestPause) {
    (self.limit, self.shortest) = (limit, shortest)
  }

  // MARK: Looks

  /// To be called for the first look of a connection; `own` was counted before `version` was read.
  mutating func begin(own: Int, version: Int64) { (ownCommits, self.version) = (own, version) }

  /// To be called for each look: the pool's commits were counted before the version was read and after it. A count is
  /// odd while a commit is being made.
  mutating func judge(own: Int, version found: Int64, ownAfterwards: Int) -> Finding {
    defer { (version, ownCommits) = (found, own) }
    guard let version, version != found else { return .nothing }
    guard ownAfterwards == ownCommits, ownAfterwards % 2 == 0 else { return .unsure }
    looksBeforeDoubt = nil
    return .others
  }

  /// To be called when the log was written to, before the look that this causes.
  mutating func logWasWritten() { pause = shortest }

  /// To be called after a look that an event, a pause or the end of a doubt's pause has caused: how long until the next
  /// look.
  mutating func nextLook() -> Int? {
    guard isListening, let pause else { return nil }
    self.pause = pause < limit ? pause * 2 : nil
    return pause < limit ? pause : nil
  }

  // MARK: Doubt

  /// To be called when the answer is open, with how many looks the writer has begun, counted after the version was
  /// read; gives whether a pause of ``pauseAfterDoubt`` begins.
  mutating func doubt(writerLooks: Int) -> Bool {
    looksBeforeDoubt = writerLooks
    guard isListening else { return false }
    isListening = false
    pause = pause.map { max($0, CommitDetector.pauseAfterDoubt) }
    return true
  }

  /// To be called after that pause, before another look; gives whether to ask the writer.
  mutating func listenAgain(writerLooks: Int) -> Bool {
    isListening = true
    return asksWriter(writerLooks: writerLooks)
  }

  /// To be called after the pause and at each poll; gives whether to ask the writer. It may have been asked in vain
  /// before.
  mutating func asksWriter(writerLooks: Int) -> Bool {
    guard isListening, let looks = looksBeforeDoubt else { return false }
    guard looks == writerLooks else {
      looksBeforeDoubt = nil
      return false
    }
    guard !isWriterAsked else { return false }
    isWriterAsked = true
    return true
  }

  /// To be called when the writer has looked, or refused to.
  mutating func writerAnswered() { isWriterAsked = false }

  /// To be called after a look while a writer is being opened; gives whether the loops have to be told.
  mutating func endDoubt() -> Bool {
    defer { looksBeforeDoubt = nil }
    return looksBeforeDoubt != nil
  }
}
