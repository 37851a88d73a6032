import SqlablePool

/// Commits of other processes and of the pool to one file, and the checks of the monitor that must notice the others'.
///
/// SQLite lets one connection write at a time, from its first write to the WAL until its commit is visible. A working
/// watch reports each write. A watch can end without a report; then the polls begin.
final class DetectorDecisions {
  private enum Lock { case free, other, own }

  private let simulation: Simulation
  private let flaw: String?
  private let queue: SimulatedQueue
  /// The pool's writer, which one call uses at a time.
  private let writer: SimulatedQueue
  private var detector: CommitDetector
  private let interval: Duration
  private let isFlawless: Bool
  // The file:
  private var lock = Lock.free
  private var waiting: [(id: Int, body: () -> Void)] = []
  private var othersSeen = 0
  private var ownSeen = 0
  // The pool:
  private var ownCommits = 0
  private var writerChecks = 0
  private var writerNoticed = 0
  /// True if the pool has opened another writer. Then a doubt about the pool's own commits notifies the loops.
  private var isWriterReplaced = false
  // The kernel:
  private var isWatched = false
  private var isWatchAlive = true
  private var hasEvent = false
  // The monitor:
  private var isOpen = false
  private var (poll, nextCheck) = (0, 0)
  private var isNextCheckPoll = false
  // The model:
  /// The number of others' commits that the loops have been notified of.
  private var heard = 0
  private var notifications = 0
  /// The time at which the oldest commit that no loop has been notified of became visible.
  private var unheardSince: Int?
  /// The time at which this commit must be noticed if the watch works.
  private var dueBy: Int?
  private var lastWrite = 0
  private var activity = 0
  private var lastActivity = ContinuousClock.now

  private init(_ simulation: Simulation, flaw: String?) {
    (self.simulation, self.flaw) = (simulation, flaw)
    queue = SimulatedQueue(simulation, "monitor's queue", threads: [0])
    writer = SimulatedQueue(simulation, "writer", threads: [1])
    interval = simulation.random.pick([.milliseconds(2), .milliseconds(10), .milliseconds(200)])
    detector = CommitDetector(limit: Int(interval / .microseconds(1)))
    isFlawless = simulation.random.chance(50)
  }

  static func run(_ simulation: Simulation, size: Int, flaw: String?) {
    let model = DetectorDecisions(simulation, flaw: flaw)
    let times = [0, 0, 50, 3_000, 30_000, 400_000]
    func start(_ name: StaticString, _ id: Int, _ body: @escaping (@escaping () -> Void) -> Void) {
      model.activity += 1
      simulation.after(.microseconds(simulation.random.pick(times)), name, id) {
        body {
          model.activity -= 1
          model.lastActivity = simulation.now
        }
      }
    }
    for id in 0..<size {
      switch simulation.random.next() % 10 {
      case 0...3: start("another process writes", id) { model.commitElsewhere(id, $0) }
      case 4...6: start("the pool writes", id) { model.commit(id, $0) }
      case 7: start("the writer is replaced", id) { model.replaceWriter(id, $0) }
      case 8 where !model.isFlawless:
        start("the watch ends", id) { done in
          model.isWatchAlive = false
          done()
        }
      case 9 where !model.isFlawless: start("the files are closed", id) { model.closeFiles($0) }
      default: start("another process writes", id) { model.commitElsewhere(id, $0) }
      }
    }
    model.queue.async { _, done in
      model.check(isPoll: false) {
        // The first loop reads after this check.
        (model.heard, model.unheardSince, model.dueBy) = (model.othersSeen, nil, nil)
        done()
      }
    }
    model.schedulePolls()
    simulation.whenIdle = { model.checkLateness() }
    simulation.run()
    if model.heard != model.othersSeen { simulation.report("a commit is missed") }
    if model.isFlawless, !model.isWriterReplaced, model.othersSeen == 0, model.notifications > 0 {
      simulation.report("the pool's own commits are taken for others'")
    }
  }

  private func checkLateness() {
    // Without polls, a commit that appears late is noticed by the next check, at most a minute later.
    let longest = max(CommitDetector.longestPause, detector.limit * 4)
    if let unheardSince, simulation.microseconds > unheardSince + longest + 100_000 {
      simulation.report("a commit is not noticed for \(simulation.microseconds - unheardSince) µs")
    }
    // After a commit of its own, the pool can't tell before its writer is free.
    if let dueBy, isFlawless, ownSeen == 0, ownCommits == 0, !isWriterReplaced, simulation.busyMicroseconds > dueBy {
      simulation.report("a commit is noticed late, although its write was reported")
    }
    guard activity == 0 else { return }
    let rest = detector.isPolling ? interval * 4 : .seconds(130)
    if simulation.now > lastActivity.advanced(by: rest) { simulation.stop() }
  }

  private func tell() {
    // A loop that is notified reads all commits that are visible now.
    heard = othersSeen
    (unheardSince, dueBy) = (nil, nil)
    notifications += 1
  }

  // MARK: Other processes

  private func commitElsewhere(_ id: Int, _ done: @escaping () -> Void) {
    guard lock == .free else { return waiting.append((id, { self.commitElsewhere(id, done) })) }
    lock = .other
    func write(_ count: Int) {
      writeLog()
      // A slow disk, or a suspended process.
      let pause = simulation.random.pick([0, 0, 0, 100, 5_000, 2_000_000])
      simulation.after(.microseconds(pause), "goes on in another process", id) { [self] in
        if count > 1 { return write(count - 1) }
        othersSeen += 1
        unlock()
        let now = simulation.busyMicroseconds
        unheardSince = unheardSince ?? simulation.microseconds
        // A quarter of the time since the write, and the shortest pauses.
        dueBy = dueBy ?? now + (now - lastWrite) / 4 + 2 * detector.limit + 20_000
        done()
      }
    }
    write(simulation.random.pick([1, 1, 2]))
  }

  private func unlock() {
    lock = .free
    for (id, body) in waiting { simulation.step("looks for the lock", id, body) }
    waiting = []
  }

  private func writeLog() {
    lastWrite = simulation.busyMicroseconds
    guard isWatched, isWatchAlive, !hasEvent else { return }
    hasEvent = true
    simulation.step("the kernel reports", 0) { self.report() }
  }

  /// Reports a write, once the watch is no longer suspended.
  private func report() {
    guard hasEvent, detector.isListening else { return }
    hasEvent = false
    queue.async { [self] _, done in
      guard detector.isListening else {
        hasEvent = true
        return done()
      }
      logWasWritten(done)
    }
  }

  // MARK: The pool

  private func commit(_ id: Int, _ done: @escaping () -> Void) {
    writer.async { [self] _, end in
      func finish() {
        end()
        done()
      }
      func steps(_ bodies: ArraySlice<() -> Void>) {
        guard let body = bodies.first else { return finish() }
        simulation.step("the pool's transaction", id) {
          body()
          steps(bodies.dropFirst())
        }
      }
      func begin() {
        guard lock == .free else { return waiting.append((id, begin)) }
        lock = .own
        steps([
          { self.writerChecks += 1 }, { self.writerFinds() }, { self.ownCommits += 1 }, { self.writeLog() },
          {
            self.ownSeen += 1
            self.unlock()
          }, { self.ownCommits += 1 },
        ])
      }
      begin()
    }
  }

  private func writerFinds() {
    if writerNoticed != othersSeen { tell() }
    writerNoticed = othersSeen
  }

  /// The pool opens another writer, which can't notice earlier commits.
  private func replaceWriter(_ id: Int, _ done: @escaping () -> Void) {
    writer.async { [self] _, end in
      (writerNoticed, isWriterReplaced) = (othersSeen, true)
      simulation.step("checks for the new writer", id) { [self] in
        queue.async { [self] _, endCheck in
          check(isPoll: false) { [self] in
            if detector.resolveUncertainty() { tell() }
            endCheck()
            end()
            done()
          }
        }
      }
    }
  }

  private func ask() {
    writer.async { [self] _, end in
      func answer() {
        queue.async { [self] _, done in
          detector.writerAnswered()
          done()
        }
        end()
      }
      // The queue of the pool is full, or the writer can't check.
      if !isFlawless, simulation.random.chance(10) { return answer() }
      writerChecks += 1
      simulation.step("the writer checks", 0) {
        self.writerFinds()
        answer()
      }
    }
  }

  private func closeFiles(_ done: @escaping () -> Void) {
    queue.async { [self] _, end in
      isOpen = false
      detector.loseSight()
      if detector.setPolling(true) { schedulePolls() }
      end()
      done()
    }
  }

  // MARK: The monitor

  private func schedulePolls() {
    poll += 1
    if detector.isPolling { poll(poll) }
  }

  private func poll(_ number: Int) {
    simulation.after(interval, "polls", 0) { [self] in
      guard poll == number else { return }
      queue.async { [self] _, done in
        guard poll == number else { return done() }
        check(isPoll: true) { [self] in
          askIfUncertain()
          done()
        }
      }
      poll(number)
    }
  }

  private func logWasWritten(_ done: @escaping () -> Void) {
    detector.logWasWritten()
    checkAndReschedule(isPoll: false, done)
  }

  private func checkAndReschedule(isPoll: Bool, _ done: @escaping () -> Void) {
    check(isPoll: isPoll) { [self] in
      askIfUncertain()
      defer { done() }
      guard let pause = detector.nextCheck() else { return }
      isNextCheckPoll = pause >= detector.limit
      nextCheck += 1
      let number = nextCheck
      simulation.after(.microseconds(pause), "a check is due", 0) { [self] in
        guard nextCheck == number else { return }
        queue.async { [self] _, done in
          guard nextCheck == number, detector.isListening else { return done() }
          checkAndReschedule(isPoll: isNextCheckPoll, done)
        }
      }
    }
  }

  private func askIfUncertain() {
    if detector.asksWriter(writerChecks: writerChecks) { ask() }
  }

  private func check(isPoll: Bool, _ done: @escaping () -> Void) {
    look(isPoll: isPoll) { [self] isSeeing in
      let isComplete = isSeeing && isWatched && isWatchAlive
      if detector.setPolling(!isComplete) {
        // The history must not end before the first polls.
        lastActivity = simulation.now
        schedulePolls()
        if isComplete { queue.async { self.logWasWritten($1) } }
      }
      done()
    }
  }

  private func look(isPoll: Bool, _ body: @escaping (_ isSeeing: Bool) -> Void) {
    // A check that fails.
    if !isFlawless, simulation.random.chance(5) {
      isOpen = false
      detector.loseSight()
      if isPoll { tell() }
      return body(false)
    }
    func read(_ commitsBefore: Int) {
      simulation.step("reads the version", 0) { [self] in
        let version = Int64(othersSeen + ownSeen)
        simulation.step("judges", 0) { [self] in
          switch detector.judge(commitsBefore: commitsBefore, version: version, commitsAfter: ownCommits) {
          case .nothing: body(true)
          case .otherCommit:
            if flaw != "ignoresCommits" { tell() }
            body(true)
          case .unsure:
            simulation.step("doubts", 0) { [self] in
              if detector.markUncertain(writerChecks: writerChecks) { pauseListening() }
              body(true)
            }
          }
        }
      }
    }
    func look() {
      if detector.regainSight() { tell() }
      if isPoll, isWatched, !isWatchAlive, detector.isListening { isWatched = false }
      if !isWatched {
        (isWatched, isWatchAlive) = (true, true)
        queue.async { self.logWasWritten($1) }
      }
      let commitsBefore = ownCommits
      read(commitsBefore)
    }
    guard !isOpen else { return look() }
    isOpen = true
    let commits = ownCommits
    simulation.step("opens its connection", 0) { [self] in
      detector.begin(commits: commits, version: Int64(othersSeen + ownSeen))
      look()
    }
  }

  private func pauseListening() {
    simulation.after(.microseconds(CommitDetector.pauseAfterUncertainty), "listens again", 0) { [self] in
      queue.async { [self] _, done in
        if detector.listenAgain(writerChecks: writerChecks) { ask() }
        if hasEvent { simulation.step("the kernel reports", 0) { self.report() } }
        checkAndReschedule(isPoll: false, done)
      }
    }
  }
}
