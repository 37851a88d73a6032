extension Scenario {
  /// The state machines that decide, in a simulated order of steps and in simulated time.
  static let decisions = Scenario(
    name: "decisions",
    promise: "In any order of the steps of threads, queues, timers and processes: no handle is given to two calls, no "
      + "waiter is forgotten, each call of a group commit gets the outcome of its own work, no commit of others is "
      + "missed, no tenant in use is closed, and a consumer has at most one owner.",
    unit: "histories", limit: 120, flaws: Machine.all.flatMap(\.flaws),
    run: { round in
      for machine in Machine.all where round.flaw.map({ machine.flaws.contains($0) }) ?? true {
        let begin = ContinuousClock.now
        var (count, fingerprint) = (0, UInt64(0))
        while count < 250 {
          let seed = round.random.next()
          count += 1
          let simulation = machine.history(seed: seed, flaw: round.flaw)
          // Each fiftieth history runs again: a seed has one history.
          if simulation.findings.isEmpty, count % 50 == 0,
            machine.history(seed: seed, flaw: round.flaw).fingerprint != simulation.fingerprint
          {
            round.report(.wrong, "\(machine.name): seed \(seed) has two histories")
          }
          fingerprint = (fingerprint &* 31) ^ simulation.fingerprint
          guard let finding = simulation.findings.first else { continue }
          round.report(.wrong, "\(machine.name), history \(seed) after \(count): \(finding)")
          for line in machine.shrunk(seed: seed, flaw: round.flaw).history { round.log(line) }
          break
        }
        round.tried(count)
        let seconds = begin.duration(to: .now) / .seconds(1)
        let rate = Int(Double(count) / seconds)
        round.log("\(machine.name): \(count) histories, \(rate) a second, \(String(fingerprint, radix: 16))")
      }
    })
}
