import Dispatch
import SqlableCore

/// Lets the writers of several pools on one file take turns, so that none of them starves.
///
/// SQLite waits by sleeping and retrying: a process that writes all the time always finds the lock free, and one that
/// sleeps hardly ever does. Here writers queue in the kernel for locks on two bytes of a file, the queue and the turn:
///
/// - a writer locks the queue, then the turn, then unlocks the queue;
/// - so one writer at a time waits for the turn, and the others wait in the queue, in the order in which they arrived;
/// - a writer that has had the turn joins the queue behind them, and can't take the turn from the next.
///
/// The gate provides fairness only: SQLite's locks guard the data. If the file can't be opened, or was deleted, writers
/// go on without it. The turn is held until a commit has returned, and for the checkpoint of a closing pool, so no two
/// pools do these at once: SQLite before 3.51.3 can damage a file when a checkpoint runs while another connection
/// restarts the WAL.
///
/// One thread at a time takes and releases the turn: the one that holds the pool's writer.
final class FairWriterLock: Sendable {
  /// The time for which a pool may retake the turn before it must queue. Without a change of writers SQLite keeps its
  /// page cache, and no thread must be woken. 8 processes together made 31,000 transactions a second with this time,
  /// and 9,000 without.
  private static let turnLength = Duration.milliseconds(2)
  /// The interval at which a waiting thread checks for an interruption.
  private static let slice = DispatchTimeInterval.milliseconds(10)
  /// After this time in the queue a writer takes a turn that is free: the process ahead of it may be suspended.
  private static let patience = Duration.milliseconds(100)
  /// The interval at which the file is checked, since another process may have deleted it.
  private static let checkInterval = Duration.seconds(1)

  private let path: String
  private let label: String?
  private let state = LockedValue(State())
  /// Signalled when the turn has come, or never will.
  private let answerSignal = DispatchSemaphore(value: 0)
  /// Waits for the file locks. Such a wait can't be interrupted, so the writer's thread must not do it.
  private let queueThread = WorkerThread()
  private let generation = ForkGuard.generation

  private struct State {
    var file: GateFile?
    /// When the file was last checked.
    var lastChecked: ContinuousClock.Instant?
    /// Whether this pool has the turn.
    var hasTurn = false
    /// Whether the file names this pool as the holder of the turn.
    var isPublished = false
    /// The time until which this pool may retake the turn without queueing.
    var turnEnd: ContinuousClock.Instant?
    /// The position of the queueing thread. When the writer stops waiting, the thread keeps its place for the next
    /// writer.
    var position = QueuePosition.notQueued
    /// Whether the writer waits for the turn.
    var isWanted = false
    /// The value of ``GateFile/lastWait`` when this pool began to look.
    var lastWait: Int64?
  }

  private enum QueuePosition {
    case notQueued, queue, turn
  }

  private enum Admission {
    /// The pool has the turn, or there is no file.
    case open
    case waits
  }

  /// The gate of the database at a path, as SQLite resolved it. No file is touched before the first write.
  init(besideFileAt path: String, label: String?) {
    self.path = path
    self.label = label
  }

  // MARK: Taking turns

  /// Waits for the turn. Throws `.interrupted` when an interruption is requested, and `.busy` after the busy timeout.
  func take(_ interruption: Interruption) throws {
    interruption.spent = .zero
    let begin = ContinuousClock.now
    let mayWait = interruption.busyTimeout > .zero
    guard case .waits = state.withLock({ enter(&$0, at: begin, mayWait: mayWait) }) else { return }
    guard mayWait else { throw waitedTooLong(interruption) }
    while true {
      _ = answerSignal.wait(timeout: .now() + FairWriterLock.slice)
      let waited = begin.duration(to: .now)
      if try state.withLock({ try isWaitOver(&$0, waited, interruption) }) {
        interruption.spent = waited
        return
      }
    }
  }

  /// Releases the turn, if this pool has it.
  func giveBack() {
    guard !isForked else { return }
    state.withLock { state in
      guard state.hasTurn else { return }
      state.hasTurn = false
      if state.isPublished { state.file?.write([]) }
      state.isPublished = false
      state.file?.unlock(.turn)
      forgetStuck(&state)
    }
  }

  /// Writes into the file who has the turn, for other processes to read, if this pool has it.
  func publish(_ record: GateRecord) {
    guard !isForked else { return }
    state.withLock { state in
      guard state.hasTurn, let file = state.file else { return }
      file.write(record.bytes)
      state.isPublished = true
    }
  }

  /// Closes a file with a lock that could not be released: that releases all of its locks.
  private func forgetStuck(_ state: inout State) {
    if !state.hasTurn, state.file?.isStuck == true { state.file = nil }
  }

  /// Whether this pool's turn has lasted its time, and another pool waits.
  var isTurnOver: Bool { mustYield { file, _ in file.isLockedByOthers(.queue) } }

  /// Makes ``isHandleWaiting`` see the handles that wait from here on.
  func beginLookingForHandles() {
    guard !isForked else { return }
    state.withLock { $0.lastWait = $0.file?.lastWait }
  }

  /// Whether this pool's turn has lasted its time, and a handle waits for SQLite's lock.
  var isHandleWaiting: Bool { mustYield { file, lastWait in file.lastWait != lastWait } }

  private func mustYield(_ isAwaited: (GateFile, _ lastWait: Int64?) -> Bool) -> Bool {
    guard !isForked else { return false }
    let now = ContinuousClock.now
    return state.withLock { state in
      guard state.hasTurn, state.turnEnd.map({ $0 <= now }) ?? true else { return false }
      return state.file.map { isAwaited($0, state.lastWait) } ?? false
    }
  }

  /// Checked before the lock is taken, which a thread that a forked process lacks may hold.
  private var isForked: Bool { ForkGuard.generation != generation }

  private func enter(_ state: inout State, at now: ContinuousClock.Instant, mayWait: Bool) -> Admission {
    findFile(&state, at: now)
    guard let file = state.file else { return .open }
    guard state.position == .notQueued else {
      state.isWanted = true
      return .waits
    }
    var answer = take(file, &state, at: now)
    if answer == .taken, !file.isInPlace {
      // The file was replaced: others queue at the new one.
      findFile(&state, at: now, again: true)
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
      (state.position, state.isWanted) = (.queue, true)
      queueThread.async { [self] in waitInQueue(file) }
    }
    return .waits
  }

  /// Takes the turn if it is free and, after `turnEnd`, no other pool waits for it.
  private func take(_ file: GateFile, _ state: inout State, at now: ContinuousClock.Instant) -> GateFile.Answer {
    if let end = state.turnEnd, now < end, file.tryLock(.turn) == .got {
      state.hasTurn = true
      return .got
    }
    let answer = file.tryLock(.queueAndTurn)
    if answer == .got {
      file.unlock(.queue)
      state.hasTurn = true
      state.turnEnd = now + FairWriterLock.turnLength
    }
    return answer
  }

  /// Whether the wait is over: the turn has come, or the file can't be locked.
  private func isWaitOver(_ state: inout State, _ waited: Duration, _ interruption: Interruption) throws -> Bool {
    if state.hasTurn { return true }
    let isLate = waited >= interruption.busyTimeout
    if state.position == .notQueued { return true }
    if state.position == .queue, isLate || waited > FairWriterLock.patience, !interruption.isRequested,
      state.file?.tryLock(.turn) == .got
    {
      // Only once, then in the queue again: the pool that is next for the turn has waited long, too.
      (state.hasTurn, state.isWanted, state.turnEnd) = (true, false, nil)
      return true
    }
    guard interruption.isRequested || isLate else { return false }
    state.isWanted = false
    guard !interruption.isRequested else {
      throw SqlError(.interrupted, message: "the call was interrupted while it waited to write", label: label)
    }
    throw waitedTooLong(interruption)
  }

  private func waitedTooLong(_ interruption: Interruption) -> SqlError {
    let holder = WriteLockHolder(ofFileAt: path).map { "; \($0)" } ?? ""
    return SqlError(
      .busy,
      message: """
        the write waited longer than the busy timeout of \(interruption.busyTimeout.seconds) s: other pools or \
        processes are writing to the file; the transaction did not begin\(holder)
        """,
      label: label)
  }

  // MARK: Queueing

  /// Waits for the turn, on a separate thread.
  private func waitInQueue(_ file: GateFile) {
    var answer = file.waitToLock(.queue)
    let waitsForTurn = state.withLock { state in
      state.position = answer == .got && state.isWanted ? .turn : .notQueued
      // If the writer has taken the turn meanwhile, the file is needed to release it.
      if answer == .impossible, !state.hasTurn { state.file = nil }
      return state.position == .turn
    }
    if waitsForTurn { answer = file.waitToLock(.turn) }
    if waitsForTurn || answer == .got { file.unlock(.queue) }
    state.withLock { state in
      if waitsForTurn { arrive(&state, file, answer) }
      forgetStuck(&state)
    }
    answerSignal.signal()
  }

  private func arrive(_ state: inout State, _ file: GateFile, _ answer: GateFile.Answer) {
    state.position = .notQueued
    switch answer {
    case .got where state.isWanted:
      (state.hasTurn, state.turnEnd) = (true, .now + FairWriterLock.turnLength)
    // The writer no longer waits.
    case .got: file.unlock(.turn)
    case .taken, .impossible: state.file = nil
    }
    state.isWanted = false
  }

  // MARK: The file

  /// Ensures that the file is the one at the path, which others lock; opens that if not.
  private func findFile(_ state: inout State, at now: ContinuousClock.Instant, again: Bool = false) {
    guard state.position == .notQueued, !state.hasTurn else { return }
    if !again, let lastChecked = state.lastChecked, now - lastChecked < FairWriterLock.checkInterval { return }
    state.lastChecked = now
    guard state.file.map({ !$0.isInPlace }) ?? true else { return }
    state.file = GateFile(besideFileAt: path)
    state.turnEnd = nil
  }
}
