import Dispatch

/// A seeded scheduler: simulated threads, queues, semaphores and timers, whose steps run one at a time.
///
/// A step stands for one critical section of the library, and runs the library's state machine. The order of the steps
/// and the time at which each runs follow from the seed, so one seed gives one history.
final class Simulation {
  private struct Step {
    let name: StaticString
    let id: Int
    let body: () -> Void
  }

  private struct Alarm {
    let time: ContinuousClock.Instant
    let step: Step
  }

  /// A thread that waits for a semaphore of the library.
  private struct Sleeper {
    let semaphore: DispatchSemaphore
    let end: ContinuousClock.Instant?
    let name: StaticString
    let id: Int
    let body: (_ isInTime: Bool) -> Void
  }

  /// The order in which ready steps run.
  private enum Order: CaseIterable {
    case random, mostlyNewestFirst, mostlyOldestFirst
  }

  /// A number of steps that no history reaches unless two threads wake each other for ever.
  private static let maximumSteps = 20_000
  /// All histories begin at one time.
  private static let begin = ContinuousClock.now
  static let past = DispatchTime(uptimeNanoseconds: 1)

  var random: SeededGenerator
  private(set) var now = Simulation.begin
  /// The time for which threads could have run, and did not.
  private var delay = Duration.zero
  /// The broken promises.
  private(set) var findings: [String] = []
  /// The steps in the order in which they ran; empty unless the history is recorded.
  private(set) var history: [String] = []
  /// Checks the promises that hold when all threads wait, before the time goes on.
  var whenIdle: () -> Void = {}
  /// A number that depends on each choice.
  private(set) var fingerprint: UInt64 = 0
  private let isRecorded: Bool
  private let order: Order
  private var ready: [Step] = []
  private var alarms: [Alarm] = []
  private var sleepers: [Sleeper] = []
  private var steps = 0
  private var isStopped = false

  init(seed: UInt64, isRecorded: Bool = false) {
    random = SeededGenerator(seed: seed)
    self.isRecorded = isRecorded
    order = random.pick(Order.allCases)
  }

  /// The milliseconds since the begin.
  var milliseconds: Int { microseconds / 1_000 }

  /// The microseconds since the begin.
  var microseconds: Int { Simulation.microseconds(Simulation.begin.duration(to: now)) }

  /// The microseconds since the begin, without the time for which threads could have run, and did not.
  var busyMicroseconds: Int { microseconds - Simulation.microseconds(delay) }

  private static func microseconds(_ time: Duration) -> Int {
    Int(time.components.seconds) * 1_000_000 + Int(time.components.attoseconds / 1_000_000_000_000)
  }

  func report(_ text: @autoclosure () -> String) {
    note("FINDING: \(text())")
    if findings.count < 3 { findings.append(text()) }
  }

  func note(_ text: @autoclosure () -> String) {
    if isRecorded { history.append("\(milliseconds) ms  \(text())") }
  }

  // MARK: Threads

  /// Lets a thread run its next step: some time, before or after the steps of other threads.
  func step(_ name: StaticString, _ id: Int, _ body: @escaping () -> Void) {
    ready.append(Step(name: name, id: id, body: body))
  }

  /// Runs a step after a time, or later.
  func after(_ time: Duration, _ name: StaticString, _ id: Int, _ body: @escaping () -> Void) {
    at(now.advanced(by: time), name, id, body)
  }

  func at(_ time: ContinuousClock.Instant, _ name: StaticString, _ id: Int, _ body: @escaping () -> Void) {
    alarms.append(Alarm(time: time, step: Step(name: name, id: id, body: body)))
  }

  /// Blocks a thread until a semaphore is signalled or a time has come.
  func wait(
    _ semaphore: DispatchSemaphore, until end: ContinuousClock.Instant?, _ name: StaticString, _ id: Int,
    _ body: @escaping (_ isInTime: Bool) -> Void
  ) {
    sleepers.append(Sleeper(semaphore: semaphore, end: end, name: name, id: id, body: body))
  }

  // MARK: Running

  /// Ends a history whose timers never end.
  func stop() { isStopped = true }

  /// Runs steps until no thread can go on. Threads that still wait for a semaphore wait for ever.
  func run() {
    while findings.isEmpty, !isStopped {
      wake()
      let next = nextTime
      if ready.isEmpty { whenIdle() }
      if ready.isEmpty || next != nil && random.next() % 32 == 0 {
        guard let next else { break }
        if !ready.isEmpty { delay += max(.zero, now.duration(to: next)) }
        now = max(now, next)
        continue
      }
      steps += 1
      guard steps < Simulation.maximumSteps else { return report("the history does not end") }
      let index = choice()
      let step = ready.remove(at: index)
      fingerprint = (fingerprint ^ UInt64(index) &+ UInt64(step.id)) &* 0x100_0000_01B3
      note("\(step.name) \(step.id)")
      step.body()
    }
    guard findings.isEmpty else { return }
    for sleeper in sleepers { report("\(sleeper.name) \(sleeper.id) waits for ever") }
  }

  private func choice() -> Int {
    let isOrdered = order != .random && random.next() % 4 != 0
    if isOrdered { return order == .mostlyNewestFirst ? ready.count - 1 : 0 }
    return Int(random.next() % UInt64(ready.count))
  }

  private var nextTime: ContinuousClock.Instant? {
    let alarm = alarms.lazy.map(\.time).min()
    let end = sleepers.lazy.compactMap(\.end).min()
    guard let alarm, let end else { return alarm ?? end }
    return min(alarm, end)
  }

  /// Makes the steps ready whose time has come, or whose semaphore was signalled.
  private func wake() {
    if !alarms.isEmpty {
      for alarm in alarms where alarm.time <= now { ready.append(alarm.step) }
      alarms.removeAll { $0.time <= now }
    }
    if sleepers.isEmpty { return }
    sleepers.removeAll { sleeper in
      if sleeper.semaphore.wait(timeout: Simulation.past) == .success {
        step(sleeper.name, sleeper.id) { sleeper.body(true) }
        return true
      }
      guard let end = sleeper.end, end <= now else { return false }
      step(sleeper.name, sleeper.id) { sleeper.body(false) }
      return true
    }
  }
}

/// A serial queue, or a number of threads: closures begin in order, each of several steps.
final class SimulatedQueue {
  /// A closure that calls `done` at the end of its last step. `thread` is the number of the thread that runs it.
  typealias Work = (_ thread: UInt, _ done: @escaping () -> Void) -> Void

  private let simulation: Simulation
  private let name: StaticString
  private var free: [UInt]
  private var waiting: [Work] = []

  init(_ simulation: Simulation, _ name: StaticString, threads: [UInt]) {
    (self.simulation, self.name, free) = (simulation, name, threads)
  }

  func async(_ body: @escaping Work) {
    waiting.append(body)
    next()
  }

  private func next() {
    guard !waiting.isEmpty, let thread = free.popLast() else { return }
    let body = waiting.removeFirst()
    simulation.step(name, Int(thread)) {
      body(thread) {
        self.free.append(thread)
        self.next()
      }
    }
  }
}
