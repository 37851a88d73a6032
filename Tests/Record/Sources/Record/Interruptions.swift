import Foundation
import Glibc

/// A test of the record itself: a run that is killed again and again has the figures of one that is not.
enum Interruptions {
  /// Scenarios whose counts follow from the seeds alone.
  private static let names = ["tokens", "schema", "cacheKeys", "observers"]

  /// Kills a short run at random times until it is complete, and runs each of its rounds once more. Returns true if
  /// the figures are equal: no seed was counted twice, and none was left out.
  static func test(seed: UInt64) throws -> Bool {
    let file = NSTemporaryDirectory() + "sqlable-interrupted-\(getpid()).json"
    defer { unlink(file) }
    var random = SeededGenerator(seed: seed)
    let arguments = [
      "--minutes", "0.3", "--scenario", names.joined(separator: ","), "--seed", "\(seed)", "--state", file,
    ]
    var (kills, isDone) = (0, false)
    while !isDone {
      let run = Teller(try ChildProcess(Program.path, arguments, errors: .withOutput))
      run.read(seconds: Double.random(in: 0.1...6, using: &random))
      isDone = run.isAtEnd
      if !isDone { kills += 1 }
      run.kill()
    }
    guard let state = RecordState.read(file) else { throw Failure("the run left no figures") }
    var isWell = kills > 0
    for name in names {
      let scenario = try Scenario.named(name)
      let row = state.row(scenario)
      var (tried, rounds) = (0, 0)
      for seed in state.firstSeed..<row.nextSeed {
        tried += try RoundProcess.run(scenario, seed: seed, flaw: nil).tried
        rounds += 1
      }
      let isEqual = tried == row.tried && rounds == row.rounds
      print(
        "\(name): \(row.tried) \(scenario.unit) in \(row.rounds) rounds, without interruptions \(tried) in \(rounds)")
      if !isEqual { isWell = false }
    }
    RoundProcess.removeRunDirectory()
    let left = try FileManager.default.contentsOfDirectory(atPath: NSTemporaryDirectory())
      .filter { $0.hasPrefix(RoundProcess.prefix) }
    RoundProcess.removeOrphans()
    print("\(kills) interruptions, \(isWell ? "equal figures" : "OTHER FIGURES"), \(left.count) directories left")
    return isWell && left.count <= 1
  }
}
