import Foundation
import Glibc

/// The result of one round, from its process.
struct RoundResult {
  var tried = 0
  var findings: [(kind: Finding, text: String)] = []
  var seconds = 0.0
  /// The steps of the round.
  var log: [String] = []
}

/// Runs a round in a process of its own, so that a trap or a hang is counted and ends nothing else.
enum RoundProcess {
  static let prefix = "sqlable-record-"
  /// The directory of this run.
  private static let runDirectory = "\(NSTemporaryDirectory())\(prefix)\(getpid())"

  /// Removes the directories of runs that were killed.
  static func removeOrphans() {
    let parent = NSTemporaryDirectory()
    for name in (try? FileManager.default.contentsOfDirectory(atPath: parent)) ?? [] where name.hasPrefix(prefix) {
      guard let process = pid_t(name.dropFirst(prefix.count)), kill(process, 0) != 0 else { continue }
      try? FileManager.default.removeItem(atPath: parent + name)
    }
  }

  /// Removes the directory of this run, after its last round.
  static func removeRunDirectory() { try? FileManager.default.removeItem(atPath: runDirectory) }

  static func run(_ scenario: Scenario, seed: UInt64, flaw: String?) throws -> RoundResult {
    let directory = "\(runDirectory)/\(scenario.name)"
    try? FileManager.default.removeItem(atPath: directory)
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    var environment = ProcessInfo.processInfo.environment
    // A backtrace of a trap takes seconds.
    environment["SWIFT_BACKTRACE"] = "enable=no"
    environment["TMPDIR"] = directory
    let start = ContinuousClock.now
    let process = try ChildProcess(
      Program.path, ["--round", scenario.name, "\(seed)", directory, flaw ?? "-"], environment: environment,
      errors: .withOutput, leadsGroup: true)
    let teller = Teller(process)
    teller.read(seconds: scenario.limit)
    let isHung = !teller.isAtEnd
    // The processes of the round, too.
    kill(-process.processIdentifier, SIGKILL)
    teller.read(seconds: 10)
    let isWell = process.waitUntilExit()
    var result = RoundResult()
    result.seconds = start.duration(to: .now) / .seconds(1)
    var (isDone, others) = (false, [Substring]())
    for line in teller.lines {
      let words = line.split(separator: "\t", maxSplits: 2)
      guard words.count == 3, words[0] == "<record>" else {
        others.append(line)
        continue
      }
      if words[1] == "tried" {
        (result.tried, isDone) = (Int(words[2]) ?? 0, true)
      } else if words[1] == "log" {
        result.log.append(String(words[2]))
      } else if let kind = Finding(rawValue: String(words[1])) {
        result.findings.append((kind, String(words[2])))
      }
    }
    let text = others.suffix(5).joined(separator: " | ")
    if isHung {
      result.findings.append((.hung, "not done after \(Int(scenario.limit)) s \(text)"))
    } else if let signal = process.endingSignal, !isDone {
      result.findings.append((.trapped, "signal \(signal) \(text)"))
    } else if !isWell, !isDone {
      result.findings.append((.wrong, text))
    }
    result.tried = max(result.tried, result.findings.count)
    return result
  }
}

extension Duration {
  static func / (left: Duration, right: Duration) -> Double {
    func seconds(_ time: Duration) -> Double {
      Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18
    }
    return seconds(left) / seconds(right)
  }
}
