@testable import SqlableCore
@testable import SqlablePool
@testable import SqlableTestSupport

/// A rule that schedules checks for external commits and judges their results.
protocol CommitRule: Hashable {
  mutating func begin(commits: Int, version: Int64)
  mutating func judge(commitsBefore: Int, version: Int64, commitsAfter: Int) -> CommitDetector.Finding
  mutating func logWasWritten()
  mutating func nextCheck() -> Int?
  mutating func markUncertain(writerChecks: Int) -> Bool
  mutating func listenAgain(writerChecks: Int) -> Bool
  mutating func writerAnswered()
  mutating func resolveUncertainty() -> Bool
  var isListening: Bool { get }
}

extension CommitDetector: CommitRule {}

/// The former rule, which stopped checking after an event as soon as it saw a commit.
struct FormerRule: CommitRule {
  private var rule: CommitDetector
  private var isLooking = false

  init(limit: Int, shortestPause: Int) { rule = CommitDetector(limit: limit, shortestPause: shortestPause) }

  var isListening: Bool { rule.isListening }
  mutating func begin(commits: Int, version: Int64) { rule.begin(commits: commits, version: version) }

  mutating func judge(commitsBefore: Int, version: Int64, commitsAfter: Int) -> CommitDetector.Finding {
    let finding = rule.judge(commitsBefore: commitsBefore, version: version, commitsAfter: commitsAfter)
    if finding != .nothing { isLooking = false }
    return finding
  }

  mutating func logWasWritten() {
    isLooking = true
    rule.logWasWritten()
  }

  mutating func nextCheck() -> Int? { isLooking ? rule.nextCheck() : nil }
  mutating func markUncertain(writerChecks: Int) -> Bool { rule.markUncertain(writerChecks: writerChecks) }
  mutating func listenAgain(writerChecks: Int) -> Bool { rule.listenAgain(writerChecks: writerChecks) }
  mutating func writerAnswered() { rule.writerAnswered() }
  mutating func resolveUncertainty() -> Bool { rule.resolveUncertainty() }
}

/// A model of a pool and other processes on one file. The steps between a write to the WAL and the notification of the
/// loops can come in any order. The model has no polls, only events.
///
/// SQLite lets one connection write at a time, from its first write to the WAL until its commit is visible. The model
/// assumes one thing about time: a commit is visible before the last check after its event.
struct CommitModel<Rule: CommitRule>: Hashable {
  enum Lock { case free, other, own }

  /// The steps of a transaction of the pool, and of opening the writer.
  enum Writer { case idle, began, counted, looked, committing, written, visible, opened }

  /// The steps of a check on the queue.
  enum Looker { case idle, begins, counted, read, doubts }

  /// The cause of a check.
  enum Cause { case goesOn, once, newWriter }

  enum Ask { case none, waits, counted }

  // The remaining steps.
  var othersLeft: Int
  var ownLeft: Int
  var writersLeft: Int
  /// The number of writes to the WAL in one external commit.
  let writesEach: Int

  // The file.
  var lock = Lock.free
  var othersSeen = 0
  var ownSeen = 0
  var otherWrites = 0

  // The pool.
  var writer = Writer.idle
  var ownCommits = 0
  var writerChecks = 0
  /// The number of external commits that the writer has noticed.
  var writerNoticed = 0
  var ask = Ask.none

  // The kernel.
  var isWatched = false
  var hasEvent = false

  // The queue.
  var rule: Rule
  var looker = Looker.idle
  var cause = Cause.once
  var countBefore = 0
  var version: Int64 = 0
  var isLookDue = false
  /// True if no other check follows the due one.
  var isLastLook = false

  // The state of the loops.
  var heard = 0
  var told = 0

  init(_ rule: Rule, others: Int, own: Int, writers: Int = 0, writesEach: Int = 1) {
    (self.rule, othersLeft, ownLeft, writersLeft, self.writesEach) = (rule, others, own, writers, writesEach)
    self.rule.begin(commits: 0, version: 0)
  }

  var isHeard: Bool { heard == othersSeen }

  private mutating func tell() {
    // A notified loop reads all commits that are visible now.
    heard = othersSeen
    told += 1
  }

  private func after(_ step: (inout CommitModel) -> Void) -> CommitModel {
    var next = self
    step(&next)
    return next
  }

  /// All possible states after the next step; empty at an end.
  var next: [CommitModel] { others + pool + queue }

  // MARK: Other processes

  private var others: [CommitModel] {
    var all: [CommitModel] = []
    if othersLeft > 0, lock == .free || lock == .other, otherWrites < writesEach {
      all.append(
        after {
          $0.lock = .other
          $0.otherWrites += 1
          if $0.isWatched { $0.hasEvent = true }
        })
    }
    if lock == .other, otherWrites == writesEach {
      all.append(
        after {
          ($0.lock, $0.otherWrites) = (.free, 0)
          $0.othersSeen += 1
          $0.othersLeft -= 1
        })
    }
    return all
  }

  // MARK: The pool

  private var pool: [CommitModel] {
    switch writer {
    case .idle:
      var all: [CommitModel] = []
      if ownLeft > 0, lock == .free, ask != .counted {
        all.append(after { ($0.lock, $0.writer) = (.own, .began) })
      }
      // The pool replaces a writer that it no longer trusts.
      if writersLeft > 0, ask != .counted {
        all.append(
          after {
            $0.writersLeft -= 1
            $0.writerNoticed = $0.othersSeen
            $0.writer = .opened
          })
      }
      if ask != .none { all.append(after { $0.answer() }) }
      return all
    case .opened:
      return looker == .idle ? [after { ($0.looker, $0.cause) = (.begins, .newWriter) }] : []
    case .began, .counted, .looked, .committing, .written, .visible:
      return [after { $0.goOn() }]
    }
  }

  /// The next step of a transaction that has begun.
  private mutating func goOn() {
    switch writer {
    case .idle, .opened: break
    case .began:
      writerChecks += 1
      writer = .counted
    case .counted:
      writerFinds()
      writer = .looked
    case .looked:
      ownCommits += 1
      writer = .committing
    case .committing:
      if isWatched { hasEvent = true }
      writer = .written
    case .written:
      ownSeen += 1
      lock = .free
      writer = .visible
    case .visible:
      ownCommits += 1
      ownLeft -= 1
      writer = .idle
    }
  }

  /// The next step of a writer that the queue has asked to check.
  private mutating func answer() {
    switch ask {
    case .none: break
    case .waits:
      writerChecks += 1
      ask = .counted
    case .counted:
      writerFinds()
      ask = .none
      rule.writerAnswered()
    }
  }

  private mutating func writerFinds() {
    if writerNoticed != othersSeen { tell() }
    writerNoticed = othersSeen
  }

  // MARK: The queue

  private var queue: [CommitModel] { looker == .idle ? idle : [after { $0.look() }] }

  /// The next step of a check that has begun.
  private mutating func look() {
    switch looker {
    case .idle: break
    case .begins:
      countBefore = ownCommits
      looker = .counted
    case .counted:
      version = Int64(othersSeen + ownSeen)
      looker = .read
    case .read:
      switch rule.judge(commitsBefore: countBefore, version: version, commitsAfter: ownCommits) {
      case .nothing: endLook()
      case .otherCommit:
        tell()
        endLook()
      case .unsure: looker = .doubts
      }
    case .doubts:
      _ = rule.markUncertain(writerChecks: writerChecks)
      endLook()
    }
  }

  private mutating func endLook() {
    looker = .idle
    switch cause {
    case .once: break
    case .goesOn:
      guard rule.nextCheck() != nil else { return }
      isLookDue = true
      var later = rule
      isLastLook = later.nextCheck() == nil
    case .newWriter:
      if rule.resolveUncertainty() { tell() }
      writer = .idle
    }
  }

  private var idle: [CommitModel] {
    var all: [CommitModel] = []
    if !isWatched {
      all.append(
        after {
          $0.isWatched = true
          $0.begin()
        })
    }
    if hasEvent, rule.isListening {
      all.append(
        after {
          $0.hasEvent = false
          $0.begin()
        })
    }
    // A commit is visible before the last check after its event.
    if isLookDue, !(isLastLook && lock == .other && otherWrites == writesEach && !hasEvent) {
      all.append(
        after {
          $0.isLookDue = false
          if $0.rule.isListening { ($0.looker, $0.cause) = (.begins, .goesOn) }
        })
    }
    if !rule.isListening {
      all.append(
        after {
          if $0.rule.listenAgain(writerChecks: $0.writerChecks) { $0.ask = .waits }
          ($0.looker, $0.cause) = (.begins, .goesOn)
        })
    }
    return all
  }

  /// Handles an event: starts a check.
  private mutating func begin() {
    rule.logWasWritten()
    (looker, cause) = (.begins, .goesOn)
  }
}
