import Foundation

/// The figures as text, and as a table of `Docs/Reliability.md`.
struct RecordTable {
  let state: RecordState

  static let (begin, end) = ("<!-- record: begin -->", "<!-- record: end -->")

  private var rows: [(Scenario, RecordState.Row)] {
    Scenario.all.compactMap { scenario in state.rows[scenario.name].map { (scenario, $0) } }
  }

  /// One line for each scenario.
  var lines: [String] {
    rows.map { scenario, row in
      let found = Finding.allCases.map { "\($0.rawValue) \(row.count($0))" }.joined(separator: ", ")
      let seeds = row.seeds.isEmpty ? "" : "; seeds \(row.seeds.prefix(20).map(String.init).joined(separator: " "))"
      return "\(scenario.name): tried \(row.tried) \(scenario.unit), survived \(max(row.tried - row.found, 0)); "
        + found + seeds
    }
  }

  private var markdown: String {
    var text = "\(Int(state.seconds / 60)) minutes, first seed \(state.firstSeed), \(state.platform.description):\n\n"
    text += "| scenario | tried | lost | invented | wrong | trapped | hung | seeds with findings |\n"
    text += "|---|---|---|---|---|---|---|---|\n"
    for (scenario, row) in rows {
      let counts = Finding.allCases.map { "\(row.count($0))" }.joined(separator: " | ")
      let seeds = row.seeds.isEmpty ? "none" : row.seeds.map(String.init).joined(separator: ", ")
      text += "| `\(scenario.name)` | \(RecordTable.grouped(row.tried)) \(scenario.unit) in "
      text += "\(RecordTable.grouped(row.rounds)) rounds | \(counts) | \(seeds) |\n"
    }
    return text + "\n" + targetTable
  }

  /// The targets of a long run, each with the scenarios that count for it.
  private static let targets: [(name: String, count: Int, scenarios: [String])] = [
    ("kills", 10_000, ["writers", "steps"]),
    ("failed calls, failed allocations and power failures", 100_000, ["disk", "power", "memory", "gate"]),
    ("damaged documents and SQL texts", 100_000_000, ["documents", "tokens"]),
    ("statements with two implementations", 1_000_000, ["queries", "cacheKeys"]),
    ("transactions under observers and live results", 1_000_000, ["observers", "live"]),
    ("damaged files", 2_000, ["salvage"]),
  ]

  /// The targets, with the time that each takes at the speed of this run, if only its scenarios run.
  private var targetTable: String {
    var text = "| target | scenarios | in this run | time for the target |\n|---|---|---|---|\n"
    for (name, count, scenarios) in RecordTable.targets {
      let rows = scenarios.compactMap { state.rows[$0] }
      let tried = rows.reduce(0) { $0 + $1.tried }
      guard tried > 0 else { continue }
      let hours = rows.reduce(0) { $0 + $1.seconds } / 3_600 * Double(count) / Double(tried)
      let time = hours < 2 ? "\(max(Int((hours * 60).rounded()), 1)) minutes" : "\(Int(hours.rounded())) hours"
      let names = scenarios.map { "`\($0)`" }.joined(separator: ", ")
      text += "| \(RecordTable.grouped(count)) \(name) | \(names) | \(RecordTable.grouped(tried)) | \(time) |\n"
    }
    return text
  }

  private static func grouped(_ number: Int) -> String {
    var text = ""
    for (index, digit) in String(number).reversed().enumerated() {
      if index > 0, index % 3 == 0 { text.append(",") }
      text.append(digit)
    }
    return String(text.reversed())
  }

  /// Replaces the text between the marks of a file.
  func write(_ path: String) throws {
    let text = try String(contentsOfFile: path, encoding: .utf8)
    guard let begin = text.range(of: RecordTable.begin),
      let end = text.range(of: RecordTable.end, range: begin.upperBound..<text.endIndex)
    else { throw Failure("\(path) has no lines \(RecordTable.begin) and \(RecordTable.end)") }
    let new = text.replacingCharacters(in: begin.upperBound..<end.lowerBound, with: "\n\n\(markdown)\n")
    try new.write(toFile: path, atomically: true, encoding: .utf8)
  }
}
