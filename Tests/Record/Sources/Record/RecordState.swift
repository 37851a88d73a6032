import Foundation

/// The figures of a record so far, kept in a file, so that an interrupted run continues.
struct RecordState: Codable {
  /// The figures of one scenario.
  struct Row: Codable {
    var rounds = 0
    var tried = 0
    var seconds = 0.0
    var findings: [String: Int] = [:]
    /// The seeds with findings, at most a hundred.
    var seeds: [UInt64] = []
    var nextSeed: UInt64

    func count(_ finding: Finding) -> Int { findings[finding.rawValue] ?? 0 }
    var found: Int { findings.values.reduce(0, +) }
  }

  var platform: Platform
  var minutes: Double
  var firstSeed: UInt64
  var rows: [String: Row] = [:]

  var seconds: Double { rows.values.reduce(0) { $0 + $1.seconds } }
  /// The seconds that the run still has.
  var left: Double { minutes * 60 - seconds }

  static func read(_ path: String) -> RecordState? {
    guard let data = FileManager.default.contents(atPath: path) else { return nil }
    return try? JSONDecoder().decode(RecordState.self, from: data)
  }

  func write(_ path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try encoder.encode(self).write(to: URL(fileURLWithPath: path), options: .atomic)
  }

  func row(_ scenario: Scenario) -> Row { rows[scenario.name] ?? Row(nextSeed: firstSeed) }

  mutating func add(_ result: RoundResult, _ scenario: Scenario) {
    var row = row(scenario)
    row.rounds += 1
    row.tried += result.tried
    row.seconds += result.seconds
    for finding in result.findings { row.findings[finding.kind.rawValue, default: 0] += 1 }
    if !result.findings.isEmpty, row.seeds.count < 100 { row.seeds.append(row.nextSeed) }
    row.nextSeed += 1
    rows[scenario.name] = row
  }
}
