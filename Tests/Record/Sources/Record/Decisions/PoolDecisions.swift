import Dispatch
import SqlableCore
import SqlablePool

/// Calls on a pool from threads and tasks, with checks for timeouts, close barriers, checkpoints and the pool's end.
///
/// The handles are never opened. `@unchecked Sendable` is sound: a history has one thread.
final class PoolDecisions: @unchecked Sendable {
  let simulation: Simulation
  let flaw: String?
  let configuration: PoolConfiguration
  var state: SqlitePool.State
  var callers: [Caller] = []
  /// The threads of all handles; nil if each handle has a thread of its own.
  private let sharedThreads: SimulatedQueue?
  private var threads: [ObjectIdentifier: SimulatedQueue] = [:]
  private let clock: SimulatedQueue
  private var arrivals = 0
  // The model:
  /// The users of the handles.
  var users: [ObjectIdentifier: Int] = [:]
  var hasBarrier = false
  var isExclusive = false
  var (isClosing, isClosed) = (false, false)
  var isHeldBack = false
  /// True if calls still read although reads are held back.
  var isReadingHeldBack = false

  private init(_ simulation: Simulation, flaw: String?) {
    (self.simulation, self.flaw) = (simulation, flaw)
    configuration = PoolConfiguration(
      readers: simulation.random.pick([1, 2]), maximumWaiting: simulation.random.pick([3, 100]),
      maximumGroup: simulation.random.pick([1, 2, 8]))
    state = SqlitePool.State(configuration, nil)
    let isShared = simulation.random.chance(50)
    sharedThreads = isShared ? SimulatedQueue(simulation, "shared thread", threads: [1_000, 1_001]) : nil
    clock = SimulatedQueue(simulation, "clock", threads: [2_000])
  }

  static func run(_ simulation: Simulation, size: Int, flaw: String?) {
    let pool = PoolDecisions(simulation, flaw: flaw)
    for _ in 0..<size { pool.begin() }
    if simulation.random.chance(15) { pool.after("closes the files", pool.closeFiles) }
    if simulation.random.chance(15) { pool.after("holds reads back", pool.holdReadsBack) }
    if simulation.random.chance(15) { pool.after("takes idle handles", pool.takeIdle) }
    if simulation.random.chance(15) { pool.after("closes the pool", pool.close) }
    simulation.whenIdle = { pool.checkWaits() }
    simulation.run()
    if simulation.findings.isEmpty { pool.checkEnd() }
  }

  private func after(_ name: StaticString, _ body: @escaping () -> Void) {
    simulation.after(.milliseconds(simulation.random.pick([0, 1, 5])), name, 0, body)
  }

  // MARK: Promises

  private func checkWaits() {
    for caller in callers where caller.answers == 0 {
      switch caller.call.state {
      case .waiting, .granted:
        if caller.isAsync, caller.call.kind != .detection, caller.call.waitEnd.map({ $0 <= simulation.now }) ?? false {
          simulation.report("call \(caller.id) did not time out")
        }
      case .running:
        if caller.call.deadline.map({ $0 <= simulation.now }) ?? false, caller.call.stopped == nil {
          simulation.report("call \(caller.id) was not stopped at its deadline")
        }
      case .created, .ending: break
      }
    }
    guard !hasBarrier else { return }
    if state.waitingWrites.count > 0, state.writerIsIdle { simulation.report("the writer is idle, and a call waits") }
    let hasReader = state.readers.count < configuration.readers || !state.idleReaders.isEmpty
    if !isHeldBack, state.waitingReads.count > 0, hasReader {
      simulation.report("a reader is idle, and a call waits")
    }
  }

  private func checkEnd() {
    for caller in callers where caller.answers != 1 {
      simulation.report("call \(caller.id) has \(caller.answers) answers")
    }
    if state.calls != 0 { simulation.report("\(state.calls) calls have not ended") }
    if !state.areAllIdle, !isClosed { simulation.report("a handle is not idle") }
    if !users.isEmpty { simulation.report("a handle is in use") }
  }

  /// Notes that a call, or another user, begins to use a handle.
  func use(_ handle: PooledHandle, _ user: Int) {
    let key = ObjectIdentifier(handle)
    if let other = users[key] { simulation.report("\(user) got the handle that \(other) uses") }
    if isExclusive { simulation.report("\(user) got a handle while the files are closed") }
    if isClosed { simulation.report("\(user) got a handle of the closed pool") }
    // A user without a call frees memory, and does not read.
    if isHeldBack, !isReadingHeldBack, !handle.isWriter, user >= 0 {
      simulation.report("\(user) got a reader while reads are held back")
    }
    users[key] = user
  }

  func stopUsing(_ handle: PooledHandle) { users[ObjectIdentifier(handle)] = nil }

  /// Checks a call that begins to run.
  func checkBegin(_ caller: Caller) {
    if caller.answers > 0 { simulation.report("call \(caller.id) runs after its end") }
    let isRead = caller.call.kind == .read
    for other in callers where other.call.isWaiting && (other.call.kind == .read) == isRead {
      if let first = other.arrival, caller.arrival.map({ first < $0 }) ?? false {
        simulation.report("call \(caller.id) runs before call \(other.id), which has waited for longer")
      }
    }
  }

  func answer(_ caller: Caller, _ outcome: Result<Void, any Error>) {
    caller.answers += 1
    simulation.note("call \(caller.id) ends: \(outcome)")
    if caller.answers > 1 { simulation.report("call \(caller.id) is answered twice") }
    let isWrite = caller.call.kind == .write
    switch outcome {
    case .success:
      if isWrite, caller.stored != (caller.wasRolledBack ? 0 : 1) {
        simulation.report("call \(caller.id) has succeeded, and is stored \(caller.stored) times")
      }
    case .failure(let error):
      let isUnknown = (error as? SqlError)?.transaction == .unknown
      if isWrite, caller.stored > (isUnknown ? 1 : 0) {
        simulation.report("call \(caller.id) has failed, and is stored \(caller.stored) times")
      }
      if error is CancellationError, !caller.isCancelled {
        simulation.report("call \(caller.id) is cancelled by nobody")
      }
      guard let error = error as? SqlError else { return }
      if error.kind == .timeout, caller.call.waitEnd.map({ $0 > simulation.now }) ?? true {
        simulation.report("call \(caller.id) timed out early")
      }
      let isDeadline = error.message.hasPrefix("the deadline passed")
      if isDeadline, caller.call.deadline.map({ $0 > simulation.now }) ?? true {
        simulation.report("call \(caller.id) was stopped before its deadline")
      }
      if error.kind == .closed, !isClosing { simulation.report("call \(caller.id) finds the pool closed") }
    }
  }

  // MARK: Callers

  private func begin() {
    let id = callers.count + expected
    let kind = simulation.random.pick(
      [PoolCall.Kind.read, .read, .write, .write, .write, .outsideTransaction, .detection])
    let isAsync = kind == .detection || simulation.random.chance(50)
    let time = Duration.milliseconds(simulation.random.pick([0, 0, 0, 1, 5]))
    simulation.after(time, "calls", id) { [self] in
      let caller = make(id, kind, isAsync: isAsync)
      if isAsync, kind != .detection, simulation.random.chance(25) {
        simulation.after(.milliseconds(simulation.random.pick([0, 0, 1, 5])), "is cancelled", id) {
          caller.isCancelled = true
          self.stop(caller, .cancelled)
        }
      }
      simulation.step("enters", id) { self.enter(caller) }
    }
    expected += 1
  }

  /// The number of calls that have not begun.
  private var expected = 0

  private func make(_ id: Int, _ kind: PoolCall.Kind, isAsync: Bool) -> Caller {
    var configuration = configuration
    configuration.waitTimeout = simulation.random.pick([nil, .milliseconds(2), .milliseconds(10)])
    configuration.deadline = simulation.random.pick([nil, nil, .milliseconds(3), .milliseconds(20)])
    if kind == .detection { (configuration.waitTimeout, configuration.deadline) = (nil, nil) }
    @Sendable func resume(_ outcome: Result<Void, any Error>) {
      if let caller = callers.first(where: { $0.id == id }) { answer(caller, outcome) }
    }
    let call = PoolCall(
      kind, configuration, CallSite(file: #fileID, line: #line), at: simulation.now,
      resume: isAsync ? resume : nil
    ) { _ in .commit }
    let caller = Caller(id: id, call, isAsync: isAsync, thread: freeThread ?? UInt(id + 1))
    callers.append(caller)
    expected -= 1
    return caller
  }

  /// A thread whose calls have ended; nil at random, or if there is none.
  private var freeThread: UInt? {
    let busy = Set(callers.filter { $0.answers == 0 }.map(\.thread))
    return simulation.random.chance(50) ? callers.map(\.thread).first { !busy.contains($0) } : nil
  }

  func caller(of call: PoolCall) -> Caller? { callers.first { $0.call === call } }

  private func enter(_ caller: Caller) {
    let call = caller.call
    // A task that was cancelled before.
    if caller.isAsync, caller.isCancelled, simulation.random.chance(50) {
      return answer(caller, .failure(CancellationError()))
    }
    do {
      switch try state.enter(call, configuration, by: caller.isAsync ? nil : caller.thread, on: caller.thread) {
      case .nested: simulation.report("call \(caller.id) is inside no other")
      case .granted(let handle):
        let waiting = call.kind == .read ? state.waitingReads.count : state.waitingWrites.count
        if waiting > 0 { simulation.report("call \(caller.id) got a handle before the calls that wait") }
        if caller.isAsync {
          handOn(handle, to: call)
          if sharedThreads != nil { inspect(caller) }
        } else {
          inspect(caller)
          runHere(caller, handle)
        }
      case .waits:
        caller.arrival = arrivals
        arrivals += 1
        if caller.isAsync { inspect(caller) } else { wait(caller) }
      }
    } catch { answer(caller, .failure(error)) }
  }

  private func wait(_ caller: Caller) {
    guard let alarm = caller.call.alarm else { return simulation.report("call \(caller.id) has no alarm") }
    simulation.wait(alarm, until: caller.call.waitEnd, "wakes up", caller.id) { [self] isInTime in
      guard !isInTime else { return wakeUp(caller) }
      if let refusal = state.refuse(caller.call) {
        passOn(refusal)
        return answer(caller, .failure(SqlError(.timeout, message: "")))
      }
      simulation.wait(alarm, until: nil, "wakes up", caller.id) { _ in self.wakeUp(caller) }
    }
  }

  private func wakeUp(_ caller: Caller) {
    if let outcome = caller.call.outcome { return answer(caller, outcome) }
    guard case .running(let handle) = caller.call.state else {
      return simulation.report("call \(caller.id) was woken for nothing")
    }
    simulation.step("begins", caller.id) { [self] in
      state.begin(handle, by: caller.thread)
      inspect(caller)
      runHere(caller, handle)
    }
  }

  private func runHere(_ caller: Caller, _ handle: PooledHandle) {
    run(caller, handle, on: caller.thread) { [self] outcome, next in
      if let next { handOn(handle, to: next) }
      answer(caller, outcome)
    }
  }

  // MARK: Threads of the pool

  func handOn(_ handle: PooledHandle, to call: PoolCall) {
    simulation.step("hands on", caller(of: call)?.id ?? -1) { [self] in
      if flaw == "forgetsAWakeUp", simulation.random.chance(5) { return }
      if call.callerRuns(on: handle) {
        call.alarm?.signal()
      } else {
        thread(of: handle).async { thread, done in self.work(call, handle, thread, done) }
      }
    }
  }

  private func thread(of handle: PooledHandle) -> SimulatedQueue {
    if let sharedThreads { return sharedThreads }
    let key = ObjectIdentifier(handle)
    if let known = threads[key] { return known }
    let queue = SimulatedQueue(simulation, "handle's thread", threads: [UInt(1_000 + threads.count)])
    threads[key] = queue
    return queue
  }

  private func work(_ call: PoolCall, _ handle: PooledHandle, _ thread: UInt, _ done: @escaping () -> Void) {
    if call.callerRuns(on: handle) {
      call.alarm?.signal()
      return done()
    }
    guard state.begin(call, by: thread) else { return done() }
    guard let caller = caller(of: call) else { return simulation.report("an unknown call runs") }
    inspect(caller)
    run(caller, handle, on: thread) { [self] outcome, next in
      simulation.step("ends", caller.id) { [self] in
        end(caller, outcome)
        guard let next else { return done() }
        if sharedThreads != nil {
          handOn(handle, to: next)
          return done()
        }
        simulation.step("goes on", self.caller(of: next)?.id ?? -1) { self.work(next, handle, thread, done) }
      }
    }
  }

  /// Ends a call for a caller that waits; a synchronous caller then answers itself.
  func end(_ caller: Caller, _ outcome: Result<Void, any Error>) { caller.call.end(outcome) }

  private func run(
    _ caller: Caller, _ handle: PooledHandle, on thread: UInt,
    _ body: @escaping (Result<Void, any Error>, PoolCall?) -> Void
  ) {
    use(handle, caller.id)
    checkBegin(caller)
    guard caller.call.kind == .read else { return write(caller, handle, on: thread, body) }
    simulation.step("reads", caller.id) { [self] in
      tryNested(caller, handle, thread)
      work(caller, handle) { [self] result in
        let outcome = result.map { _ in }.mapError { caller.call.error($0, label: nil) }
        simulation.step("ends its read", caller.id) { [self] in
          stopUsing(handle)
          let next = state.endRead(caller.call, handle)
          body(outcome, next)
        }
      }
    }
  }

  /// A call that is made inside another one uses its handle.
  private func tryNested(_ caller: Caller, _ handle: PooledHandle, _ thread: UInt) {
    guard simulation.random.chance(10) else { return }
    let call = PoolCall(.read, configuration, CallSite(file: #fileID, line: #line), at: simulation.now) { _ in .commit }
    guard case .nested(let own)? = try? state.enter(call, configuration, by: thread, on: thread), own === handle else {
      return simulation.report("a call inside call \(caller.id) does not use its handle")
    }
  }

  /// Runs the statements of a call. A stopped call throws at its next statement.
  func work(
    _ caller: Caller, _ handle: PooledHandle, _ body: @escaping (Result<TransactionResult, any Error>) -> Void
  ) {
    let interruption = handle.interruption
    let pauses = (0..<simulation.random.pick([0, 0, 1, 2])).map { _ in simulation.random.pick([0, 0, 1, 5]) }
    func statement(_ index: Int) {
      if interruption.isRequested {
        return body(.failure(SqlError(.interrupted, message: "", transaction: .untouched)))
      }
      if index < pauses.count {
        return simulation.after(.milliseconds(pauses[index]), "runs a statement", caller.id) { statement(index + 1) }
      }
      if simulation.random.chance(10) {
        return body(.failure(SqlError(.constraint(.check), message: "", transaction: .untouched)))
      }
      body(.success(simulation.random.chance(5) ? .rollback : .commit))
    }
    statement(0)
  }

  // MARK: Stopping

  func stop(_ caller: Caller, _ reason: PoolCall.Reason) {
    guard let refusal = state.stop(caller.call, reason, now: simulation.now) else { return }
    passOn(refusal)
    simulation.step("ends its wait", caller.id) { [self] in
      switch reason {
      case .cancelled: end(caller, .failure(CancellationError()))
      case .deadline, .tooOld: end(caller, .failure(SqlError(.timeout, message: "")))
      case .closing: end(caller, .failure(SqlError(.closed, message: "")))
      }
    }
  }

  private func passOn(_ refusal: SqlitePool.Refusal) {
    if let handle = refusal.handle, let next = refusal.next { handOn(handle, to: next) }
  }

  func inspect(_ caller: Caller) {
    simulation.step("schedules a check", caller.id) { [self] in
      if let next = state.scheduleCheck(of: caller.call) { check(at: next) }
    }
  }

  private func check(at time: ContinuousClock.Instant) {
    simulation.at(time, "is time for a check", 0) { [self] in
      clock.async { [self] _, done in
        let (late, next) = state.takeLate(simulation.now)
        for call in late {
          guard let caller = caller(of: call) else { continue }
          simulation.step("is stopped", caller.id) { self.stop(caller, .deadline) }
        }
        if let next { check(at: next) }
        done()
      }
    }
  }
}
