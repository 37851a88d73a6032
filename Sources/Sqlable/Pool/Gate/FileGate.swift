import Dispatch

/// Where the writers of several pools on one file take turns, so that none of them starves.
///
/// SQLite's own way of waiting is to sleep and to try again: a process that writes all the time always finds its lock
/// free, and one that sleeps hardly ever does. Here each waits in a queue of the kernel's, at two bytes of a file:
///
/// - who wants the turn locks the door first, then the turn, then opens the door again;
/// - so one waits for the turn at a time, and the others at the door, in the order in which they came;
/// - who has had the turn comes to the door behind them, and can't snatch the turn from the one that waits for it.
///
/// It is about fairness and nothing else: SQLite's locks guard the data. Where there is no such file to be had, or it
/// was deleted, writers go on without it. The turn is kept until a commit has returned, and for checkpoints when a pool
/// is closed, so none of these is done by two pools at once: SQLite before 3.51.3 can damage a file when a checkpoint
/// runs while another connection begins the write-ahead log anew.
///
/// One thread at a time takes the turn and gives it back: the one that has the pool's writer.
final class FileGate: Sendable {
  /// For how long one pool may take the turn again and again before it has to stand in line. While nobody else writes,
  /// SQLite keeps the pages that it has in memory, and no thread has to be woken: 8 processes together made 31,000
  /// transactions a second with it, and 9,000 without.
  private static let turnLength = Duration.milliseconds(2)
  /// How often a thread that waits looks whether it is to be stopped.
  private static let slice = DispatchTimeInterval.milliseconds(10)
  /// After this time at the door it takes the turn when nobody has it: who stands before it may be a process that was
  /// stopped.
  private static let patience = Duration.milliseconds(100)
  /// How often the file is looked for, as others may have deleted it.
  private static let lookInterval = Duration.seconds(1)

  private let path: String
  private let label: String?
  private let state = Guarded(State())
  /// Told when the turn has come, and when it never will.
  private let bell = DispatchSemaphore(value: 0)
  /// The thread that stands in line: a wait for a lock of a file can't be interrupted, so it must not be the writer's.
  private let line = DispatchQueue(label: "sqlable.pool.gate")
  private let generation = ForkGuard.generation

  private struct State {
    var file: GateFile?
    /// When the file was looked for.
    var looked: ContinuousClock.Instant?
    /// Whether this pool has the turn.
    var hasTurn = false
    /// Until when it may take it without standing in line.
    var turnEnd: ContinuousClock.Instant?
    /// Where the thread is that stands in line. It stays there when whoever sent it waits no more, and keeps the place
    /// for the next.
    var place = QueuePosition.nowhere
    /// Whether somebody waits for the turn.
    var isWanted = false
  }

  private enum QueuePosition {
    case nowhere, door, turn
  }

  private enum Admission {
    /// It has the turn, or there is no gate.
    case open
    case waits
  }

  /// The gate of the database at a path, as SQLite resolved it. No file is touched before somebody writes.
  init(besideFileAt path: String, label: String?) {
    self.path = path
    self.label = label
  }

  // MARK: Taking turns

  /// Waits for the turn, until the interruption is pulled or its busy timeout has passed: then throws `.interrupted` or
  /// `.busy`.
  func take(_ interruption: Interruption) throws {
    interruption.spent = .zero
    let begin = ContinuousClock.now
    let mayWait = interruption.busyTimeout > .zero
    guard case .waits = state.withLock({ enter(&$0, at: begin, mayWait: mayWait) }) else { return }
    guard mayWait else { throw waitedTooLong(interruption) }
    while true {
      _ = bell.wait(timeout: .now() + FileGate.slice)
      let waited = begin.duration(to: .now)
      if try state.withLock({ try isOver(&$0, waited, interruption) }) {
        interruption.spent = waited
        return
      }
    }
  }

  /// Gives the turn to the next, if this pool has it.
  func giveBack() {
    guard !isForked else { return }
    state.withLock { state in
      guard state.hasTurn else { return }
      state.hasTurn = false
      state.file?.unlock(.turn)
      forgetWhatIsStuck(&state)
    }
  }

  /// Lets go of a file whose locks can't be given back one by one: closing it gives all of them back.
  private func forgetWhatIsStuck(_ state: inout State) {
    if !state.hasTurn, state.file?.isStuck == true { state.file = nil }
  }

  /// Whether this pool has had the turn for its time, and another waits for it.
  var isTurnOver: Bool {
    guard !isForked else { return false }
    let now = ContinuousClock.now
    return state.withLock { state in
      guard state.hasTurn, state.turnEnd.map({ $0 <= now }) ?? true else { return false }
      return state.file?.isLockedByOthers(.door) ?? false
    }
  }

  /// Asked before the lock, which a thread may hold that a forked process does not have.
  private var isForked: Bool { ForkGuard.generation != generation }

  private func enter(_ state: inout State, at now: ContinuousClock.Instant, mayWait: Bool) -> Admission {
    look(&state, at: now)
    guard let file = state.file else { return .open }
    guard state.place == .nowhere else {
      state.isWanted = true
      return .waits
    }
    var answer = take(file, &state, at: now)
    if answer == .taken, !file.isInPlace {
      // Others are at another file meanwhile.
      look(&state, at: now, again: true)
      guard let other = state.file else { return .open }
      answer = take(other, &state, at: now)
    }
    switch answer {
    case .got: return .open
    case .impossible:
      state.file = nil
      return .open
    case .taken: break
    }
    if mayWait, let file = state.file {
      (state.place, state.isWanted) = (.door, true)
      line.async { [self] in standInLine(file) }
    }
    return .waits
  }

  /// Takes the turn if nobody has it and nobody waits for it.
  private func take(_ file: GateFile, _ state: inout State, at now: ContinuousClock.Instant) -> GateFile.Answer {
    if let end = state.turnEnd, now < end, file.tryLock(.turn) == .got {
      state.hasTurn = true
      return .got
    }
    let answer = file.tryLock(.both)
    if answer == .got {
      file.unlock(.door)
      state.hasTurn = true
      state.turnEnd = now + FileGate.turnLength
    }
    return answer
  }

  /// Whether the wait is over: the turn has come, or there is no gate any more.
  private func isOver(_ state: inout State, _ waited: Duration, _ interruption: Interruption) throws -> Bool {
    if state.hasTurn { return true }
    let isLate = waited >= interruption.busyTimeout
    if state.place == .nowhere { return true }
    if state.place == .door, isLate || waited > FileGate.patience, !interruption.isRequested,
      state.file?.tryLock(.turn) == .got
    {
      // Whoever waits for it has waited long too: once, and then at the door again.
      (state.hasTurn, state.isWanted, state.turnEnd) = (true, false, nil)
      return true
    }
    guard interruption.isRequested || isLate else { return false }
    state.isWanted = false
    guard !interruption.isRequested else {
      throw SqlError(.interrupted, message: "the call was stopped while it waited for its turn to write", label: label)
    }
    throw waitedTooLong(interruption)
  }

  private func waitedTooLong(_ interruption: Interruption) -> SqlError {
    SqlError(
      .busy,
      message: """
        the turn to write to the file did not come within the busy timeout of \(interruption.busyTimeout.seconds) s: \
        other pools, of other processes mostly, write to it; the transaction was not begun
        """,
      label: label)
  }

  // MARK: Standing in line

  /// Waits for the turn, on a thread that nobody waits for.
  private func standInLine(_ file: GateFile) {
    var answer = file.waitToLock(.door)
    let goesOn = state.withLock { state in
      state.place = answer == .got && state.isWanted ? .turn : .nowhere
      // The turn may have been taken meanwhile, and is given back by way of the file.
      if answer == .impossible, !state.hasTurn { state.file = nil }
      return state.place == .turn
    }
    if goesOn { answer = file.waitToLock(.turn) }
    if goesOn || answer == .got { file.unlock(.door) }
    state.withLock { state in
      if goesOn { arrive(&state, file, answer) }
      forgetWhatIsStuck(&state)
    }
    bell.signal()
  }

  private func arrive(_ state: inout State, _ file: GateFile, _ answer: GateFile.Answer) {
    state.place = .nowhere
    switch answer {
    case .got where state.isWanted:
      (state.hasTurn, state.turnEnd) = (true, .now + FileGate.turnLength)
    // Whoever sent it waits no more.
    case .got: file.unlock(.turn)
    case .taken, .impossible: state.file = nil
    }
    state.isWanted = false
  }

  // MARK: The file

  /// Sees to it that the file is the one that others find; opens it where it is not.
  private func look(_ state: inout State, at now: ContinuousClock.Instant, again: Bool = false) {
    guard state.place == .nowhere, !state.hasTurn else { return }
    if !again, let looked = state.looked, now - looked < FileGate.lookInterval { return }
    state.looked = now
    guard state.file.map({ !$0.isInPlace }) ?? true else { return }
    state.file = GateFile(besideFileAt: path)
    state.turnEnd = nil
  }
}
