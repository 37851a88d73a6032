import Foundation
import Glibc

/// Runs rounds of all scenarios in turn, for a time.
struct Recorder {
  private let scenarios: [Scenario]
  private let file: String
  private var state: RecordState
  private let isTerminal = isatty(STDOUT_FILENO) == 1
  private var lastLine = ContinuousClock.now

  /// Continues the run in the file, unless it is complete, or of other versions.
  init(_ scenarios: [Scenario], minutes: Double, firstSeed: UInt64, file: String, isFresh: Bool) throws {
    (self.scenarios, self.file) = (scenarios, file)
    RoundProcess.removeOrphans()
    let platform = try Platform.current()
    if !isFresh, let old = RecordState.read(file), old.platform == platform, old.minutes == minutes,
      old.firstSeed == firstSeed, old.left > 0
    {
      state = old
      print("continues a run with \(Recorder.time(old.left)) left")
    } else {
      state = RecordState(platform: platform, minutes: minutes, firstSeed: firstSeed)
    }
  }

  /// Returns the figures after the time.
  mutating func run() throws -> RecordState {
    while state.left > 0, let scenario = scenarios.min(by: { share($0) < share($1) }) {
      show(scenario)
      let seed = state.row(scenario).nextSeed
      let result = try RoundProcess.run(scenario, seed: seed, flaw: nil)
      for finding in result.findings {
        clearLine()
        print("\(finding.kind): \(finding.text)\n  Record --scenario \(scenario.name) --seed \(seed)")
      }
      state.add(result, scenario)
      try state.write(file)
    }
    clearLine()
    return state
  }

  /// The time that a scenario has had, by which the next one is chosen: the one with the least. Each gets a minute.
  /// Then a third of the time counts as long as the scenario's target is not reached.
  private func share(_ scenario: Scenario) -> Double {
    let seconds = state.row(scenario).seconds
    guard seconds > 60, Target.isAhead(of: scenario, state) else { return seconds }
    return 60 + (seconds - 60) / 3
  }

  /// Shows the progress: on a terminal a bar, elsewhere a line a minute.
  private mutating func show(_ scenario: Scenario) {
    let row = state.row(scenario)
    let total = state.minutes * 60
    let text = "\(Recorder.time(state.left)) left, \(scenario.name): \(row.tried) \(scenario.unit), \(row.found) found"
    if isTerminal {
      let width = 20
      let filled = min(width, Int(Double(width) * state.seconds / max(total, 1)))
      let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: width - filled)
      print("\r\u{1B}[K[\(bar)] \(text)", terminator: "")
    } else if lastLine.duration(to: .now) > .seconds(60) {
      lastLine = .now
      print(text)
    }
    fflush(nil)
  }

  private func clearLine() {
    if isTerminal { print("\r\u{1B}[K", terminator: "") }
  }

  static func time(_ seconds: Double) -> String {
    seconds < 120 ? "\(Int(max(seconds, 0))) s" : "\(Int(seconds / 60)) min"
  }
}
