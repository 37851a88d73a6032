import Foundation
import Glibc

/// The kinds of findings.
enum Finding: String, CaseIterable, Codable {
  /// Acknowledged, and not stored.
  case lost
  /// Refused or rolled back, and stored.
  case invented
  /// Any other broken promise: a damaged file, a wrong row, a value that is disclosed, an unexpected error.
  case wrong
  /// The process ended by a signal.
  case trapped
  /// The round exceeded its time limit.
  case hung
}

/// One round of a scenario in its process: the choices that the seed determines, and the findings.
final class Round {
  let scenario: String
  let seed: UInt64
  /// An empty directory, which is deleted after the round.
  let directory: String
  /// The directory of the fault libraries, which the rounds of a run share.
  var libraries: String { directory + "/../libraries" }
  /// The planted fault; nil in an ordinary round.
  let flaw: String?
  var random: SeededGenerator
  private var count = 0
  private var findings = 0

  init(_ scenario: String, seed: UInt64, directory: String, flaw: String?) {
    (self.scenario, self.seed, self.directory, self.flaw) = (scenario, seed, directory, flaw)
    // Neighbouring seeds of SplitMix64 begin with related numbers.
    var first = SeededGenerator(seed: seed)
    random = SeededGenerator(seed: first.next())
  }

  var hasFindings: Bool { findings > 0 }

  /// Counts things that the round has tried.
  func tried(_ count: Int = 1) { self.count += count }

  /// Reports a broken promise.
  func report(_ finding: Finding, _ text: String) {
    findings += 1
    // A round in which everything is wrong says so only some times.
    if findings <= 20 { say("\(finding.rawValue)\t\(text.replacing("\n", with: " "))") }
  }

  /// Explains the round to those who replay it.
  func log(_ text: String) { say("log\t\(text.replacing("\n", with: " "))") }

  /// Reports the counts. The last line of a round that ran to its end.
  func finish() { say("tried\t\(count)") }

  /// Takes over what another process has told about this round.
  func take(_ lines: [Substring]) {
    var isDone = false
    for line in lines {
      let words = line.split(separator: "\t", maxSplits: 2)
      guard words.count == 3, words[0] == "<record>" else { continue }
      if words[1] == "tried" {
        tried(Int(words[2]) ?? 0)
        isDone = true
      } else if words[1] == "log" {
        log(String(words[2]))
      } else if let finding = Finding(rawValue: String(words[1])) {
        report(finding, String(words[2]))
      }
    }
    if !isDone, !hasFindings { report(.wrong, "the process ended early: \(lines.suffix(2))") }
  }

  private func say(_ line: String) {
    print("<record>\t\(line)")
    fflush(nil)
  }

  /// Starts another process with the scenario's `work`. The process ends with the round.
  func start(_ words: [String], environment: [String: String] = [:]) throws -> ChildProcess {
    try ChildProcess(
      Program.path, ["--work", scenario] + words,
      environment: ProcessInfo.processInfo.environment.merging(environment, uniquingKeysWith: { $1 }), errors: .dropped)
  }

  /// Starts another process that tells its results through a pipe.
  func startTeller(_ words: [String], environment: [String: String] = [:]) throws -> Teller {
    Teller(try start(words, environment: environment))
  }
}

/// The lines that a process has told before its end.
final class Teller {
  let process: ChildProcess
  private var bytes: [UInt8] = []
  private(set) var isAtEnd = false

  init(_ process: ChildProcess) { self.process = process }

  /// The complete lines so far. A line that a kill has cut was not told.
  var lines: [Substring] {
    let complete = bytes.lastIndex(of: UInt8(ascii: "\n")).map { bytes[..<$0] } ?? []
    return String(decoding: complete, as: UTF8.self).split(separator: "\n")
  }

  /// Reads for at most so many seconds, or until the end, or until `isEnough`.
  func read(seconds: Double, until isEnough: ([UInt8]) -> Bool = { _ in false }) {
    let end = ContinuousClock.now + .seconds(seconds)
    while !isAtEnd, !isEnough(bytes) {
      let left = ContinuousClock.now.duration(to: end) / .milliseconds(1)
      guard left > 0 else { return }
      var input = pollfd(fd: process.output.fileDescriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&input, 1, Int32(min(left.rounded(.up), 1_000_000))) > 0 else { continue }
      let count = withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 1) { buffer in
        let count = Glibc.read(input.fd, buffer.baseAddress, buffer.count)
        if count > 0 { bytes.append(contentsOf: buffer[..<count]) }
        return count
      }
      if count <= 0 { isAtEnd = true }
    }
  }

  /// Kills the process, and reads what is still in the pipe.
  func kill() {
    process.signal(SIGKILL)
    read(seconds: 10)
    process.waitUntilExit()
  }

  /// Tells a line from the process itself: one call, so that a kill cuts no line of another thread.
  static func tell(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = write(STDOUT_FILENO, bytes, bytes.count)
  }
}
