extension Scenario {
  /// SQLite's n-th allocation fails. 820 seeds in a row are every n, for each scenario and each number of failures.
  static let memory = Scenario(
    name: "memory",
    promise: "If SQLite's allocations fail, acknowledged changes are stored, refused ones are not, observers are "
      + "notified of the stored ones only, and a handle works or says that it is lost.",
    unit: "failed allocations", limit: 300, flaws: ["ignoresErrors"],
    run: { round in
      guard FailingAllocator.install() else { return round.report(.wrong, "SQLite does not take the allocator") }
      let all = MallocScenario.allCases
      let scenario = all[Int(round.seed % UInt64(all.count))]
      let lengths = [1, 8, 64, Int.max]
      let length = lengths[Int(round.seed / 5 % 4)]
      let stage = try MallocStage(
        round.directory + "/\(scenario).sqlite", ignoresErrors: round.flaw == "ignoresErrors")
      var n = 1 + Int(round.seed / 20 % 41)
      while true {
        let outcome = stage.run(scenario, n, length)
        round.tried(outcome.failed)
        for violation in outcome.violations {
          round.report(violation.finding, "\(scenario), n \(n), length \(length): \(violation)")
        }
        if outcome.failed == 0 { break }
        n += 41
      }
      try stage.close()
    })
}

extension String {
  /// The kind of finding of a violation's text.
  fileprivate var finding: Finding {
    contains("was acknowledged") ? .lost : contains("was refused") ? .invented : .wrong
  }
}
