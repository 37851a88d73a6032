import Foundation
import Glibc
import Sqlable

extension Scenario {
  /// The power fails: what was not synced is lost in part.
  static let power = Scenario(
    name: "power",
    promise: "With `synchronous: .full`, a power failure loses no acknowledged transaction; with `.normal`, only the "
      + "last ones. The file is never damaged.",
    unit: "power failures", limit: 180, flaws: ["neverSyncs", "acknowledgesEarly", "diskForgets"],
    run: { round in
      let library = try FaultLibrary.compile(in: round.libraries)
      let files = round.directory + "/files"
      try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: true)
      let path = files + "/power.sqlite"
      // Without a WAL, a commit is durable once the directory is synced, which only `extra` does.
      let (journal, synchronous) = round.random.pick([
        ("wal", "full"), ("wal", "full"), ("wal", "normal"), ("delete", "extra"),
      ])
      try BatchWriter.createTables(path, DiskWork.configuration(journal, synchronous))
      var environment = FaultLibrary.environment(library, files: files)
      environment["FAULT_POWER"] = "1"
      if round.flaw == "diskForgets" { environment["FAULT_LIES"] = "1" }
      for turn in 0..<12 {
        var oracle = BatchOracle()
        let styles = journal == "wal" ? BatchStyle.allCases : BatchStyle.allCases.filter { !$0.isOfPools }
        let style = round.random.pick(styles)
        let call = Int(pow(2, Double.random(in: 0...9, using: &round.random)))
        let written = round.flaw == "neverSyncs" ? "off" : synchronous
        round.log("\(turn): \(style), \(journal), \(synchronous), call \(call)")
        let teller = try round.startTeller(
          [
            path, style.rawValue, journal, written, "\(1 + turn * 10)", round.flaw ?? "-", "\(call)",
            "\(round.random.next() >> 1)",
          ], environment: environment)
        teller.read(seconds: 60)
        if !teller.isAtEnd { round.report(.hung, "\(style), power failure at call \(call)") }
        teller.kill()
        round.tried(teller.process.endingSignal == SIGKILL ? 1 : 0)
        if let signal = teller.process.endingSignal, signal != SIGKILL {
          round.report(.trapped, "\(style), power failure at call \(call), signal \(signal)")
        }
        oracle.take(teller.lines, round)
        for error in oracle.errors { round.report(.wrong, error) }
        try oracle.check(
          path, DiskWork.configuration(journal, synchronous), round,
          mayLose: synchronous == "normal" ? .lastBatches : .nothing)
        // The next process begins with an empty file.
        for name in ["", "-wal", "-shm", "-journal", "-gate"] { unlink(path + name) }
        try BatchWriter.createTables(path, DiskWork.configuration(journal, synchronous))
      }
    },
    work: { words in
      guard words.count == 8, let style = BatchStyle(rawValue: words[1]), let firstWriter = Int(words[4]),
        let call = Int(words[6]), let seed = UInt64(words[7])
      else { throw Failure("a process without power needs eight words") }
      let writer = BatchWriter(
        path: words[0], style: style, configuration: DiskWork.configuration(words[2], words[3]),
        flaw: BatchWriter.Flaw(rawValue: words[5]), count: 200)
      try FaultLibrary.losePower(at: call, seed: seed)
      try waiting { try await writer.run(firstWriter: firstWriter) }
    })
}
