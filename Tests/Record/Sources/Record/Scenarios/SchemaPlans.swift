import SqlableCore

extension Scenario {
  /// Plans between random declarations of a table with random rows.
  static let schema = Scenario(
    name: "schema",
    promise: "A plan reaches the declared schema and keeps every row and value, or throws and changes nothing.",
    unit: "plans", limit: 120, flaws: ["losesARow", "losesAColumn"],
    run: { round in
      let planted: SQL? =
        round.flaw == "losesARow"
        ? "DELETE FROM whole WHERE number = 1"
        : round.flaw == "losesAColumn" ? "ALTER TABLE whole RENAME COLUMN plain TO other" : nil
      var last = Declarations.random(&round.random)
      for number in 0..<60 {
        let next = Declarations.random(&round.random)
        var trial = try PlanTrial(from: last, to: next, &round.random)
        if let defect = try trial.defect(planted: planted) { round.report(.wrong, "plan \(number): \(defect)") }
        round.tried()
        if round.hasFindings { return }
        last = next
      }
    })
}
