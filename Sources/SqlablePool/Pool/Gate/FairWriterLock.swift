import Dispatch
import SqlableCore

/// A fair lock that lets the pools of one file take turns at writing, so that no writer starves.
///
/// SQLite waits for a lock by sleeping and retrying. A process that writes continuously always finds the lock free, and
/// a sleeping process hardly ever finds the lock free. Writers therefore wait in the kernel for locks on two bytes of a
/// file, the queue and the turn:
///
/// - A writer locks the queue, then the turn, then unlocks the queue.
/// - So one writer at a time waits for the turn. The other writers wait for the queue in the order in which they
///   arrived.
/// - For two milliseconds after a pool got the turn, the pool can retake the turn without queueing. Afterwards, its
///   writer queues like the others.
///
/// The lock provides only fairness; SQLite's locks protect the data. If the file can't be opened or was deleted, pools
/// write without taking turns. A pool holds the turn until a commit has returned, and during the checkpoint of a
/// closing pool. So no two pools commit or checkpoint at the same time. SQLite before 3.51.3 can damage a file when a
/// checkpoint runs while another connection resets the WAL.
///
/// Only the thread that holds the pool's writer takes and releases the turn.
final class FairWriterLock: Sendable {
  /// The time during which a pool that has taken the turn can take it again without queueing. While the same pool
  /// writes, SQLite keeps its page cache and no thread must be woken. Eight processes together made 31,000 transactions
  /// a second with this time, and 9,000 without it.
  private static let turnLength = Duration.milliseconds(2)
  /// The interval at which a waiting thread checks for an interruption.
  private static let slice = DispatchTimeInterval.milliseconds(10)
  /// The queueing time after which a writer takes a free turn out of order, because the next process in the queue might
  /// be suspended.
  private static let patience = Duration.milliseconds(100)
  /// The interval between two checks that the file is still at its path.
  private static let checkInterval = Duration.seconds(1)

  private let path: String
  private let label: String?
  private let state = LockedValue(State())
  /// Signalled when the wait for the turn has ended, with or without the turn.
  private let answerSignal = DispatchSemaphore(value: 0)
  /// The thread that waits for the file locks. The writer's thread must not wait for them, because an interruption
  /// could not end this wait.
  private let queueThread = WorkerThread()
  private let generation = ForkGuard.generation

  private struct State {
    var file: GateFile?
    var lastChecked: ContinuousClock.Instant?
    var hasTurn = false
    /// True if the file contains this pool's record.
    var isPublished = false
    /// The time until which this pool can take the turn again without queueing.
    var turnEnd: ContinuousClock.Instant?
    /// The position of `queueThread`. If a writer stops waiting, `queueThread` stays in the queue for the next writer.
    var position = QueuePosition.notQueued
    var isWanted = false
    /// The value of ``GateFile/lastWait`` when `beginLookingForHandles` was called.
    var lastWait: Int64?
  }

  private enum QueuePosition {
    case notQueued, queue, turn
  }

  private enum Admission {
    /// The pool holds the turn, or there is no lock file.
    case open
    case waits
  }

  /// Creates the lock for a database. `path` is the path that SQLite has resolved. The first write opens the lock file.
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
      SharedThreads.whileBlocked { _ = answerSignal.wait(timeout: .now() + FairWriterLock.slice) }
      let waited = begin.duration(to: .now)
      if try state.withLock({ try isWaitOver(&$0, waited, interruption) }) {
        interruption.spent = waited
        return
      }
    }
  }

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

  /// Writes the record of this pool's long write into the lock file, for other processes to read. Does nothing if the
  /// pool does not hold the turn.
  func publish(_ record: GateRecord) {
    guard !isForked else { return }
    state.withLock { state in
      guard state.hasTurn, let file = state.file else { return }
      file.write(record.bytes)
      state.isPublished = true
    }
  }

  /// Closes the lock file if one of its locks could not be released. Closing releases all locks of the file.
  private func forgetStuck(_ state: inout State) {
    if !state.hasTurn, state.file?.isStuck == true { state.file = nil }
  }

  /// True if this pool's turn is over its time limit and another pool waits.
  var isTurnOver: Bool { mustYield { file, _ in file.isLockedByOthers(.queue) } }

  /// Makes ``isHandleWaiting`` report only handles that start to wait after this call.
  func beginLookingForHandles() {
    guard !isForked else { return }
    state.withLock { $0.lastWait = $0.file?.lastWait }
  }

  /// True if this pool's turn has exceeded its time limit and a handle has begun to wait for SQLite's lock.
  var isHandleWaiting: Bool { mustYield { file, lastWait in file.lastWait != lastWait } }

  /// True if this pool has the turn and thereby delays others: a pool that waits for the turn, or a handle that
  /// recently waited for SQLite's lock.
  var delaysOthers: Bool {
    guard !isForked else { return false }
    return state.withLock { state in
      guard state.hasTurn, let file = state.file else { return false }
      return file.isLockedByOthers(.queue) || file.hasRecentWait
    }
  }

  private func mustYield(_ isAwaited: (GateFile, _ lastWait: Int64?) -> Bool) -> Bool {
    guard !isForked else { return false }
    let now = ContinuousClock.now
    return state.withLock { state in
      guard state.hasTurn, state.turnEnd.map({ $0 <= now }) ?? true else { return false }
      return state.file.map { isAwaited($0, state.lastWait) } ?? false
    }
  }

  /// Check this flag before taking the lock: a thread that exists only in the parent process might hold the lock.
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
      // The file was replaced, and other pools queue at the new file.
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

  /// Takes the turn if no other pool has it. From `turnEnd` on, succeeds only if no other pool waits for the turn
  /// either.
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

  /// True if the wait is over: this pool has the turn, or the file can't be locked.
  private func isWaitOver(_ state: inout State, _ waited: Duration, _ interruption: Interruption) throws -> Bool {
    if state.hasTurn { return true }
    let isLate = waited >= interruption.busyTimeout
    if state.position == .notQueued { return true }
    if state.position == .queue, isLate || waited > FairWriterLock.patience, !interruption.isRequested,
      state.file?.tryLock(.turn) == .got
    {
      // A pool that took the turn out of order keeps it for one write only, because the next pool has also waited long.
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

  /// Waits for the turn on the queueing thread.
  private func waitInQueue(_ file: GateFile) {
    var answer = file.waitToLock(.queue)
    let waitsForTurn = state.withLock { state in
      state.position = answer == .got && state.isWanted ? .turn : .notQueued
      // If the writer has taken the turn meanwhile, keep the file, because the file is needed to release the turn.
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
    // The writer no longer waits for the turn, so release the turn at once.
    case .got: file.unlock(.turn)
    case .taken, .impossible: state.file = nil
    }
    state.isWanted = false
  }

  // MARK: The file

  /// Ensures that the open lock file is still at its path, because other pools lock the file at the path. If another
  /// file is there, opens the other file.
  private func findFile(_ state: inout State, at now: ContinuousClock.Instant, again: Bool = false) {
    guard state.position == .notQueued, !state.hasTurn else { return }
    if !again, let lastChecked = state.lastChecked, now - lastChecked < FairWriterLock.checkInterval { return }
    state.lastChecked = now
    guard state.file.map({ !$0.isInPlace }) ?? true else { return }
    state.file = GateFile(besideFileAt: path)
    state.turnEnd = nil
  }
}
