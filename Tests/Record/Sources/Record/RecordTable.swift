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

  /// The targets, with the time that each takes at the speed of this run, if only its scenarios run.
  private var targetTable: String {
    var text = "| target | scenarios | in this run | time for the target |\n|---|---|---|---|\n"
    for target in Target.all {
      let tried = target.tried(state)
      guard tried > 0 else { continue }
      let seconds = target.scenarios.reduce(0) { $0 + (state.rows[$1]?.seconds ?? 0) }
      let hours = seconds / 3_600 * Double(target.count) / Double(tried)
      let minutes = max(Int((hours * 60).rounded()), 1)
      let time = hours < 2 ? "\(minutes) minute\(minutes == 1 ? "" : "s")" : "\(Int(hours.rounded())) hours"
      let names = target.scenarios.map { "`\($0)`" }.joined(separator: ", ")
      text += "| \(RecordTable.grouped(target.count)) \(target.unit) | \(names) | \(RecordTable.grouped(tried)) "
      text += "| \(time) |\n"
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
