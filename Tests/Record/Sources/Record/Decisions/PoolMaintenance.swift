import Dispatch
import SqlableCore
import SqlablePool

/// Callers that use a simulated pool as a whole: close barriers, checkpoints, idle handles, and the pool's end.
extension PoolDecisions {
  /// Closes the files, or blocks the pool.
  func closeFiles() {
    let thread: UInt = 3_000
    let isBlock = simulation.random.chance(50)
    let barrier = SqlitePool.FileCloseBarrier(
      callSite: CallSite(file: #fileID, line: #line), isBlock: isBlock, by: thread)
    let end = simulation.now.advanced(by: .milliseconds(simulation.random.pick([0, 20, 1_000])))
    guard let isDrained = try? state.begin(barrier, nil) else { return }
    hasBarrier = true
    func finish() {
      isExclusive = false
      hasBarrier = false
      let started = state.endCloseBarrier(configuration)
      for (handle, call) in started { handOn(handle, to: call) }
    }
    func haveFiles() {
      if !users.isEmpty { simulation.report("the files are closed while a call runs") }
      isExclusive = true
      simulation.after(.milliseconds(simulation.random.pick([0, 1, 20])), "opens the files", 0, finish)
    }
    guard !isDrained else { return haveFiles() }
    simulation.wait(barrier.drained, until: end, "has drained", 0) { [self] isInTime in
      if !isInTime, state.areAllIdle, barrier.drained.wait(timeout: Simulation.past) == .timedOut {
        simulation.report("no call runs, and the close barrier waits")
      }
      if isInTime { haveFiles() } else { finish() }
    }
  }

  func holdReadsBack() {
    let end = DispatchSemaphore(value: 0)
    guard let isReading = state.holdReadsBack(end) else { return }
    (isHeldBack, isReadingHeldBack) = (true, true)
    func body(_ isReading: Bool) {
      isReadingHeldBack = isReading
      if !isReading, state.readers.contains(where: { users[ObjectIdentifier($0), default: -1] >= 0 }) {
        simulation.report("a call reads although reads are held back")
      }
      simulation.after(.milliseconds(simulation.random.pick([0, 1, 5])), "admits reads", 0) { [self] in
        isHeldBack = false
        for (handle, call) in state.admitReads(configuration) { handOn(handle, to: call) }
      }
    }
    guard isReading else { return body(false) }
    simulation.wait(end, until: simulation.now.advanced(by: .milliseconds(10)), "has no reads", 0) { [self] isInTime in
      let reads = state.readers.contains { $0.call != nil }
      if !isInTime, !reads, end.wait(timeout: Simulation.past) == .timedOut {
        simulation.report("no call reads, and the checkpoint waits")
      }
      body(!isInTime)
    }
  }

  func takeIdle() {
    guard let handles = try? state.takeIdle(nil) else { return }
    for handle in handles { use(handle, -1) }
    func giveBack(_ handles: ArraySlice<PooledHandle>) {
      guard let handle = handles.first else { return }
      simulation.step("gives back", 0) { [self] in
        stopUsing(handle)
        if let next = state.giveBack(handle) { handOn(handle, to: next) }
        giveBack(handles.dropFirst())
      }
    }
    giveBack(handles[...])
  }

  func close() {
    isClosing = true
    func drain(_ time: Duration, _ body: @escaping (Bool) -> Void) {
      let done = DispatchSemaphore(value: 0)
      if state.beginClosing(done) { return body(true) }
      simulation.wait(done, until: simulation.now.advanced(by: time), "has drained the pool", 0, body)
    }
    func finish() {
      if !users.isEmpty { simulation.report("the pool is closed while a call runs") }
      if state.finishClosing().isEmpty, !isClosed { simulation.report("the pool closes no handle") }
      isClosed = true
    }
    drain(.milliseconds(simulation.random.pick([0, 2, 100]))) { [self] isDrained in
      if isDrained { return finish() }
      for call in state.unended {
        guard let caller = caller(of: call) else { continue }
        simulation.step("is stopped", caller.id) { self.stop(caller, .closing) }
      }
      drain(.seconds(1)) { if $0 { finish() } }
    }
  }
}
