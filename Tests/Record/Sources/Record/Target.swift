/// A number that a published run should reach, and the scenarios that count for it.
struct Target {
  let count: Int
  /// The things that are counted, in the plural.
  let unit: String
  let scenarios: [String]

  static let all = [
    Target(count: 10_000, unit: "kills", scenarios: ["writers", "steps"]),
    Target(
      count: 100_000, unit: "failed calls, failed allocations and power failures",
      scenarios: ["disk", "power", "memory", "gate"]),
    Target(count: 100_000_000, unit: "damaged documents and SQL texts", scenarios: ["documents", "tokens"]),
    Target(count: 1_000_000, unit: "statements, each run by two implementations", scenarios: ["queries", "cacheKeys"]),
    Target(count: 1_000_000, unit: "transactions under observers and live results", scenarios: ["observers", "live"]),
    Target(count: 2_000, unit: "damaged files", scenarios: ["salvage"]),
  ]

  func tried(_ state: RecordState) -> Int { scenarios.reduce(0) { $0 + (state.rows[$1]?.tried ?? 0) } }

  /// Returns whether a scenario has a target that the run has not reached.
  static func isAhead(of scenario: Scenario, _ state: RecordState) -> Bool {
    all.contains { $0.scenarios.contains(scenario.name) && $0.tried(state) < $0.count }
  }
}
