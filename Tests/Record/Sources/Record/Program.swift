import Foundation
import Glibc

/// The record: every scenario by seed, and what was lost, invented or broken.
@main enum Program {
  /// The path of this program.
  static let path = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().path

  static func main() {
    do {
      let words = Array(CommandLine.arguments.dropFirst())
      switch words.first {
      case "--round":
        endWithParent()
        try round(Array(words.dropFirst()))
      case "--work":
        endWithParent()
        try work(Array(words.dropFirst()))
      default: exit(try run(Arguments(words)) ? 0 : 1)
      }
    } catch {
      print("\(error)")
      exit(1)
    }
  }

  /// Ends this process when its parent ends, which holds the other end of the pipe.
  private static func endWithParent() {
    Thread {
      var byte: UInt8 = 0
      while true {
        let count = read(STDIN_FILENO, &byte, 1)
        if count == 0 || count < 0 && errno != EINTR { _exit(1) }
      }
    }.start()
  }

  /// One round, in a process of its own.
  private static func round(_ words: [String]) throws {
    guard words.count == 4, let seed = UInt64(words[1]) else { throw Failure("--round needs four words") }
    let round = Round(words[0], seed: seed, directory: words[2], flaw: words[3] == "-" ? nil : words[3])
    do { try Scenario.named(words[0]).run(round) } catch { round.report(.wrong, "threw \(error)") }
    round.finish()
  }

  /// A process that a round has started.
  private static func work(_ words: [String]) throws {
    guard let name = words.first else { throw Failure("--work needs a scenario") }
    try Scenario.named(name).work(Array(words.dropFirst()))
  }

  /// Runs the command; false if a promise was broken.
  private static func run(_ arguments: Arguments) throws -> Bool {
    defer { RoundProcess.removeRunDirectory() }
    let scenarios = try arguments.scenarios()
    let seed = try arguments.number("--seed", as: UInt64.self)
    let file = arguments.options["--state"] ?? NSTemporaryDirectory() + "sqlable-record.json"
    if arguments.flags.contains("--help") {
      print(Arguments.usage)
    } else if arguments.flags.contains("--list") {
      for scenario in scenarios { print("\(scenario.name): \(scenario.promise)") }
    } else if arguments.flags.contains("--flaws") {
      return try findFlaws(scenarios)
    } else if arguments.flags.contains("--interruptions") {
      return try Interruptions.test(seed: seed ?? 1)
    } else if let minutes = try arguments.number("--minutes", as: Double.self) {
      var recorder = try Recorder(
        scenarios, minutes: minutes, firstSeed: seed ?? 1, file: file, isFresh: arguments.flags.contains("--fresh"))
      let state = try recorder.run()
      for line in RecordTable(state: state).lines { print(line) }
      if let path = arguments.options["--write"] { try RecordTable(state: state).write(path) }
      return state.rows.values.allSatisfy { $0.found == 0 }
    } else if let seed {
      return try replay(scenarios, seed)
    } else if let path = arguments.options["--write"] {
      guard let state = RecordState.read(file) else { throw Failure("\(file) has no figures of a run") }
      try RecordTable(state: state).write(path)
    } else {
      print(Arguments.usage)
    }
    return true
  }

  private static func replay(_ scenarios: [Scenario], _ seed: UInt64) throws -> Bool {
    var isWell = true
    for scenario in scenarios {
      let result = try RoundProcess.run(scenario, seed: seed, flaw: nil)
      for line in result.log { print("  \(line)") }
      for finding in result.findings { print("\(finding.kind): \(finding.text)") }
      print(
        "\(scenario.name), seed \(seed): \(result.tried) \(scenario.unit), \(result.findings.count) findings, "
          + "\(Double(Int(result.seconds * 100)) / 100) s")
      if !result.findings.isEmpty { isWell = false }
    }
    return isWell
  }

  /// Plants the faults of the scenarios. Each must be found within 20 seeds.
  private static func findFlaws(_ scenarios: [Scenario]) throws -> Bool {
    var isWell = true
    for scenario in scenarios {
      for flaw in scenario.flaws {
        var found: (seed: UInt64, finding: (kind: Finding, text: String))?
        for seed in 1...20 as ClosedRange<UInt64> where found == nil {
          let result = try RoundProcess.run(scenario, seed: seed, flaw: flaw)
          found = result.findings.first.map { (seed, $0) }
        }
        let text = found.map { "found by seed \($0.seed): \($0.finding.kind), \($0.finding.text)" }
        print("\(scenario.name), \(flaw): \(text ?? "NOT FOUND")")
        if found == nil { isWell = false }
      }
    }
    return isWell
  }
}
