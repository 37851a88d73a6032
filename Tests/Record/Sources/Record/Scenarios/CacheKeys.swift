extension Scenario {
  /// Pairs of statements that differ in one part.
  static let cacheKeys = Scenario(
    name: "cacheKeys",
    promise: "A statement cache changes no result, even if two statements differ in only one part.",
    unit: "pairs of statements", limit: 120, flaws: ["ignoresADifference"],
    run: { round in
      var trial = try NearStatementTrial(round.directory)
      for number in 0..<400 {
        let first = NearStatement(&round.random)
        let second = first.changed(&round.random)
        let planted = round.flaw == nil ? nil : first
        if let defect = try trial.defect(first, second, running: planted) {
          round.report(.wrong, "pair \(number): \(defect)")
        }
        round.tried()
        // Later pairs would only repeat the finding.
        if round.hasFindings { return }
      }
      let use = try trial.warm.statementCacheUse
      round.log("\(use.hits) hits, \(use.evictions) evictions, \(trial.nested) nested, \(trial.changed) changes")
      if use.hits < 400 { round.report(.wrong, "the cache was used \(use.hits) times") }
    })
}
