import Sqlable

@testable import SqlableCore
@testable import SqlablePool

/// What decides when the connection that looks for other processes' commits looks, and what it makes of a look.
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

/// The rule before: after an event it looked until it saw a commit, and then no more.
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

/// A pool and other processes on one file, with everything between a write to the log and the loops' hearing of it in
/// steps that can come in any order. There are no polls: what is found out is found out by events.
///
/// SQLite lets one connection write at a time, from its first write to the log until its commit can be seen. One thing
/// is said of time: a commit can be seen before the last of the looks after its event, the next of which would be as
/// late as a poll.
struct CommitModel<Rule: CommitRule>: Hashable {
  enum Lock { case free, other, own }

  /// The steps of a transaction of the pool, and of opening the writer.
  enum Writer { case idle, began, counted, looked, committing, written, visible, opened }

  /// Where the queue is that looks.
  enum Looker { case idle, begins, counted, read, doubts }

  /// What has caused a look.
  enum Cause { case goesOn, once, newWriter }

  enum Ask { case none, waits, counted }

  // What there is to come.
  var othersLeft: Int
  var ownLeft: Int
  var writersLeft: Int
  /// How often a commit of another process writes to the log.
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
  /// How many of the others' commits the writer has noticed.
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
  /// Whether no other look follows it.
  var isLastLook = false

  // What the loops know.
  var heard = 0
  var told = 0

  init(_ rule: Rule, others: Int, own: Int, writers: Int = 0, writesEach: Int = 1) {
    (self.rule, othersLeft, ownLeft, writersLeft, self.writesEach) = (rule, others, own, writers, writesEach)
    self.rule.begin(commits: 0, version: 0)
  }

  var isHeard: Bool { heard == othersSeen }

  private mutating func tell() {
    // The loops read after that.
    heard = othersSeen
    told += 1
  }

  private func after(_ step: (inout CommitModel) -> Void) -> CommitModel {
    var next = self
    step(&next)
    return next
  }

  /// All that can be after the next step, whichever it is; none when nothing is left to come.
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
      // A writer that could not be trusted any more was let go of, and another is opened.
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

  /// The next step of a writer that is asked to look.
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

  /// The next step of a look that has begun.
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
    // A commit whose event has been taken can be seen before the last look.
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

  /// What an event does.
  private mutating func begin() {
    rule.logWasWritten()
    (looker, cause) = (.begins, .goesOn)
  }
}
