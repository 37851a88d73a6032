import Foundation
import Glibc

extension Scenario {
  private static let works: [(name: String, make: @Sendable (_ directory: String) -> any SteppedWork)] = [
    ("backup", { BackupSteps($0) }), ("restore", { RestoreSteps($0) }), ("migration", { MigrationSteps($0) }),
    ("plan", { PlanSteps($0) }), ("archive", { ArchiveSteps($0) }), ("consumer", { ConsumerSteps($0) }),
  ]

  /// Processes are killed at the n-th call that changes a file. The seed selects the work in turn.
  static let steps = Scenario(
    name: "steps",
    promise: "A process that is killed at any step of a backup, restore, migration, plan, archive or consumer leaves "
      + "the old state or the new one, and the next process continues.",
    unit: "kills", limit: 300, flaws: works.map { $0.name },
    run: { round in
      let library = try FaultLibrary.compile(in: round.libraries)
      let files = round.directory + "/files"
      try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: true)
      // Each work has a planted fault of its name.
      let planted = works.first { $0.name == round.flaw }
      let (name, make) = planted ?? works[Int(round.seed % UInt64(works.count))]
      let work = make(files)
      try work.prepare()
      for turn in 0..<9 {
        try work.begin(turn: turn)
        let tellers = try (0..<work.processes).map { _ in
          let call = Int(pow(2, Double.random(in: 0...9, using: &round.random)))
          round.log("\(turn): \(name), call \(call)")
          return (
            call,
            try round.startTeller(
              [name, files, "\(call)"], environment: FaultLibrary.environment(library, files: files))
          )
        }
        for (call, teller) in tellers {
          teller.read(seconds: 120)
          if !teller.isAtEnd { round.report(.hung, "\(name), call \(call)") }
          teller.kill()
          switch teller.process.endingSignal {
          case SIGKILL: round.tried()
          case let signal?: round.report(.trapped, "\(name), call \(call), signal \(signal)")
          case nil: round.log("the work ended before call \(call)")
          }
          for line in teller.lines where line.hasPrefix("threw ") {
            round.report(.wrong, "\(name), call \(call): \(line)")
          }
        }
        try work.check(round, turn: turn)
        if round.hasFindings { return }
      }
    },
    work: { words in
      guard words.count == 3, let call = Int(words[2]), let work = works.first(where: { $0.name == words[0] }) else {
        throw Failure("a process of steps needs three words")
      }
      try FaultLibrary.losePower(at: call, seed: 0)
      do { try work.make(words[1]).work() } catch { Teller.tell("threw \(error)") }
    })
}
