import SqlableChanges

/// Loops of several processes that own a consumer in turn. Each step is a writing transaction or a read of one row.
///
/// Some loops are killed and some are suspended. The model knows when the lease was claimed, and who acquired it last.
final class LeaseDecisions {
  private final class Loop {
    let name: String
    let length: Int
    /// The number of batches until the loop ends.
    var batchesLeft: Int
    var isKilled = false
    var isDone = false
    /// True while the loop pauses before its next attempt.
    var isWaiting = false
    /// The claim that the loop stored before its pause; nil if the pause was ended early.
    var unanswered: Int?
    /// The number of the current pause, so that the alarm of an earlier one does nothing.
    var pause = 0
    var hasKeeper = false
    var isNotified = false
    var isKeeperNotified = false

    init(name: String, length: Int, batches: Int) { (self.name, self.length, batchesLeft) = (name, length, batches) }
  }

  private let simulation: Simulation
  private let flaw: String?
  private var loops: [Loop] = []
  private var row = ConsumerOwnership()
  private var position = 0
  // The model:
  private var owner: Int?
  private var claim: (begin: Int, length: Int)?

  init(_ simulation: Simulation, size: Int, flaw: String?) {
    (self.simulation, self.flaw) = (simulation, flaw)
    for index in 0..<size {
      let length = simulation.random.pick([100, 100, 500, 10_000])
      let batches = Int.random(in: 0...3, using: &simulation.random)
      loops.append(Loop(name: "loop \(index)", length: length, batches: batches))
    }
  }

  static func run(_ simulation: Simulation, size: Int, flaw: String?) {
    let model = LeaseDecisions(simulation, size: size, flaw: flaw)
    for index in model.loops.indices { simulation.step("starts", index) { model.acquire(index) } }
    simulation.run()
    guard simulation.findings.isEmpty else { return }
    for (index, loop) in model.loops.enumerated() where !loop.isDone && !loop.isKilled {
      simulation.report("loop \(index) waits for ever; the owner is \(model.row.owner ?? "nobody")")
    }
  }

  private func commit(_ change: () -> Void) {
    let before = row
    change()
    guard row != before else { return }
    if row.claimed == nil { claim = nil }
    // Each loop is notified of the commit, at some time.
    for (index, loop) in loops.enumerated() where !loop.isKilled && !loop.isDone {
      if loop.isWaiting, !loop.isNotified {
        loop.isNotified = true
        simulation.step("is notified", index) { self.isNotified(index) }
      }
      if loop.hasKeeper, !loop.isKeeperNotified {
        loop.isKeeperNotified = true
        simulation.step("keeper is notified", index) { self.keep(index) }
      }
    }
  }

  // MARK: The steps of a loop

  private func acquire(_ index: Int) {
    let loop = loops[index]
    guard !loop.isKilled else { return }
    let (now, before, claimBefore) = (simulation.milliseconds, row, claim)
    var attempt = ConsumerOwnership.Attempt.acquired
    commit { attempt = row.acquire(by: loop.name, at: now, length: loop.length, unanswered: loop.unanswered) }
    switch attempt {
    case .acquired:
      if let other = before.owner, other != loop.name {
        let end = claimBefore.map { $0.begin + $0.length }
        if end.map({ now < $0 }) ?? true { simulation.report("loop \(index) took a lease before the end of a claim") }
      }
      if row.claimed != nil { simulation.report("loop \(index) acquired a lease with a claim of another loop") }
      (owner, claim, loop.unanswered) = (index, nil, nil)
      loop.hasKeeper = true
      simulation.step("reads", index) { self.read(index) }
    case .wait(let milliseconds, let stored):
      loop.unanswered = stored
      if stored != nil { claim = (now, loop.length) }
      if row.claimed == nil { simulation.report("loop \(index) waits without a claim") }
      if let claim, claim.begin + claim.length < now + milliseconds {
        simulation.report("loop \(index) waits beyond the end of the lease")
      }
      loop.isWaiting = true
      loop.pause += 1
      let pause = loop.pause
      simulation.after(.milliseconds(milliseconds), "has waited", index) {
        if loop.isWaiting, loop.pause == pause { self.endWait(index) }
      }
    }
  }

  private func isNotified(_ index: Int) {
    loops[index].isNotified = false
    guard loops[index].isWaiting, row.owner == nil else { return }
    loops[index].unanswered = nil
    endWait(index)
  }

  private func endWait(_ index: Int) {
    loops[index].isWaiting = false
    simulation.step("acquires", index) { self.acquire(index) }
  }

  private func read(_ index: Int) {
    let loop = loops[index]
    guard row.isOwned(by: loop.name) else { return simulation.step("acquires", index) { self.acquire(index) } }
    let start = position
    if loop.batchesLeft == 0 { return end(index) }
    loop.batchesLeft -= 1
    let isSuspended = simulation.random.chance(10)
    let time = Duration.milliseconds(simulation.random.pick(isSuspended ? [1_000, 20_000] : [0, 1, 90]))
    simulation.after(time, "acknowledges", index) { self.acknowledge(index, start) }
  }

  private func acknowledge(_ index: Int, _ start: Int) {
    let loop = loops[index]
    guard flaw == "storesWithoutLease" || row.isOwned(by: loop.name) && position == start else {
      // The loop throws, and its caller begins another one.
      return simulation.step("acquires", index) { self.acquire(index) }
    }
    if owner != index { simulation.report("loop \(index) stored a position, but the owner is \(owner ?? -1)") }
    position += 1
    simulation.step("reads", index) { self.read(index) }
  }

  private func end(_ index: Int) {
    if simulation.random.chance(30) {
      simulation.note("loop \(index) is killed")
      loops[index].isKilled = true
      return
    }
    loops[index].isDone = true
    loops[index].hasKeeper = false
    simulation.step("releases", index) { [self] in
      commit { row.release(by: loops[index].name) }
      if owner == index {
        owner = nil
        if row.owner != nil { simulation.report("loop \(index) has ended, and is still the owner") }
      } else if let owner, !row.isOwned(by: loops[owner].name) {
        simulation.report("loop \(index) released the lease of loop \(owner)")
      }
    }
  }

  // MARK: The keeper of a loop

  private func keep(_ index: Int) {
    let loop = loops[index]
    loop.isKeeperNotified = false
    guard loop.hasKeeper, !loop.isKilled, row.mustAnswer(loop.name) else { return }
    simulation.step("answers", index) { [self] in
      let isClaimed = claim != nil
      guard !loop.isKilled else { return }
      commit { row.answer(by: loop.name) }
      if owner == index, row.claimed != nil { simulation.report("loop \(index) has answered, and the claim stays") }
      if owner != index, isClaimed, row.claimed == nil {
        simulation.report("loop \(index) answered a claim on the lease of another loop")
      }
    }
  }
}
