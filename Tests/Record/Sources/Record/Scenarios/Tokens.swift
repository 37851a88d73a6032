extension Scenario {
  /// Generated SQL texts: pieces of tokens in any order, damaged statements, and scripts.
  static let tokens = Scenario(
    name: "tokens",
    promise: "The library finds the tokens and the ends of statements in SQL text where SQLite finds them.",
    unit: "texts", limit: 120, flaws: ["readsAnotherText"],
    run: { round in
      let trial = try SQLTokenTrial()
      for number in 0..<10_000 {
        var defect: String?
        switch number % 10 {
        case 0:
          let (text, isKnown) = SQLTexts.script(&round.random)
          defect = trial.defect(ofScript: text, isKnownToComplete: isKnown)
        case 1: defect = trial.defect(ofTokens: SQLTexts.mutated(&round.random))
        default:
          let text = SQLTexts.soup(&round.random)
          defect = trial.defect(ofTokens: text, as: round.flaw == nil ? text : text + " 1")
        }
        round.tried()
        if let defect { round.report(.wrong, "text \(number): \(defect)") }
        if round.hasFindings { return }
      }
    })
}
